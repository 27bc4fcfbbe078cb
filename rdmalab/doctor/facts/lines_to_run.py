"""The lines that a thread has still to run: where they post, and which bytes they write."""

from collections.abc import Collection, Iterator

from rdmalab.command import CallArguments, Invocation, Noun, Ref, Thing
from rdmalab.doctor.case import Case, Program
from rdmalab.doctor.evidence.components import things_of
from rdmalab.doctor.evidence.messages import Piece, meet
from rdmalab.doctor.evidence.posting_calls import RECEIVING, SENDING
from rdmalab.grammar.program import Line
from rdmalab.hca.objects import MemoryRegion
from rdmalab.spec.access import Access
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.work import BUILDERS, WORK, Local

_BUILT = {name: opcode for opcode, name in BUILDERS.items()}
POSTING = (*SENDING, *RECEIVING)
_WRITING = (*SENDING, *_BUILT, *RECEIVING, "write", "fill")


def is_to_post(
    case: Case, program: Program, ends: Collection[Thing], verbs: Collection[str] = POSTING
) -> bool:
    """Whether a thread that is not done has still to post on, or to, one of these queue pairs."""
    lines = _still_to_run(program, verbs)
    return any(thing in ends for line in lines for thing in things_of(case.session, line))


def is_to_write(case: Case, program: Program, node: str, piece: Piece) -> bool:
    """Whether a thread that is not done has still to write bytes of a node, or to let them come."""
    return any(writes(case, wr, node, piece) for wr in _requests_to_come(program))


def writes(case: Case, wr: CallArguments, node: str, piece: Piece) -> bool:
    """Whether a work request, or another call, lets bytes of a node be written."""
    for ref, length in _written_by(wr):
        thing = case.names.find(f"{ref.node}.{ref.name}")
        if thing is not None and (thing.node, thing.noun) == (node, Noun.MR):
            mr, start = case.world.find(thing, MemoryRegion), ref.start or 0
            stop = ref.stop or (start + length if length else mr.length)
            if meet([piece], [(mr.addr + start, stop - start)]):
                return True
    return False


def requests_of(call: Invocation) -> list[CallArguments]:
    """The arguments of the work requests that a call posts or builds; of others those of it.

    The opcode of what a builder function builds is among them.
    """
    if (opcode := _BUILT.get(call.name)) is not None:
        fields = (each for each in call.arguments.values() if isinstance(each, dict))
        return [{"opcode": opcode} | {key: value for each in fields for key, value in each.items()}]
    return list(call.arguments.get("wr", [call.arguments]))


def _written_by(wr: CallArguments) -> Iterator[tuple[Ref, int]]:
    """The places that a request lets be written, each with the bytes of its SGEs; 0: not known."""
    work = WORK.get(wr.get("opcode", -1))
    local = [ref for ref in wr.get("sg") or [] if isinstance(ref, Ref)]
    filled = local if work is None or work.local is Local.SCATTER else []
    places = [wr.get("where")]
    if work is not None and work.remote & (Access.REMOTE_WRITE | Access.REMOTE_ATOMIC):
        places += [wr.get("remote"), wr.get("remote_addr")]
    length = sum((ref.stop or 0) - (ref.start or 0) for ref in local)
    yield from ((ref, length) for ref in (*filled, *places) if isinstance(ref, Ref))


def _still_to_run(program: Program, verbs: Collection[str]) -> Iterator[Line]:
    """The lines with these verbs that a thread has still to run, or runs once more in a loop."""
    for line in program.lines[_first(program) :] if program.state is not ProgramState.DONE else ():
        if line.invocation is not None and line.invocation.name in verbs:
            yield line


def _first(program: Program) -> int:
    """The index of its next line, or of the outermost loop around it that has a turn left."""
    opened = list[int]()
    for index, line in enumerate(program.lines[: program.at]):
        if line.word in ("loop", "if"):
            opened.append(index)
        elif line.word == "end":
            opened.pop()
    loops = (index for index in opened if program.lines[index].word == "loop")
    turns = zip(loops, program.loops, strict=True)
    return next((index for index, left in turns if left != 1), program.at)


def writing_requests(program: Program) -> Iterator[CallArguments]:
    """Of a thread that has not failed the arguments of what it has still to post or to write."""
    return _requests_to_come(program) if not program.state.is_over else iter(())


def _requests_to_come(program: Program) -> Iterator[CallArguments]:
    for line in _still_to_run(program, _WRITING):
        if line.invocation is not None:
            yield from requests_of(line.invocation)
