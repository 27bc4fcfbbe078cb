"""A branch of time: its journal and its snapshots."""

from dataclasses import dataclass, field
from typing import NamedTuple

from rdmalab.session.journal import Journal
from rdmalab.spec.records import Kind
from rdmalab.world.object_state import ObjectState
from rdmalab.world.snapshots import SavedStates
from rdmalab.world.trace import Numbered


class Place(NamedTuple):
    """A moment: after this event, at this time (ns); 0 means directly after the event."""

    event: int
    at_ns: int


BEGINNING = Place(-1, 0)


@dataclass(slots=True)
class Snapshot:
    """A snapshot. records, entries: how many of the trace and of the journal precede it.

    rare: the rare records since the previous snapshot. left_out: kinds that are incomplete in it,
    because they were not rare then.
    """

    place: Place
    records: int
    entries: int
    images: SavedStates
    names: ObjectState
    named: tuple[int, int, int] = field(repr=False)
    rare: list[Numbered] = field(default_factory=list)
    left_out: frozenset[Kind] = frozenset()


class SafePoint(NamedTuple):
    """A safe point: the state of a history before a command, restored if the command raises.

    end: the end of the branch then. entries: number of journal entries. branches: their names.
    """

    branch: "Branch"
    place: Place
    end: Place
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
    forked: Place = BEGINNING
    shared: int = 0
    end: Place = BEGINNING
    journal: Journal = field(default_factory=Journal)
    snapshots: list[Snapshot] = field(default_factory=list)
    stood: dict[int, int] = field(default_factory=dict)

    def before(self, event: int) -> list[Place]:
        """Moments from which the time up to an event can be replayed, oldest first."""
        kept = [snapshot.place for snapshot in self.snapshots]
        return [place for place in kept if place.event <= event]
