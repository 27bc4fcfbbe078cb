"""polled-once: one poll an event, several completions an event; the others raise none."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.behind import looked_at
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Cure, Finding, Section, fail, ok, said
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.wr import Cqe
from rdmalab.lens import words
from rdmalab.lens.words import EVENT, OBJECT, A
from rdmalab.spec.completions import Arm
from rdmalab.spec.records import Kind, Record


def examine(case: Case) -> Finding:
    """Of a thread that sleeps on a channel, whether its last poll left completions behind."""
    program = case.program
    if program is None or program.wants is None or program.wants[1].noun is not Noun.CHANNEL:
        return NA
    for thing in looked_at(case):
        cq = case.world.find(thing)
        poll = _last_poll(case, thing)
        added = _added(case, thing, cq.cqes[0]) if cq.cqes and cq.armed is not Arm.NONE else None
        if poll is not None and added is not None and added < poll[EVENT] and _stays(case):
            return _found(case, cq, added, poll)
    return ok("nothing was left behind by a poll")


def _found(case: Case, cq: CompletionQueue, added: int, poll: Record) -> Finding:
    name, many = case.name(Noun.CQ, cq.node, cq.number), len(cq.cqes)
    taken = sum(
        record[OBJECT] == cq.number
        for _, record in case.log.of(Kind.CQE_POLLED, cq.node)
        if record[EVENT] == poll[EVENT]
    )
    _, who = case.log.asked(poll[EVENT])
    took = words.count(taken, "completion")
    return fail(
        said(f"{words.count(many, 'completion')} on {name}, the oldest from here", added),
        said(f"the last poll, of {who or 'a call'}, took {took} and left the others", poll[EVENT]),
        said(f"{case.names.of(case.subject.thing)} sleeps; {name} is armed, and what lies there "
             "already raises no event"),
        cure=Cure([f"poll_cq {name} num_entries={many}"]), since=poll[EVENT],
    )  # fmt: skip


def _stays(case: Case) -> bool:
    """Whether time alone does not bring it to its end."""
    return case.at_rest or (case.future.idle and not case.future.settled)


def _last_poll(case: Case, cq: Thing) -> Record | None:
    """The record of the completion that was handed out last."""
    found = case.log.about(Kind.CQE_POLLED, cq)
    return found[-1].record if found else None


def _added(case: Case, cq: Thing, cqe: Cqe) -> int | None:
    found = case.log.about(Kind.CQE_ADDED, cq)
    return next((r[EVENT] for _, r in reversed(found) if r[A] == cqe), None)


CHECK = Check(
    93, "polled-once", Section.QUEUE,
    question="Does the thread sleep, though its last poll left completions on the queue?",
    rule="an event is raised for what comes behind the arm: poll until nothing is left, then sleep",
    source="perftest-137", examine=examine,
)  # fmt: skip
