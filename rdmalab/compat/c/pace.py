"""Moments at which virtual time may pass under programs, or they are stuck; reads no clock."""

from rdmalab.spec.row import dataclass

NEAR_NS = 50_000
"""Virtual time within which an event is not worth waiting for."""
STILL_S = 1.0
"""After so long without anything planned, programs that all wait are stuck."""
SILENT_S = 3.0
"""After so long without a call, time passes for a program whose clock is virtual and that spins."""
CIRCLE_EVENTS = 20_000
"""Events without a completion, an asynchronous event or a byte that arrives: a circle."""
IDLE_S = 0.05
"""Seconds to listen to programs at a time while nothing is due."""


@dataclass(slots=True)
class Pace:
    """head_ns: when the next thing is due; head_s, since_ns: real and virtual time of its planning.

    It may happen when as much real time has passed as it has to wait. Calls of programs in between
    change nothing: else a program that calls often would never see a timer strike.
    is_virtual: virtual time passes while programs wait for it, else only after a long silence since
    heard_s, the last call.
    """

    head_ns: int | None = None
    head_s: float = 0.0
    since_ns: int = 0
    still_since_s: float | None = None
    quiet_events: int = 0
    is_virtual: bool = False
    heard_s: float = 0.0

    def begin_again(self) -> None:
        """Real time that has passed up to now does not count."""
        self.head_ns = self.still_since_s = None

    def wait_s(self, now_s: float, now_ns: int, due_ns: int | None, *, all_wait: bool) -> float:
        """Seconds to listen to programs before the next event; 0: it may happen now."""
        if due_ns != self.head_ns:
            self.head_ns, self.head_s, self.since_ns = due_ns, now_s, now_ns
        if due_ns is None:
            return IDLE_S
        if all_wait:
            return 0.0
        return max(0.0, min(IDLE_S, self._due_s(now_s, now_ns, due_ns) - now_s))

    def is_near(self, now_ns: int, due_ns: int | None) -> bool:
        """Whether it is not worth waiting for, whatever programs do."""
        return due_ns is not None and not self.is_virtual and due_ns - now_ns <= NEAR_NS

    def _due_s(self, now_s: float, now_ns: int, due_ns: int) -> float:
        """The real time at which an event happens although a program does not wait."""
        if self.is_near(now_ns, due_ns):
            return now_s
        if self.is_virtual:
            return self.heard_s + SILENT_S
        return self.head_s + (due_ns - self.since_ns) / 1e9

    def news(self) -> None:
        """A completion or an asynchronous event was raised."""
        self.quiet_events, self.still_since_s = 0, None

    def stuck(self, now_s: float, due_ns: int | None, *, all_wait: bool) -> str:
        """A sentence if nothing will come of the waiting of all programs, else empty.

        all_wait: also those that sleep elsewhere, in a read from a socket or from a keyboard.
        """
        if not all_wait:
            self.still_since_s, self.quiet_events = None, 0
            return ""
        if self.quiet_events > CIRCLE_EVENTS:
            return f"{CIRCLE_EVENTS:,} events have brought no completion and no byte"
        if due_ns is not None:
            self.still_since_s = None
            return ""
        if self.still_since_s is None:
            self.still_since_s = now_s
        if now_s - self.still_since_s > STILL_S:
            return "every program waits, and nothing is planned"
        return ""
