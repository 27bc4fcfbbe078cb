"""The packets of send work requests: one builder for each operation of a service."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from rdmalab.hca import ah, dma, mw, offloads
from rdmalab.hca.psn import MASK
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wqe import SendWqe
from rdmalab.hca.wr import swap_octets
from rdmalab.spec.opcodes import (
    ATOMIC_BYTES,
    FETCHING_OPS,
    Op,
    PacketPlace,
    Service,
    code_of,
    message_codes,
)
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.wire.frame import Frame
from rdmalab.wire.headers import DETH, FETH, IETH, RETH, XRCETH, AtomicETH, Ethernet, ImmDt
from rdmalab.wire.packet import Packet

if TYPE_CHECKING:
    from rdmalab.hca.device import Hca

_SOLICITED = int(SendFlags.SOLICITED)
_READ, _WRITE = Op.RDMA_READ_REQUEST, Op.RDMA_WRITE
_PRIVILEGED = 1 << 31  # of a Q_Key
_SELECTIVITY, _PLACEMENT = 0x3, 0xF  # as wide as the fields of a FETH: the rest is cut off


# A long message asks for an ACK now and then, or its window would never move (as Soft-RoCE does).
ACK_EVERY = 64


def _build_message(hca: "Hca", qp: QueuePair, wqe: SendWqe) -> Packet | WCStatus:
    """SEND and RDMA WRITE: one path MTU a packet, the data read at this very moment."""
    req, path = qp.req, qp.path
    assert path is not None  # RTR needs AV, DEST_QPN and PATH_MTU
    assert wqe.op is not None
    assert wqe.work is not None
    work, psn, mtu = wqe.work, req.psn, path.mtu
    starts, ends = psn == wqe.first_psn, psn == wqe.last_psn
    is_long = starts and wqe.length > hca.profile.caps.max_msg_sz  # asked first: it saves a call
    if is_long and (too_long := _too_long(hca, wqe)) is not None:
        return too_long
    offset = ((psn - wqe.first_psn) & MASK) * mtu
    payload = dma.gather(hca, qp, wqe, offset, wqe.length - offset if ends else mtu)
    if not isinstance(payload, bytes):
        return payload
    asks = qp.transport.acknowledged and (ends or req.unasked >= ACK_EVERY)
    req.unasked = 0 if asks else req.unasked + 1
    solicited = ends and work.solicits and wqe.flags & _SOLICITED != 0
    immediate = ends and work.immediate
    invalidates = ends and work.invalidate
    code = message_codes[qp.service][wqe.op][starts, ends, immediate, invalidates]
    packet = Packet(
        path.flow, code, path.dest_qpn, psn, payload, asks, solicited, path.pkey, path.migrated
    )
    if immediate:
        packet.immdt = ImmDt(swap_octets(wqe.wr.imm_data))
    if invalidates:
        packet.ieth = IETH(wqe.wr.invalidate_rkey)
    if starts and wqe.op is _WRITE:
        packet.reth = RETH(wqe.wr.remote_addr, wqe.wr.rkey, wqe.length)
    return packet


def _too_long(hca: "Hca", wqe: SendWqe) -> WCStatus | None:
    """The status of a message longer than max_msg_sz; None: the message is sent."""
    status = hca.profile.long_message_status
    fits = wqe.length <= hca.profile.caps.max_msg_sz
    return None if fits or status is WCStatus.SUCCESS else status


def _build_read(hca: "Hca", qp: QueuePair, wqe: SendWqe) -> Packet | WCStatus:
    """A READ request; after a retry, for the part that is still missing (transport.md 7.6)."""
    if (too_long := _too_long(hca, wqe)) is not None:
        return too_long
    path = qp.path
    assert path is not None
    psn = qp.req.psn
    offset = ((psn - wqe.first_psn) & MASK) * path.mtu
    reth = RETH(wqe.wr.remote_addr + offset, wqe.wr.rkey, wqe.length - offset)
    code = code_of[qp.service, _READ, PacketPlace.ONLY, False, False]
    qp.req.unasked = 0
    return Packet(
        path.flow, code, path.dest_qpn, psn, b"", True, False, path.pkey, path.migrated, reth=reth
    )


def _odd_length(hca: "Hca", wqe: SendWqe) -> WCStatus | None:
    """The status of an atomic whose local list is not 8 bytes long; None: the atomic is sent."""
    odd = hca.profile.odd_atomic_status
    return None if wqe.length == ATOMIC_BYTES or odd is WCStatus.SUCCESS else odd


def _build_atomic(hca: "Hca", qp: QueuePair, wqe: SendWqe) -> Packet | WCStatus:
    if (odd := _odd_length(hca, wqe)) is not None:
        return odd
    path = qp.path
    assert path is not None
    assert wqe.op is not None
    wr = wqe.wr
    swaps = wqe.op is Op.COMPARE_SWAP
    operands = (wr.swap, wr.compare_add) if swaps else (wr.compare_add, 0)
    atomic = AtomicETH(wr.remote_addr, wr.rkey, *operands)
    code = code_of[qp.service, wqe.op, PacketPlace.ONLY, False, False]
    qp.req.unasked = 0
    return Packet(
        path.flow, code, path.dest_qpn, qp.req.psn, b"", True, False, path.pkey, path.migrated,
        atomiceth=atomic,
    )  # fmt: skip


def _build_flush(_hca: "Hca", qp: QueuePair, wqe: SendWqe) -> Packet | WCStatus:
    path, wr = qp.path, wqe.wr
    assert path is not None
    code = code_of[qp.service, Op.FLUSH, PacketPlace.ONLY, False, False]
    qp.req.unasked = 0
    return Packet(
        path.flow, code, path.dest_qpn, qp.req.psn, b"", True, False, path.pkey, path.migrated,
        feth=FETH(0, wr.flush_level & _SELECTIVITY, wr.flush_type & _PLACEMENT),
        reth=RETH(wr.remote_addr, wr.rkey, wr.flush_length),
    )  # fmt: skip


def _build_atomic_write(hca: "Hca", qp: QueuePair, wqe: SendWqe) -> Packet | WCStatus:
    if (odd := _odd_length(hca, wqe)) is not None:
        return odd
    path, wr = qp.path, wqe.wr
    assert path is not None
    payload = dma.gather(hca, qp, wqe, 0, wqe.length)
    if not isinstance(payload, bytes):
        return payload
    code = code_of[qp.service, Op.ATOMIC_WRITE, PacketPlace.ONLY, False, False]
    qp.req.unasked = 0
    reth = RETH(wr.remote_addr, wr.rkey, wqe.length)
    return Packet(
        path.flow, code, path.dest_qpn, qp.req.psn, payload, True, False, path.pkey, path.migrated,
        reth=reth,
    )  # fmt: skip


def _build_datagram(hca: "Hca", qp: QueuePair, wqe: SendWqe) -> Packet | WCStatus:
    """One packet to where the work request says."""
    path, wr = qp.path, wqe.wr
    assert path is not None
    assert wqe.work is not None
    to = wqe.av or hca.ahs.items.get(wr.ah or 0)
    if to is None or to.pd != qp.pd or not ah.has_source(hca, to.attr):
        return WCStatus.LOC_QP_OP_ERR
    # C10-93.1.1: nothing is sent, and that is no error. The MTU of the port is that of now.
    if offloads.longest(wqe) > hca.profile.caps.active_mtu:
        return hca.profile.long_datagram_status
    payload = offloads.next_message(hca, qp, wqe)
    if not isinstance(payload, bytes):
        return payload
    qkey = wr.remote_qkey
    if qkey & _PRIVILEGED and hca.profile.guards_privileged_qkey:  # IBA 10.2.5
        qkey = qp.attr.qkey or 0
    code = message_codes[qp.service][Op.SEND][True, True, wqe.work.immediate, False]
    flow = ah.flow_to(hca, to.attr, path.flow.sport)
    solicited = wqe.flags & _SOLICITED != 0
    packet = Packet(
        flow, code, wr.remote_qpn & MASK, qp.req.psn, payload, False, solicited, path.pkey,
        path.migrated,
        deth=DETH(qkey, 0, qp.number),
    )  # fmt: skip
    if wqe.work.immediate:
        packet.immdt = ImmDt(swap_octets(wr.imm_data))
    return packet


def _build_frame(hca: "Hca", qp: QueuePair, wqe: SendWqe) -> Frame | WCStatus:
    """A frame: at least an Ethernet header, at most the MTU after it."""
    most = Ethernet.LENGTH + hca.profile.caps.active_mtu
    if not Ethernet.LENGTH <= offloads.longest(wqe) <= most:
        return WCStatus.LOC_LEN_ERR
    octets = offloads.next_message(hca, qp, wqe)
    return Frame(octets) if isinstance(octets, bytes) else octets


def _carry_out(hca: "Hca", qp: QueuePair, wqe: SendWqe) -> Packet | WCStatus:
    """What sends nothing is done here, once; an opcode that is not there is not done at all."""
    if wqe.serial < qp.req.done:
        return WCStatus.SUCCESS
    if wqe.work is None:
        return WCStatus.LOC_QP_OP_ERR
    return LOCAL[WROpcode(wqe.wr.opcode)](hca, qp, wqe)


# What needs no packet: done when its turn comes, with all before it begun and nothing after it.
LOCAL: dict[WROpcode, Callable[["Hca", QueuePair, SendWqe], WCStatus]] = {
    WROpcode.BIND_MW: mw.bind,
    WROpcode.LOCAL_INV: mw.invalidate_own,
}


Builder = Callable[["Hca", QueuePair, SendWqe], Packet | Frame | WCStatus]


_CONNECTED: dict[Op | None, Builder] = {
    None: _carry_out,
    Op.SEND: _build_message,
    Op.RDMA_WRITE: _build_message,
    Op.RDMA_READ_REQUEST: _build_read,
    **dict.fromkeys(FETCHING_OPS, _build_atomic),
    Op.FLUSH: _build_flush,
    Op.ATOMIC_WRITE: _build_atomic_write,
}


def _to_srq(build: Builder) -> Builder:
    """IBTA A14: an XRC request names its SRQ in a header directly after the BTH."""

    def named(hca: "Hca", qp: QueuePair, wqe: SendWqe) -> Packet | Frame | WCStatus:
        made = build(hca, qp, wqe)
        if isinstance(made, Packet):
            made.xrceth = XRCETH(0, wqe.wr.remote_srqn & MASK)
        return made

    return named


BUILD: dict[Service | None, dict[Op | None, Builder]] = {
    Service.RC: _CONNECTED,
    Service.XRC: {op: _to_srq(build) for op, build in _CONNECTED.items()},
    Service.UC: _CONNECTED,
    Service.UD: {None: _carry_out, Op.SEND: _build_datagram},
    None: {None: _carry_out, Op.SEND: _build_frame},
}
