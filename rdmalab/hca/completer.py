"""The completer: turns answers into completions. Writes only `qp.comp`."""

from collections.abc import Callable

from rdmalab.hca import dma, flush, migration, slots
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.psn import MASK, WINDOW, diff
from rdmalab.hca.qp import Completing, QueuePair
from rdmalab.hca.wr import Cqe, SendWqe
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.opcodes import ANSWER, ATOMIC_BYTES, OPCODES, Op
from rdmalab.spec.profiles import SlotsFreed
from rdmalab.spec.records import Kind
from rdmalab.spec.refusals import CLASS_MASK, REQUESTER_STATUS, VALUE_MASK, Syndrome
from rdmalab.spec.states import QPState, after_send_error
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.timers import INFINITE_RETRIES, RNR_NS, on_ticks_ns
from rdmalab.spec.work import Local, WCFlags
from rdmalab.wire.packet import Packet

_ACK, _RNR = "ack", "rnr"
_ACKNOWLEDGED, _WITH_IMM = Syndrome.ACK, WCFlags.WITH_IMM
_SQD, _ERR = QPState.SQD, QPState.ERR
_COMPLETED, _SUCCESS, _EXECUTED = Kind.WQE_COMPLETED, WCStatus.SUCCESS, SlotsFreed.EXECUTED


def begin(qp: QueuePair) -> None:
    """Start with a new first PSN and no outstanding requests."""
    qp.comp = Completing(qp.sq.posted, qp.sq.next_psn)


def reset_retry_counters(qp: QueuePair) -> None:
    """Both retry counters start again, because their attributes changed."""
    qp.comp.retried = qp.comp.rnr_retried = 0


# --------------------------------------------------------------------------- answers
def receive(hca: Adapter, qp: QueuePair, packet: Packet) -> None:
    """Process an answer: an ACK, a NAK, READ data or an atomic's result."""
    comp = qp.comp
    outstanding = diff(packet.psn, comp.psn) >= 0 and diff(packet.psn, qp.req.sent) < 0
    # Of a PSN that is answered already, or was never sent: ignored (transport.md 7, 5.).
    if not outstanding:
        hca.drop(qp, packet, "unexpected-ack")
        return
    oldest = comp.psn
    ANSWERS[OPCODES[packet.opcode].op](hca, qp, packet)
    if qp.state is _ERR:
        return
    if comp.psn != oldest:
        if qp.req.serial < comp.serial:
            hca.cancel_retransmit(qp)
        watch(hca, qp)
    settle(hca, qp)


def _on_acknowledge(hca: Adapter, qp: QueuePair, packet: Packet) -> None:
    assert packet.aeth is not None
    syndrome, comp = packet.aeth.syndrome, qp.comp
    deaf = comp.serial if comp.retrying and not hca.profile.naks_after_retry else None
    if syndrome & CLASS_MASK == _ACKNOWLEDGED:
        # An ACK answers all up to its PSN: one may stand for many requests.
        _answered_before(hca, qp, (packet.psn + 1) & MASK, packet.psn)
    # A NAK answers all before its PSN; what the PSN itself asked for stays open.
    elif _answered_before(hca, qp, packet.psn, packet.psn):
        if syndrome & CLASS_MASK == Syndrome.RNR_NAK:
            _wait_for_receiver(hca, qp, syndrome & VALUE_MASK)
        elif syndrome == Syndrome.NAK_SEQUENCE and comp.serial == deaf:
            comp.retrying = True
        elif syndrome == Syndrome.NAK_SEQUENCE:
            # At once, and it uses up retry_cnt as a timeout does (transport.md 8).
            _retry(hca, qp, "NAK sequence error")
        else:
            # A NAK code that the standard reserves counts as 0x63, as on Soft-RoCE.
            fail(hca, qp, REQUESTER_STATUS.get(syndrome, WCStatus.REM_OP_ERR))


def _on_read_response(hca: Adapter, qp: QueuePair, packet: Packet) -> None:
    wqe = _owner(hca, qp, packet, Op.RDMA_READ_RESPONSE)
    if wqe is None:
        return
    row = OPCODES[packet.opcode]
    path = qp.path
    assert path is not None
    offset = ((packet.psn - wqe.first_psn) & MASK) * path.mtu
    owed = wqe.length - offset if wqe.op is Op.RDMA_READ_REQUEST else 0
    # Order and length must be those of this READ: FIRST and MIDDLE full, the rest in LAST.
    fits = len(packet.payload) == min(path.mtu, owed)
    ends = row.ends == (packet.psn == wqe.last_psn)
    starts = row.starts or packet.psn != wqe.first_psn
    if not (fits and ends and starts):
        fail(hca, qp, WCStatus.BAD_RESP_ERR)
    elif _scatter(hca, qp, wqe, offset, packet.payload):
        _progress(qp, (packet.psn + 1) & MASK)
        if row.ends:
            _complete(hca, qp, wqe)


def _on_atomic(hca: Adapter, qp: QueuePair, packet: Packet) -> None:
    wqe = _owner(hca, qp, packet, Op.ATOMIC_ACKNOWLEDGE)
    if wqe is None:
        return
    assert packet.atomicacketh is not None
    octets = packet.atomicacketh.original.to_bytes(ATOMIC_BYTES, "little")  # host order
    if _scatter(hca, qp, wqe, 0, octets):
        _progress(qp, (packet.psn + 1) & MASK)
        _complete(hca, qp, wqe)


ANSWERS: dict[Op, Callable[[Adapter, QueuePair, Packet], None]] = {
    Op.ACKNOWLEDGE: _on_acknowledge,
    Op.RDMA_READ_RESPONSE: _on_read_response,
    Op.ATOMIC_ACKNOWLEDGE: _on_atomic,
}


def _owner(hca: Adapter, qp: QueuePair, packet: Packet, answer: Op) -> SendWqe | None:
    """The WQE that this kind of answer belongs to; it also answers everything before it."""
    if not _answered_before(hca, qp, packet.psn, packet.psn):
        return None
    wqe = qp.sq.wqes[qp.comp.serial]
    if wqe.op in ANSWER and ANSWER[wqe.op] is answer:
        return wqe
    is_other = answer is Op.RDMA_READ_RESPONSE and OPCODES[packet.opcode].starts
    fail(
        hca, qp, hca.profile.unexpected_read_response_status if is_other else WCStatus.BAD_RESP_ERR
    )
    return None


def _answered_before(hca: Adapter, qp: QueuePair, psn: int, arrived: int) -> bool:
    """Complete all before `psn`; returns False where an answer of its own is missing before it.

    READ data, for one: then its response was lost, an implied NAK. arrived: the PSN of the packet.
    """
    comp, wqes = qp.comp, qp.sq.wqes
    while comp.serial < qp.req.started:
        wqe = wqes[comp.serial]
        if comp.psn == psn and not (wqe.op is None and wqe.serial < qp.req.done):
            break
        # A READ or atomic that was passed over: its answer was lost (transport.md 7, 5.).
        if wqe.op in ANSWER:
            if _is_implied_nak(hca, qp, wqe, arrived):
                comp.implied_psn = comp.psn
                _retry(hca, qp, "implied NAK")
            return False
        after = (wqe.last_psn + 1) & MASK
        if after != psn and (after - psn) & MASK < WINDOW:  # in the middle of this message
            _progress(qp, psn)
            break
        _progress(qp, after)
        _complete(hca, qp, wqe)
    return qp.state is not _ERR


def _is_implied_nak(hca: Adapter, qp: QueuePair, wqe: SendWqe, arrived: int) -> bool:
    """Whether an answer that passes over a READ or atomic makes it be asked again: once a gap.

    On Soft-RoCE only one to a later request does (rxe_comp.c, check_psn).
    """
    comp, profile = qp.comp, hca.profile
    if comp.implied_psn == comp.psn or (comp.retrying and not profile.naks_after_retry):
        return False
    return profile.takes_implied_naks or diff(arrived, wqe.last_psn) > 0


def _progress(qp: QueuePair, psn: int) -> None:
    comp = qp.comp
    comp.psn = psn
    comp.retrying = False
    comp.implied_psn = comp.rnr_until_ns = None
    # Any progress gives both counters their full value back (transport.md 8).
    comp.retried = comp.rnr_retried = 0


def _scatter(hca: Adapter, qp: QueuePair, wqe: SendWqe, offset: int, octets: bytes) -> bool:
    """Write READ data and atomic results into the local buffers; False after a local failure."""
    if wqe.work is None or wqe.work.local is not Local.SCATTER:  # an answer that brings nothing
        return True
    overlaid = wqe.inline is not None  # Soft-RoCE: the inline bytes lie where the keys should be
    too_short = offset + len(octets) > wqe.length  # an atomic of a profile that checks none
    if overlaid or too_short or dma.scatter(hca, qp, wqe.sg, offset, octets) is not None:
        fail(hca, qp, WCStatus.LOC_PROT_ERR)
        return False
    return True


# --------------------------------------------------------------------------- completions
def _complete(hca: Adapter, qp: QueuePair, wqe: SendWqe) -> None:
    """The oldest WQE is done."""
    comp, row = qp.comp, wqe.work
    assert row is not None
    comp.serial += 1
    if row.outstanding:
        comp.reads += 1
    hca.trace.record(_COMPLETED, hca.node, qp.number, wqe, _SUCCESS)
    if hca.profile.slots_freed is _EXECUTED:
        slots.free(hca, qp.number, qp.sq, wqe.serial)
    if not wqe.signaled:
        return
    # No document promises byte_len of a SEND or WRITE: Soft-RoCE fills it in, mlx5 does not.
    byte_len = wqe.length if row.outstanding or hca.profile.send_byte_len else 0
    # Both drivers set WITH_IMM on the sender's CQE as well, where imm_data means nothing.
    flags = _WITH_IMM if row.immediate and hca.profile.imm_flag_on_sender else 0
    cqe = Cqe(
        wqe.wr.wr_id, _SUCCESS, row.wc_opcode, byte_len, qp.number, wqe.serial, True, 0, flags
    )
    hca.complete(qp, qp.send_cq, cqe)


def fail(hca: Adapter, qp: QueuePair, status: WCStatus) -> None:
    """Complete the oldest WQE in error; its queue, or the whole QP, fails with it."""
    wqe = qp.sq.wqes[qp.comp.serial]
    flush.complete_send(hca, qp, wqe, status)
    if qp.state is _ERR:  # an overrun CQ has killed it already
        return
    # UC and UD go to SQE and still receive, RC goes to ERR; on Soft-RoCE all go to ERR.
    if hca.profile.send_error_gives_sqe and after_send_error(qp.qp_type) is QPState.SQE:
        flush.stop_sending(hca, qp)
    else:
        flush.fail(hca, qp)


def settle(hca: Adapter, qp: QueuePair) -> None:
    """After an answer or a local failure: complete what is ready, drain SQD, wake the port."""
    comp, req = qp.comp, qp.req
    if comp.serial < req.serial:
        _complete_unanswered(hca, qp)
    if req.failed is not None and comp.serial == req.serial:
        fail(hca, qp, WCStatus(req.failed))
        return
    if qp.state is _SQD:
        settle_drain(hca, qp)
    hca.wake(qp)


def _complete_unanswered(hca: Adapter, qp: QueuePair) -> None:
    """Complete WQEs that need no answer, in order, once they are sent or executed."""
    comp, wqes, acknowledged = qp.comp, qp.sq.wqes, qp.transport.acknowledged
    while comp.serial < qp.req.serial:
        wqe = wqes[comp.serial]
        if acknowledged and wqe.op is not None:
            return
        comp.psn = (wqe.last_psn + 1) & MASK
        _complete(hca, qp, wqe)


def settle_drain(hca: Adapter, qp: QueuePair) -> None:
    """SQD has drained when the last WQE begun is done: SQ_DRAINED, if it was asked for."""
    if qp.state is not _SQD:
        return
    if qp.comp.rnr_until_ns is not None and hca.profile.rnr_wait_drains:
        hca.rewind_unacked(qp)
    if qp.comp.serial < qp.req.started:
        return
    # rxe_req.c, req_next_wqe, raises the event without asking for en_sqd_async_notify.
    if qp.attr.en_sqd_async_notify or hca.profile.drained_event_unasked:
        qp.attr.en_sqd_async_notify = 0
        hca.raise_event(AsyncEvent.SQ_DRAINED, qp.number)


# --------------------------------------------------------------------------- timers, retries
def watch(hca: Adapter, qp: QueuePair) -> None:
    """The ack timer runs while an answer is owed, and starts again with every progress.

    IBA 9.7.6.1.3: an answer is owed to a packet that requests one. Were the timer started by the
    first packet of a message, a message longer than the timer would be sent again without a loss.
    """
    comp, path = qp.comp, qp.path
    if comp.rnr_until_ns is not None:
        return  # the timer is needed for that
    # rxe_req.c, update_state: any packet starts the timer, if it is not running.
    if hca.profile.times_unasked_packets:
        comp.watching = comp.psn != qp.req.sent
    else:
        comp.watching = diff(qp.req.asked, comp.psn) > 0
    if comp.watching and path is not None and path.answer_ns is not None:
        hca.agenda.arm(qp.timer, hca.now_ns + path.answer_ns)
    else:
        hca.agenda.disarm(qp.timer)


def on_timer(hca: Adapter, qp: QueuePair) -> None:
    """The QP's one timer: the end of an RNR wait, or no answer in time."""
    waited = qp.comp.rnr_until_ns is not None
    hca.trace.record(Kind.TIMER_FIRED, hca.node, qp.number, None, _RNR if waited else _ACK)
    if waited:
        qp.comp.rnr_until_ns = None
        hca.go_back(qp, "RNR wait over")
        watch(hca, qp)
    else:
        _retry(hca, qp, "timeout")


def _retry(hca: Adapter, qp: QueuePair, reason: str) -> None:
    """Send again from the oldest PSN without an answer, while retry_cnt lasts.

    IBA 17.2.8: at its end an armed QP changes to its alternate path, and counts from 0 again.
    """
    comp = qp.comp
    # 7 is seven retries by the standard and on mlx5; Soft-RoCE never counts it down (measured).
    endless = qp.attr.retry_cnt == INFINITE_RETRIES and hca.profile.retry_cnt_7_is_infinite
    if not endless:
        if comp.retried >= (qp.attr.retry_cnt or 0):
            if not migration.is_armed(qp):
                fail(hca, qp, WCStatus.RETRY_EXC_ERR)
                return
            migration.migrate(hca, qp)
            comp.retried = 0
        else:
            comp.retried += 1
    comp.retrying = True
    hca.go_back(qp, reason)
    watch(hca, qp)


def waits_without_limit(qp: QueuePair) -> bool:
    """Whether it waits after an RNR NAK, and will so often as one comes."""
    return qp.comp.rnr_until_ns is not None and qp.attr.rnr_retry == INFINITE_RETRIES


def _wait_for_receiver(hca: Adapter, qp: QueuePair, code: int) -> None:
    """RNR NAK: wait for its timer, then retransmit; rnr_retry 7 retries without limit."""
    comp = qp.comp
    if comp.rnr_until_ns is not None:
        return
    # n survives n RNR NAKs and fails at the next one: 0 at the first (measured).
    if qp.attr.rnr_retry != INFINITE_RETRIES:
        if comp.rnr_retried >= (qp.attr.rnr_retry or 0):
            fail(hca, qp, WCStatus.RNR_RETRY_EXC_ERR)
            return
        comp.rnr_retried += 1
    # The wait is the responder's min_rnr_timer, and a minimum: Soft-RoCE rounds up to its tick.
    wait_ns = on_ticks_ns(RNR_NS[code], hca.profile.timer_tick_ns)
    comp.rnr_until_ns = hca.now_ns + wait_ns
    comp.watching = False
    hca.trace.record(Kind.TIMER_ARMED, hca.node, qp.number, comp.rnr_until_ns, _RNR)
    hca.agenda.arm(qp.timer, comp.rnr_until_ns)
    settle_drain(hca, qp)
