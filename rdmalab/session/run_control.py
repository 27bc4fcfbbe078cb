"""Run forward in time: goals, slices, limits, ^C."""

from typing import Protocol

from rdmalab.command import Noun, Thing
from rdmalab.grammar.nodes import Node
from rdmalab.hca.completer import waits_without_limit
from rdmalab.hca.qp import QueuePair
from rdmalab.session.session import MAX_EVENTS, Session
from rdmalab.spec.records import Kind, kind_of
from rdmalab.spec.row import dataclass
from rdmalab.world.programs import running

DAY_NS = 86_400_000_000_000
PRESENT = "this was the newest event: later ones are new"
STOPPED = "stopped"
SLICE = 2_000  # events; a slice takes a few hundredths of a second
_ROUND, _FEW, _NAMED = 8, 100, 2  # events of a round at most; plans that are looked at; names told
ROUNDS = 100  # events before the first look; a person has seen by then that the same comes again
OPENING = 20  # events that are told one by one when a run is over

# What a step of each unit must contain.
UNITS: dict[str, Kind | None] = {
    "event": None,
    "packet": Kind.PACKET_SENT,
    "wr": Kind.WQE_COMPLETED,
    "cqe": Kind.CQE_ADDED,
    "state": Kind.STATE_CHANGED,
    "timer": Kind.TIMER_FIRED,
}


class Goal(Protocol):
    """The goal of a run. bulk: it ends only at the last event or at a time."""

    bulk: bool
    until_ns: int | None

    def reached(self, session: Session, first_record: int) -> bool:
        """True if the goal is reached, after each event; first_record: its first record."""


@dataclass(slots=True)
class Idle:
    """Run until idle, or until a time (ns)."""

    until_ns: int | None = None
    bulk: bool = True

    def reached(self, session: Session, first_record: int) -> bool:
        """Always False: the run ends when no event is left, or at `until_ns`."""
        del session, first_record
        return False


@dataclass(slots=True)
class Steps:
    """`count` events that hold a record of this kind."""

    count: int
    kind: Kind | None = None
    until_ns: int | None = None
    bulk: bool = False

    def reached(self, session: Session, first_record: int) -> bool:
        """Count the event if it holds a record of `kind` (None: any); True after the last step."""
        records = session.world.trace.records[first_record:]
        if self.kind is None or any(kind_of(record) is self.kind for record in records):
            self.count -= 1
        return self.count <= 0


@dataclass(slots=True)
class When:
    """Run until a condition is true."""

    text: str
    node: Node
    until_ns: int | None = None
    bulk: bool = False

    def reached(self, session: Session, first_record: int) -> bool:
        """True if the condition holds; it did not after the event before."""
        del first_record
        return session.touches(self.node) and self.holds(session)

    def holds(self, session: Session) -> bool:
        """Evaluate the condition."""
        return bool(session.ask(self.node))


class RunControl:
    """One run; time moves only in `go`. over: why it ended, empty while it continues."""

    __slots__ = ("at_bounds", "events", "from_ns", "from_record", "goal", "look_at",
                 "looks", "met", "over", "replays", "session")  # fmt: skip

    def __init__(self, session: Session, goal: Goal) -> None:
        self.session = session
        self.goal = goal
        self.from_ns = session.world.now_ns
        self.from_record = session.world.trace.latest
        self.events = 0
        self.replays = not session.history.live
        session.history.branch.stood[session.world.event] = session.world.now_ns
        self.look_at, self.looks = ROUNDS, 0
        self.over = ""
        self.met = self.at_bounds = False
        session.breakpoints.begin(session)
        if isinstance(goal, When) and goal.holds(session):
            self._end("already true", met=True)

    @property
    def missed(self) -> bool:
        """Whether `until` ended and its condition was not reached."""
        return isinstance(self.goal, When) and not self.met

    def go(self, events: int = SLICE) -> bool:
        """Run up to `events` events; True when the run is over."""
        events = min(events, self._events_left())
        is_past_opening = self.events >= OPENING
        while events > 0 and not self.over:
            before, part = self.events, self._part(events) if self._is_until_idle else events
            in_bulk = self.goal.bulk and not self.session.breakpoints and part > 1
            self._bulk(part) if in_bulk else self._one_by_one(part)
            events -= part
            if self.events == before:
                break
        if self.events and not is_past_opening:
            self._keep_opening()
        if not self.over:
            self._give_up()
        return bool(self.over)

    @property
    def _is_until_idle(self) -> bool:
        """Whether only the last event ends it: neither a time nor another condition."""
        goal = self.goal
        return goal.until_ns is None and (
            goal.bulk or (isinstance(goal, When) and goal.text == "idle")
        )

    def _part(self, events: int) -> int:
        """Number of these events to run before the next look; ends a run that is without end.

        Retries of several queue pairs overlap, so a round of all of them is looked at one by one.
        The looks are at the same events whatever the slices, or a replay would end elsewhere.
        """
        if self.events < self.look_at:
            return min(events, self.look_at - self.events)
        agenda = self.session.world.agenda
        if not self.looks:
            is_small = len(agenda.heap) + agenda.armed <= _FEW
            self.looks = _ROUND * (agenda.armed + 1) if is_small else 1
        if names := self._endless():
            more = ", ".join(names[:_NAMED]) + (" and others" if len(names) > _NAMED else "")
            verb = "retries" if len(names) == 1 else "retry"
            why = f"stopped: {more} {verb} without limit, and only a call changes that"
            self._end(why, met=self.goal.bulk)
            return 0
        self.looks -= 1
        if not self.looks:
            self.look_at += SLICE
        return 1

    def _endless(self) -> list[str]:
        """The queue pairs that retry without limit, if nothing else is planned; else none.

        A wait may still end well where a call, or a line of a program, came after it began: that
        may have posted the receive. A loss is a retry of another kind, which has a limit.
        """
        world, names = self.session.world, self.session.names
        agenda = world.agenda
        if agenda.heap or not all(each.match.is_spent for each in world.network.cable.faults):
            return []
        plans = agenda.plans()
        things = [Thing(Noun.QP, node, number) for _, _, _, node, number, _ in plans]
        first = min((cause for *_, cause in plans), default=-1)
        if first <= self.from_record or not all(
            waits_without_limit(world.find(thing, QueuePair)) for thing in things
        ):
            return []
        is_served = any(kind_of(r) is Kind.PROGRAM_RAN for r in world.trace.since(first))
        return [] if is_served else [names.of(thing) for thing in things]

    def _keep_opening(self) -> None:
        """Keep the events for the summary in memory."""
        history = self.session.history
        first = history.here.event - self.events + 1
        history.past.keep_opening(first, first + min(self.events, OPENING) - 1)

    def stop(self) -> None:
        """Stop between two events."""
        self._end(STOPPED)

    def finish(self) -> None:
        """Run to the end in one call."""
        while not self.go():
            pass

    def _bulk(self, events: int) -> None:
        done = self.session.history.run(events, self._horizon_ns())
        self.events += done
        if self._at_the_present() or done == events:
            return
        self._rest()

    def _one_by_one(self, events: int) -> None:
        world, history = self.session.world, self.session.history
        for _ in range(events):
            first = world.trace.latest + 1
            if not history.run(1, self._horizon_ns()):
                if not self._at_the_present():
                    self._rest()
                return
            self.events += 1
            if self._is_reached(first):
                return
            if self._at_the_present():
                return

    def _is_reached(self, first: int) -> bool:
        """True if a breakpoint halts here, or the goal is reached."""
        session = self.session
        met = self.goal.reached(session, first)
        if session.breakpoints and session.breakpoints.hits(session, first):
            self._end(session.breakpoints.halt(session.history), met=met or self.goal.bulk)
        elif met:
            self._end("", met=True)
        return bool(self.over)

    def _rest(self) -> None:
        """The run is over: no event is left, or none before the time."""
        until_ns, world = self.goal.until_ns, self.session.world
        if self._time_is_up(until_ns, world.agenda.next_ns()):
            self.session.history.advance(self._horizon_ns())
            self._bounded(of_time=True)
        elif until_ns is not None and (self.goal.bulk or world.agenda.next_ns() is not None):
            self.session.history.advance(until_ns)
            self._end("time is up", met=self.goal.bulk)
        elif world.agenda.next_ns() is None:
            self._end("idle: no packet, timer or program is pending", met=self.goal.bulk)

    def _at_the_present(self) -> bool:
        """True if the replay has just reached the newest event."""
        if self.replays and self.session.history.live:
            self._end(PRESENT, met=self.goal.bulk)
        return bool(self.over)

    def _horizon_ns(self) -> int:
        limits = [self.from_ns + DAY_NS]
        limits += [self.goal.until_ns] if self.goal.until_ns is not None else []
        limits += [self.session.bounds.at_ns] if self.session.bounds is not None else []
        return min(limits)

    # ------------------------------------------------------------------ bounds of the session
    def _events_left(self) -> int:
        bounds = self.session.bounds
        return MAX_EVENTS if bounds is None else max(0, bounds.event - self.session.world.event)

    def _time_is_up(self, until_ns: int | None, next_ns: int | None) -> bool:
        """True if the time of the bounds comes before the next event and before the wanted end."""
        bounds = self.session.bounds
        if bounds is None or (until_ns is not None and until_ns <= bounds.at_ns):
            return False
        waits = self.goal.bulk and until_ns is not None
        return waits if next_ns is None else next_ns > bounds.at_ns

    def _bounded(self, *, of_time: bool) -> None:
        if (bounds := self.session.bounds) is not None:
            self._end(bounds.sentences[of_time])
            self.at_bounds = True

    @property
    def at_limit(self) -> bool:
        """True if the limit of events, or the bounds of the session, have ended it."""
        return not self.met and (self.at_bounds or self.events >= self.session.max_events)

    def _give_up(self) -> None:
        world = self.session.world
        if self.events >= self.session.max_events:
            limit = f"{self.session.max_events:,} events"
            self._end(f"stopped at the limit of {limit}; {self._what_goes_on()}")
            return
        if not self._events_left():
            self._bounded(of_time=False)
            return
        next_ns = world.agenda.next_ns()
        if next_ns is not None and next_ns > self.from_ns + DAY_NS:
            self._end("stopped: the next event is more than a day of virtual time away")

    def _what_goes_on(self) -> str:
        """The current line of a running program, if any; else a hint how to see what repeats."""
        session = self.session
        for program in running(session.world):
            name = session.names.of(Thing(Noun.PROGRAM, program.node, program.number))
            return f"{name} is running, in line {program.line.number}: {program.line.text}"
        return "packets may repeat without limit (endless retry): show wire last=10"

    def _end(self, reason: str, *, met: bool = False) -> None:
        self.over = reason or "there"
        self.met = met
