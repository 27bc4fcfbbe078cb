"""History: restore any moment of any branch by replaying the journal from a snapshot.

The journal and the seed determine everything. Snapshots, about every thousand events, only shorten
the replay: each keeps what changed since the previous one and shares the rest. Records older than
the hot tail of the trace are replayed when they are read.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rdmalab.command import Ref
from rdmalab.session.branch import (
    Branch,
    SafePoint,
    Snapshot,
    TimePoint,
    both_ends,
    bound_telling,
    lineage,
    thin_out,
)
from rdmalab.session.interruption import stoppable
from rdmalab.session.journal import Entry
from rdmalab.session.names import Names
from rdmalab.session.replayed_records import ReplayedRecords
from rdmalab.spec.records import kept_of, without_idle_repeats
from rdmalab.world import snapshots
from rdmalab.world.programs import programs_of
from rdmalab.world.snapshots import ObjectState, capture_object, restore_object
from rdmalab.world.trace import Numbered, Stretch
from rdmalab.world.world import World

MAIN, TRIAL = "main", "a trial"  # the second cannot be typed
EVENTS_APART = 1_024  # between two snapshots
RECENT = 64  # snapshots that are all kept
OLD = 128  # of the older ones so many, evenly far apart
# Snapshots whose records stay in memory: about 90,000 records, older ones are replayed. Half as
# many save 15 MB, but hide the destroy_qp from `why` of a thread that polls 20,000 events later.
HOT = 32
# Records other than idle polls that stay, counted with those above: as many as busy threads write
# in 12 snapshots. So `why` knows all that a session did whose threads mostly poll.
TELLING = 32_768

Replay = Callable[[Entry], None]


class History:
    """The moment of a world, and all branches of its past.

    replay: runs a line of the journal again. live: the world is at the end of its branch.
    entries: number of journal lines before this moment. jumps: how often the moment changed other
    than by running.
    """

    __slots__ = (
        "branch", "branches", "entries", "jumps", "live", "moments", "names", "past", "replay",
        "world",
    )  # fmt: skip

    def __init__(self, world: World, names: Names, replay: Replay) -> None:
        self.world = world
        self.names = names
        self.replay = replay
        self.branch = Branch(MAIN)
        self.branches = {MAIN: self.branch}
        self.entries = 0
        self.jumps = 0
        self.live = True
        self.past = ReplayedRecords(self)
        self.moments = Moments(self)
        self.branch.snapshots.append(self.moments.base)
        world.trace.older = self.past

    # ------------------------------------------------------------------ where we are
    @property
    def here(self) -> TimePoint:
        return TimePoint(self.world.event, self.world.now_ns)

    @property
    def end(self) -> TimePoint:
        """The end of the branch: here, if it is live."""
        return self.here if self.live else self.branch.end

    @property
    def start(self) -> TimePoint:
        return self.branch.snapshots[0].place

    @property
    def apart(self) -> int:
        """Number of events between two snapshots."""
        return EVENTS_APART

    # ------------------------------------------------------------------ what happens is kept
    def keep(self, entry: Entry) -> str:
        """Add a line to the journal.

        In the past this opens a branch; returns the branch left, empty: none.
        """
        left = "" if self.live else self._fork(entry)
        self.branch.journal.append(entry)
        self.entries += 1
        return left

    def _fork(self, entry: Entry) -> str:
        with stoppable():  # the entry was carried out already
            shared = self.world.trace.records.span(entry.event).start
        return self._open(TimePoint(entry.event - 1, entry.at_ns), shared)

    def fork(self) -> str:
        """Open a branch at this moment of the past, also for a run; returns the branch left.

        Empty at the end of a branch, where nothing would be left.
        """
        return "" if self.live else self._open(self.here, self.world.trace.latest + 1)

    def _open(self, place: TimePoint, shared: int) -> str:
        left = self.branch.name
        number = next(n for n in range(1, 10**6) if f"branch-{n}" not in self.branches)
        self.part(f"branch-{number}", place, shared)
        self.branches[self.branch.name] = self.branch
        return left

    def part(self, name: str, place: TimePoint, shared: int) -> None:
        """Make another branch the current one; shared: number of common records."""
        parent = self.branch
        self.branch = Branch(
            name, parent.name, place, shared,
            journal=parent.journal.beginning(self.entries),
            snapshots=[kept for kept in parent.snapshots if kept.place <= place],
            stood={event: at_ns for event, at_ns in parent.stood.items() if event < place.event},
        )  # fmt: skip
        self.live = True

    # ------------------------------------------------------------------ going forward
    def run(self, events: int, until_ns: int | None = None) -> int:
        """Run up to `events` events due up to `until_ns`; in the past the recorded ones.

        Fewer if no more are due, or at the end of the past.
        """
        done = 0
        while done < events and self.live:
            wanted = min(events - done, self.moments.due - self.world.event)
            went = self._run(max(wanted, 1), until_ns)
            done += went
            if self.world.event >= self.moments.due:
                self.moments.take()
            if went < wanted:
                return done
        return done if self.live else done + self._again(events - done, until_ns)

    def _run(self, events: int, until_ns: int | None) -> int:
        """Run events in the world, and update the names."""
        done = self.world.run(events, until_ns)
        self.names.retire_destroyed(self.world)
        return done

    def _again(self, events: int, until_ns: int | None) -> int:
        world, end = self.world, self.branch.end
        first, stop = world.event, min(world.event + events, end.event)
        while world.event < stop and self._next(stop, until_ns):
            pass
        if world.event >= self.moments.due:
            self.moments.rebase()
        if world.event == end.event and (until_ns is None or until_ns >= end.at_ns):
            world.advance(end.at_ns)
            self.live = True
        return world.event - first

    def _next(self, stop: int, until_ns: int | None = None) -> bool:
        """Replay the next line of the journal, or the events before it; False if none is due."""
        world, journal = self.world, self.branch.journal
        entry = journal[self.entries] if self.entries < len(journal) else None
        if entry is None or entry.event > world.event + 1:
            wanted = min(stop, entry.event - 1 if entry else stop) - world.event
            return self._run(wanted, until_ns) == wanted
        if until_ns is not None and entry.at_ns > until_ns:
            return False
        world.advance(entry.at_ns)
        self.replay(entry)
        self.entries += 1
        return True

    def advance(self, to_ns: int) -> None:
        """Advance the clock without an event; in the past not beyond the next one."""
        if not self.live:
            to_ns = min(to_ns, self._limit_ns())
        self.world.advance(to_ns)
        if not self.live and self.here == self.branch.end:
            self.live = True

    def _limit_ns(self) -> int:
        if self.entries < len(self.branch.journal):
            return self.branch.journal[self.entries].at_ns
        return self.branch.end.at_ns

    # ------------------------------------------------------------------ going anywhere
    def place_after(self, event: int) -> TimePoint:
        """The time of the world after an event and before the next one."""
        index = self.branch.journal.before(event + 1)
        if index < len(self.branch.journal):
            entry = self.branch.journal[index]
            if entry.event == event + 1:
                return TimePoint(event, entry.at_ns)
        if event == self.end.event:
            return self.end
        kept = self.branch.snapshots
        known = kept[bisect_right(kept, event, key=lambda each: each.place.event) - 1].place
        stood = self.branch.stood.get(event, 0)
        return (
            max(known, TimePoint(event, stood)) if known.event == event else TimePoint(event, stood)
        )

    def seek(self, place: TimePoint) -> None:
        """Restore the world at this moment of the branch.

        Raises Stopped on ^C; then the moment is unchanged.
        """
        place = min(place, self.end)
        nearest = self.past.before(place, lambda snapshot: snapshot.place)
        self._leave()
        if not nearest.place <= self.here <= place:
            self.moments.restore(nearest)
        self.replay_to(place)
        self.live = self.here == self.branch.end

    def _leave(self) -> None:
        """Prepare for another moment of this branch."""
        self.jumps += 1
        if self.live:
            self.branch.end, self.live = self.here, False

    def seek_time(self, at_ns: int) -> None:
        """Restore the world at this time (ns), after all events due by then.

        Raises Stopped on ^C.
        """
        end = self.end
        at_ns = min(at_ns, end.at_ns)
        nearest = self.past.before(at_ns, lambda snapshot: snapshot.place.at_ns)
        self._leave()
        self.moments.restore(nearest)
        while self.world.event < end.event and self._next(end.event, at_ns):
            pass
        self.world.advance(at_ns)
        self.live = self.here == end

    def switch(self, branch: Branch) -> None:
        """Go to the end of another branch."""
        if branch is self.branch:
            return
        self.jumps += 1
        if self.live:
            self.branch.end = self.here
        self.world.trace.cuts.append(min(self._shared(self.branch), self._shared(branch)))
        self.moments.restore(branch.snapshots[-1])
        self.world.trace.tail = []  # it was that of the other branch
        self.world.trace.first = self.moments.base.records
        self.branch = branch
        self.replay_to(branch.end)
        self.live = True

    def _shared(self, branch: Branch) -> int:
        """The records that this branch shares with its ancestors."""
        forks = [each.shared for each, _ in lineage(self.branches, branch) if each.parent]
        return min([self.world.trace.latest + 1, *forks])

    def is_event_of(self, branch: str, event: int) -> bool:
        """Whether an event of this branch happened on that one, or before both parted."""
        past = lineage(self.branches, self.branch)
        return any(each.name == branch and event <= last.event for each, last in past)

    def replay_to(self, place: TimePoint) -> None:
        """Replay the journal from here to a later moment of the branch."""
        while self.world.event < place.event:
            if not self._next(place.event):
                lost = f"event {self.world.event + 1} is missing in the replay"
                raise RuntimeError(f"history does not replay: {lost}")
        self.world.advance(place.at_ns)

    # ------------------------------------------------------------------ after an exception
    def safe_point(self) -> SafePoint:
        """A safe point of this moment, for `undo_to` if the next command raises."""
        journal, names = self.branch.journal, frozenset(self.branches)
        return SafePoint(self.branch, self.here, self.end, self.live, len(journal), names)

    def undo_to(self, point: SafePoint) -> None:
        """Return to a safe point, and discard all state and records since then.

        The world is restored from the snapshot before it, and the journal is replayed.
        """
        branch = self.branch = point.branch
        self.branches = {name: it for name, it in self.branches.items() if name in point.branches}
        branch.end, self.live = point.end, False
        branch.journal = branch.journal.beginning(point.entries)
        branch.snapshots = [kept for kept in branch.snapshots if kept.place <= point.end]
        branch.stood = {ev: ns for ev, ns in branch.stood.items() if ev <= point.end.event}
        kept = [snapshot for snapshot in branch.snapshots if snapshot.place <= point.place]
        self.moments.restore(kept[-1], snapshots.all_keys(self.world))
        world, trace = self.world, self.world.trace
        world.destroyed_by_fault.clear()
        trace.tail, trace.first, trace.shut, trace.reach = [], self.moments.base.records, False, 0
        trace.cuts.append(self.moments.base.records)
        self.past.forget()
        self.jumps += 1
        self.replay_to(point.place)
        self.live = point.live

    def replayed(self, start: Snapshot, event: int) -> tuple[Stretch, Snapshot]:
        """The records after a snapshot up to this event, and the moment after it."""
        trace = self.world.trace
        with read_only_visit(self):
            self.moments.restore(start)
            trace.tail, trace.first = [], start.records
            self.replay_to(TimePoint(event, 0))
            return Stretch(start.records, trace.tail), self.moments.capture()

    def dispose(self) -> None:
        """Release all parts; see `Session.dispose`."""
        self.branches.clear()
        self.branch, self.replay = Branch(MAIN), _ended
        del self.past, self.moments


def _ended(_entry: Entry) -> None:
    raise RuntimeError("this session was released")


# --------------------------------------------------------------------------- snapshots
class Moments:
    """Takes and restores the snapshots of a history.

    base: the snapshot from which changes are tracked.
    """

    __slots__ = ("_history", "base")

    def __init__(self, history: History) -> None:
        self._history = history
        world = history.world
        taken = snapshots.take(world, snapshots.all_keys(world), {})
        self.base = self._snapshot(taken, capture_object(history.names))

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
        taken.telling = without_idle_repeats(records, (each.record for each in taken.rare))
        self.base = taken
        branch.snapshots = thin_out([*branch.snapshots, taken], RECENT, OLD)
        bound_telling(branch.snapshots, TELLING)
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
        parts = [e.invocation for e in history.branch.journal[base.entries : history.entries]]
        parts += [
            line.invocation for p in programs_of(world) for line in p.lines if line.invocation
        ]
        spoken_to = {
            (value.node, value.name)
            for invocation in parts
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


# --------------------------------------------------------------------------- visits
@contextmanager
def read_only_visit(history: History) -> Iterator[None]:
    """A context for visits to other moments.

    At its end the world and the trace are restored.
    """
    trace, moments = history.world.trace, history.moments
    base, now = moments.base, moments.capture()
    kept = (trace.tail, trace.first, trace.cause, len(trace.cuts))
    branch, live, jumps = history.branch, history.live, history.jumps
    trace.tail = list(trace.tail)
    try:
        yield
    finally:
        moments.restore(now)
        trace.tail, trace.first, trace.cause, cuts = kept
        # Not removed: a total that has read them counts those to come from there.
        trace.cuts[cuts:] = [trace.latest + 1] * len(trace.cuts[cuts:])
        moments.base = base
        history.branch, history.live, history.jumps = branch, live, jumps


@contextmanager
def undone_afterwards(history: History) -> Iterator[None]:
    """A context for a trial: all commands and events in it are undone at its end.

    Totals over the log are cut back to this moment.
    """
    trace = history.world.trace
    with read_only_visit(history):
        history.part(TRIAL, history.here, trace.latest + 1)
        yield
    history.past.forget(TRIAL)
    trace.cuts.append(trace.latest + 1)
