"""A branch of time: what was asked along it, and moments of it that are kept whole."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rdmalab.session.journal import Journal
from rdmalab.spec.records import Kind
from rdmalab.world.object_state import ObjectState
from rdmalab.world.snapshots import SavedStates
from rdmalab.world.trace import Numbered


class Place(NamedTuple):
    """A moment: after this event, at this time; 0 means as soon as the event was over."""

    event: int
    at_ns: int


BEGINNING = Place(-1, 0)


@dataclass(slots=True)
class Snapshot:
    """A moment kept whole. records, entries: how many of the trace and of the journal led to it.

    rare: the rare records since the snapshot before. left_out: kinds of which it has not all,
    because they were not rare then.
    """

    place: Place
    records: int
    entries: int
    images: SavedStates
    names: ObjectState
    named: Any = field(repr=False)
    rare: list[Numbered] = field(default_factory=list)
    left_out: frozenset[Kind] = frozenset()


class SafePoint(NamedTuple):
    """Where a history stood before a command, to return to when the command ends by an exception.

    end: the end of the branch then; said: entries of its journal; branches: the names of all.
    """

    branch: "Branch"
    place: Place
    end: Place
    live: bool
    said: int
    branches: frozenset[str]


@dataclass(slots=True)
class Branch:
    """One line of time from its beginning; what it shares with its parent it shares by reference.

    parent: the branch it left, empty for the first. forked: the last moment they have in common,
    and shared: how many records that are. end: where it was left; meaningless while it is lived in.
    stood: when a journey set out, by the event that was the last one then; going back ends there.
    """

    name: str
    parent: str = ""
    forked: Place = BEGINNING
    shared: int = 0
    end: Place = BEGINNING
    journal: Journal = field(default_factory=Journal)
    snapshots: list[Snapshot] = field(default_factory=list)
    stood: dict[int, int] = field(default_factory=dict)
