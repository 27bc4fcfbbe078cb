"""Events of rdma_cm, and the reasons for which a connection is rejected."""

from collections.abc import Iterator

from rdmalab.guide.article import Article, Row, article
from rdmalab.guide.entry import Entry, of_member
from rdmalab.spec.c_names import full_name
from rdmalab.spec.connections import EVENTS, REASONS, SIDR, CmEvent, RejectReason
from rdmalab.spec.rules import errno_name


def entries() -> Iterator[Entry]:
    """By name, with the prefix of C and without; reasons by `reject reason 8` as well."""
    for event in CmEvent:
        yield of_member("event of rdma_cm", event, _event)
    for reason in RejectReason:
        yield of_member("reject reason", reason, _reason, f"reject reason {int(reason)}")


def number_words(event: CmEvent, number: int) -> str:
    """Meaning of a number that a log prints beside an event; a positive one may lack its minus."""
    text = f"status {number}"
    if number == -1:
        return f"{text}: a call failed; the line does not contain the errno"
    if number > 0 and event is CmEvent.REJECTED:
        if number not in tuple(RejectReason):
            return f"{text} is no reject reason that has a name"
        reason = RejectReason(number)
        return f"{text} is reject reason {number}, {reason.name}: {REASONS[reason]}"
    if number > 0 and event is CmEvent.UNREACHABLE and number in SIDR:
        return f"{text}: on a UD id SIDR status {number}, {SIDR[number]}"
    return f"{text}: errno {abs(number)} is {errno_name(abs(number))}"


def _event(event: CmEvent) -> Article:
    row = EVENTS[event]
    rows: list[Row] = [("when", row.when), ("status", row.number.value)]
    if event is CmEvent.REJECTED:
        common = (RejectReason.INVALID_SERVICE_ID, RejectReason.CONSUMER_DEFINED,
                  RejectReason.STALE_CONN)  # fmt: skip
        rows.append(("reasons", [f"{int(r)} {r.name}: {REASONS[r]}" for r in common]))
    return article(full_name(event), f"event of rdma_cm {int(event)}", rows, _SEE)


def _reason(reason: RejectReason) -> Article:
    rows: list[Row] = [("means", REASONS[reason])]
    see = ["explain RDMA_CM_EVENT_REJECTED"]
    return article(full_name(reason), f"reject reason {int(reason)}", rows, see)


_SEE = ["rdma_get_cm_event(3)"]
