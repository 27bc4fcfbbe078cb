"""Records that are no longer in memory: replayed when they are read.

The trace is replayed in parts of EVENTS_APART events. If the snapshots are further apart, the
replay takes more of them, called marks. The latest marks and parts are cached, as many as the
constants below.
"""

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple, Protocol, TypeVar

from rdmalab.session.branch import Branch, Snapshot, TimePoint, telling_before
from rdmalab.session.interruption import check, stoppable
from rdmalab.spec.records import Kind, Record, kind_of
from rdmalab.world.trace import Numbered, Stretch
from rdmalab.world.world import World

STRETCHES = 8  # parts of the trace
GAPS = 2  # between two kept snapshots: so many have their marks kept
_Key = TypeVar("_Key", int, TimePoint)  # of what a moment is looked up by
_Part = tuple[str, int, int]  # branch, number of the first record, last event
_Gap = tuple[str, TimePoint]  # branch, the snapshot before it


class Timeline(Protocol):
    """A history, as this file needs it: a protocol, because a history has one of these."""

    branch: Branch
    world: World

    @property
    def here(self) -> TimePoint:
        """The current moment."""

    @property
    def end(self) -> TimePoint:
        """The last moment of the branch."""

    @property
    def apart(self) -> int:
        """Number of events between two snapshots."""

    def replayed(self, start: Snapshot, event: int) -> tuple[Stretch, Snapshot]:
        """The records after a snapshot up to this event, and the moment after it."""


class _Opening(NamedTuple):
    """The first events of a run, which its summary shows."""

    branch: Branch
    events: range
    stretch: Stretch


class ReplayedRecords:
    """The past records of a history.

    stretches: parts of the trace that were replayed last. marks: snapshots between kept ones.
    """

    __slots__ = ("_history", "_last", "_opening", "marks", "stretches")

    def __init__(self, history: Timeline) -> None:
        self._history = history
        self._opening: _Opening | None = None
        self._last: tuple[Branch, Stretch] | None = None  # the part that was read last
        self.stretches: OrderedDict[_Part, Stretch] = OrderedDict()
        self.marks: OrderedDict[_Gap, list[Snapshot]] = OrderedDict()

    # ------------------------------------------------------------------ what the trace asks
    def of_record(self, number: int) -> Stretch:
        """The part that contains a record."""
        if self._last is not None and self._last[0] is self._history.branch:
            first, records = self._last[1]
            if first <= number < first + len(records):  # who reads on is answered at once
                return self._last[1]
        found = self._opening_with(number)
        if found is None:
            found = self._part(self.before(number, lambda snapshot: snapshot.records))
        self._last = self._history.branch, found
        return found

    def _opening_with(self, number: int) -> Stretch | None:
        opening = self._opening_here()
        if opening is None:
            return None
        first, records = opening.stretch
        return opening.stretch if first <= number < first + len(records) else None

    def of_event(self, event: int) -> Stretch:
        """The part that contains the records of an event."""
        opening = self._opening_here()
        if opening is not None and event in opening.events:
            return opening.stretch
        return self._part(self.before(event - 1, lambda snapshot: snapshot.place.event))

    def rare(self, before: int) -> Iterator[Numbered]:
        """Rare records older than this number, the newest first, without any replay.

        Of repeated ones only some, see `branch.both_ends`.
        """
        kept = self._history.branch.snapshots
        index = bisect_left(kept, before, key=lambda s: s.records)
        for snapshot in reversed(kept[: index + 1]):
            yield from (each for each in reversed(snapshot.rare) if each.number < before)

    def telling(self, before: int, most: int) -> tuple[int, list[Record]]:
        """The telling records before an event, and the event from which on all are kept."""
        return telling_before(self._history.branch.snapshots, before, most)

    def rare_of(self, kind: Kind, before: int) -> Iterator[Numbered]:
        """All records of a rare kind older than this number, the newest first."""
        kept = self._history.branch.snapshots
        index = bisect_left(kept, before, key=lambda s: s.records)
        for earlier, snapshot in reversed(list(pairwise(kept[: index + 1]))):
            if kind in snapshot.left_out:
                found = self._replayed(earlier.records, min(before, snapshot.records))
            else:
                found = (each for each in reversed(snapshot.rare) if each.number < before)
            yield from (each for each in found if kind_of(each.record) is kind)

    def _replayed(self, first: int, stop: int) -> Iterator[Numbered]:
        """Records from `first` to the one before `stop`, the newest first."""
        while stop > first:
            start, records = self.of_record(stop - 1)
            for number in range(stop - 1, max(start, first) - 1, -1):
                yield Numbered(number, records[number - start])
            stop = start

    # ------------------------------------------------------------------ what is told of a run
    def keep_opening(self, first: int, last: int) -> None:
        """Hold on to the records of these events, which are in memory now."""
        history, records = self._history, self._history.world.trace.records
        with stoppable():
            start, stop = records.span(first).start, records.span(last).stop
            stretch = Stretch(start, records[start:stop])
        self._opening = _Opening(history.branch, range(first, last + 1), stretch)

    def _opening_here(self) -> _Opening | None:
        opening = self._opening
        is_here = opening is not None and opening.branch is self._history.branch
        return opening if is_here else None

    # ------------------------------------------------------------------ moments to replay from
    def before(self, wanted: _Key, at: Callable[[Snapshot], _Key]) -> Snapshot:
        """The last snapshot or mark of which `at` is at most `wanted`.

        Raises Stopped on ^C.
        """
        kept = self._history.branch.snapshots
        index = max(bisect_right(kept, wanted, key=at), 1)
        found, far = kept[index - 1], self._history.apart
        end = kept[index].place.event if index < len(kept) else self._history.end.event
        if end - found.place.event <= far:
            return found
        marks = self._marks(found)
        passed = bisect_right(marks, wanted, key=at)
        found = marks[passed - 1] if passed else found
        while passed == len(marks) and end - found.place.event > far:
            check()
            marks.append(self._mark(found))
            if at(marks[-1]) <= wanted:
                found, passed = marks[-1], passed + 1
        return found

    def _marks(self, start: Snapshot) -> list[Snapshot]:
        gap = (self._history.branch.name, start.place)
        marks = self.marks.setdefault(gap, [])
        self.marks.move_to_end(gap)
        if len(self.marks) > GAPS:
            self.marks.popitem(last=False)
        return marks

    def _mark(self, start: Snapshot) -> Snapshot:
        """The moment EVENTS_APART events after this one."""
        stop = start.place.event + self._history.apart
        stretch, mark = self._history.replayed(start, stop)
        self._keep((self._history.branch.name, start.records, stop), stretch)
        return mark

    def _part(self, start: Snapshot) -> Stretch:
        """The records after this moment, up to the next one."""
        history, kept = self._history, self._history.branch.snapshots
        after = bisect_right(kept, start.place, key=lambda s: s.place)
        end = kept[after].place.event if after < len(kept) else history.here.event
        stop = min(start.place.event + history.apart, end)
        key = (history.branch.name, start.records, stop)
        if key not in self.stretches:
            check()
            self._keep(key, history.replayed(start, stop)[0])
        self.stretches.move_to_end(key)
        return self.stretches[key]

    def _keep(self, key: _Part, stretch: Stretch) -> None:
        self.stretches[key] = stretch
        if len(self.stretches) > STRETCHES:
            self.stretches.popitem(last=False)

    def forget(self, branch: str = "") -> None:
        """Drop the cache of a branch; of all branches without a name."""
        self._last = None
        for part in [part for part in self.stretches if branch in ("", part[0])]:
            del self.stretches[part]
        for gap in [gap for gap in self.marks if branch in ("", gap[0])]:
            del self.marks[gap]
        self._opening = self._opening if branch else None
