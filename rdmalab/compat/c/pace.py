"""When virtual time may pass while programs run in real time. Pure: the caller reads the clock.

Packets and all that is due within 50 us happen as soon as no program says anything. What is due
later is a timer: it may strike when every program waits for the lab, or when as much real time has
passed. So a peer that starts, or computes, is not overtaken by retransmissions.
"""

from dataclasses import dataclass

NEAR_NS = 50_000
"""Virtual time within which an event is not worth waiting for."""
EMPTY_POLLS = 2
"""So many empty polls in a row: the program waits for the lab."""
HOLD_S = 0.001
"""How long the answer to an empty poll is kept back for something to come."""
STILL_S = 1.0
"""After so long without anything planned, programs that all wait are stuck."""
CIRCLE_EVENTS = 20_000
"""So many events without a completion or asynchronous event: packets go round in circles."""
CIRCLE_CALLS = 1_000
"""So often in a row the same call was refused: the program tries it without limit."""
_IDLE_S = 0.05


@dataclass(slots=True)
class Pace:
    """anchor_s, anchor_ns: real and virtual time of the last event or call."""

    anchor_s: float = 0.0
    anchor_ns: int = 0
    still_since_s: float | None = None
    quiet_events: int = 0

    def happened(self, now_s: float, now_ns: int) -> None:
        """An event or a call has happened."""
        self.anchor_s, self.anchor_ns = now_s, now_ns

    def wait_s(self, now_s: float, now_ns: int, due_ns: int | None, *, all_wait: bool) -> float:
        """How long to listen to programs before the next event; 0: it may happen now."""
        if due_ns is None:
            return _IDLE_S
        if all_wait or due_ns - now_ns <= NEAR_NS:
            return 0.0
        return max(0.0, min(_IDLE_S, self.anchor_s + (due_ns - self.anchor_ns) / 1e9 - now_s))

    def is_due(self, now_s: float, now_ns: int, due_ns: int | None, *, all_wait: bool) -> bool:
        """Whether the next event may happen now."""
        if due_ns is None:
            return False
        return (
            all_wait
            or due_ns - now_ns <= NEAR_NS
            or (now_s >= self.anchor_s + (due_ns - self.anchor_ns) / 1e9)
        )

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
            return f"{CIRCLE_EVENTS:,} events have brought no completion"
        if due_ns is not None:
            self.still_since_s = None
            return ""
        if self.still_since_s is None:
            self.still_since_s = now_s
        if now_s - self.still_since_s > STILL_S:
            return "every program waits, and nothing is planned"
        return ""
