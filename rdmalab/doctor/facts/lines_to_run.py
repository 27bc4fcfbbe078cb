"""The lines that a thread has still to run: where they post, and which bytes they write."""

from collections.abc import Iterator

from rdmalab.command import CallArguments, Invocation, Noun, Ref
from rdmalab.doctor.case import Case, Program
from rdmalab.doctor.evidence.messages import Piece, meet
from rdmalab.doctor.evidence.posting_calls import RECEIVING, SENDING
from rdmalab.hca.objects import MemoryRegion
from rdmalab.spec.access import Access
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.work import BUILDERS, WORK, Local

_BUILT = {name: opcode for opcode, name in BUILDERS.items()}
_WRITING = (*SENDING, *_BUILT, *RECEIVING, "write", "fill")
_OVER = (ProgramState.DONE, ProgramState.FAILED)


def is_to_post(case: Case, program: Program, ends: set[tuple[str, int]]) -> bool:
    """Whether a thread that is not done has still to post on one of these queue pairs."""
    for invocation in _still_to_run(program, *SENDING, *RECEIVING):
        for value in invocation.arguments.values():
            thing = case.names.find(str(value)) if isinstance(value, Ref) else None
            if thing is not None and thing.noun is Noun.QP and (thing.node, thing.number) in ends:
                return True
    return False


def is_to_write(case: Case, program: Program, node: str, piece: Piece) -> bool:
    """Whether a thread that is not done has still to write bytes of a node, or to let them come."""
    calls = _still_to_run(program, *_WRITING)
    return any(writes(case, wr, node, piece) for call in calls for wr in requests_of(call))


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


def _still_to_run(program: Program, *verbs: str) -> Iterator[Invocation]:
    """The calls of these verbs in the lines that a thread has still to run."""
    for line in program.lines[program.at :] if program.state is not ProgramState.DONE else ():
        if line.invocation is not None and line.invocation.name in verbs:
            yield line.invocation


def writing_requests(program: Program) -> Iterator[CallArguments]:
    """The arguments of what a thread has still to post, build or write, or does in each turn."""
    opened = list[int]()
    for index, line in enumerate(program.lines[: program.at]):
        if line.word in ("loop", "if"):
            opened.append(index)
        elif line.word == "end":
            opened.pop()
    first = next((n for n in opened if program.lines[n].word == "loop"), program.at)
    for line in program.lines[first:] if program.state not in _OVER else ():
        if line.invocation is not None and line.invocation.name in _WRITING:
            yield from requests_of(line.invocation)
