"""Queue pair attributes: range, default, mask, the transitions that take them, timer codes."""

import enum
from collections.abc import Iterator
from functools import partial

from rdmalab.guide.article import Article, Row, article
from rdmalab.guide.entry import About, Entry, Sort
from rdmalab.guide.phrases import by_profile, duration, type_names
from rdmalab.guide.sentences import sentence
from rdmalab.spec.access import FOR_QP
from rdmalab.spec.c_names import PREFIX, full_name
from rdmalab.spec.profiles import PROFILES, STRICT, Profile
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.states import ATTRIBUTES, MOVES, MTU, Attr, MigState, QPState, QPType
from rdmalab.spec.timers import RNR_NS, ack_timeout_ns, answer_ns

_ENUMS: dict[str, type[enum.IntEnum]] = {
    "qp_state": QPState,
    "cur_qp_state": QPState,
    "path_mig_state": MigState,
}
_ACK_CODES = range(ATTRIBUTES["timeout"].low, (ATTRIBUTES["timeout"].high or 0) + 1)
_RETRIES = ATTRIBUTES["retry_cnt"].high or 0


def entries() -> Iterator[Entry]:
    """Every field of `ibv_qp_attr`, every MTU, every timer code."""
    masks: set[Attr] = set()
    for name, row in ATTRIBUTES.items():
        mask = [f"{PREFIX[Attr]}{row.mask.name}", str(row.mask.name)] * (row.mask not in masks)
        masks.add(row.mask)
        words = (f"attribute {name}", *mask)
        about = About(Sort.ATTRIBUTE, name)
        yield Entry(name, "QP attribute", words, partial(attribute_article, name), about)
    for mtu in MTU:
        words = (f"{mtu.octets}", mtu.name, f"IB_MTU_{mtu.octets}")
        yield Entry(full_name(mtu), "path MTU", words, partial(mtu_article, mtu))
    for code in _ACK_CODES:
        yield Entry(f"timeout {code}", "timer code", (), partial(timeout_article, code))
    for code in range(len(RNR_NS)):
        words = (f"rnr {code}", f"rnr timer {code}", f"timer {code}", _syndrome(code))
        yield Entry(f"min_rnr_timer {code}", "RNR timer code", words, partial(rnr_article, code))


def _syndrome(code: int) -> str:
    return f"{Syndrome.RNR_NAK | code:#04x}"


# --------------------------------------------------------------------------- attributes
def attribute_article(name: str) -> Article:
    """One field of `ibv_qp_attr`."""
    row = ATTRIBUTES[name]
    rows: list[Row] = [
        ("", row.sentence),
        ("mask", f"{PREFIX[Attr]}{row.mask.name}, bit {int(row.mask).bit_length() - 1}"),
        ("range", "; ".join([range_words(name), *_cut(name)])),
        ("elsewhere", list(_elsewhere(name))),
        ("default", _default(name)),
        ("types", type_names(row.types)),
        ("required", list(_takers(row.mask, "required"))),
        ("optional", list(_takers(row.mask, "optional"))),
        ("codes", _codes(name)),
        ("note", sentence("attribute", name)),
    ]
    return article(name, "QP attribute", rows, ["explain modify_qp", "ibv_modify_qp(3)"])


def _elsewhere(name: str) -> Iterator[str]:
    """Devices that take more, or less, than the table says."""
    for profile in PROFILES.values():
        row = profile.attributes[name]
        if row != ATTRIBUTES[name] and name not in profile.attribute_bits:
            yield f"{profile.name} stores {row.low}..{row.highest(profile.caps)}"


def _cut(name: str) -> Iterator[str]:
    """Devices that cut a value to the bits of its field."""
    for profile in PROFILES.values():
        if (bits := profile.attribute_bits.get(name)) is not None:
            yield f"{profile.name} keeps the low {bits} bits"


def range_words(name: str) -> str:
    """The values that a field of `ibv_qp_attr` can have."""
    row = ATTRIBUTES[name]
    if name == "qp_access_flags":
        return " ".join(flag.name or "" for flag in FOR_QP)
    if name == "path_mtu":
        return " ".join(str(mtu.octets) for mtu in MTU) + ", up to the port's active_mtu"
    if name in _ENUMS:
        members = [m.name for m in _ENUMS[name] if row.low <= m <= (row.high or 0)]
        return " ".join(members)
    if row.high is None and not row.limit:
        return "a struct; each field has its own range"
    limit = f", the device's {row.limit}" if row.limit else ""
    return by_profile(lambda p: f"{row.low}..{row.highest(p.caps)}") + limit


def _default(name: str) -> str:
    row = ATTRIBUTES[name]
    if row.highest(STRICT.caps) is None or row.default < row.low:
        return "none"
    if name == "path_mtu":
        return str(MTU(row.default).octets)
    return _ENUMS[name](row.default).name if name in _ENUMS else str(row.default)


def _takers(mask: Attr, how: str) -> Iterator[str]:
    """`RC XRC_SEND: RTR→RTS`: types with the same moves share a line."""
    moves_of: dict[tuple[str, ...], list[QPType]] = {}
    for qp_type in QPType:
        moves = tuple(
            f"{now.name}→{to.name}"
            for (kind, now, to), move in MOVES.items()
            if kind is qp_type and getattr(move, how) & mask
        )
        if moves:
            moves_of.setdefault(moves, []).append(qp_type)
    return (f"{type_names(types)}: {' '.join(moves)}" for moves, types in moves_of.items())


def _codes(name: str) -> str:
    if name in ("timeout", "alt_timeout"):
        return ", ".join(f"{code}:{_ack_words(code)}" for code in _ACK_CODES)
    if name == "min_rnr_timer":
        return ", ".join(f"{code}:{duration(time_ns)}" for code, time_ns in enumerate(RNR_NS))
    return ""


def _ack_words(code: int) -> str:
    time_ns = ack_timeout_ns(code)
    return "never" if time_ns is None else duration(time_ns)


# --------------------------------------------------------------------------- their values
def timeout_article(code: int) -> Article:
    """One code of `timeout`."""
    time_ns = ack_timeout_ns(code)
    if time_ns is None:
        rows: list[Row] = [
            ("", "no timer: if the last request or its ACK is lost, the wait has no end")
        ]
    else:
        waits = by_profile(lambda p: duration(_waits_ns(p, code)))
        ends = by_profile(lambda p: duration((_RETRIES + 1) * _waits_ns(p, code)))
        rows = [
            ("code", f"4.096 us * 2^{code} = {duration(time_ns)}"),
            ("wait", f"{waits} for a response"),
            ("times out", f"with retry_cnt={_RETRIES}, after {_RETRIES + 1} waits: {ends}"),
            ("", "A device may wait up to four times the time of the code (IBA 9.7.6.1.3)."),
        ]
    return article(f"timeout={code}", "timer code", rows, ["explain timeout", "explain retry_cnt"])


def _waits_ns(profile: Profile, code: int) -> int:
    return answer_ns(code, profile.timer_tick_ns, profile.ack_timeout_factor) or 0


def rnr_article(code: int) -> Article:
    """One code of `min_rnr_timer`, as it travels in an RNR NAK."""
    rows: list[Row] = [
        ("wait", f"{duration(RNR_NS[code])} at least, before the request is sent again"),
        ("on the wire", f"AETH syndrome {_syndrome(code)}: RNR NAK with timer={code}"),
        ("set by", "the receiver's min_rnr_timer; the sender waits that long"),
    ]
    see = ["explain min_rnr_timer", "explain rnr_retry", "explain RNR_NAK"]
    return article(f"min_rnr_timer={code}", "RNR timer code", rows, see)


def mtu_article(mtu: MTU) -> Article:
    """One path MTU."""
    rows: list[Row] = [
        ("", f"{mtu.octets} bytes of payload in a full packet; attribute value {int(mtu)}"),
        ("longer", f"a message of n bytes takes max(1, ceil(n / {mtu.octets})) packets"),
    ]
    return article(full_name(mtu), f"path MTU = {int(mtu)}", rows, ["explain path_mtu"])
