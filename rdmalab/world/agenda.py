"""The agenda: what will happen when; ties in the order of filing."""

from enum import IntEnum
from heapq import heapify, heappop, heappush
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


class Agenda:
    """A heap of plain tuples, and one lazy timer a QP.

    A timer that was armed again or disarmed leaves a stale entry behind; stale entries are no
    events and leave only together with the next real one, so that looking changes nothing.
    """

    __slots__ = ("due", "filed", "heap", "sequence")

    def __init__(self) -> None:
        self.heap: list[Entry] = []
        self.sequence = 0
        self.due: dict[Owner, int] = {}  # when each armed timer fires
        self.filed: dict[Owner, int] = {}  # where the earliest entry of each stands in the heap

    def file(self, at_ns: int, door: Door, node: str, argument: Any, cause: int) -> None:
        self.sequence += 1
        heappush(self.heap, (at_ns, self.sequence, door, node, argument, cause))

    def arm(self, node: str, qpn: int, at_ns: int, cause: int) -> None:
        """The QP's timer fires at `at_ns`, whatever was wished before."""
        owner = (node, qpn)
        self.due[owner] = at_ns
        filed = self.filed.get(owner)
        if filed is None or filed > at_ns:
            self.filed[owner] = at_ns
            self.file(at_ns, Door.TIMER, node, qpn, cause)

    def disarm(self, node: str, qpn: int) -> None:
        self.due.pop((node, qpn), None)

    def pop(self, until_ns: int | None = None) -> Entry | None:
        """The next real entry, not later than `until_ns`; None leaves everything as it was."""
        heap = self.heap
        stale: list[Entry] = []
        while heap and (until_ns is None or heap[0][0] <= until_ns):
            entry = heappop(heap)
            if entry[2] != Door.TIMER or self._fires(entry):
                return entry
            stale.append(entry)
            self._refile(entry)
        if stale:
            self._restore(stale)
        return None

    def _fires(self, entry: Entry) -> bool:
        owner = (entry[3], entry[4])
        if self.due.get(owner) != entry[0]:
            return False
        del self.due[owner]
        del self.filed[owner]
        return True

    def _refile(self, entry: Entry) -> None:
        """A stale entry's timer may be armed for later: it moves there and keeps its sequence."""
        at_ns, sequence, door, node, qpn, cause = entry
        owner = (node, qpn)
        if self.filed.get(owner) != at_ns:
            return  # superseded by an earlier one
        due = self.due.get(owner)
        if due is None:
            del self.filed[owner]
        else:
            self.filed[owner] = due
            heappush(self.heap, (due, sequence, door, node, qpn, cause))

    def _restore(self, stale: list[Entry]) -> None:
        """Nothing real was found: undo what looking has moved."""
        sequences = {entry[1] for entry in stale}
        first = {entry[1]: entry for entry in reversed(stale)}
        self.heap[:] = [entry for entry in self.heap if entry[1] not in sequences]
        self.heap.extend(first.values())
        heapify(self.heap)
        self.filed.clear()
        for at_ns, _, door, node, argument, _ in sorted(self.heap, reverse=True):
            if door == Door.TIMER:
                self.filed[node, argument] = at_ns

    def next_ns(self) -> int | None:
        """When the next real entry is due; None when nothing will ever happen by itself."""
        times = [at for at, _, door, *_ in self.heap if door != Door.TIMER]
        return min([*times, *self.due.values()], default=None)
