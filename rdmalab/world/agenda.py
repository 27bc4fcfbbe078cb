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
    """A heap of plain tuples, and one lazy timer a QP.

    A timer that was armed again or disarmed leaves a stale entry behind; stale entries are no
    events and leave only together with the next real one, so that looking changes nothing.
    """

    __slots__ = ("due", "filed", "heap", "sequence")

    def __init__(self) -> None:
        self.heap: list[Entry] = []
        self.sequence = 0
        self.due: dict[Owner, tuple[int, int]] = {}  # when each armed timer fires, and why
        self.filed: dict[Owner, int] = {}  # where the earliest entry of each stands in the heap

    def file(self, at_ns: int, door: Door, node: str, argument: Any, cause: int) -> None:
        self.sequence += 1
        heappush(self.heap, (at_ns, self.sequence, door, node, argument, cause))

    def arm(self, node: str, qpn: int, at_ns: int, cause: int) -> None:
        """The QP's timer fires at `at_ns`, whatever was wished before."""
        owner = (node, qpn)
        self.due[owner] = (at_ns, cause)
        filed = self.filed.get(owner)
        if filed is None or filed > at_ns:
            self.filed[owner] = at_ns
            self.file(at_ns, _TIMER, node, qpn, cause)

    def disarm(self, node: str, qpn: int) -> None:
        self.due.pop((node, qpn), None)

    def pop(self, until_ns: int = NEVER) -> Entry | None:
        """The next real entry, not later than `until_ns`; None leaves everything as it was."""
        heap = self.heap
        if not self.due and all(entry[2] is _TIMER for entry in heap):
            return None  # thousands of stale timers need not be moved there and back
        before: tuple[list[Entry], dict[Owner, int]] | None = None
        while heap and heap[0][0] <= until_ns:
            if heap[0][2] is not _TIMER:
                return heappop(heap)
            if (fired := self._fire(heap[0])) is not None:
                heappop(heap)
                return fired
            before = before or (heap.copy(), self.filed.copy())
            self._refile(heappop(heap))
        if before is not None:
            self.heap[:], self.filed = before
        return None

    def _fire(self, entry: Entry) -> Entry | None:
        """The entry with the cause of the newest arming; None if it is not the one that is due."""
        at_ns, sequence, door, node, qpn, _ = entry
        owner = (node, qpn)
        due_ns, cause = self.due.get(owner, (None, -1))
        if due_ns != at_ns:
            return None
        del self.due[owner]
        del self.filed[owner]
        return at_ns, sequence, door, node, qpn, cause

    def _refile(self, entry: Entry) -> None:
        """A stale entry's timer may be armed for later: it moves there and keeps its sequence."""
        at_ns, sequence, door, node, qpn, cause = entry
        owner = (node, qpn)
        if self.filed.get(owner) != at_ns:
            return  # superseded by an earlier one
        if owner in self.due:
            due_ns, cause = self.due[owner]
            self.filed[owner] = due_ns
            heappush(self.heap, (due_ns, sequence, door, node, qpn, cause))
        else:
            del self.filed[owner]

    def next_ns(self) -> int | None:
        """When the next real entry is due; None when nothing will ever happen by itself."""
        times = [at for at, _, door, *_ in self.heap if door is not _TIMER]
        return min([*times, *(at_ns for at_ns, _ in self.due.values())], default=None)
