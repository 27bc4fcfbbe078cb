"""Moments of a history: snapshots are taken and restored here.

A snapshot keeps what changed since the previous one, the base, and shares the rest with it.
"""

from typing import TYPE_CHECKING

from rdmalab.command import Ref
from rdmalab.session.branch import Snapshot
from rdmalab.session.interruption import stoppable
from rdmalab.session.retention import both_ends, thin_out
from rdmalab.spec.records import kept_of
from rdmalab.world import snapshots
from rdmalab.world.object_state import ObjectState, capture_object, restore_object
from rdmalab.world.programs import programs_of
from rdmalab.world.trace import Numbered

if TYPE_CHECKING:
    from rdmalab.session.history import History

EVENTS_APART = 1_024  # between two snapshots
RECENT = 64  # snapshots that are all kept
OLD = 128  # of the older ones so many, evenly far apart
HOT = 32  # snapshots whose records are kept


class Moments:
    """Takes and restores the snapshots of a history.

    base: the snapshot from which changes are tracked.
    """

    __slots__ = ("_history", "base")

    def __init__(self, history: "History") -> None:
        self._history = history
        world = history.world
        taken = snapshots.take(world, snapshots.all_keys(world), {})
        self.base = self._snapshot(taken, capture_object(history.names))

    @property
    def apart(self) -> int:
        """Number of events between two snapshots."""
        return EVENTS_APART

    @property
    def due(self) -> int:
        """The event after which the next snapshot is taken, if the world is live."""
        return self.base.place.event + EVENTS_APART

    def take(self) -> None:
        """Take a snapshot, and keep it with the branch."""
        branch, trace = self._history.branch, self._history.world.trace
        taken = self.capture()
        first = branch.snapshots[-1].records
        with stoppable():
            records = trace.records[first:]
        rare = [Numbered(number, record) for number, record in kept_of(records, first)]
        taken.rare, taken.left_out = both_ends(rare)
        self.base = taken
        branch.snapshots = thin_out([*branch.snapshots, taken], RECENT, OLD)
        if len(branch.snapshots) > HOT:
            trace.forget(branch.snapshots[-HOT].records)

    def capture(self) -> Snapshot:
        """A snapshot of this moment; names change only when their number changes."""
        base, names = self.base, self._history.names
        taken = snapshots.take(self._history.world, self._changed(), base.images)
        same = base.named == names.counts
        return self._snapshot(taken, base.names if same else capture_object(names))

    def _snapshot(self, taken: snapshots.SavedStates, names: ObjectState) -> Snapshot:
        history = self._history
        records = history.world.trace.latest + 1
        return Snapshot(history.here, records, history.entries, taken, names, history.names.counts)

    def _changed(self) -> set[snapshots.Key]:
        """The objects that may have changed since the last snapshot, from log and commands."""
        base, history = self.base, self._history
        world, names = history.world, history.names
        keys = snapshots.named(world, world.trace.records[base.records :], base.images)
        said = [e.invocation for e in history.branch.journal[base.entries : history.entries]]
        said += [line.invocation for p in programs_of(world) for line in p.lines if line.invocation]
        spoken_to = {
            (value.node, value.name)
            for invocation in said
            for value in invocation.arguments.values()
            if type(value) is Ref
        }
        for node, name in spoken_to:
            if (thing := names.find(f"{node}.{name}")) is not None:
                keys.add((thing.node, thing.noun, thing.number))
        return keys

    def rebase(self) -> None:
        """Track changes from here on; the tail of the trace stays short in the past, too."""
        before, self.base = self.base, self.capture()
        self._history.world.trace.forget(before.records)

    def restore(self, snapshot: Snapshot, changed: set[snapshots.Key] | None = None) -> None:
        """Restore the world as it was when the snapshot was taken.

        changed: objects that may differ from the base; None: those that the log names.
        """
        history, trace = self._history, self._history.world.trace
        changed = self._changed() if changed is None else changed
        snapshots.restore(history.world, snapshot.images, self.base.images, changed)
        restore_object(snapshot.names)
        trace.go_to(snapshot.records)
        trace.event, trace.at_ns = snapshot.place
        self.base, history.entries = snapshot, snapshot.entries
