"""polled-once: one poll an event, several completions an event; the others raise none."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import event_waiters
from rdmalab.doctor.facts.event_waiters import EventWaiter
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.hca.cq import CompletionQueue
from rdmalab.spec.completions import Arm
from rdmalab.spec.records import Kind, event_of
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Of a program asleep in get_cq_event, whether its last poll left completions behind."""
    asleep = event_waiters.sleeper(case)
    if asleep is None:
        return NA
    for cq in asleep.cqs:
        added = event_waiters.added(case, cq, cq.cqes[0]) if cq.cqes else None
        poll = _last_poll(case, cq)
        if added is None or poll is None or poll < added or cq.armed is Arm.NONE:
            continue
        if event_waiters.stays(case):
            return _found(case, asleep, cq, added)
    return ok("nothing was left behind by a poll")


def _found(case: Case, asleep: EventWaiter, cq: CompletionQueue, added: int) -> Finding:
    name, many, poll = event_waiters.cq_name(case, cq), len(cq.cqes), _last_poll(case, cq) or 0
    polled = case.log.of(Kind.CQE_POLLED, cq.node, cq.number)
    took = fmt.count(sum(event_of(record) == poll for _, record in polled), "completion")
    _, who = case.log.asked(poll)
    return fail(
        said(f"{fmt.count(many, 'completion')} on {name}, the oldest from here", added),
        said(f"the last poll, of {who or 'a call'}, took {took} and left the others", poll),
        event_waiters.sleeps(case, asleep),
        said(f"{name} is armed, and what lies there already raises no event",
             event_waiters.armed(case, cq)),
        cure=Fix([f"poll_cq {name} num_entries={many}"]), since=poll,
    )  # fmt: skip


def _last_poll(case: Case, cq: CompletionQueue) -> int | None:
    """The event in which a completion was handed out last."""
    found = case.log.about(Kind.CQE_POLLED, Thing(Noun.CQ, cq.node, cq.number))
    return event_of(found[-1].record) if found else None


CHECK = Check(
    93, "polled-once", Section.QUEUE,
    question="Does the thread sleep, though its last poll left completions on the queue?",
    rule="an event is raised for what comes behind the arm: poll until nothing is left, then sleep",
    source="perftest-137", examine=examine,
)  # fmt: skip
