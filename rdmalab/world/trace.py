"""The trace: all records in order, with one function to write it.

Only its newest part is kept. Older records are computed again by replay: a provider is asked for
the stretch that holds a record, and the trace can be read as a whole.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import count, islice, takewhile
from operator import itemgetter
from typing import NamedTuple, Protocol, overload

from rdmalab.command import NotUnderstood
from rdmalab.spec.programs import NOT_FOR_PROGRAMS
from rdmalab.spec.records import Field, Kind, Record

_EVENT = itemgetter(Field.EVENT)


class Numbered(NamedTuple):
    """A record and its number."""

    number: int
    record: Record


class Stretch(NamedTuple):
    """Consecutive records, from number `first` on."""

    first: int
    records: list[Record]


class Older(Protocol):
    """The records that are older than the tail of a trace."""

    def of_record(self, number: int) -> Stretch:
        """The stretch in which a record stands."""

    def of_event(self, event: int) -> Stretch:
        """The stretch in which the records of an event stand."""

    def rare(self, before: int) -> Iterator[Numbered]:
        """Records of the kinds in RARE before a number, the newest first; nothing is replayed.

        Of many that say the same only the first and the last ones.
        """

    def telling(self, before: int, most: int) -> tuple[int, list[Record]]:
        """The records before an event without idle repeats, as far back as they are kept.

        First the event from which on all are there. At most so many, oldest first; no replay.
        """

    def rare_of(self, kind: Kind, before: int) -> Iterator[Numbered]:
        """All records of one kind in RARE before a number, the newest first."""


class Forgotten:
    """The provider where nothing older than the tail is available."""

    def of_record(self, number: int) -> Stretch:
        """Raise LookupError: the record is not kept."""
        raise LookupError(f"record {number} is older than the tail, and nothing replays it")

    def of_event(self, event: int) -> Stretch:
        """Raise LookupError: the records of the event are not kept."""
        raise LookupError(f"event {event} is older than the tail, and nothing replays it")

    def rare(self, before: int) -> Iterator[Numbered]:
        """No records."""
        del before
        return iter(())

    def telling(self, before: int, most: int) -> tuple[int, list[Record]]:
        """No records."""
        del most
        return before, []

    def rare_of(self, kind: Kind, before: int) -> Iterator[Numbered]:
        """No records."""
        del kind, before
        return iter(())


class Trace:
    """The records, and the moment of the next one.

    event: number of the current event. at_ns: virtual time. cause: number of the record that
    scheduled the event, -1 for a command. tail: the newest records, from number `first` on. cuts:
    the number of records left at each jump back in time, from which running totals see how far they
    are valid. older: provides the records before the tail. shut: the trace may not be read now.
    reach: how many records back `newest` goes, 0 for all. local: the node that alone can have
    changed in the last event; empty after a command or a fault, which may change anything.
    """

    __slots__ = (
        "at_ns", "cause", "cuts", "event", "first", "local", "older", "reach", "shut", "tail",
    )  # fmt: skip

    def __init__(self) -> None:
        self.tail: list[Record] = []
        self.first = 0
        self.event = -1
        self.at_ns = 0
        self.cause = -1
        self.cuts: list[int] = []
        self.shut = False
        self.local = ""
        self.reach = 0
        self.older: Older = Forgotten()

    def record(self, kind: Kind, node: str, obj: int, a: object = None, b: object = None) -> None:
        """Append a record, as the only function."""
        # A tuple, because writing is what costs: against no log at all a run takes 1.19 times as
        # long with tuples, 1.66 with dicts, 1.73 with slotted objects, 1.87 with NamedTuples.
        self.tail.append((self.event, self.at_ns, self.cause, kind, node, obj, a, b))

    @property
    def latest(self) -> int:
        """Number of the newest record; -1 before the first."""
        return self.first + len(self.tail) - 1

    @property
    def records(self) -> "Records":
        """All of them, by number."""
        if self.shut:
            raise NotUnderstood("a program cannot look into the log", hint=NOT_FOR_PROGRAMS)
        return Records(self)

    def since(self, number: int) -> list[Record]:
        """The records from this number on: those that were written since there were so many."""
        start = number - self.first
        return self.tail[start:] if start >= 0 else self.records[number:]

    def go_to(self, count: int) -> None:
        """Another moment, before which there were so many records; the newest may be recalled."""
        latest = self.latest
        if self.first <= count <= latest + 1:
            del self.tail[count - self.first :]
        else:
            self.tail, self.first = [], count
        if count <= latest:
            self.cuts.append(count)

    def forget(self, before: int) -> None:
        """Drop records older than number `before` from memory; replay provides them again."""
        if before > self.first:
            del self.tail[: before - self.first]
            self.first = before


class Records(Sequence[Record]):
    """The records of a trace by number, oldest first; reading it changes nothing."""

    __slots__ = ("_trace",)

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def __len__(self) -> int:
        return self._trace.first + len(self._trace.tail)

    @overload
    def __getitem__(self, number: int) -> Record: ...
    @overload
    def __getitem__(self, number: slice) -> list[Record]: ...

    def __getitem__(self, number: int | slice) -> Record | list[Record]:
        if isinstance(number, slice):
            return self._several(*number.indices(len(self)))
        first = self._trace.first
        if number < 0:
            number += first + len(self._trace.tail)
        if number >= first:
            return self._trace.tail[number - first]
        if number < 0:
            raise IndexError(number)
        stretch = self._trace.older.of_record(number)
        return stretch.records[number - stretch.first]

    def _several(self, start: int, stop: int, step: int) -> list[Record]:
        first = self._trace.first
        if start >= first and step == 1:
            return self._trace.tail[start - first : max(start, stop) - first]
        return [self[number] for number in range(start, stop, step)]

    def __iter__(self) -> Iterator[Record]:
        number, first = 0, self._trace.first
        while number < first:
            stretch = self._trace.older.of_record(number)
            yield from stretch.records[number - stretch.first : first - stretch.first]
            number = stretch.first + len(stretch.records)
        yield from self._trace.tail

    def __reversed__(self) -> Iterator[Record]:
        yield from reversed(self._trace.tail)
        number = self._trace.first
        while number > 0:
            stretch = self._trace.older.of_record(number - 1)
            yield from reversed(stretch.records[: number - stretch.first])
            number = stretch.first

    def of_kind(self, kind: Kind) -> Iterator[Numbered]:
        """All of one kind in RARE, the newest first, as far back as the trace's `reach` says."""
        tail, first = self._trace.tail, self._trace.first
        least = self._trace.latest + 1 - self._trace.reach if self._trace.reach else 0
        for index in range(len(tail) - 1, max(0, least - first) - 1, -1):
            if tail[index][Field.KIND] is kind:
                yield Numbered(first + index, tail[index])
        if least < first:
            older = self._trace.older.rare_of(kind, first)
            yield from takewhile(lambda each: each.number >= least, older)

    def newest(self) -> Iterator[tuple[int, Record]]:
        """With their numbers, the newest first, as far back as the trace's `reach` says."""
        numbered = zip(count(self._trace.latest, -1), reversed(self), strict=False)
        return islice(numbered, self._trace.reach or None)

    def span(self, event: int) -> range:
        """The numbers of the records of one event."""
        trace = self._trace
        stretch = Stretch(trace.first, trace.tail)
        if trace.first and (not trace.tail or event < trace.tail[0][0]):
            stretch = trace.older.of_event(event)
        start = bisect_left(stretch.records, event, key=_EVENT)
        stop = bisect_left(stretch.records, event + 1, lo=start, key=_EVENT)
        return range(stretch.first + start, stretch.first + stop)
