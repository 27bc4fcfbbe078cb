"""The agenda: what will happen when; ties in the order of filing."""

from dataclasses import dataclass
from enum import IntEnum
from heapq import heappop, heappush
from typing import Any


class Door(IntEnum):
    """Which door of a node an entry opens."""

    PORT = 0
    ARRIVAL = 1
    TIMER = 2


# (at_ns, sequence, door, node, argument, cause): the sequence is unique, so that no comparison
# ever reaches the argument.
Entry = tuple[int, int, int, str, Any, int]

_TIMER = Door.TIMER
NEVER = 1 << 62  # ns; later than anything


@dataclass(slots=True)
class Timer:
    """The one timer of a QP. wish: when it fires, and why. filed: its first entry in the heap."""

    wish: Entry | None = None
    filed: Entry | None = None


class Agenda:
    """A heap of plain tuples, and one lazy timer a QP in a heap of their own.

    A timer that is armed again or disarmed leaves its entry where it is; the entry moves, or goes,
    when it comes to the top. So thousands of QPs may arm theirs with every packet, and what is
    really going to happen lies in a heap as small as the number of packets on their way.
    """

    __slots__ = ("armed", "heap", "owners", "sequence", "timers")

    def __init__(self) -> None:
        self.heap: list[Entry] = []
        self.timers: list[Entry] = []
        self.owners: dict[str, dict[int, Timer]] = {}  # by node and QP number
        self.armed = 0  # of them
        self.sequence = 0

    def file(self, at_ns: int, door: Door, node: str, argument: Any, cause: int) -> None:
        self.sequence += 1
        heappush(self.heap, (at_ns, self.sequence, door, node, argument, cause))

    def arm(self, node: str, qpn: int, at_ns: int, cause: int) -> None:
        """The QP's timer fires at `at_ns`, whatever was wished before."""
        self.sequence += 1
        timer = self._timer(node, qpn)
        if timer.wish is None:
            self.armed += 1
        wish = timer.wish = (at_ns, self.sequence, _TIMER, node, qpn, cause)
        if timer.filed is None or timer.filed[0] > at_ns:
            timer.filed = wish
            heappush(self.timers, wish)

    def _timer(self, node: str, qpn: int) -> Timer:
        try:
            return self.owners[node][qpn]
        except KeyError:
            timer = self.owners.setdefault(node, {})[qpn] = Timer()
            return timer

    def disarm(self, node: str, qpn: int) -> None:
        timer = self._timer(node, qpn)
        if timer.wish is not None:
            timer.wish = None
            self.armed -= 1

    def when(self, node: str, qpn: int) -> int | None:
        """When the timer of a QP fires; None if it is not armed."""
        wish = self._timer(node, qpn).wish
        return None if wish is None else wish[0]

    def pop(self, until_ns: int = NEVER) -> Entry | None:
        """The next entry, not later than `until_ns`."""
        heap, fires = self.heap, self._first_timer()
        if fires is None or (heap and heap[0] < fires):
            return heappop(heap) if heap and heap[0][0] <= until_ns else None
        if fires[0] > until_ns:
            return None
        timer = self._timer(fires[3], fires[4])
        timer.wish = timer.filed = None
        self.armed -= 1
        return heappop(self.timers)

    def _first_timer(self) -> Entry | None:
        """The timer that fires first. What lies before it and means nothing moves, or goes."""
        timers = self.timers
        while self.armed:  # or thousands of entries would move for nothing
            entry = timers[0]
            timer = self._timer(entry[3], entry[4])
            if entry == timer.wish:
                return entry
            heappop(timers)
            if entry == timer.filed:
                timer.filed = timer.wish
                if timer.wish is not None:
                    heappush(timers, timer.wish)
        return None

    def plans(self) -> list[Entry]:
        """All that will happen if nothing comes between, in order."""
        wishes = [t.wish for timers in self.owners.values() for t in timers.values()]
        return sorted([*self.heap, *(wish for wish in wishes if wish is not None)])

    def next_ns(self) -> int | None:
        """When the next entry is due; None when nothing will ever happen by itself."""
        first = (self.heap[0] if self.heap else None, self._first_timer())
        return min((entry[0] for entry in first if entry is not None), default=None)
