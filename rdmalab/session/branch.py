"""A branch of time: its journal and its snapshots."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from enum import Enum
from typing import NamedTuple

from rdmalab.session.journal import Journal
from rdmalab.spec.records import Kind, Record, event_of, kind_of, without_idle_repeats
from rdmalab.spec.row import dataclass
from rdmalab.world.snapshots import ObjectState, SavedStates
from rdmalab.world.trace import Numbered


class TimePoint(NamedTuple):
    """A moment: after this event, at this time (ns); 0 means directly after the event."""

    event: int
    at_ns: int


BEGINNING, UNENDED = TimePoint(-1, 0), TimePoint(1 << 63, 0)


@dataclass(slots=True)
class Snapshot:
    """A snapshot. records, entries: how many of the trace and of the journal precede it.

    rare: the rare records since the previous snapshot. left_out: kinds that are incomplete in it,
    because they were not rare then. telling: all records since the previous snapshot but idle
    repeats; None if they are too many to keep.
    """

    place: TimePoint
    records: int
    entries: int
    images: SavedStates
    names: ObjectState
    named: tuple[int, int, int] = field(repr=False)
    rare: list[Numbered] = field(default_factory=list)
    left_out: frozenset[Kind] = frozenset()
    telling: list[Record] | None = None


class SafePoint(NamedTuple):
    """A safe point: the state of a history before a command, restored if the command raises.

    end: the end of the branch then. entries: number of journal entries. branches: their names.
    """

    branch: "Branch"
    place: TimePoint
    end: TimePoint
    live: bool
    entries: int
    branches: frozenset[str]


@dataclass(slots=True)
class Branch:
    """One line of time from its beginning; the part before the fork is shared by reference.

    parent: the branch it forked from, empty for the first. forked: the last common moment.
    shared: number of common records. end: its last moment; unused while the branch is current.
    stood: start times of runs, by the last event before each; `back` ends there.
    """

    name: str
    parent: str = ""
    forked: TimePoint = BEGINNING
    shared: int = 0
    end: TimePoint = BEGINNING
    journal: Journal = field(default_factory=Journal)
    snapshots: list[Snapshot] = field(default_factory=list)
    stood: dict[int, int] = field(default_factory=dict)

    def before(self, event: int) -> list[TimePoint]:
        """Moments from which the time up to an event can be replayed, oldest first."""
        kept = [snapshot.place for snapshot in self.snapshots]
        return [place for place in kept if place.event <= event]


def lineage(
    branches: Mapping[str, Branch], branch: Branch, end: TimePoint = UNENDED
) -> Iterator[tuple[Branch, TimePoint]]:
    """The branch and those from which it came, each with the last moment that is its own as well.

    end: the last moment of the branch itself.
    """
    yield branch, end
    while branch.parent:
        end = min(end, branch.forked)
        branch = branches[branch.parent]
        yield branch, end


# --------------------------------------------------------------------------- a long past
ENDS = 8
"""Number of first and of last records of one sort that are kept between two snapshots."""

_NONE: frozenset[Kind] = frozenset()


def thin_out(kept: list[Snapshot], recent: int, old: int) -> list[Snapshot]:
    """The snapshots without one of the older ones, if there are more than recent + old.

    The one with the closest neighbours is removed, so the older ones stay evenly spaced.
    The first and the `recent` newest ones stay.
    """
    if len(kept) <= recent + old:
        return kept
    events = [snapshot.place.event for snapshot in kept[: len(kept) - recent + 1]]
    gaps = [after - before for before, after in zip(events, events[2:], strict=False)]
    if not gaps:
        return kept
    index = gaps.index(min(gaps)) + 1
    gone, stays = kept[index], kept[index + 1]
    rare, left_out = both_ends(gone.rare + stays.rare)
    left_out |= gone.left_out | stays.left_out
    merged = replace(stays, rare=rare, left_out=left_out, telling=_joined(gone, stays, rare))
    return [*kept[:index], merged, *kept[index + 2 :]]


def _joined(gone: Snapshot, stays: Snapshot, rare: list[Numbered]) -> list[Record] | None:
    """The telling records of two stretches in a row."""
    if gone.telling is None or stays.telling is None:
        return None
    return without_idle_repeats(gone.telling + stays.telling, (each.record for each in rare))


def bound_telling(kept: list[Snapshot], most: int) -> None:
    """Drop telling records, the oldest first, where all snapshots have more than `most`."""
    left = most
    for snapshot in reversed(kept):
        if snapshot.telling is None:
            return
        left -= len(snapshot.telling)
        if left < 0:
            snapshot.telling = None


def telling_before(kept: list[Snapshot], event: int, most: int) -> tuple[int, list[Record]]:
    """The telling records before an event, and the event from which on they are complete.

    At most so many, oldest first.
    """
    index = bisect_left(kept, event - 1, key=lambda snapshot: snapshot.place.event)
    found: list[list[Record]] = []
    begins = event
    for n in range(index, 0, -1) if index < len(kept) else ():
        telling = kept[n].telling
        most -= len(telling or ())
        if telling is None or most < 0:
            break
        stop = bisect_left(telling, event, key=event_of)
        found.append(telling[:stop])
        begins = kept[n - 1].place.event + 1
    return begins, [record for each in reversed(found) for record in each]


def both_ends(found: list[Numbered]) -> tuple[list[Numbered], frozenset[Kind]]:
    """The first and the last of equal records about one object, in their order.

    Also the kinds of which some were left out.
    """
    if len(found) <= 2 * ENDS:
        return found, _NONE
    sorts: dict[object, list[Numbered]] = {}
    for each in found:
        sorts.setdefault(_sort(each), []).append(each)
    many = [each for each in sorts.values() if len(each) > 2 * ENDS]
    if not many:
        return found, _NONE
    few = (each for each in sorts.values() if len(each) <= 2 * ENDS)
    kept = [*few, *(each[:ENDS] + each[-ENDS:] for each in many)]
    left_out = frozenset(kind_of(each[0].record) for each in many)
    return sorted((each for sort in kept for each in sort), key=lambda each: each.number), left_out


def _sort(each: Numbered) -> tuple[object, ...]:
    """The key of equal records: kind, object, and the words (not numbers) in `a` and `b`."""
    _, _, _, kind, node, number, a, b = each.record
    return kind, node, number, _word(a), _word(b)


def _word(value: object) -> object:
    return value if isinstance(value, str | Enum) else None
