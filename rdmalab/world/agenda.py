"""The agenda: what will happen when; ties in the order of filing."""

from collections import defaultdict
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
    when it comes to the top. So thousands of QPs may arm theirs with every packet, and do not slow
    down the heap of the packets on their way. Of two things due at one time that one comes first
    which was filed first, or armed first for the last time.
    """

    __slots__ = ("armed", "heap", "sequence", "timer_of", "timers")

    def __init__(self) -> None:
        self.heap: list[Entry] = []
        self.timers: list[Entry] = []
        # by node and QP number
        self.timer_of: defaultdict[str, dict[int, Timer]] = defaultdict(dict)
        self.armed = 0  # timers that have a wish
        self.sequence = 0

    def file(self, at_ns: int, door: Door, node: str, argument: Any, cause: int) -> None:
        self.sequence += 1
        heappush(self.heap, (at_ns, self.sequence, door, node, argument, cause))

    def arm(self, node: str, qpn: int, at_ns: int, cause: int) -> None:
        """The QP's timer fires at `at_ns`, whatever was wished before."""
        self.sequence += 1
        timers = self.timer_of[node]
        timer = timers.get(qpn)
        if timer is None:
            timer = timers[qpn] = Timer()
        if timer.wish is None:
            self.armed += 1
        wish = timer.wish = (at_ns, self.sequence, _TIMER, node, qpn, cause)
        if timer.filed is None or timer.filed[0] > at_ns:
            timer.filed = wish
            heappush(self.timers, wish)

    def disarm(self, node: str, qpn: int) -> None:
        timer = self.timer_of[node].get(qpn)
        if timer is not None and timer.wish is not None:
            timer.wish = None
            self.armed -= 1

    def when(self, node: str, qpn: int) -> int | None:
        """When the timer of a QP fires; None if it is not armed."""
        timer = self.timer_of[node].get(qpn)
        return None if timer is None or timer.wish is None else timer.wish[0]

    def pop(self, until_ns: int = NEVER) -> Entry | None:
        """The next entry, not later than `until_ns`; None if there is none in time."""
        heap, fires = self.heap, self._first_timer()
        if fires is None or (heap and heap[0] < fires):
            return heappop(heap) if heap and heap[0][0] <= until_ns else None
        if fires[0] > until_ns:
            return None
        del self.timer_of[fires[3]][fires[4]]
        self.armed -= 1
        return heappop(self.timers)

    def _first_timer(self) -> Entry | None:
        """The timer that fires first, if one is armed. What lies before it moves, or goes."""
        timers = self.timers
        while self.armed:  # or thousands of entries would move for nothing
            entry = timers[0]
            _, _, _, node, qpn, _ = entry
            timer = self.timer_of[node].get(qpn)
            if timer is not None and entry == timer.wish:
                return entry
            heappop(timers)
            if timer is None or entry != timer.filed:
                continue  # superseded by an earlier one
            timer.filed = timer.wish
            if timer.wish is not None:
                heappush(timers, timer.wish)
            else:
                del self.timer_of[node][qpn]
        return None

    def plans(self) -> list[Entry]:
        """All that will happen if nothing comes between, in order."""
        wishes = [t.wish for timers in self.timer_of.values() for t in timers.values()]
        return sorted([*self.heap, *(wish for wish in wishes if wish is not None)])

    def next_ns(self) -> int | None:
        """When the next entry is due; None when nothing will ever happen by itself."""
        first = (self.heap[0] if self.heap else None, self._first_timer())
        return min((entry[0] for entry in first if entry is not None), default=None)
