"""Shared receive queues: filled by the host, emptied by any QP that needs a receive."""

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.hca.dma import SrqUser
from rdmalab.hca.wqe import RecvWqe
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.records import Kind
from rdmalab.spec.srq import SrqType

if TYPE_CHECKING:
    from rdmalab.hca.device import Hca
    from rdmalab.hca.dma import MemoryUser
    from rdmalab.hca.qp import QueuePair


@dataclass(slots=True)
class SrqCapacity:
    """`ibv_srq_attr` at creation: srq_limit is ignored there."""

    C_NAME = "ibv_srq_attr"

    max_wr: int
    max_sge: int = 4
    srq_limit: int = 0


@dataclass(slots=True)
class SrqChange:
    """`ibv_srq_attr` for `modify_srq`: a field left out stays out of the mask."""

    C_NAME = "ibv_srq_attr"

    max_wr: int | None = None
    srq_limit: int | None = None


class Parts(NamedTuple):
    """What an SRQ is made of, by number; xrcd and cq belong to XRC SRQs, 0 is none."""

    pd: int
    srq_type: SrqType = SrqType.BASIC
    xrcd: int = 0
    cq: int = 0


class SharedReceiveQueue:
    """`ibv_srq`: posted WQEs, oldest first, for each QP that is tied to it or names it.

    freed: slots freed so far, in any order. limit: armed while it is not 0. lost: WQEs in it when
    it entered its error state, which are never used.
    """

    __slots__ = (
        "capacity", "cq", "dead", "freed", "limit", "lost", "max_sge", "node", "number", "pd",
        "posted", "srq_type", "wqes", "xrcd",
    )  # fmt: skip

    def __init__(self, node: str, number: int, capacity: int, max_sge: int, parts: Parts) -> None:
        self.node = node
        self.number = number
        self.capacity = capacity
        self.max_sge = max_sge
        self.pd, self.srq_type, self.xrcd, self.cq = parts
        self.limit = 0
        self.dead = False
        self.wqes: deque[RecvWqe] = deque()
        self.lost: deque[RecvWqe] = deque()
        self.posted = 0
        self.freed = 0

    @property
    def thing(self) -> Thing:
        """The shared receive queue as names and log have it."""
        return Thing(Noun.SRQ, self.node, self.number)

    @property
    def used(self) -> int:
        """Slots of receives that wait, are in use, or are completed and not given back."""
        return self.posted - self.freed

    def push(self, wqe: RecvWqe) -> None:
        """Add a WQE at the tail; in the error state it is never used."""
        (self.lost if self.dead else self.wqes).append(wqe)
        self.posted += 1


# --------------------------------------------------------------------------- emptied
def borrower(hca: "Hca", qp: "QueuePair", number: int) -> SrqUser:
    """A queue pair that touches memory of this SRQ's protection domain; 0 if it was destroyed."""
    srq = hca.srqs.items.get(number)
    if srq is None:
        return SrqUser(qp.number, 0)
    return SrqUser(qp.number, hca.pds.find(srq.pd).base, number)


def receiver(hca: "Hca", qp: "QueuePair", wqe: RecvWqe) -> "MemoryUser":
    """Whose protection domain the buffers of a receive are checked against.

    mlx5 gives an SRQ the PD that it was made in (srq.c); Soft-RoCE asks that of the QP
    (rxe_resp.c, send_data_in).
    """
    shared = wqe.srq and (hca.profile.checks_srq_pd or not qp.pd)
    return borrower(hca, qp, wqe.srq) if shared else qp


def watch_limit(hca: "Hca", srq: SharedReceiveQueue) -> None:
    """Fewer receives than the armed limit: raise one event and disarm."""
    if len(srq.wqes) < srq.limit:
        srq.limit = 0
        hca.raise_event(AsyncEvent.SRQ_LIMIT_REACHED, srq.number)


def fail(hca: "Hca", srq: SharedReceiveQueue) -> None:
    """Enter the error state: its receives are lost, and a QP that needs one finds none."""
    if srq.dead:
        return
    srq.dead, srq.limit = True, 0
    srq.lost, srq.wqes = srq.wqes, srq.lost
    hca.trace.record(Kind.SRQ_FAILED, hca.node, srq.number)
    if hca.profile.raises_responder_events:
        hca.raise_event(AsyncEvent.SRQ_ERR, srq.number)


def cq_of(hca: "Hca", qp: "QueuePair", wqe: RecvWqe) -> int:
    """Where a receive completes: on the CQ of its XRC SRQ, otherwise on that of the QP."""
    srq = hca.srqs.items.get(wqe.srq) if wqe.srq else None
    return srq.cq if srq is not None and srq.cq else qp.recv_cq
