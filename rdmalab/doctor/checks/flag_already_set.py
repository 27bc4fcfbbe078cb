"""flag-already-set: the memory already held the value that was waited for."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.memory_waits import Early, early_waits, watched
from rdmalab.doctor.facts.messages import Message
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.spec.programs import ProgramState
from rdmalab.views import fmt
from rdmalab.world.programs import programs_of
from rdmalab.world.relations import find_qp

_PROGRAM = "fill the flag with a value that is never sent, and clear it again behind each wait"


def examine(case: Case) -> Finding:
    """Of bytes that came wrong, or of a program that waits, whether a wait before was none."""
    if case.content is not None and case.asked:
        return _of_bytes(case, [message for _, message in case.content.brought])
    if case.program is not None and _waits_for_memory(case):
        return _of_program(case)
    return NA


def _of_bytes(case: Case, brought: list[Message]) -> Finding:
    """They were sent by a program that should have waited for what it was to send."""
    for message in brought:
        _, sender = case.log.asked(message.posted)
        thing = case.names.find(sender) if sender else None
        early = early_waits(case, thing) if thing is not None else []
        before = [each for each in early if each.passed.event < message.posted]
        if before:
            sent = said(f"{sender} went on and posted {fmt.wr(message.wqe.wr.wr_id)}, which "
                        "brought these bytes", message.posted)  # fmt: skip
            return _found(case, before[-1], [sent], _once_more(case, before[-1], message))
    return ok("no program went on too early and sent them")


def _of_program(case: Case) -> Finding:
    """It, or the one it talks to, is a round ahead."""
    own = case.subject.thing
    others = [Thing(Noun.PROGRAM, p.node, p.number) for p in programs_of(case.world)]
    for thing in sorted(others, key=lambda each: each != own):
        early = early_waits(case, thing)
        if early and (thing == own or thing.node != own.node):
            return _found(case, early[0], [], Fix(program=_PROGRAM))
    return ok("no wait for memory was over too early")


def _waits_for_memory(case: Case) -> bool:
    program = case.program
    waits = program is not None and program.state is ProgramState.WAITING
    return waits and program is not None and watched(case, program.line.question) is not None


def _found(case: Case, early: Early, behind: list[Evidence], cure: Fix) -> Finding:
    line, node = early.passed.line, early.program.node
    name = fmt.thing_at(case.world, case.names, node, early.passed.piece[0])
    came = said(f"{case.names.of(early.program)} came to `{line.text}` and did not wait: it was so "
                "already", early.passed.event)  # fmt: skip
    if early.written is None:
        first = said(f"no message had ever written {name}")
    else:
        first = said(f"{name} was as the round before had left it, written here", early.written)
    late = [said("what was to be waited for came only here", early.came)] if early.came else []
    return fail(first, came, *behind, *late, cure=cure, since=early.passed.event)


def _once_more(case: Case, early: Early, message: Message) -> Fix:
    """What was to be waited for is there now: the same once more."""
    qp = find_qp(case.world, message.thing.node, message.thing.number)
    if early.came is None or qp is None:
        return Fix(program=_PROGRAM)
    return Fix(simple_fixes.again(case, qp, message.wqe.wr))


CHECK = Check(
    95, "flag-already-set", Section.WRONG,
    question="Did a program wait for a value that its memory held already?",
    rule="who waits for memory to change must know that it is otherwise before: clear the flag, or "
         "count up",
    source="perftest-12", examine=examine,
)  # fmt: skip
