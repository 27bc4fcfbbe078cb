"""Completion queues."""

from collections import deque
from dataclasses import field

from rdmalab.command import Noun, Thing
from rdmalab.hca.environment import Recorder
from rdmalab.hca.wr import Cqe
from rdmalab.spec.completions import Arm
from rdmalab.spec.records import Kind
from rdmalab.spec.row import dataclass

_ADDED, _POLLED = Kind.CQE_ADDED, Kind.CQE_POLLED


@dataclass(slots=True, eq=False)
class CompletionQueue:
    """`ibv_cq`: first in, first out, over all queues that complete on it.

    channel: number of its completion channel, 0 for none. context: cq_context of the program.
    unacked: events read and not acknowledged. fields: the fields that an extended CQ provides, None
    for a plain CQ. reading: CQEs read by the open extended poll, 0 for none; the last of them is
    current. lost: CQEs for which there was no room.
    """

    node: str
    number: int
    capacity: int
    comp_vector: int
    cqes: deque[Cqe] = field(default_factory=deque)
    last: Cqe | None = None
    total: int = 0
    dead: bool = False
    channel: int = 0
    context: int = 0
    armed: Arm = Arm.NONE
    unacked: int = 0
    fields: int | None = None
    reading: int = 0
    lost: int = 0

    @property
    def thing(self) -> Thing:
        """The completion queue as names and log have it."""
        return Thing(Noun.CQ, self.node, self.number)

    def push(self, trace: Recorder, cqe: Cqe) -> bool:
        """Add a CQE, as the only function. False if the CQ was full: the CQE is lost."""
        # ibv_poll_cq(3): the CQE is lost, the CQ unusable. On Soft-RoCE the CQ goes on (measured).
        if self.dead or len(self.cqes) >= self.capacity:
            self.lost += 1
            trace.record(Kind.CQ_OVERRUN, self.node, self.number, cqe)
            return False
        self.cqes.append(cqe)
        self.last = cqe
        self.total += 1
        trace.record(_ADDED, self.node, self.number, cqe)
        return True

    def forget(self, qpn: int) -> list[Cqe]:
        """Remove the CQEs of a QP that is reset or destroyed (mlx5 does); returns them."""
        gone = [cqe for cqe in self.cqes if cqe.qp_num == qpn]
        seen = [cqe for index, cqe in enumerate(self.cqes) if index < self.reading]
        self.reading = sum(cqe.qp_num != qpn for cqe in seen)
        self.cqes = deque(cqe for cqe in self.cqes if cqe.qp_num != qpn)
        return gone

    def take(self, trace: Recorder, most: int) -> list[Cqe]:
        """Remove up to `most` of the oldest CQEs and return them, as the only function."""
        waiting, taken = self.cqes, []
        for _ in range(min(most, len(waiting))):
            cqe = waiting.popleft()
            trace.record(_POLLED, self.node, self.number, cqe)
            taken.append(cqe)
        return taken

    def resize(self, trace: Recorder, capacity: int) -> None:
        """Set the capacity; the caller has checked that the CQEs in it fit."""
        trace.record(Kind.CQ_RESIZED, self.node, self.number, self.capacity, capacity)
        self.capacity = capacity
