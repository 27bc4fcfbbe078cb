"""Requests that were executed before (transport.md 11): answered again, not executed again."""

from typing import TYPE_CHECKING

from rdmalab.hca import dma, xrcd
from rdmalab.hca.engine_state import Served
from rdmalab.hca.psn import MASK, diff
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.responder import answer
from rdmalab.spec.access import Access
from rdmalab.spec.opcodes import FETCHING_OPS, OPCODES, WORD_OPS, Op
from rdmalab.wire.packet import Packet

if TYPE_CHECKING:
    from rdmalab.hca.device import Hca


def answer_again(hca: "Hca", qp: QueuePair, packet: Packet) -> None:
    """SEND and WRITE: the newest ACK. READ: read again. Atomic: the answer it had.

    A FLUSH done twice is a FLUSH done once.
    """
    op = OPCODES[packet.opcode].op
    if op is Op.RDMA_READ_REQUEST:
        _read_again(hca, qp, packet)
    elif op is Op.FLUSH:
        answer.respond(hca, qp, packet.psn)
    elif op in WORD_OPS:
        served = _kept(qp, packet)
        if served is None or served.op is not op:
            hca.drop(qp, packet, "duplicate-gone")
        elif op in FETCHING_OPS:
            answer.replay(hca, qp, served)
        else:
            answer.respond(hca, qp, packet.psn)
    else:
        answer.acknowledge(hca, qp, _newest_psn(hca, qp))


def _newest_psn(hca: "Hca", qp: QueuePair) -> int:
    """Of the newest request that was received; Soft-RoCE knows none before the first."""
    unheard = hca.profile.unheard_ack_psn
    if unheard is not None and qp.resp.psn == qp.attr.rq_psn:
        return unheard
    return (qp.resp.psn - 1) & MASK


def _kept(qp: QueuePair, packet: Packet) -> Served | None:
    """The kept result whose PSNs include this one."""
    for served in qp.resp.served:
        if 0 <= diff(packet.psn, served.psn) < served.packets:
            return served
    return None


def _read_again(hca: "Hca", qp: QueuePair, packet: Packet) -> None:
    """From memory as it is now; the request must lie inside the original one."""
    served, reth = _kept(qp, packet), packet.reth
    assert reth is not None
    inside = (
        served is not None
        and served.op is Op.RDMA_READ_REQUEST
        and served.va <= reth.va
        and reth.va + reth.dma_length <= served.va + served.length
    )
    if not inside:
        hca.drop(qp, packet, "duplicate-gone")
        return
    rights, length = int(Access.REMOTE_READ), reth.dma_length
    user = qp if qp.pd else xrcd.borrower(hca, qp, packet)
    if length:
        place = dma.locate(hca.rkeys, reth.rkey, user, rights, reth.va, length)
        if isinstance(place, dma.Denied):
            answer.refuse(hca, qp, packet, "rkey")
            return
    answer.stream(hca, qp, packet, reth, again=True)
