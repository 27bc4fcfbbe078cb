"""The lines that a thread has still to run: where they post, and which bytes they write."""

from collections.abc import Collection, Iterator

from rdmalab.command import CallArguments, Invocation, Noun, Ref, Thing
from rdmalab.doctor.case import Case, Program
from rdmalab.doctor.evidence.components import things_of
from rdmalab.doctor.evidence.content import words_for
from rdmalab.doctor.evidence.finding import Evidence, fact
from rdmalab.doctor.evidence.host_reads import last_arrival, watched
from rdmalab.doctor.evidence.messages import Piece, meet, piece_of, target
from rdmalab.doctor.evidence.posting_calls import RECEIVING, SENDING
from rdmalab.doctor.evidence.subject import name_of
from rdmalab.grammar.program import Line
from rdmalab.grammar.trees import render
from rdmalab.hca.objects import MemoryRegion
from rdmalab.spec.access import Access
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import Kind, event_of, line_number_of
from rdmalab.spec.work import BUILDERS, WORK, Local, WROpcode
from rdmalab.world.programs import programs_of
from rdmalab.world.relations import find_qp, peer_node

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


# --------------------------------------------------------------------------- lines not run
def skipped_send(case: Case, end: Thing) -> tuple[list[Evidence], str]:
    """Evidence on the message that a thread was to post on a queue pair, in a branch whose
    condition was false; and advice, if bytes that it had looked at were written after that.
    """
    for program in programs_of(case.world):
        for look in (line for line in program.lines if line.word == "if"):
            body = program.lines[look.number : look.jump]
            posts = [line for line in body if _sends(line) and end in things_of(case.session, line)]
            piece, event = watched(case.session, look.question), _not_taken(case, program, look)
            if posts and piece is not None and event is not None and look.question is not None:
                text = f"{case.names.of(program.thing)} left out line {posts[0].number}, for "
                text += f"{render(look.question)} was false in line {look.number}"
                late, advice = _written_late(case, program, piece, event)
                return [fact(text, event), *late], advice
    return [], ""


def _sends(line: Line) -> bool:
    """Whether a line posts a message that takes a receive."""
    call = line.invocation
    wrs = requests_of(call) if call is not None and call.name == "post_send" else []
    return any(work.consumes_receive for wr in wrs if (work := WORK.get(wr.get("opcode", -1))))


def _not_taken(case: Case, program: Program, look: Line) -> int | None:
    """The last event of a look whose branch was not taken since; None of any other."""
    ran = [
        (event_of(r), line_number_of(r)) for r in case.log.about(Kind.PROGRAM_RAN, program.thing)
    ]
    last = max((event for event, number in ran if number == look.number), default=None)
    later = [number for event, number in ran if last is not None and event > last]
    return None if look.number + 1 in later[:1] else last


def _written_late(
    case: Case, looker: Program, piece: Piece, event: int
) -> tuple[list[Evidence], str]:
    """Evidence on a write of another thread after a look at bytes, or after the READ of them."""
    node = looker.node
    came, since, how = last_arrival(case.log, node, piece), event, "after that"
    if came is not None and came.event < event and came.message.wqe.wr.opcode == WROpcode.RDMA_READ:
        qp = find_qp(case.world, *came.message.thing[1:])
        node = peer_node(case.world, qp) if qp is not None else ""
        piece = target(case.world.nodes[node], came.message.wqe) if node else piece
        since, how = (
            came.message.sent,
            f"after {name_of(case.names, came.message.subject)} had read it",
        )
    wrote = [(at, case.log.who(at)) for r in (case.log.of(Kind.HOST_WROTE, node) if node else ())
             if (at := event_of(r)) > since and meet([piece], [piece_of(r)])]  # fmt: skip
    others = [each for each in wrote if each[1] != case.names.of(looker.thing)]
    where = words_for(case.session, node, piece) if others else None
    if where is None:
        return [], ""
    at, who = others[0]
    advice = f"let {who} look again at what it waits for after it wrote {where}, and only then wait"
    return [fact(f"{who} wrote {where} {how}", at)], advice
