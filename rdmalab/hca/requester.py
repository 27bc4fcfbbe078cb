"""The requester: takes send WQEs in order and sends their packets. Writes only `qp.req`."""

from typing import TYPE_CHECKING

from rdmalab.hca.engine_state import Requesting
from rdmalab.hca.psn import MASK, WINDOW
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.request_packets import BUILD
from rdmalab.hca.wqe import SendWqe
from rdmalab.spec.opcodes import Op
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import ORDERED, SendFlags
from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import Packet

if TYPE_CHECKING:
    from rdmalab.hca.device import Hca

_SENDING = (QPState.RTS, QPState.SQD)
_FENCE = int(SendFlags.FENCE)
_READ, _WRITE = Op.RDMA_READ_REQUEST, Op.RDMA_WRITE
_STARTED = Kind.WQE_STARTED


def begin(qp: QueuePair) -> None:
    """A new first PSN."""
    qp.req = Requesting(qp.sq.posted, qp.sq.next_psn)


# --------------------------------------------------------------------------- may it start?
def must_wait(qp: QueuePair, wqe: SendWqe) -> str:
    """Why a WQE may not begin yet; nothing if it may."""
    if not qp.state_row.starts_sends:  # SQD finishes what was begun and begins nothing
        return "state"
    if wqe.flags & _FENCE and _reads(qp):  # IBA 10.8.3.3: earlier READs and atomics come first
        return "fence"
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


def is_stuck(hca: "Hca", qp: QueuePair, wqe: SendWqe) -> bool:
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
    """Why nothing leaves: `rnr`, what `must_wait` says, or nothing at all."""
    wqe = qp.sq.wqes.get(qp.req.serial)
    if qp.comp.rnr_until_ns is not None:
        return "rnr"
    if wqe is None or wqe.serial < qp.req.started:
        return ""
    return must_wait(qp, wqe)


# --------------------------------------------------------------------------- what leaves
def make_packet(hca: "Hca", qp: QueuePair, wqe: SendWqe) -> Packet | Frame | None:
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
def go_back(hca: "Hca", qp: QueuePair, reason: str) -> None:
    """Go back N: retransmit everything from the oldest PSN without an answer."""
    req, comp = qp.req, qp.comp
    req.psn, req.serial = comp.psn, comp.serial
    req.unasked = 0
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
