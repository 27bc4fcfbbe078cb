"""Shared receive queues: filled by the host, emptied by any QP that needs a receive."""

from rdmalab.hca.adapter import Adapter
from rdmalab.hca.dma import MemoryUser, SrqUser
from rdmalab.hca.qp import QueuePair, SharedReceiveQueue
from rdmalab.hca.wr import RecvWqe
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.records import Kind
from rdmalab.spec.row import dataclass
from rdmalab.wire.packet import Packet


@dataclass(slots=True)
class SrqCapacity:
    """`ibv_srq_attr` at creation: srq_limit is ignored there, but for a device that arms it."""

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


# --------------------------------------------------------------------------- emptied
def borrower(hca: Adapter, qp: QueuePair, number: int) -> SrqUser:
    """A queue pair that touches memory of this SRQ's protection domain; 0 if it was destroyed."""
    srq = hca.srqs.items.get(number)
    if srq is None:
        return SrqUser(qp.number, 0)
    return SrqUser(qp.number, hca.pds.find(srq.pd).base, number)


def receiver(hca: Adapter, qp: QueuePair, wqe: RecvWqe) -> MemoryUser:
    """Whose protection domain the buffers of a receive are checked against.

    mlx5 gives an SRQ the PD that it was made in (srq.c); Soft-RoCE asks that of the QP
    (rxe_resp.c, send_data_in).
    """
    shared = wqe.srq and (hca.profile.checks_srq_pd or not qp.pd)
    return borrower(hca, qp, wqe.srq) if shared else qp


def watch_limit(hca: Adapter, srq: SharedReceiveQueue) -> None:
    """Fewer receives than the armed limit: raise one event and disarm."""
    # Below the limit, not at it; the event comes once, until modify_srq arms it again.
    if len(srq.wqes) < srq.limit:
        srq.limit = 0
        hca.raise_event(AsyncEvent.SRQ_LIMIT_REACHED, srq.number)


def fail(hca: Adapter, srq: SharedReceiveQueue) -> None:
    """Enter the error state: its receives are lost, and a QP that needs one finds none."""
    if srq.dead:
        return
    srq.dead, srq.limit = True, 0
    # Requests that need a receive get RNR NAKs, as on Soft-RoCE (rxe_resp.c, get_srq_wqe).
    srq.lost, srq.wqes = srq.wqes, srq.lost
    hca.trace.record(Kind.SRQ_FAILED, hca.node, srq.number)
    if hca.profile.raises_responder_events:
        hca.raise_event(AsyncEvent.SRQ_ERR, srq.number)


def cq_of(hca: Adapter, qp: QueuePair, wqe: RecvWqe) -> int:
    """Number of the CQ on which a receive completes: that of its XRC SRQ, else that of the QP."""
    srq = hca.srqs.items.get(wqe.srq) if wqe.srq else None
    return srq.cq if srq is not None and srq.cq else qp.recv_cq


# --------------------------------------------------------------------------- XRC, IBA annex A14
def domain_of(hca: Adapter, number: int) -> int:
    """The domain of an opening; 0 if there is none."""
    xrcd = hca.xrcds.items.get(number)
    return 0 if xrcd is None else xrcd.domain


def named_srq(hca: Adapter, qp: QueuePair, srqn: int) -> SharedReceiveQueue | None:
    """The SRQ that a request names, if it lies in the domain of this QP."""
    named = hca.srqs.items.get(srqn)
    if named is None or not named.xrcd:
        return None
    return named if domain_of(hca, named.xrcd) == domain_of(hca, qp.xrcd) else None


def xrc_borrower(hca: Adapter, qp: QueuePair, packet: Packet) -> SrqUser:
    """Whose memory an XRC request may touch: that of the PD of the SRQ it names."""
    return borrower(hca, qp, packet.xrceth.srqn if packet.xrceth is not None else 0)
