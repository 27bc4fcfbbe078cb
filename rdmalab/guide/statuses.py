"""Work completion statuses: who reports each, what the peer sees, the usual causes."""

from collections.abc import Iterator

from rdmalab.guide.article import Article, Row, article
from rdmalab.guide.entry import Entry, Sort, of_member
from rdmalab.guide.phrases import ranked, type_names
from rdmalab.guide.sentences import wire
from rdmalab.spec import absent
from rdmalab.spec.c_names import full_name
from rdmalab.spec.causes import reasons
from rdmalab.spec.profiles import PROFILES, STRICT, Profile
from rdmalab.spec.refusals import REFUSALS, REQUESTER_STATUS, Refusal, Syndrome
from rdmalab.spec.states import ATTRIBUTES, AUTOMATIC, Mishap, QPState, QPType
from rdmalab.spec.statuses import STATUS, Side, WCStatus

_SIDES = {
    Side.SEND: "the HCA that sends, on the completion of a send",
    Side.RECV: "the HCA that receives, on the completion of a receive",
    Side.BOTH: "either HCA, on the completion of a send or of a receive",
}
_MISHAPS = {Side.SEND: Mishap.SEND_ERROR, Side.RECV: Mishap.RECEIVE_ERROR}
# Only a type that waits for answers meets these.
_ANSWERED = {
    *REQUESTER_STATUS.values(),
    WCStatus.RETRY_EXC_ERR,
    WCStatus.RNR_RETRY_EXC_ERR,
    WCStatus.BAD_RESP_ERR,
}
# These do not change the state of a QP.
_HARMLESS = (WCStatus.SUCCESS, WCStatus.WR_FLUSH_ERR)


def entries() -> Iterator[Entry]:
    """By name, number and by what `ibv_wc_status_str` says."""
    return (_entry(status) for status, row in STATUS.items() if row.side)


def entries_of_the_unseen() -> Iterator[Entry]:
    """Of those that no completion here carries: an errno of the same number is likelier meant."""
    return (_entry(status) for status, row in STATUS.items() if not row.side)


def _entry(status: WCStatus) -> Entry:
    words = (str(int(status)), f"status {int(status)}", STATUS[status].text)
    return of_member("completion status", status, status_article, *words, sort=Sort.STATUS)


def status_article(status: WCStatus) -> Article:
    """One status of a work completion."""
    row = STATUS[status]
    rows: list[Row] = [
        ("says", row.text),
        ("means", row.cause),
        ("who", _who(status)),
        ("refusals", _refusals(status)),
        ("receiver", _own(status)),
        ("wire", _wire(status)),
        ("peer", row.peer),
        ("QP after", _states_after(status)),
        ("profiles", list(_differences(status))),
        ("look at", ranked(reasons("WCStatus", status.name))),
    ]
    see = ["ibv_poll_cq(3)"]
    return article(full_name(status), f"completion status {int(status)}", rows, see)


def _who(status: WCStatus) -> str:
    """The HCA that detects it, and the NAK of the peer; the reason if it never occurs."""
    never = absent.REASONS[WCStatus].get(status, "")
    text = _SIDES.get(STATUS[status].side, "no HCA") + (f"; here never: {never}" if never else "")
    answers = _answers(status)
    return f"{text}, after a {answers}" if answers else text


def _wire(status: WCStatus) -> str:
    """Evidence on the wire: the NAK that ends the request, or that leaves where a receive fails."""
    naks = [r.syndrome for r in REFUSALS.values() if r.status is status and r.syndrome]
    left = " or ".join(dict.fromkeys(f"{nak.name} {nak:#04x}" for nak in naks))
    came = _answers(status)
    parts = [wire("WCStatus", status.name), f"{came} comes" if came else ""]
    parts += [f"receive: {left} leaves"] if left and left != came else []
    return "; ".join(part for part in parts if part)


def _answers(status: WCStatus) -> str:
    """The NAKs that a requester turns into this status."""
    codes = [code for code, made in REQUESTER_STATUS.items() if made is status]
    return ", ".join(f"{Syndrome(code).name} {code:#04x}" for code in codes)


def made_by(refusal: Refusal) -> WCStatus | None:
    """Status of the requester's WR where the refusal ends it at once; None elsewhere."""
    return None if refusal.syndrome is None else REQUESTER_STATUS.get(refusal.syndrome)


def _refusals(status: WCStatus) -> str:
    """Refusals of the peer that end a request with this status."""
    rows = [row for row in REFUSALS.values() if made_by(row) is status]
    if len(rows) > 2:
        return " ".join(row.name for row in rows)
    return "; ".join(f"{row.name}: {row.sentence}" for row in rows)


def _own(status: WCStatus) -> str:
    """Refusals of this node that end a receive it had taken with this status."""
    rows = [row for row in REFUSALS.values() if row.status is status]
    if len(rows) > 2:
        return "after refusing: " + " ".join(row.name for row in rows)
    return "; ".join(f"{row.name}: {row.sentence}" for row in rows)


def _states_after(status: WCStatus) -> list[str]:
    side = STATUS[status].side
    if status in _HARMLESS or not side:
        return ["unchanged"] if side else []
    types = ATTRIBUTES["retry_cnt"].types if status in _ANSWERED else frozenset(QPType)
    return [
        f"{'send' if one is Side.SEND else 'receive'}: {_outcomes(mishap, types)}"
        for one, mishap in _MISHAPS.items()
        if one in side
    ]


def _outcomes(mishap: Mishap, types: frozenset[QPType]) -> str:
    rows = [row for row in AUTOMATIC if row.mishap is mishap and row.types & types]
    parts = [f"{row.to.name} ({type_names(row.types & types)})" for row in rows]
    never = [p.name for p in PROFILES.values() if not p.send_error_gives_sqe]
    odd = never if any(row.to is QPState.SQE for row in rows) else []
    return "; ".join([", ".join(parts), *(f"{name}: always ERR" for name in odd)])


def _differences(status: WCStatus) -> Iterator[str]:
    """Device profiles that report another status, or this one instead of another."""
    for profile in PROFILES.values():
        for name, row in profile.refusals.items():
            ours, theirs = REFUSALS[name], row
            before = (ours.status, made_by(ours))
            after = (theirs.status, made_by(theirs))
            if before != after and status in before + after:
                yield f"{profile.name}, {name}: {_pair(theirs)} instead of {_pair(ours)}"
        yield from _lkey_difference(profile, status)


def _pair(row: Refusal) -> str:
    made = made_by(row)
    names = [each.name for each in (row.status, made) if each is not None]
    return " / ".join(names) or "nothing"


def _lkey_difference(profile: Profile, status: WCStatus) -> Iterator[str]:
    ours, theirs = STRICT.unknown_lkey_status, profile.unknown_lkey_status
    if ours is not theirs and status in (ours, theirs):
        yield f"{profile.name}, unknown lkey: {theirs.name} instead of {ours.name}"
