"""The agenda: what will happen when; ties in the order of filing."""

from collections.abc import Iterable
from enum import IntEnum
from heapq import heapify, heappop, heappush
from typing import Any

from rdmalab.hca.environment import Timer
from rdmalab.world.trace import Trace


class Door(IntEnum):
    """The door of a node that an entry opens."""

    PORT = 0
    ARRIVAL = 1
    TIMER = 2
    PROGRAM = 3
    HOST = 4  # an accident, by its number


# (at_ns, sequence, door, node, argument, cause): the sequence is unique, so that no comparison
# ever reaches the argument.
# Plain tuples in a heap, and not SimPy: an event is 2.2 to 2.6 times as fast (`event_vs_simpy`),
# and a heap can be copied, where SimPy's generators cannot.
Entry = tuple[int, int, int, str, Any, int]

_PORT, _TIMER = Door.PORT, Door.TIMER
NEVER = 1 << 62  # ns; later than anything


class EventQueue:
    """A heap of plain tuples, and one lazy timer a QP in a heap of their own.

    A timer that is armed again or disarmed leaves its entry where it is; the entry moves, or goes,
    when it comes to the top. So thousands of QPs may arm theirs with every packet, and do not slow
    down the heap of the packets on their way. Of two things due at one time that one comes first
    which was filed first, or armed first for the last time. The cause of what an adapter files is
    the newest record of the trace.
    """

    __slots__ = ("armed", "heap", "sequence", "timers", "trace")

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.heap: list[Entry] = []
        # One lazy timer a queue pair: 10,000 connected QPs cost at most 1.3 times one, for each
        # work request (`qp10000_vs_1`).
        self.timers: list[Entry] = []
        self.armed = 0
        self.sequence = 0

    def file(self, at_ns: int, door: Door, node: str, argument: Any, cause: int) -> None:
        """Schedule an entry."""
        self.sequence += 1
        heappush(self.heap, (at_ns, self.sequence, door, node, argument, cause))

    def file_port(self, node: str, at_ns: int) -> None:
        """Schedule the next turn of the node's port at `at_ns`."""
        self.sequence += 1
        trace = self.trace
        cause = trace.first + len(trace.tail) - 1  # `latest` costs a call
        heappush(self.heap, (at_ns, self.sequence, _PORT, node, None, cause))

    def bring_forward(self, cause: int, node: str, at_ns: int) -> bool:
        """Let the packet of record `cause` arrive earlier at a node; False if it has arrived."""
        for place, entry in enumerate(self.heap):
            if entry[2:4] == (Door.ARRIVAL, node) and entry[5] == cause and entry[0] > at_ns:
                self.sequence += 1
                # With a new sequence it is after the packet that passed it, also at one time.
                self.heap[place] = (at_ns, self.sequence, *entry[2:])
                heapify(self.heap)
                return True
        return False

    def cancel(self, door: Door, argument: Any) -> None:
        """Remove the entries for this door with this argument."""
        left = [entry for entry in self.heap if (entry[2], entry[4]) != (door, argument)]
        if len(left) < len(self.heap):
            # In place: `World.run` holds a reference to this list.
            self.heap[:] = left
            heapify(self.heap)

    def arm(self, timer: Timer, at_ns: int) -> None:
        """Let the timer fire at `at_ns`; replaces an earlier arming."""
        self.sequence += 1
        trace = self.trace
        if timer.at_ns is None:
            self.armed += 1
        timer.at_ns, timer.sequence = at_ns, self.sequence
        timer.cause = trace.first + len(trace.tail) - 1
        if timer.filed_ns is None or timer.filed_ns > at_ns:
            self._file(timer)

    def _file(self, timer: Timer) -> None:
        at_ns, sequence = timer.at_ns, timer.sequence
        assert at_ns is not None
        timer.filed_ns, timer.filed = at_ns, sequence
        heappush(self.timers, (at_ns, sequence, _TIMER, timer.node, timer, timer.cause))

    def disarm(self, timer: Timer) -> None:
        """Stop the timer."""
        if timer.at_ns is not None:
            timer.at_ns = None
            self.armed -= 1

    def pop(self, until_ns: int = NEVER) -> Entry | None:
        """The next entry, not later than `until_ns`; None if there is none in time."""
        heap, fires = self.heap, self._first_timer()
        if fires is None or (heap and heap[0] < fires):
            return heappop(heap) if heap and heap[0][0] <= until_ns else None
        if fires[0] > until_ns:
            return None
        timer: Timer = fires[4]
        timer.at_ns = timer.filed_ns = None
        self.armed -= 1
        return heappop(self.timers)

    def _first_timer(self) -> Entry | None:
        """The timer that fires first, if one is armed. What lies before it moves, or goes."""
        timers = self.timers
        while self.armed:  # or thousands of entries would move for nothing
            entry = timers[0]
            timer: Timer = entry[4]
            if timer.at_ns is not None and timer.sequence == entry[1]:
                return entry
            heappop(timers)
            if timer.filed != entry[1]:
                continue  # superseded by an earlier one
            timer.filed_ns = None
            if timer.at_ns is not None:
                self._file(timer)
        return None

    def refile(self, timers: Iterable[Timer]) -> None:
        """File those that are armed, and no others: all of them have just been put back."""
        self.timers = []
        for timer in timers:
            timer.filed_ns = None
            if timer.at_ns is not None:
                self._file(timer)

    def plans(self) -> list[Entry]:
        """All scheduled entries, in order; of timers, the QP's number."""
        timers: set[Timer] = {entry[4] for entry in self.timers}
        wishes = [
            (timer.at_ns, timer.sequence, _TIMER, timer.node, timer.qpn, timer.cause)
            for timer in timers
            if timer.at_ns is not None
        ]
        return sorted([*self.heap, *wishes])

    def next_ns(self) -> int | None:
        """Time at which the next entry is due, in ns; None when nothing is scheduled."""
        timer = self._first_timer() if self.armed else None
        if not self.heap:
            return timer[0] if timer is not None else None
        at_ns = self.heap[0][0]
        return at_ns if timer is None else min(at_ns, timer[0])
