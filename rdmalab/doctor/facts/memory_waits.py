"""Programs that wait for a value in their memory: when each wait was over, and if too early."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case, Log
from rdmalab.doctor.evidence.host_reads import EarlyRead, Unseen, WrittenOver, watched
from rdmalab.doctor.evidence.messages import Piece, meet, piece_of
from rdmalab.grammar.nodes import Node
from rdmalab.grammar.program import Line
from rdmalab.grammar.trees import paths
from rdmalab.spec.records import Kind, event_of, line_number_of

_Found = TypeVar("_Found", EarlyRead, Unseen, WrittenOver)


class Passed(NamedTuple):
    """A wait that was over. begun: when the program came to it; event: when it went on."""

    line: Line
    piece: Piece
    begun: int
    event: int


class Early(NamedTuple):
    """A wait that was none: nothing new had been written to what it looks at.

    written: the event in which the value came that it found, for the wait before; None: no message
    ever had written there. came: the event of the message that was to be waited for, if it came.
    """

    program: Thing
    passed: Passed
    written: int | None
    came: int | None


def concerning(
    case: Case, find: Callable[[Log, str], Sequence[_Found]]
) -> tuple[str, _Found] | None:
    """The newest of the facts that concerns the bytes or the subject asked about, and its node."""
    for node in case.world.nodes if case.asked else ():
        of_bytes = case.content is not None and node == case.node
        for each in reversed(find(case.log, node)):
            met = of_bytes and case.content and meet([case.content.piece], [each.piece])
            if met or case.subject in each.subjects:
                return node, each
    return None


def early_waits(case: Case, thing: Thing) -> list[Early]:
    """The waits of a program that were over at once, oldest first."""
    found: list[Early] = []
    before: dict[Piece, int] = {}
    for passed in _passed(case, thing):
        arrivals = _arrivals(case, thing, passed.piece)
        earlier = [event for event in arrivals if event < passed.event]
        fresh = bool(earlier) and earlier[-1] > before.get(passed.piece, -1)
        if passed.begun == passed.event and not fresh:
            later = [event for event in arrivals if event > passed.event]
            found.append(Early(thing, passed, max(earlier, default=None),
                               min(later, default=None)))  # fmt: skip
        before[passed.piece] = passed.event
    return found


def _passed(case: Case, thing: Thing) -> Iterator[Passed]:
    """Its waits for memory that are over, in their order."""
    program = case.world.nodes[thing.node].tables[Noun.PROGRAM].items.get(thing.number)
    lines = {line.number: line for line in (program.lines if program is not None else ())}
    slept = [event_of(r) for r in case.log.about(Kind.PROGRAM_WAITED, thing)]
    woken = [event_of(r) for r in case.log.about(Kind.PROGRAM_WOKEN, thing)]
    for record in case.log.about(Kind.PROGRAM_RAN, thing):
        line, begun = lines.get(line_number_of(record)), event_of(record)
        if line is None or line.word != "wait" or not _is_flag(case, line.question):
            continue
        if (piece := watched(case.session, line.question)) is None:
            continue
        over = begun if begun not in slept else next((e for e in woken if e >= begun), None)
        if over is not None:
            yield Passed(line, piece, begun, over)


def _is_flag(case: Case, question: Node | None) -> bool:
    """Whether a condition looks at nothing but bytes: then they are compared with a constant."""
    steps = (path.steps for path in paths(question)) if question is not None else ()
    things = [case.names.find(f"{each[0]}.{each[1]}") for each in steps if len(each) > 1]
    return all(thing is None or thing.noun is Noun.MR for thing in things)


def _arrivals(case: Case, thing: Thing, piece: Piece) -> list[int]:
    """The events in which a message or another thread wrote these bytes."""
    started = case.log.created(thing)
    own = case.names.of(thing)
    found = [event_of(r) for r in case.log.of(Kind.MEMORY_WRITTEN, thing.node)
             if meet([piece], [piece_of(r)])]  # fmt: skip
    for record in case.log.of(Kind.HOST_WROTE, thing.node):
        event = event_of(record)
        if (started is None or event > started) and meet([piece], [piece_of(record)]):
            found += [event] if case.log.asked(event)[1] != own else []
    return sorted(found)
