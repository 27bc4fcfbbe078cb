"""Going forward in time: until when, in slices, interruptible, and never for ever."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rdmalab.command import Noun, Thing
from rdmalab.spec.records import Kind, kind_of
from rdmalab.world.programs import running

if TYPE_CHECKING:
    from rdmalab.session.session import Session

DAY_NS = 86_400_000_000_000
MAX_EVENTS = 1_000_000
PRESENT = "here you left off: what comes now has not happened yet"
STOPPED = "stopped"
SLICE = 2_000  # events; a slice takes a few hundredths of a second
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
    """Where a journey ends. `bulk`: only the end of all events, or of time, ends it."""

    bulk: bool
    until_ns: int | None

    def reached(self, session: "Session", first_record: int) -> bool:
        """Asked after each event; `first_record` is the first of that event."""


@dataclass(slots=True)
class Idle:
    """Until nothing happens by itself any more, or until a time."""

    until_ns: int | None = None
    bulk: bool = True

    def reached(self, session: "Session", first_record: int) -> bool:
        del session, first_record
        return False


@dataclass(slots=True)
class Steps:
    """`count` events that hold a record of this kind."""

    count: int
    kind: Kind | None = None
    until_ns: int | None = None
    bulk: bool = False

    def reached(self, session: "Session", first_record: int) -> bool:
        records = session.world.trace.records[first_record:]
        if self.kind is None or any(kind_of(record) is self.kind for record in records):
            self.count -= 1
        return self.count <= 0


@dataclass(slots=True)
class When:
    """Until a question is answered with yes."""

    text: str
    node: Any
    until_ns: int | None = None
    bulk: bool = False

    def reached(self, session: "Session", first_record: int) -> bool:
        del first_record
        return bool(session.ask(self.node))


class RunControl:
    """One journey; `over` tells why it ended, and is empty while it goes on."""

    __slots__ = ("events", "from_ns", "goal", "met", "over", "replays", "session")

    def __init__(self, session: "Session", goal: Goal) -> None:
        self.session = session
        self.goal = goal
        self.from_ns = session.world.now_ns
        self.events = 0
        self.replays = not session.history.live
        session.history.remember_time()
        self.over = ""
        self.met = False
        session.breakpoints.begin(session)
        if isinstance(goal, When) and goal.reached(session, 0):
            self._end("already so", met=True)

    @property
    def missed(self) -> bool:
        """`until` came to an end, and its question is not answered with yes."""
        return isinstance(self.goal, When) and not self.met

    def go(self, events: int = SLICE) -> bool:
        """Carry out up to `events` events; True when the journey is over."""
        if not self.over:
            in_bulk = self.goal.bulk and not self.session.breakpoints
            told = self.events >= OPENING
            self._bulk(events) if in_bulk else self._one_by_one(events)
            if self.events and not told:
                self._keep_opening()
        if not self.over:
            self._give_up()
        return bool(self.over)

    def _keep_opening(self) -> None:
        """The events that will be told stay in memory, however long this takes."""
        history = self.session.history
        first = history.here.event - self.events + 1
        history.past.keep_opening(first, first + min(self.events, OPENING) - 1)

    def stop(self) -> None:
        """Between two events, so the world is whole."""
        self._end(STOPPED)

    def finish(self) -> None:
        """All of it at once."""
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
        """Whether a breakpoint halts here, or this is where we wanted to be."""
        session = self.session
        met = self.goal.reached(session, first)
        if session.breakpoints and session.breakpoints.hits(session, first):
            self._end(session.breakpoints.halt(session.history), met=met or self.goal.bulk)
        elif met:
            self._end("", met=True)
        return bool(self.over)

    def _rest(self) -> None:
        """Nothing is left to do, or nothing in time."""
        until_ns, world = self.goal.until_ns, self.session.world
        if until_ns is not None and (self.goal.bulk or world.agenda.next_ns() is not None):
            self.session.history.advance(until_ns)
            self._end("time is up", met=self.goal.bulk)
        elif world.agenda.next_ns() is None:
            self._end("nothing more will happen by itself", met=self.goal.bulk)

    def _at_the_present(self) -> bool:
        """Whether what was recorded has just come to its end, and new things would begin."""
        if self.replays and self.session.history.live:
            self._end(PRESENT, met=self.goal.bulk)
        return bool(self.over)

    def _horizon_ns(self) -> int:
        limit = self.from_ns + DAY_NS
        return limit if self.goal.until_ns is None else min(limit, self.goal.until_ns)

    def _give_up(self) -> None:
        world = self.session.world
        if self.events >= self.session.max_events:
            limit = f"{self.session.max_events:,} events"
            self._end(f"stopped at the limit of {limit}; {self._what_goes_on()}")
            return
        next_ns = world.agenda.next_ns()
        if next_ns is not None and next_ns > self.from_ns + DAY_NS:
            self._end("stopped: the next event is more than a day of virtual time away")

    def _what_goes_on(self) -> str:
        """The line of a program that runs, if there is one; else where to see what repeats."""
        session = self.session
        for program in running(session.world):
            name = session.names.of(Thing(Noun.PROGRAM, program.node, program.number))
            return f"{name} is running, in line {program.line.number}: {program.line.text}"
        return "the same packets may repeat without end: show wire last=10"

    def _end(self, reason: str, *, met: bool = False) -> None:
        self.over = reason or "there"
        self.met = met
