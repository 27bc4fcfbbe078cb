"""The cause of ERR or SQE: work of the queue pair, its peer, a modify_qp, an overrun CQ, events."""

from bisect import bisect_left
from collections.abc import Callable

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.spec import records as rec
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.refusals import REFUSALS
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import ERROR_STATES, QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt
from rdmalab.views.fates import key_refusal


@dataclass(slots=True)
class ErrorCause:
    """In which event a queue pair came into which state, and why. cq: the queue that overran."""

    state: QPState
    event: int
    sentence: str
    cq: Thing | None = None


def qp_error_cause(case: Case) -> ErrorCause | None:
    """The transition that flushed the subject's work; for a QP its last one to ERR or SQE."""
    qp = case.qp
    if qp is None:
        return None
    if case.hca.unavailable_rule and not case.has_ended:
        return device_end(case)
    work = case.work
    until = case.world.event if work is None or work.ending is None else work.ending.event
    moves = [r for r in case.log.about(Kind.STATE_CHANGED, qp.thing) if rec.event_of(r) <= until]
    if not moves or rec.new_state_of(moves[-1]) not in ERROR_STATES:
        return None
    return _explained(case, qp.thing, moves[-1])


def posted_in_error(case: Case, error_cause: ErrorCause) -> bool:
    """Whether work was posted in SQE, or in ERR after the program had polled the failure."""
    work = case.work
    if work is None or work.posted is None or error_cause.event >= work.posted:
        return False
    if error_cause.state is QPState.SQE:
        return True
    polls = case.log.of(Kind.CQE_POLLED, case.node)
    span = range(error_cause.event + 1, work.posted)
    completions = (rec.cqe_of(r) for r in polls if rec.event_of(r) in span)
    return case.qp is not None and any(c.qp_num == case.qp.number and c.status for c in completions)


def device_end(case: Case) -> ErrorCause | None:
    """The end of the device; None while it can be used. It moves no QP and flushes nothing."""
    kinds = {Kind.DEVICE_DIED: "failed (DEVICE_FATAL)", Kind.DEVICE_CLOSED: "was closed"}
    found = [(rec.event_of(r), word) for kind, word in kinds.items()
             for r in case.log.of(kind, case.node)]  # fmt: skip
    event, word = max(found, default=(0, ""))
    return ErrorCause(QPState.ERR, event, f"the device of {case.node} {word}") if word else None


def _explained(case: Case, thing: Thing, move: Record) -> ErrorCause:
    event, state = rec.event_of(move), QPState(rec.new_state_of(move))
    records = case.log.within(event)
    for explain in _EXPLAIN:
        if (found := explain(case, thing, records)) is not None:
            return ErrorCause(state, event, *found)
    return ErrorCause(state, event, "the log does not say why")


_Reason = tuple[str] | tuple[str, Thing]


def _overran(case: Case, thing: Thing, records: list[Record]) -> _Reason | None:
    for record in records:
        if rec.kind_of(record) is Kind.CQ_OVERRUN and rec.node_of(record) == thing.node:
            cq = Thing(Noun.CQ, thing.node, rec.object_of(record))
            why = "was full: CQ overrun, all queue pairs that use it enter ERR"
            return f"{case.names.of(cq)} {why}", cq
    return None


def _own_work(_case: Case, thing: Thing, records: list[Record]) -> _Reason | None:
    """A send, or a receive, that failed otherwise than by the flush."""
    for record in (r for r in records if rec.node_of(r) == thing.node):
        if rec.kind_of(record) not in (Kind.WQE_COMPLETED, Kind.CQE_ADDED):
            continue
        sent = rec.kind_of(record) is Kind.WQE_COMPLETED
        status = rec.status_of(record) if sent else rec.cqe_of(record).status
        number = rec.object_of(record) if sent else rec.cqe_of(record).qp_num
        wr_id = rec.send_wqe_of(record).wr.wr_id if sent else rec.cqe_of(record).wr_id
        if number == thing.number and status not in (WCStatus.SUCCESS, WCStatus.WR_FLUSH_ERR):
            return (f"its {fmt.wr(wr_id)} ended with {WCStatus(status).name}",)
    return None


def _accident(_case: Case, thing: Thing, records: list[Record]) -> _Reason | None:
    fatal = any(
        rec.kind_of(r) is Kind.ASYNC_RAISED and rec.async_event_of(r) is AsyncEvent.QP_FATAL
        and rec.place_of(r) == thing[1:]
        for r in records
    )  # fmt: skip
    return ("the adapter moved it to ERR and raised QP_FATAL",) if fatal else None


def _by_hand(case: Case, thing: Thing, records: list[Record]) -> _Reason | None:
    """A modify_qp moved it there."""
    del thing
    invocation, program = case.log.asked(rec.event_of(records[0]))
    if invocation is None or invocation.name != "modify_qp":
        return None
    return (f"{program or 'a call of modify_qp'} moved it there; none of its work had failed",)


def _refused(case: Case, thing: Thing, records: list[Record]) -> _Reason | None:
    """Reason if the QP sent its peer a fatal NAK, which moved it to ERR; else None."""
    found = case.log.about(Kind.REQUEST_REFUSED, thing)
    until = rec.event_of(records[0])
    fatal = [r for r in found if rec.event_of(r) <= until and REFUSALS[rec.reason_of(r)].fatal]
    if not fatal:
        return None
    record = fatal[-1]
    what, reason = fmt.packet_words(rec.packet_of(record)), rec.reason_of(record)
    number = _number(case, record) if reason == "rkey" else None
    exact = "" if number is None else key_refusal(case.world, case.names, number)
    why = exact or fmt.reason(reason)
    return (f"it refused {what} of its peer at event {rec.event_of(record)}: {why}",)


def _number(case: Case, record: Record) -> int | None:
    """The place of a record in the trace; None if it is older than what the trace has kept."""
    trace, event = case.world.trace, rec.event_of(record)
    places = range(trace.first, trace.latest + 1)
    first = bisect_left(places, event, key=lambda place: rec.event_of(trace.records[place]))
    return next((place for place in places[first:] if trace.records[place] == record), None)


_EXPLAIN: tuple[Callable[[Case, Thing, list[Record]], _Reason | None], ...] = (
    _own_work, _overran, _by_hand, _accident, _refused,
)  # fmt: skip
