"""Searches a world and the newest records of its trace for examples of a word of the guide."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

from rdmalab.command import Noun, Thing
from rdmalab.hca.qp import QueuePair
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record, kind_of
from rdmalab.views import fmt, record_text
from rdmalab.world.world import World

REACH = 20_000  # records of the tail that are looked through


@dataclass(slots=True)
class OccurrenceRow:
    """One place where a word occurs."""

    text: Annotated[str, "what is seen, with names and the event"]
    thing: Annotated[Thing | None, "the queue pair, region … it is about"] = None
    answers: Annotated[bool, "that queue pair is the one that receives and answers"] = False
    wr_id: Annotated[int | None, "of the work request it is about"] = None


@dataclass(slots=True)
class OccurrenceSearch:
    """Where to look, and how many names a row has. cut: there is more past than was seen."""

    world: World
    names: Names
    most: int = 4
    cut: bool = False

    def recent(self, *kinds: Kind) -> Iterator[Record]:
        """Records of these kinds, newest first; rare ones from the beginning on."""
        trace = self.world.trace
        if len(kinds) == 1 and kinds[0] in rec.RARE:
            yield from (each.record for each in trace.records.of_kind(kinds[0]))
            return
        for record in islice(reversed(trace.tail), REACH):
            if kind_of(record) in kinds:
                yield record
        self.cut = trace.first > 0 or len(trace.tail) > REACH

    def queue_pairs(self) -> Iterator[tuple[Thing, QueuePair]]:
        """All that live, in the order of the nodes."""
        for node, hca in self.world.nodes.items():
            for number, qp in hca.qps.items.items():
                yield Thing(Noun.QP, node, number), qp

    def told(self, record: Record, *, answers: bool = False) -> OccurrenceRow:
        """A record as a row."""
        who = record_text.subject(self.names, record)
        said = record_text.sentence(self.world, self.names, record)
        when = fmt.ev(rec.event_of(record))
        return OccurrenceRow(f"{who} {said} ({when})", record_text.thing_of(record), answers)

    def all_of(
        self, records: Iterator[Record], *, answers: bool = False
    ) -> Iterator[OccurrenceRow]:
        """A row for each record."""
        return (self.told(record, answers=answers) for record in records)

    def listed(self, found: list[Thing], said: str) -> Iterator[OccurrenceRow]:
        """`A.qp0, B.qp0 are …` in one row."""
        if found:
            names = fmt.listed([self.names.of(thing) for thing in found], self.most)
            yield OccurrenceRow(f"{names} {said}", found[0])
