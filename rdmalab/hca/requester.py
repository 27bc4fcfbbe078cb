"""The requester: takes send WQEs in order and makes packets of them. Writes only in `qp.req`."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from rdmalab.hca import dma
from rdmalab.hca.psn import MASK, WINDOW
from rdmalab.hca.qp import QueuePair, Requesting
from rdmalab.hca.wr import SendWqe, swap_octets
from rdmalab.spec.opcodes import Op, Place, code_of
from rdmalab.spec.records import Kind
from rdmalab.spec.states import STATES, QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags
from rdmalab.wire.headers import RETH, AtomicETH, ImmDt
from rdmalab.wire.packet import Packet

if TYPE_CHECKING:
    from rdmalab.hca.device import Hca

_SENDING = (QPState.RTS, QPState.SQD)
_FENCE = int(SendFlags.FENCE)
_SOLICITED = int(SendFlags.SOLICITED)

# A long message asks for an ACK now and then, or its window would never move (as Soft-RoCE does).
ACK_EVERY = 64


def begin(qp: QueuePair) -> None:
    """A new first PSN."""
    qp.req = Requesting(qp.sq.posted, qp.sq.next_psn)


# --------------------------------------------------------------------------- may it start?
def wait_for_state(qp: QueuePair, _wqe: SendWqe) -> bool:
    """SQD finishes what was begun and begins nothing."""
    return not STATES[qp.state].starts_sends


def wait_for_reads(qp: QueuePair, wqe: SendWqe) -> bool:
    """FENCE: all earlier READs and atomics must be complete (IBA 10.8.3.3)."""
    return bool(wqe.flags & _FENCE) and qp.req.reads != qp.comp.reads


def wait_for_depth(qp: QueuePair, wqe: SendWqe) -> bool:
    """max_rd_atomic READs and atomics are under way; with 0 none ever starts."""
    row = wqe.work
    if row is None or not row.outstanding:
        return False
    return qp.req.reads - qp.comp.reads >= (qp.attr.max_rd_atomic or 0)


def wait_for_window(qp: QueuePair, wqe: SendWqe) -> bool:
    """Half of the PSN circle is the most that may be outstanding."""
    return (wqe.last_psn - qp.comp.psn) & MASK >= WINDOW


WAITS: dict[str, Callable[[QueuePair, SendWqe], bool]] = {
    "state": wait_for_state,
    "fence": wait_for_reads,
    "rd-atomic": wait_for_depth,
    "window": wait_for_window,
}
_WAITS = tuple(WAITS.values())


def next_wqe(qp: QueuePair) -> SendWqe | None:
    """The WQE whose next packet may leave now."""
    req = qp.req
    wqe = qp.sq.wqes.get(req.serial)
    if wqe is None or qp.comp.rnr_until_ns is not None or req.failed is not None:
        return None
    if wqe.serial < req.started:  # begun: only errors stop it
        return wqe if qp.state in _SENDING else None
    for wait in _WAITS:
        if wait(qp, wqe):
            return None
    return wqe


def reason_to_wait(qp: QueuePair) -> str:
    """Why nothing leaves: the name of a row of WAITS, `rnr`, or nothing at all."""
    wqe = qp.sq.wqes.get(qp.req.serial)
    if qp.comp.rnr_until_ns is not None:
        return "rnr"
    if wqe is None or wqe.serial < qp.req.started:
        return ""
    return next((name for name, wait in WAITS.items() if wait(qp, wqe)), "")


# --------------------------------------------------------------------------- what leaves
def make_packet(hca: "Hca", qp: QueuePair, wqe: SendWqe) -> Packet | None:
    """The next packet of this WQE, or None when it fails locally; it completes in its turn."""
    req = qp.req
    if wqe.serial == req.started:
        _start(hca, qp, wqe)
    build = BUILD.get(wqe.op) if wqe.op is not None else None
    made = build(hca, qp, wqe) if build else WCStatus.LOC_QP_OP_ERR
    if isinstance(made, WCStatus):
        req.failed = made
        return None
    last = wqe.last_psn if wqe.op is Op.RDMA_READ_REQUEST else req.psn
    if last == wqe.last_psn:
        req.serial += 1
    is_new = req.psn == req.sent
    req.psn = (last + 1) & MASK
    if is_new:
        req.sent = req.psn
    return made


def _start(hca: "Hca", qp: QueuePair, wqe: SendWqe) -> None:
    qp.req.started += 1
    if wqe.work is not None and wqe.work.outstanding:
        qp.req.reads += 1
    hca.trace.record(Kind.WQE_STARTED, hca.node, qp.number, wqe)


def _build_message(hca: "Hca", qp: QueuePair, wqe: SendWqe) -> Packet | WCStatus:
    """SEND and RDMA WRITE: one path MTU a packet, the data read at this very moment."""
    req, path = qp.req, qp.path
    assert path is not None  # RTR needs AV, DEST_QPN and PATH_MTU
    assert wqe.op is not None
    assert wqe.work is not None
    psn = req.psn
    offset = ((psn - wqe.first_psn) & MASK) * path.mtu
    payload = _payload(hca, qp, wqe, offset, min(path.mtu, wqe.length - offset))
    if isinstance(payload, WCStatus):
        return payload
    place = _place(psn, wqe)
    ends = psn == wqe.last_psn
    immediate = ends and wqe.work.immediate
    asks = ends or req.unasked >= ACK_EVERY
    req.unasked = 0 if asks else req.unasked + 1
    solicited = ends and wqe.work.solicits and bool(wqe.flags & _SOLICITED)
    code = code_of[qp.service, wqe.op, place, immediate, False]
    packet = Packet(path.flow, code, path.dest_qpn, psn, payload, asks, solicited, pkey=path.pkey)
    if immediate:
        packet.immdt = ImmDt(swap_octets(wqe.wr.imm_data))
    if wqe.op is Op.RDMA_WRITE and psn == wqe.first_psn:
        packet.reth = RETH(wqe.wr.remote_addr, wqe.wr.rkey, wqe.length)
    return packet


def _place(psn: int, wqe: SendWqe) -> Place:
    if psn == wqe.first_psn:
        return Place.ONLY if psn == wqe.last_psn else Place.FIRST
    return Place.LAST if psn == wqe.last_psn else Place.MIDDLE


def _payload(hca: "Hca", qp: QueuePair, wqe: SendWqe, offset: int, length: int) -> bytes | WCStatus:
    if wqe.inline is not None:
        return wqe.inline[offset : offset + length]
    parts = dma.pieces(wqe.sg, offset, length)
    octets = dma.gather(hca.memory, hca.lkeys, qp.pd, parts)
    if isinstance(octets, bytes):
        for _, addr, count in parts:
            hca.trace.record(Kind.MEMORY_READ, hca.node, qp.number, addr, count)
        return octets
    key_unknown = octets in (dma.Denied.KEY, dma.Denied.PD)
    return hca.profile.unknown_lkey_status if key_unknown else WCStatus.LOC_PROT_ERR


def _build_read(_hca: "Hca", qp: QueuePair, wqe: SendWqe) -> Packet | WCStatus:
    """A READ request; after a retry, for the part that is still missing (transport.md 7.6)."""
    path = qp.path
    assert path is not None
    psn = qp.req.psn
    offset = ((psn - wqe.first_psn) & MASK) * path.mtu
    reth = RETH(wqe.wr.remote_addr + offset, wqe.wr.rkey, wqe.length - offset)
    code = code_of[qp.service, Op.RDMA_READ_REQUEST, Place.ONLY, False, False]
    qp.req.unasked = 0
    return Packet(path.flow, code, path.dest_qpn, psn, b"", True, reth=reth, pkey=path.pkey)


def _build_atomic(_hca: "Hca", qp: QueuePair, wqe: SendWqe) -> Packet | WCStatus:
    path = qp.path
    assert path is not None
    assert wqe.op is not None
    wr = wqe.wr
    swaps = wqe.op is Op.COMPARE_SWAP
    operands = (wr.swap, wr.compare_add) if swaps else (wr.compare_add, 0)
    atomic = AtomicETH(wr.remote_addr, wr.rkey, *operands)
    code = code_of[qp.service, wqe.op, Place.ONLY, False, False]
    qp.req.unasked = 0
    return Packet(
        path.flow, code, path.dest_qpn, qp.req.psn, b"", True, atomiceth=atomic, pkey=path.pkey
    )


BUILD: dict[Op, Callable[["Hca", QueuePair, SendWqe], Packet | WCStatus]] = {
    Op.SEND: _build_message,
    Op.RDMA_WRITE: _build_message,
    Op.RDMA_READ_REQUEST: _build_read,
    Op.COMPARE_SWAP: _build_atomic,
    Op.FETCH_ADD: _build_atomic,
}


# --------------------------------------------------------------------------- going back
def go_back(hca: "Hca", qp: QueuePair, reason: str) -> None:
    """Go back N: everything from the oldest PSN without an answer is sent again."""
    req, comp = qp.req, qp.comp
    req.psn, req.serial = comp.psn, comp.serial
    req.unasked = 0
    req.failed = None
    hca.trace.record(Kind.WENT_BACK, hca.node, qp.number, req.psn, reason)
    hca.wake(qp)
