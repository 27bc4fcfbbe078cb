"""Programs that wait for a value in their memory: when each wait was over, and if too early."""

from collections.abc import Iterator
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.work.messages import Piece, meet, piece_of
from rdmalab.grammar.nodes import Index, Node
from rdmalab.grammar.program import Line
from rdmalab.grammar.trees import paths
from rdmalab.spec.records import Kind, event_of, line_number_of


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


def watched(case: Case, question: Node | None) -> Piece | None:
    """The bytes of a region that a question looks at, by their address."""
    for path in paths(question) if question is not None else ():
        node, *rest = path.steps
        thing = case.names.find(f"{node}.{rest[0]}") if len(rest) == 2 else None
        index = rest[-1] if rest else None
        if thing is not None and thing.noun is Noun.MR and isinstance(index, Index):
            mr = case.world.nodes[thing.node].mrs.items.get(thing.number)
            stop = index.start + 1 if index.stop is None else index.stop
            return (mr.addr + index.start, stop - index.start) if mr is not None else None
    return None


def _passed(case: Case, thing: Thing) -> Iterator[Passed]:
    """Its waits for memory that are over, in their order."""
    program = case.world.nodes[thing.node].tables[Noun.PROGRAM].items.get(thing.number)
    lines = {line.number: line for line in (program.lines if program is not None else ())}
    slept = [event_of(r) for _, r in case.log.about(Kind.PROGRAM_WAITED, thing)]
    woken = [event_of(r) for _, r in case.log.about(Kind.PROGRAM_WOKEN, thing)]
    for _, record in case.log.about(Kind.PROGRAM_RAN, thing):
        line, begun = lines.get(line_number_of(record)), event_of(record)
        piece = watched(case, line.question) if line is not None and line.word == "wait" else None
        if line is None or piece is None:
            continue
        over = begun if begun not in slept else next((e for e in woken if e >= begun), None)
        if over is not None:
            yield Passed(line, piece, begun, over)


def _arrivals(case: Case, thing: Thing, piece: Piece) -> list[int]:
    """The events in which a message or another thread wrote these bytes."""
    started = case.log.created(thing)
    own = case.names.of(thing)
    found = [event_of(r) for _, r in case.log.of(Kind.MEMORY_WRITTEN, thing.node)
             if meet([piece], [piece_of(r)])]  # fmt: skip
    for _, record in case.log.of(Kind.HOST_WROTE, thing.node):
        event = event_of(record)
        if (started is None or event > started) and meet([piece], [piece_of(record)]):
            found += [event] if case.log.asked(event)[1] != own else []
    return sorted(found)
