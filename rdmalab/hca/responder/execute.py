"""Execution of a request, after all checks have passed.

A receive buffer can still refuse it, and so can the key of an RDMA WRITE in mid-message.
"""

from collections.abc import Callable

from rdmalab.hca import dma, mw, slots, srq
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.psn import MASK
from rdmalab.hca.qp import QueuePair, Served
from rdmalab.hca.responder import answer, checks
from rdmalab.hca.wr import Cqe, swap_octets
from rdmalab.spec.access import Access
from rdmalab.spec.opcodes import ATOMIC_BYTES, Op, Opcode
from rdmalab.spec.profiles import SlotsFreed
from rdmalab.spec.records import Kind
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WCFlags, WCOpcode
from rdmalab.wire.frame import Frame
from rdmalab.wire.headers import AtomicETH
from rdmalab.wire.packet import LidFlow, Packet

_WRITING = int(Access.REMOTE_WRITE)
_TAKEN, _EXECUTED = Kind.RECV_TAKEN, SlotsFreed.EXECUTED
_SUCCESS, _RECV = WCStatus.SUCCESS, WCOpcode.RECV
_GRH, _WITH_IMM = int(WCFlags.GRH), int(WCFlags.WITH_IMM)
_WORD = (1 << 64) - 1


def send(hca: Adapter, qp: QueuePair, packet: Packet, row: Opcode) -> str | None:
    """Into the buffers of a receive WQE; the message must fit before a byte is placed."""
    resp = qp.resp
    if row.starts:
        take_receive(hca, qp, packet)
    wqe = resp.recv
    assert wqe is not None
    length = len(packet.payload)
    # Soft-RoCE answers this with NAK 0x63 instead of 0x61: copy_data refuses first (measured).
    if resp.received + length > wqe.length:
        return "receive-short"
    user = srq.receiver(hca, qp, wqe) if wqe.srq else qp
    if dma.scatter(hca, user, wqe.sg, resp.received, packet.payload) is not None:
        return "receive-denied"
    resp.received += length
    if not row.ends:
        resp.op = row.op
        return None
    resp.op = None
    if packet.ieth is not None and not mw.invalidate(hca, qp, packet.ieth.rkey, "SEND_WITH_INV"):
        return "invalidate"
    return complete_receive(hca, qp, packet, _RECV)


def write(hca: Adapter, qp: QueuePair, packet: Packet, row: Opcode) -> str | None:
    """Into the memory that the key opens; only an immediate takes a receive WQE."""
    resp, reth = qp.resp, packet.reth
    if reth is not None:
        resp.va, resp.rkey, resp.place = reth.va, reth.rkey, _place(hca, reth.rkey, reth.va)
        resp.remaining, resp.received = reth.dma_length, 0
    elif hca.profile.checks_write_key_per_packet and not _follow(hca, qp, packet):
        return "rkey"
    length = len(packet.payload)
    if length:
        dma.write(hca, qp, resp.place, packet.payload)
    resp.va += length
    resp.place += length
    resp.remaining -= length
    written = resp.received = resp.received + length
    resp.op = None if row.ends else row.op
    if not row.ends:
        return None
    if not row.immediate:
        resp.msn = (resp.msn + 1) & MASK
        return None
    take_receive(hca, qp, packet)
    resp.received = written
    return complete_receive(hca, qp, packet, WCOpcode.RECV_RDMA_WITH_IMM)


def read(hca: Adapter, qp: QueuePair, packet: Packet, row: Opcode) -> str | None:
    """C9-148: the MSN moves when the request is accepted, before its first response.

    It takes as many PSNs as the response has packets.
    """
    assert packet.reth is not None
    reth = packet.reth
    qp.resp.msn = (qp.resp.msn + 1) & MASK
    assert qp.path is not None
    packets = max(1, -(-reth.dma_length // qp.path.mtu))
    qp.resp.psn = (qp.resp.psn + packets - 1) & MASK  # one is everybody's
    answer.keep(qp, Served(packet.psn, packets, row.op, reth.va, reth.dma_length))
    answer.stream(hca, qp, packet, reth)
    return None


def _swapped(original: int, atomic: AtomicETH) -> int | None:
    return atomic.swap_add if original == atomic.compare else None


def _sum(original: int, atomic: AtomicETH) -> int:
    return (original + atomic.swap_add) & _WORD


# The word that each atomic stores, by what it found; None: nothing is written.
ATOMICS: dict[Op, Callable[[int, AtomicETH], int | None]] = {
    Op.COMPARE_SWAP: _swapped,
    Op.FETCH_ADD: _sum,
}


def atomic(hca: Adapter, qp: QueuePair, packet: Packet, row: Opcode) -> str | None:
    """Memory holds words in host order, the wire carries them big endian."""
    asked = packet.atomiceth
    assert asked is not None
    place = _place(hca, asked.rkey, asked.va)
    original = int.from_bytes(dma.read(hca, qp, place, ATOMIC_BYTES), "little")
    if (word := ATOMICS[row.op](original, asked)) is not None:
        dma.write(hca, qp, place, word.to_bytes(ATOMIC_BYTES, "little"))
    qp.resp.msn = (qp.resp.msn + 1) & MASK
    # Kept, because a duplicate must get this result and not be executed again (transport.md 11).
    served = Served(packet.psn, 1, row.op, asked.va, ATOMIC_BYTES, original)
    answer.keep(qp, served)
    answer.replay(hca, qp, served)
    return None


def flush(hca: Adapter, qp: QueuePair, packet: Packet, _row: Opcode) -> str | None:
    """Memory of this host is visible at once: a FLUSH is recorded and answered."""
    piece = checks.flushed(hca, qp, packet)
    if isinstance(piece, tuple):
        hca.trace.record(Kind.MEMORY_FLUSHED, hca.node, qp.number, *piece)
    qp.resp.msn = (qp.resp.msn + 1) & MASK
    answer.respond(hca, qp, packet.psn)
    return None


def atomic_write(hca: Adapter, qp: QueuePair, packet: Packet, row: Opcode) -> str | None:
    """Write 8 bytes in one step."""
    assert packet.reth is not None
    dma.write(hca, qp, _place(hca, packet.reth.rkey, packet.reth.va), packet.payload)
    qp.resp.msn = (qp.resp.msn + 1) & MASK
    answer.keep(qp, Served(packet.psn, 1, row.op, packet.reth.va, ATOMIC_BYTES))
    answer.respond(hca, qp, packet.psn)
    return None


EXECUTE: dict[Op, Callable[[Adapter, QueuePair, Packet, Opcode], str | None]] = {
    Op.SEND: send,
    Op.RDMA_WRITE: write,
    Op.RDMA_READ_REQUEST: read,
    **dict.fromkeys(ATOMICS, atomic),
    Op.FLUSH: flush,
    Op.ATOMIC_WRITE: atomic_write,
}


# --------------------------------------------------------------------------- receive WQEs
def take_receive(hca: Adapter, qp: QueuePair, packet: Packet | Frame) -> None:
    """Take the oldest receive WQE, or the one that an aborted message did not complete.

    A WQE of a shared queue then belongs to this QP and is never put back.
    """
    qp.resp.received = 0
    if qp.resp.recv is not None:
        return
    source = qp.source if packet.xrceth is None else hca.srqs.find(packet.xrceth.srqn)
    wqe = qp.resp.recv = source.wqes.popleft()
    hca.trace.record(_TAKEN, hca.node, qp.number, wqe)
    if hca.profile.slots_freed is _EXECUTED:
        slots.free_recv(hca, qp, wqe)
    if wqe.srq:
        srq.watch_limit(hca, hca.srqs.find(wqe.srq))


def complete_receive(
    hca: Adapter, qp: QueuePair, packet: Packet | Frame, opcode: WCOpcode, flags: int = 0
) -> str | None:
    """The receive WQE in use is done: `resp.received` bytes came."""
    resp, wqe, deth = qp.resp, qp.resp.recv, packet.deth
    assert wqe is not None
    has_grh = deth is not None and isinstance(packet, Packet) and packet.flow.has_grh
    # GRH is meant for datagrams; Soft-RoCE sets it on every successful receive (measured).
    flags |= _GRH if has_grh or hca.profile.grh_flag_on_rc else 0
    imm_data = 0
    if packet.immdt is not None:
        flags |= _WITH_IMM
        imm_data = swap_octets(packet.immdt.imm_data)
    elif packet.ieth is not None:  # invalidated_rkey lies in the same place
        # Soft-RoCE sets 4, IP_CSUM_OK, where 8, WITH_INV, is meant (measured).
        flags |= hca.profile.with_inv_flag
        imm_data = packet.ieth.rkey
    cqe = Cqe(
        wqe.wr.wr_id, _SUCCESS, opcode, resp.received, qp.number, wqe.serial, False,
        imm_data, flags, deth.src_qp if deth is not None else 0, 0, wqe.srq,
        packet.solicited,
    )  # fmt: skip
    if deth is not None and hca.lids:
        cqe.route = _route(hca, packet)
    resp.recv = None
    if not hca.complete(qp, srq.cq_of(hca, qp, wqe) if wqe.srq else qp.recv_cq, cqe):
        return "cq-overrun"
    resp.msn = (resp.msn + 1) & MASK
    return None


def _route(hca: Adapter, packet: Packet | Frame) -> tuple[int, int, int]:
    """slid, sl and dlid_path_bits: how a datagram came to this LID of the port."""
    assert isinstance(packet, Packet)
    assert isinstance(packet.flow, LidFlow)
    return packet.flow.src, packet.flow.sl, hca.lids.index(packet.flow.dst)


# --------------------------------------------------------------------------- memory
def _follow(hca: Adapter, qp: QueuePair, packet: Packet) -> bool:
    """Locate the bytes of this packet by the key as it is now; False if the key denies them.

    IBTA 10.6: what was deregistered or invalidated is not touched any more. Soft-RoCE instead
    holds the region that the first packet found until the message ends (rxe_resp.c, qp->resp.mr).
    """
    resp, user = qp.resp, qp if qp.pd else srq.xrc_borrower(hca, qp, packet)
    place = dma.locate(hca.rkeys, resp.rkey, user, _WRITING, resp.va, len(packet.payload))
    if isinstance(place, dma.Denied):
        return False
    resp.place = place
    return True


def _place(hca: Adapter, rkey: int, va: int) -> int:
    """Address of the byte that the checks have let through; no key is checked for 0 bytes."""
    opened = hca.rkeys.get(rkey)
    return va if opened is None else opened.addr + va - opened.iova
