"""The agenda: what will happen when; ties in the order of filing."""

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
Owner = tuple[str, int]

_TIMER = Door.TIMER
NEVER = 1 << 62  # ns; later than anything


class Agenda:
    """A heap of plain tuples, and one lazy timer a QP in a heap of their own.

    A timer that is armed again or disarmed leaves its entry where it is; the entry moves, or goes,
    when its time has come. So thousands of QPs may arm theirs with every packet, and what is really
    going to happen lies in a heap as small as the number of packets on their way.
    """

    __slots__ = ("due", "filed", "heap", "sequence", "timers")

    def __init__(self) -> None:
        self.heap: list[Entry] = []
        self.timers: list[Entry] = []
        self.sequence = 0
        self.due: dict[Owner, Entry] = {}  # each armed timer: when it fires, and why
        self.filed: dict[Owner, Entry] = {}  # the earliest entry that each has in `timers`

    def file(self, at_ns: int, door: Door, node: str, argument: Any, cause: int) -> None:
        self.sequence += 1
        heappush(self.heap, (at_ns, self.sequence, door, node, argument, cause))

    def arm(self, node: str, qpn: int, at_ns: int, cause: int) -> None:
        """The QP's timer fires at `at_ns`, whatever was wished before."""
        self.sequence += 1
        owner, wish = (node, qpn), (at_ns, self.sequence, _TIMER, node, qpn, cause)
        self.due[owner] = wish
        filed = self.filed.get(owner)
        if filed is None or filed[0] > at_ns:
            self.filed[owner] = wish
            heappush(self.timers, wish)

    def disarm(self, node: str, qpn: int) -> None:
        self.due.pop((node, qpn), None)

    def pop(self, until_ns: int = NEVER) -> Entry | None:
        """The next entry that means something, not later than `until_ns`."""
        heap, timers = self.heap, self.timers
        while timers and timers[0][0] <= until_ns and not (heap and heap[0] < timers[0]):
            entry = heappop(timers)
            if self._is_due(entry):
                return entry
        return heappop(heap) if heap and heap[0][0] <= until_ns else None

    def _is_due(self, entry: Entry) -> bool:
        """Whether it is what its owner wishes now; if not, it moves to where that is."""
        owner = (entry[3], entry[4])
        if self.filed.get(owner) != entry:
            return False  # superseded by an earlier one
        wish = self.due.get(owner)
        if wish is None or wish == entry:
            del self.filed[owner]
            return self.due.pop(owner, None) is not None
        self.filed[owner] = wish
        heappush(self.timers, wish)
        return False

    def plans(self) -> list[Entry]:
        """All that will happen if nothing comes between, in order."""
        return sorted([*self.heap, *self.due.values()])

    def next_ns(self) -> int | None:
        """When the next entry is due; None when nothing will ever happen by itself."""
        times = [wish[0] for wish in self.due.values()]
        return min([self.heap[0][0], *times] if self.heap else times, default=None)
