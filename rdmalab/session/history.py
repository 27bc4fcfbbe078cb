"""History: any moment of any branch can be had again, by replaying the journal from a snapshot.

The journal and the seed are the whole truth. A snapshot about every thousand events only makes the
way shorter: it keeps what has changed since the one before and shares the rest with it. What is
older than the hot tail of the trace is replayed when somebody reads it.
"""

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from rdmalab.command import Ref
from rdmalab.session.branch import Branch, Place, SafePoint, Snapshot
from rdmalab.session.journal import Entry
from rdmalab.session.names import Names
from rdmalab.spec.records import RARE
from rdmalab.world import images
from rdmalab.world.portraits import portray, put_back
from rdmalab.world.programs import every
from rdmalab.world.trace import Numbered, Stretch
from rdmalab.world.world import World

EVENTS_APART = 1_024  # between two snapshots
RECENT = 128  # snapshots that are all kept; of older ones every second, fourth, …
OLD = 64  # so many of the older ones at most
HOT = 32  # snapshots whose records are kept
STRETCHES = 8  # replayed parts of the trace that are kept for the next question
MAIN = "main"
TRIAL = "a trial"  # what nobody can type

Replay = Callable[[Entry], None]


class History:
    """Where in time a world is, and all the time there ever was.

    replay: carries out a line of the journal once more. live: the world is at the end of its
    branch, where new things happen. entries: lines of the journal that are behind us. jumps: how
    often somebody went to another moment, instead of letting time pass.
    """

    __slots__ = (
        "base", "branch", "branches", "entries", "jumps", "live", "names", "replay", "stretches",
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
        self.stretches: OrderedDict[tuple[str, int, int], Stretch] = OrderedDict()
        self.base = self._snapshot(images.take(world, images.all_keys(world), {}), None)
        self.branch.snapshots.append(self.base)
        world.trace.recall, world.trace.recall_event = self.recall, self.recall_event
        world.trace.rare = self.rare

    # ------------------------------------------------------------------ where we are
    @property
    def here(self) -> Place:
        return Place(self.world.event, self.world.now_ns)

    @property
    def end(self) -> Place:
        """Where the branch ends: here, while it is lived in."""
        return self.here if self.live else self.branch.end

    @property
    def start(self) -> Place:
        return self.branch.snapshots[0].place

    # ------------------------------------------------------------------ what happens is kept
    def keep(self, entry: Entry) -> str:
        """A line of the journal, just carried out. In the past it opens a branch: what it left."""
        left = "" if self.live else self._fork(entry)
        self.branch.journal.append(entry)
        self.entries += 1
        return left

    def _fork(self, entry: Entry) -> str:
        left = self.branch.name
        number = next(n for n in range(1, 10**6) if f"branch-{n}" not in self.branches)
        shared = self.world.trace.records.span(entry.event).start
        self._part(f"branch-{number}", Place(entry.event - 1, entry.at_ns), shared)
        self.branches[self.branch.name] = self.branch
        return left

    def _part(self, name: str, place: Place, shared: int) -> None:
        """From here on another branch is lived in; they have so many records in common."""
        parent = self.branch
        self.branch = Branch(
            name, parent.name, place, shared,
            journal=parent.journal.beginning(self.entries),
            snapshots=[kept for kept in parent.snapshots if kept.place <= place],
            stood={event: at_ns for event, at_ns in parent.stood.items() if event < place.event},
        )  # fmt: skip
        self.live = True

    @property
    def due(self) -> int:
        """The event after which the next snapshot is taken, if this is the present."""
        return self.base.place.event + EVENTS_APART

    def take(self) -> None:
        """Keep this moment whole."""
        world, base = self.world, self.base
        taken = self._snapshot(images.take(world, self._changed(), base.images), base)
        window = world.trace.records[base.records :]
        numbered = enumerate(window, base.records)
        taken.rare = [Numbered(n, record) for n, record in numbered if record[3] in RARE]
        self.base = taken
        self.branch.snapshots.append(taken)
        self._thin()
        if len(self.branch.snapshots) > HOT:
            world.trace.forget(self.branch.snapshots[-HOT].records)

    def _changed(self) -> set[images.Key]:
        """What may have changed since the last snapshot: the log names it, or a command did."""
        base, records = self.base, self.world.trace.records
        keys = images.named(self.world, records[base.records :], base.images)
        said = [entry.invocation for entry in self.branch.journal[base.entries : self.entries]]
        said += [line.invocation for p in every(self.world) for line in p.lines if line.invocation]
        spoken_to = {
            (value.node, value.name)
            for invocation in said
            for value in invocation.arguments.values()
            if type(value) is Ref
        }
        for node, name in spoken_to:
            if (thing := self.names.find(f"{node}.{name}")) is not None:
                keys.add((thing.node, thing.noun, thing.number))
        return keys

    def _snapshot(self, taken: images.Images, before: Snapshot | None) -> Snapshot:
        """Names change only when there are more of them, living or buried."""
        names = self.names
        named = (len(names.thing_of), len(names.name_of), len(names.buried))
        same = before is not None and before.named == named
        called = before.names if before and same else portray(names)
        records = self.world.trace.latest + 1
        return Snapshot(self.here, records, self.entries, taken, called, named)

    def _thin(self) -> None:
        """Half of the old ones go when there are too many, but never the first."""
        kept = self.branch.snapshots
        if len(kept) <= RECENT + OLD:
            return
        first, *old = kept[:-RECENT]
        pairs = zip(old[::2], old[1::2], strict=False)
        thinned = [replace(stays, rare=gone.rare + stays.rare) for gone, stays in pairs]
        odd = old[-1:] if len(old) % 2 else []
        self.branch.snapshots = [first, *thinned, *odd, *kept[-RECENT:]]

    # ------------------------------------------------------------------ going forward
    def run(self, events: int, until_ns: int | None = None) -> int:
        """Up to `events` events due up to `until_ns`; in the past those that happened then.

        Fewer where nothing more happens in time, or where the past ends and the present begins.
        """
        done = 0
        while done < events and self.live:
            wanted = min(events - done, self.due - self.world.event)
            went = self._run(max(wanted, 1), until_ns)
            done += went
            if self.world.event >= self.due:
                self.take()
            if went < wanted:
                return done
        return done if self.live else done + self._again(events - done, until_ns)

    def _run(self, events: int, until_ns: int | None) -> int:
        """In the world, and what became of names on the way."""
        done = self.world.run(events, until_ns)
        self.bury_struck()
        return done

    def bury_struck(self) -> None:
        """What accidents have destroyed loses its name."""
        while self.world.struck:
            self.names.bury(self.world.struck.pop())

    def _again(self, events: int, until_ns: int | None) -> int:
        world, end = self.world, self.branch.end
        first, stop = world.event, min(world.event + events, end.event)
        while world.event < stop and self._next(stop, until_ns):
            pass
        if world.event == end.event and (until_ns is None or until_ns >= end.at_ns):
            world.advance(end.at_ns)
            self.live = True
        return world.event - first

    def _next(self, stop: int, until_ns: int | None = None) -> bool:
        """The next line of the journal, or all events before it; False if none is due in time."""
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
        """Let time pass in which nothing happens; in the past not beyond what comes next."""
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
    def before(self, event: int) -> list[Place]:
        """Moments from which the time up to an event can be looked through, the first first."""
        kept = [snapshot.place for snapshot in self.branch.snapshots]
        return [place for place in kept if place.event <= event]

    def stands(self) -> None:
        """A journey sets out from here; going back after this event ends here."""
        self.branch.stood[self.world.event] = self.world.now_ns

    def place_after(self, event: int) -> Place:
        """Where one stood after an event, before the next: a command tells when that was."""
        index = self.branch.journal.before(event + 1)
        if index < len(self.branch.journal):
            entry = self.branch.journal[index]
            if entry.event == event + 1:
                return Place(event, entry.at_ns)
        if event == self.end.event:
            return self.end
        return Place(event, self.branch.stood.get(event, 0))

    def seek(self, place: Place) -> None:
        """The world as it was at this place of the branch; its end is the present."""
        self.jumps += 1
        if self.live:
            self.branch.end, self.live = self.here, False
        place = min(place, self.branch.end)
        kept = self.branch.snapshots
        nearest = kept[max(0, bisect_right(kept, place, key=lambda s: s.place) - 1)]
        if not nearest.place <= self.here <= place:
            self._restore(nearest)
        self._replay_to(place)
        self.live = self.here == self.branch.end

    def seek_time(self, at_ns: int) -> None:
        """The world as it stood at this time: after all that was due by then."""
        self.jumps += 1
        if self.live:
            self.branch.end, self.live = self.here, False
        kept, end = self.branch.snapshots, self.branch.end
        at_ns = min(at_ns, end.at_ns)
        index = bisect_right(kept, at_ns, key=lambda s: s.place.at_ns) - 1
        self._restore(kept[max(index, 0)])
        while self.world.event < end.event and self._next(end.event, at_ns):
            pass
        self.world.advance(at_ns)
        self.live = self.here == end

    def switch(self, branch: Branch) -> None:
        """To the end of another branch."""
        if branch is self.branch:
            return
        self.jumps += 1
        if self.live:
            self.branch.end = self.here
        self.world.trace.cuts.append(min(self._shared(self.branch), self._shared(branch)))
        self._restore(branch.snapshots[-1])
        self.world.trace.tail = []  # it was that of the other branch
        self.world.trace.first = self.base.records
        self.branch = branch
        self._replay_to(branch.end)
        self.live = True

    def _shared(self, branch: Branch) -> int:
        """Records that all branches on the way to the first have in common."""
        shared = self.world.trace.latest + 1
        while branch.parent:
            shared = min(shared, branch.shared)
            branch = self.branches[branch.parent]
        return shared

    def _restore(self, snapshot: Snapshot, changed: set[images.Key] | None = None) -> None:
        """`changed`: what may differ from the last snapshot; None: what the log names."""
        world, base, trace = self.world, self.base, self.world.trace
        changed = self._changed() if changed is None else changed
        images.restore(world, snapshot.images, base.images, changed)
        put_back(snapshot.names)
        trace.go_to(snapshot.records)
        trace.event, trace.at_ns = snapshot.place
        self.base, self.entries = snapshot, snapshot.entries

    def _replay_to(self, place: Place) -> None:
        while self.world.event < place.event:
            if not self._next(place.event):
                lost = f"event {self.world.event + 1} does not happen again"
                raise RuntimeError(f"history does not replay: {lost}")
        self.world.advance(place.at_ns)

    # ------------------------------------------------------------------ after an exception
    def safe_point(self) -> SafePoint:
        """This moment, to be handed to `undo_to` if what follows raises an exception."""
        journal, names = self.branch.journal, frozenset(self.branches)
        return SafePoint(self.branch, self.here, self.end, self.live, len(journal), names)

    def undo_to(self, point: SafePoint) -> None:
        """Return to a safe point; nothing that was done or recorded since then is trusted.

        All that exists is put back from the snapshot before it, and the journal is replayed.
        """
        branch = self.branch = point.branch
        self.branches = {name: it for name, it in self.branches.items() if name in point.branches}
        branch.end, self.live = point.end, False
        branch.journal = branch.journal.beginning(point.said)
        branch.snapshots = [kept for kept in branch.snapshots if kept.place <= point.end]
        branch.stood = {ev: ns for ev, ns in branch.stood.items() if ev <= point.end.event}
        kept = [snapshot for snapshot in branch.snapshots if snapshot.place <= point.place]
        self._restore(kept[-1], images.all_keys(self.world))
        world, trace = self.world, self.world.trace
        world.struck.clear()
        trace.tail, trace.first, trace.shut, trace.reach = [], self.base.records, False, 0
        trace.cuts.append(self.base.records)
        self.stretches.clear()
        self.jumps += 1
        self._replay_to(point.place)
        self.live = point.live

    # ------------------------------------------------------------------ what is older than the tail
    def recall(self, number: int) -> Stretch:
        """The part of the trace in which a record stands."""
        return self._stretch(bisect_right(self.branch.snapshots, number, key=lambda s: s.records))

    def recall_event(self, event: int) -> Stretch:
        """The part of the trace in which the records of an event stand."""
        kept = self.branch.snapshots
        return self._stretch(bisect_right(kept, event - 1, key=lambda s: s.place.event))

    def rare(self, before: int) -> Iterator[Numbered]:
        """The rare records older than this one, the newest first."""
        kept = self.branch.snapshots
        index = bisect_left(kept, before, key=lambda s: s.records)
        for snapshot in reversed(kept[: index + 1]):
            yield from (each for each in reversed(snapshot.rare) if each.number < before)

    def _stretch(self, after: int) -> Stretch:
        """What happened between the snapshot before this one and this one."""
        kept = self.branch.snapshots
        first = kept[max(after - 1, 0)]
        stop = kept[after].place if after < len(kept) else self.here
        key = (self.branch.name, first.records, stop.event)
        if key not in self.stretches:
            self.stretches[key] = self._read(first, stop)
            if len(self.stretches) > STRETCHES:
                self.stretches.popitem(last=False)
        self.stretches.move_to_end(key)
        return self.stretches[key]

    def _read(self, first: Snapshot, stop: Place) -> Stretch:
        with self.visiting():
            self._restore(first)
            self._replay_to(Place(stop.event, 0))
            return Stretch(first.records, self.world.trace.tail)

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Do and let happen what you like, from here: afterwards nothing of it has happened.

        Totals over the log that were asked for on the way hold no further than to here.
        """
        trace = self.world.trace
        with self.visiting():
            self._part(TRIAL, self.here, trace.latest + 1)
            yield
        for key in [key for key in self.stretches if key[0] == TRIAL]:
            del self.stretches[key]
        trace.cuts.append(trace.latest + 1)

    @contextmanager
    def visiting(self) -> Iterator[None]:
        """Go where you like and only look: afterwards all is as it was, the trace included."""
        world, trace, base = self.world, self.world.trace, self.base
        now = self._snapshot(images.take(world, self._changed(), base.images), base)
        kept = (trace.tail, trace.first, trace.cause, len(trace.cuts))
        branch, live, jumps = self.branch, self.live, self.jumps
        trace.tail = list(trace.tail)
        try:
            yield
        finally:
            self._restore(now)
            trace.tail, trace.first, trace.cause, cuts = kept
            del trace.cuts[cuts:]
            self.base, self.branch, self.live, self.jumps = base, branch, live, jumps
