"""The requester: takes send WQEs in order and sends their packets. Writes only `qp.req`."""

from collections.abc import Callable

from rdmalab.hca import ah, dma, mw, offloads
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.psn import MASK, WINDOW
from rdmalab.hca.qp import QueuePair, Requesting
from rdmalab.hca.wr import SendWqe, swap_octets
from rdmalab.spec.opcodes import (
    ATOMIC_BYTES,
    FETCHING_OPS,
    Op,
    PacketPlace,
    Service,
    code_of,
    message_codes,
)
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import ORDERED, SendFlags, WROpcode
from rdmalab.wire.frame import Frame
from rdmalab.wire.headers import DETH, FETH, IETH, RETH, XRCETH, AtomicETH, Ethernet, ImmDt
from rdmalab.wire.packet import Packet

_SENDING = (QPState.RTS, QPState.SQD)
_FENCE = int(SendFlags.FENCE)
_READ, _WRITE = Op.RDMA_READ_REQUEST, Op.RDMA_WRITE
_STARTED = Kind.WQE_STARTED


def begin(qp: QueuePair) -> None:
    """A new first PSN."""
    qp.req = Requesting(qp.sq.posted, qp.sq.next_psn)


# --------------------------------------------------------------------------- may it start?
def must_wait(qp: QueuePair, wqe: SendWqe) -> str:
    """The reason a WQE may not begin yet; nothing if it may."""
    if not qp.state_row.starts_sends:  # SQD finishes what was begun and begins nothing
        return "state"
    if wqe.flags & _FENCE and _reads(qp):  # IBA 10.8.3.3: earlier READs and atomics come first
        return "fence"
    # IBA 10.6.5.1: a local invalidate waits until all requests before it are complete.
    if wqe.op is None or wqe.work is None:  # it sends nothing; only such wait for all before them
        return "fence" if wqe.wr.opcode in ORDERED and qp.comp.serial < wqe.serial else ""
    if wqe.work.outstanding and _reads(qp) >= (qp.attr.max_rd_atomic or 0):  # 0: none ever begins
        return "rd-atomic"
    return "window" if (wqe.last_psn - qp.comp.psn) & MASK >= WINDOW else ""  # half of the circle


def _reads(qp: QueuePair) -> int:
    """READs and atomics under way."""
    return qp.req.reads - qp.comp.reads


def next_wqe(qp: QueuePair) -> SendWqe | None:
    """The WQE whose next packet may leave now."""
    req = qp.req
    serial = req.serial
    if serial == qp.sq.posted or qp.state not in _SENDING:
        return None
    if qp.comp.rnr_until_ns is not None or req.failed is not None:
        return None
    wqe = qp.sq.wqes[serial]
    begun = serial < req.started  # then only errors stop it
    return wqe if begun or not must_wait(qp, wqe) else None


def is_stuck(hca: Adapter, qp: QueuePair, wqe: SendWqe) -> bool:
    """True if the port accepts no packet as long as the next one of a SEND or WRITE; no error is
    raised.
    """
    path, limit = qp.path, hca.profile.caps.active_mtu
    if path is None or path.mtu <= limit or not qp.transport.connected:
        return False
    if wqe.op not in (Op.SEND, _WRITE):
        return False
    left = wqe.length - ((qp.req.psn - wqe.first_psn) & MASK) * path.mtu
    return min(path.mtu, left) > limit


def reason_to_wait(qp: QueuePair) -> str:
    """The reason nothing leaves: `rnr`, what `must_wait` says, or nothing at all."""
    wqe = qp.sq.wqes.get(qp.req.serial)
    if qp.comp.rnr_until_ns is not None:
        return "rnr"
    if wqe is None or wqe.serial < qp.req.started:
        return ""
    return must_wait(qp, wqe)


# --------------------------------------------------------------------------- what leaves
def make_packet(hca: Adapter, qp: QueuePair, wqe: SendWqe) -> Packet | Frame | None:
    """The next packet of this WQE, or None when none leaves; it completes in its turn."""
    req = qp.req
    if wqe.serial == req.started:
        req.started += 1
        if wqe.work is not None and wqe.work.outstanding:
            req.reads += 1
        hca.trace.record(_STARTED, hca.node, qp.number, wqe)
    made = BUILD[qp.service][wqe.op](hca, qp, wqe)
    if isinstance(made, int):  # a status
        _end_without_packet(qp, wqe, made)
        return None
    psn = req.psn
    # A READ takes the PSNs of its response packets with it (transport.md 5): they carry these.
    last = wqe.last_psn if wqe.op is _READ else psn
    if last == wqe.last_psn:
        req.serial += 1
    after = (last + 1) & MASK
    if psn == req.sent:
        req.sent = after
    req.psn = after
    return made


def _end_without_packet(qp: QueuePair, wqe: SendWqe, status: int) -> None:
    """Done here and now, or failed."""
    req = qp.req
    if status != WCStatus.SUCCESS:
        req.failed = status
        return
    req.serial += 1
    req.done = max(req.done, req.serial)
    req.psn = (wqe.last_psn + 1) & MASK


# --------------------------------------------------------------------------- going back
def go_back(hca: Adapter, qp: QueuePair, reason: str) -> None:
    """Go back N: retransmit everything from the oldest PSN without an answer."""
    req, comp = qp.req, qp.comp
    req.psn, req.serial = comp.psn, comp.serial
    req.unasked = 0
    # A local failure is found again when the packet is built again.
    req.failed = None
    wqe = qp.sq.wqes.get(req.serial)
    if wqe is not None and wqe.op in (Op.SEND, _WRITE) and req.psn != wqe.last_psn:
        req.asked = req.psn  # the rest of a long message: its last packet requests the ACK
    hca.trace.record(Kind.WENT_BACK, hca.node, qp.number, req.psn, reason)
    hca.wake(qp)


def cancel_retransmit(qp: QueuePair) -> None:
    """Cancel pending retransmission up to comp.psn: these requests were answered after all."""
    qp.req.psn, qp.req.serial = qp.comp.psn, qp.comp.serial


def rewind_unacked(qp: QueuePair) -> None:
    """Reset the send cursor to comp.psn: started requests are queued as if unsent."""
    req, comp = qp.req, qp.comp
    req.psn = req.sent = comp.psn
    req.serial = req.started = comp.serial
    req.reads = comp.reads
    req.unasked = 0
    req.asked = comp.psn


# --------------------------------------------------------------------------- packets of requests
_SOLICITED = int(SendFlags.SOLICITED)
_READ, _WRITE = Op.RDMA_READ_REQUEST, Op.RDMA_WRITE
_PRIVILEGED = 1 << 31  # of a Q_Key
_SELECTIVITY, _PLACEMENT = 0x3, 0xF  # as wide as the fields of a FETH: the rest is cut off


# A long message asks for an ACK now and then, or its window would never move (as Soft-RoCE does).
ACK_EVERY = 64


def _build_message(hca: Adapter, qp: QueuePair, wqe: SendWqe) -> Packet | WCStatus:
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
    # Read at each transmission, not once: a buffer that changes before the completion can send
    # old bytes, new bytes, or both (transport.md 7, 2.).
    payload = dma.gather(hca, qp, wqe, offset, wqe.length - offset if ends else mtu)
    if not isinstance(payload, bytes):
        return payload
    # The last packet of each message asks for an ACK; the standard lets a requester ask more often.
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


def _too_long(hca: Adapter, wqe: SendWqe) -> WCStatus | None:
    """The status of a message longer than max_msg_sz; None: the message is sent."""
    status = hca.profile.long_message_status
    fits = wqe.length <= hca.profile.caps.max_msg_sz
    return None if fits or status is WCStatus.SUCCESS else status


def _build_read(hca: Adapter, qp: QueuePair, wqe: SendWqe) -> Packet | WCStatus:
    """A READ request; after a retry, for the part that is still missing (transport.md 7.6)."""
    if (too_long := _too_long(hca, wqe)) is not None:
        return too_long
    assert qp.path is not None
    offset = ((qp.req.psn - wqe.first_psn) & MASK) * qp.path.mtu
    reth = RETH(wqe.wr.remote_addr + offset, wqe.wr.rkey, wqe.length - offset)
    return _only(qp, _READ, reth)


def _only(qp: QueuePair, op: Op, reth: RETH | None, payload: bytes = b"") -> Packet:
    """A request of one packet, which asks for an answer."""
    path = qp.path
    assert path is not None
    qp.req.unasked = 0
    return Packet(
        path.flow, code_of[qp.service, op, PacketPlace.ONLY, False, False], path.dest_qpn,
        qp.req.psn, payload, True, False, path.pkey, path.migrated, reth=reth,
    )  # fmt: skip


def _odd_length(hca: Adapter, wqe: SendWqe) -> WCStatus | None:
    """The status of an atomic whose local list is not 8 bytes long; None: the atomic is sent."""
    odd = hca.profile.odd_atomic_status
    return None if wqe.length == ATOMIC_BYTES or odd is WCStatus.SUCCESS else odd


def _build_atomic(hca: Adapter, qp: QueuePair, wqe: SendWqe) -> Packet | WCStatus:
    if (odd := _odd_length(hca, wqe)) is not None:
        return odd
    assert wqe.op is not None
    wr = wqe.wr
    swaps = wqe.op is Op.COMPARE_SWAP
    operands = (wr.swap, wr.compare_add) if swaps else (wr.compare_add, 0)
    packet = _only(qp, wqe.op, None)
    packet.atomiceth = AtomicETH(wr.remote_addr, wr.rkey, *operands)
    return packet


def _build_flush(_hca: Adapter, qp: QueuePair, wqe: SendWqe) -> Packet | WCStatus:
    wr = wqe.wr
    packet = _only(qp, Op.FLUSH, RETH(wr.remote_addr, wr.rkey, wr.flush_length))
    packet.feth = FETH(0, wr.flush_level & _SELECTIVITY, wr.flush_type & _PLACEMENT)
    return packet


def _build_atomic_write(hca: Adapter, qp: QueuePair, wqe: SendWqe) -> Packet | WCStatus:
    if (odd := _odd_length(hca, wqe)) is not None:
        return odd
    payload = dma.gather(hca, qp, wqe, 0, wqe.length)
    if not isinstance(payload, bytes):
        return payload
    reth = RETH(wqe.wr.remote_addr, wqe.wr.rkey, wqe.length)
    return _only(qp, Op.ATOMIC_WRITE, reth, payload)


def _build_datagram(hca: Adapter, qp: QueuePair, wqe: SendWqe) -> Packet | WCStatus:
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
    # Soft-RoCE sends a privileged Q_Key as it is, and the receiver drops the packet (measured).
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


def _build_frame(hca: Adapter, qp: QueuePair, wqe: SendWqe) -> Frame | WCStatus:
    """A frame: at least an Ethernet header, at most the MTU after it."""
    most = Ethernet.LENGTH + hca.profile.caps.active_mtu
    if not Ethernet.LENGTH <= offloads.longest(wqe) <= most:
        return WCStatus.LOC_LEN_ERR
    octets = offloads.next_message(hca, qp, wqe)
    return Frame(octets) if isinstance(octets, bytes) else octets


def _carry_out(hca: Adapter, qp: QueuePair, wqe: SendWqe) -> Packet | WCStatus:
    """Execute a request without a packet, once; LOC_QP_OP_ERR for an opcode that is not there."""
    if wqe.serial < qp.req.done:
        return WCStatus.SUCCESS
    if wqe.work is None:
        return WCStatus.LOC_QP_OP_ERR
    return LOCAL[WROpcode(wqe.wr.opcode)](hca, qp, wqe)


# What needs no packet: done when its turn comes, with all before it begun and nothing after it.
LOCAL: dict[WROpcode, Callable[[Adapter, QueuePair, SendWqe], WCStatus]] = {
    WROpcode.BIND_MW: mw.bind,
    WROpcode.LOCAL_INV: mw.invalidate_own,
}


Builder = Callable[[Adapter, QueuePair, SendWqe], Packet | Frame | WCStatus]


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

    def named(hca: Adapter, qp: QueuePair, wqe: SendWqe) -> Packet | Frame | WCStatus:
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
