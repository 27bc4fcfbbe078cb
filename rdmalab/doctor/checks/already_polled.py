"""already-polled: somebody else took the completion that its thread waits for."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.related_subjects import looked_at
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.doctor.what_if import goes_on
from rdmalab.spec.programs import ProgramState
from rdmalab.world.program_state import Program


def examine(case: Case) -> Finding:
    """Whether the program that posted it still waits where another one has polled it away."""
    work = case.send or case.receive
    if work is None or work.polled is None or work.posted is None:
        return NA
    poster = case.log.asked(work.posted)[1]
    thing = case.names.find(poster) if poster else None
    taker = work.polled.program
    if thing is None or poster == taker:
        return ok("who posted it has polled it", work.polled.event)
    program = _waiting(case, thing, work.polled.cq)
    if program is None or goes_on(case.session, thing):
        return ok(f"{poster} does not wait for it")
    name = case.name(Noun.CQ, case.node, work.polled.cq)
    return fail(
        said(f"{taker or 'a call'} took it from {name}", work.polled.event),
        said(f"{poster}, who posted it, waits in {program.line.text}", work.posted),
        cure=_cure(case),
        since=work.polled.event,
    )


def _waiting(case: Case, thing: Thing, cq: int) -> Program | None:
    """The program, if it waits for a completion of this queue."""
    program = case.world.nodes[thing.node].tables[Noun.PROGRAM].items.get(thing.number)
    if program is None or program.state in (ProgramState.DONE, ProgramState.FAILED):
        return None
    asked = Case(case.session, Subject(Sort.PROGRAM, thing), case.log, asked=case.asked)
    looks = program.line.word == "poll" or program.state is ProgramState.WAITING
    return program if looks and Thing(Noun.CQ, thing.node, cq) in looked_at(asked) else None


def _cure(case: Case) -> Fix:
    """The same work once more, which its thread will see; for good only one of the two polls."""
    program = "let one thread poll the queue, and tell the others by wr_id"
    if case.send is not None and case.send.wqe is not None and case.qp is not None:
        return Fix(simple_fixes.again(case, case.qp, case.send.wqe.wr))
    return Fix(program=program)


CHECK = Check(
    12, "already-polled", Section.QUEUE,
    question="Did another thread take its completion?",
    rule="a completion is handed out once, to whoever polls first: one dispatcher, or a queue each",
    source="ibv_poll_cq(3)", examine=examine,
)  # fmt: skip
