"""Go back in time, and to any moment, between the beginning and the newest event."""

from collections.abc import Iterator
from typing import NamedTuple

from rdmalab.command import Expression, Moment, NotUnderstood
from rdmalab.session.branch import TimePoint
from rdmalab.session.breakpoints import answer
from rdmalab.session.checkpoints import no_checkpoint
from rdmalab.session.run_control import SLICE, Idle, RunControl
from rdmalab.session.session import Session
from rdmalab.spec.records import RARE, Kind, Record, event_of, kind_of

BEGINNING = "this is the beginning: there is no earlier event"
ENDING = "this is the newest event"
_READ = 8  # records looked at for each event that a slice allows


class Jump(RunControl):
    """A jump to one moment. from_event: where it started. beyond: why it ends before its goal."""

    __slots__ = ("beyond", "from_event", "place")

    def __init__(self, session: Session, place: TimePoint, beyond: str = "") -> None:
        super().__init__(session, Idle())
        self.place = place
        self.beyond = beyond
        self.from_event = session.world.event

    def go(self, events: int = SLICE) -> bool:
        """Go to the moment in one call; returns True. `events` is ignored."""
        del events
        if not self.over:
            self._arrive(self.place, self.beyond)
        return True

    def _arrive(self, place: TimePoint, wall: str = "") -> None:
        history = self.session.history
        history.seek(place)
        self.events = abs(history.here.event - self.from_event)
        self._end(wall, met=not wall)


class ReverseRun(Jump):
    """Back by `count` steps; a step ends after an event with a record of `kind`."""

    __slots__ = ("_found", "_past", "count", "kind")

    def __init__(self, session: Session, count: int, kind: Kind | None) -> None:
        super().__init__(session, session.history.start)
        self.count = count
        self.kind = kind
        self._found = self.from_event
        self._past: Iterator[Record] = iter(())
        if kind is not None:
            self._past = _past(session, kind)

    def go(self, events: int = SLICE) -> bool:
        """Search one slice of the past for the steps; True when the moment is reached."""
        history = self.session.history
        if self.over:
            return True
        if self.kind is None:
            self._found -= self.count
        elif not self._search(events):
            return False
        if self._found < history.start.event:
            self._arrive(history.start, BEGINNING)
        else:
            self._arrive(history.place_after(self._found))
        return True

    def _search(self, events: int) -> bool:
        """True if the search is over."""
        for _ in range(events * _READ):
            record = next(self._past, None)
            if record is None:
                self._found = self.session.history.start.event - 1
                return True
            event, kind = event_of(record), kind_of(record)
            if kind is self.kind and event < self._found:
                self._found = event
                self.count -= 1
                if not self.count:
                    return True
        return False


def _past(session: Session, kind: Kind) -> Iterator[Record]:
    """The records that may have this kind, newest first."""
    records = session.world.trace.records
    if kind in RARE:
        return (record for _, record in records.of_kind(kind))
    return reversed(records)


class Rewind(Jump):
    """Back to a breakpoint; without one to the beginning, or to a time.

    It replays one stretch of time after the other, the latest first.
    """

    __slots__ = ("_first", "_hit", "_limit", "_searched_ns", "_stretch", "until_ns")

    def __init__(self, session: Session, until_ns: int | None = None) -> None:
        super().__init__(session, session.history.here)
        self.until_ns = until_ns
        # where a breakpoint has just halted us it has had its say
        self._limit = self.from_event + (not session.breakpoints.has_halted_at(session.history))
        self._stretch = len(session.history.branch.before(self.from_event)) - 1
        self._searched_ns = self.place.at_ns
        self._first: TimePoint | None = None  # of the stretch that is being looked through
        self._hit: int | None = None  # the latest event in it at which one would have halted

    def go(self, events: int = SLICE) -> bool:
        """Check up to `events` past events for a breakpoint; True when the run is over."""
        if self.over:
            return True
        if self._first is None and not self._enter():
            self._give_way()
        elif self._read_past(events) and self._hit is not None:
            self._arrive(TimePoint(self._hit, 0))
            self.over = self.session.breakpoints.halt(self.session.history)
        return bool(self.over)

    def stop(self) -> None:
        """Nothing found so far: return to the start."""
        self.session.history.seek(self.place)
        super().stop()

    def _give_way(self) -> None:
        history = self.session.history
        if self.until_ns is None or self.until_ns < history.start.at_ns:
            self._arrive(history.start, BEGINNING)
            self.met = not self.session.breakpoints
            return
        history.seek_time(self.until_ns)
        self.events = abs(history.here.event - self.from_event)
        self._end("", met=True)

    def _enter(self) -> bool:
        """Enter the next earlier stretch; False if there is none within the limit."""
        session, history = self.session, self.session.history
        in_time = self.until_ns is None or self._searched_ns > self.until_ns
        if not session.breakpoints or self._stretch < 0 or not in_time:
            return False
        self._first = history.branch.before(self.from_event)[self._stretch]
        self._stretch -= 1
        history.seek(self._first)
        session.breakpoints.begin(session)
        return True

    def _read_past(self, events: int) -> bool:
        """Check this many events of the stretch; True at its end."""
        session = self.session
        for _ in range(events):
            start = session.world.trace.latest + 1
            if session.world.event + 1 >= self._limit or not session.history.run(1):
                return self._leave()
            if session.breakpoints.hits(session, start) and self._in_time():
                self._hit = session.world.event
        return False

    def _leave(self) -> bool:
        assert self._first is not None
        self._limit = min(self._limit, self._first.event + 1)
        self._searched_ns = self._first.at_ns
        self._first = None
        return True

    def _in_time(self) -> bool:
        return self.until_ns is None or self.session.world.now_ns >= self.until_ns


def jump_to(session: Session, moment: Moment, argument: str = "moment") -> RunControl:
    """The jump to a moment of this branch, to any checkpoint, or to the end of a branch.

    Raises NotUnderstood if there is none.
    """
    history = session.history
    if moment.mark.startswith("@"):
        return _to_checkpoint(session, moment.mark[1:], argument)
    if moment.mark:
        return Jump(session, _place_of(session, moment.mark, argument))
    if moment.event is not None:
        if moment.event > history.end.event:
            return Jump(session, history.end, f"there is no event {moment.event} yet")
        return Jump(session, history.place_after(moment.event))
    assert moment.at_ns is not None
    if moment.at_ns > history.end.at_ns:
        return Jump(session, history.end, ENDING)
    return Clock(session, moment.at_ns)


def _place_of(session: Session, word: str, argument: str) -> TimePoint:
    """The moment of a word, also of a checkpoint. That of a branch is its end, and switches."""
    history = session.history
    if word in (places := {"start": history.start, "end": history.end, "now": history.here}):
        return places[word]
    if word in history.branches:
        history.switch(history.branches[word])
        return history.end
    if word in session.checkpoints:  # its @ is needed only where something else has the name
        branch, place = session.checkpoints[word]
        history.switch(history.branches[branch])
        return place
    there = [*places, *history.branches, *(f"@{mark}" for mark in session.checkpoints)]
    hint = f"there is: {' '.join(there)}"
    raise NotUnderstood(f"no moment is called {word}", hint=hint, argument=argument)


def go_to_moment(session: Session, moment: Moment, argument: str) -> None:
    """Go to a moment; raises NotUnderstood if it does not exist."""
    journey = jump_to(session, moment, argument)
    journey.finish()
    if not journey.met:
        raise NotUnderstood(journey.over, argument=argument)


class Clock(Jump):
    """Go to a time (ns)."""

    __slots__ = ("at_ns",)

    def __init__(self, session: Session, at_ns: int) -> None:
        super().__init__(session, session.history.here)
        self.at_ns = at_ns

    def go(self, events: int = SLICE) -> bool:
        """Go to `at_ns` in one call; returns True. `events` is ignored."""
        del events
        if not self.over:
            self.session.history.seek_time(self.at_ns)
            self.events = abs(self.session.world.event - self.from_event)
            self._end("", met=True)
        return True


def _to_checkpoint(session: Session, name: str, argument: str) -> RunControl:
    """Go to a checkpoint, or to the end of a branch of this name."""
    if name in session.history.branches and name not in session.checkpoints:
        return Jump(session, _place_of(session, name, argument))
    if name not in session.checkpoints:
        raise no_checkpoint(session, name, argument)
    branch, place = session.checkpoints[name]
    session.history.switch(session.history.branches[branch])
    return Jump(session, place)


# --------------------------------------------------------------------------- values of the past
class HistoryValue(NamedTuple):
    """The value from this event on."""

    event: int
    at_ns: int
    value: object


class HistoryQuery(Jump):
    """A survey from the beginning to the current moment. readings: the values found so far."""

    __slots__ = ("question", "readings")

    def __init__(self, session: Session, question: Expression) -> None:
        super().__init__(session, session.history.here)
        self.question = question
        self.readings: list[HistoryValue] = []

    def go(self, events: int = SLICE) -> bool:
        """Evaluate after up to `events` more past events; True when the survey is over."""
        history = self.session.history
        if self.over:
            return True
        if not self.readings:
            history.seek(history.start)
            self._read()
        for _ in range(events):
            if self.session.world.event >= self.place.event or not history.run(1):
                self._arrive(self.place)
                return True
            self._read()
        return False

    def stop(self) -> None:
        """Stop the survey; the readings so far remain, the moment is unchanged."""
        self.session.history.seek(self.place)
        super().stop()

    def _read(self) -> None:
        value = answer(self.session, self.question)
        if not self.readings or value != self.readings[-1].value:
            here = self.session.history.here
            self.readings.append(HistoryValue(*here, value))
