"""Evaluate an expression after every past event, and collect each new value."""

from typing import NamedTuple

from rdmalab.command import Expression
from rdmalab.session.breakpoints import answer
from rdmalab.session.reverse import Jump
from rdmalab.session.run_control import SLICE
from rdmalab.session.session import Session


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
