"""Programs and calls that wait for a completion event: on which queues, since when, and why."""

from dataclasses import dataclass

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case, CompletionQueue
from rdmalab.doctor.facts.thread_waits import things_of
from rdmalab.doctor.finding import Evidence, fact
from rdmalab.doctor.future import goes_on
from rdmalab.hca import channels
from rdmalab.hca.wr import Cqe
from rdmalab.spec.completions import Arm
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import Kind, cqe_of, event_of, object_of
from rdmalab.views.record_text import ARMS

RULE = "cq-event-none"


@dataclass(slots=True)
class EventWaiter:
    """One of them. channel: it waits on this one; cqs: those with this channel; since: event."""

    name: str
    channel: Thing
    cqs: list[CompletionQueue]
    since: int | None


def event_waiter(case: Case) -> EventWaiter | None:
    """The program, or the call, that is asked about, if it waits in get_cq_event."""
    channel = _channel(case)
    if channel is None:
        return None
    found = case.hca.channels.items.get(channel.number)
    cqs = channels.members(case.hca, found) if found is not None else []
    if case.call is not None:
        return EventWaiter(case.call.verb, channel, cqs, case.call.event)
    waits = case.log.about(Kind.PROGRAM_WAITED, case.subject.thing)
    since = event_of(waits[-1]) if waits else None
    return EventWaiter(case.names.of(case.subject.thing), channel, cqs, since)


def _channel(case: Case) -> Thing | None:
    """The channel on which no event is pending, for a call, a blocked thread, or one at rest."""
    if case.call is not None:
        return Thing(Noun.CHANNEL, *case.call.thing) if case.call.refusal == RULE else None
    program = case.program
    if program is None or program.state in (ProgramState.DONE, ProgramState.FAILED):
        return None
    if program.state is ProgramState.WAITING:
        wants = program.wants
        return wants[1] if wants is not None and wants[0] == RULE else None
    things = things_of(case, program) if case.at_rest else []
    return next((thing for thing in things if thing.noun is Noun.CHANNEL), None)


def read_by_other(case: Case) -> Evidence | None:
    """The last completion event of its queues, if another thread read it since it was started."""
    waiter = event_waiter(case) if case.program is not None else None
    if waiter is None:
        return None
    begun, log = case.log.created(case.subject.thing) or 0, case.log
    queues = [cq.thing for cq in waiter.cqs]
    reads = log.in_order([Kind.CQ_EVENT_TAKEN], *queues)
    event = event_of(reads[-1]) if reads else -1
    if event <= begun or log.who(event) == waiter.name:
        return None
    cq = case.name(Noun.CQ, case.node, object_of(reads[-1]))
    return fact(f"{log.who(event)} read the last completion event of {cq}", event)


def stays(case: Case) -> bool:
    """Whether no event comes without a new call. Runs a branch, so ask this last."""
    called = case.call is not None
    return case.at_rest or not (called or goes_on(case.session, case.subject.thing))


def wait_evidence(case: Case, waiter: EventWaiter) -> Evidence:
    """`B.rx waits on B.ch0`."""
    if case.call is not None:
        name = case.names.of(waiter.channel)
        return fact(f"{waiter.name} on {name} would block without end", waiter.since)
    return fact(f"{waiter.name} waits on {case.names.of(waiter.channel)}", waiter.since)


def cq_name(case: Case, cq: CompletionQueue) -> str:
    """The name of a completion queue, `A.cq0`."""
    return case.name(Noun.CQ, cq.node, cq.number)


# --------------------------------------------------------------------------- what is in a queue
def added(case: Case, cq: CompletionQueue, cqe: Cqe) -> int | None:
    """The event in which a completion came onto a queue."""
    key = _key(cqe)
    for record in reversed(case.log.about(Kind.CQE_ADDED, cq.thing)):
        if _key(cqe_of(record)) == key:
            return int(event_of(record))
    return None


def _key(cqe: Cqe) -> tuple[int, int, bool, int]:
    return cqe.qp_num, cqe.serial, cqe.is_send, cqe.srq


def armed(case: Case, cq: CompletionQueue) -> int | None:
    """The event in which it was armed last."""
    found = case.log.about(Kind.CQ_ARMED, cq.thing)
    return event_of(found[-1]) if found else None


def polled_since(case: Case, cq: CompletionQueue, event: int) -> bool:
    """Whether a call has polled it since this event."""
    calls = case.log.calls("poll_cq", cq.node)
    return any(call.thing[1] == cq.number and call.event > event for call in calls)


def armed_words(case: Case, cq: CompletionQueue) -> Evidence:
    """What it was armed for last, and whether that is over."""
    name, event = cq_name(case, cq), armed(case, cq)
    if event is None:
        begins = case.log.begins
        return fact(
            f"{name} was not armed since event {begins}" if begins else f"{name} was never armed"
        )
    if cq.armed is not Arm.NONE:
        return fact(f"{name} was armed for {ARMS[cq.armed]}", event)
    raised = case.log.about(Kind.CQ_EVENT_RAISED, cq.thing)
    spent = event_of(raised[-1]) if raised else event
    return fact(f"{name} was armed at event {event}; the event it raised disarmed it", spent)
