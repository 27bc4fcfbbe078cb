"""The end of a queue pair: ERR flushes all work requests, RESET discards them."""

from rdmalab.hca import dma, mw, slots, srq
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import Cqe, RecvWqe, SendWqe
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.profiles import SlotsFreed
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.vendor_errors import LKEY, LOCAL_WRITE, RANGE
from rdmalab.spec.work import Local, WROpcode

_BIND = WROpcode.BIND_MW


def fail(hca: Adapter, qp: QueuePair, recv_status: WCStatus = WCStatus.WR_FLUSH_ERR) -> None:
    """Enter ERR. The receive WQE in use completes with `recv_status`, all others are flushed."""
    stop_timers(hca, qp)
    if qp.state is QPState.SQD and qp.attr.en_sqd_async_notify:
        qp.attr.en_sqd_async_notify = 0  # whoever waits for the drain must not wait for ever
        hca.raise_event(AsyncEvent.SQ_DRAINED, qp.number)
    qp.enter(hca.trace, QPState.ERR)
    # The receive in use comes first, then each queue oldest first; the standard sets no order
    # between the two queues (completions.md 5).
    in_use = qp.resp.recv
    qp.resp.recv = None
    qp.resp.answers = ()
    if in_use is not None:
        complete_recv(hca, qp, in_use, recv_status)
    flush_sends(hca, qp)
    flush_recvs(hca, qp)
    # Soft-RoCE raises this from 6.12 on, not in 6.1 (both measured).
    if qp.shares_receives and hca.profile.raises_last_wqe_reached:
        hca.raise_event(AsyncEvent.QP_LAST_WQE_REACHED, qp.number)


def stop_timers(hca: Adapter, qp: QueuePair) -> None:
    """Disarm the ack timer and the RNR timer: nothing is sent or awaited from now on."""
    hca.agenda.disarm(qp.timer)
    qp.comp.rnr_until_ns = None
    qp.comp.watching = False


def stop_sending(hca: Adapter, qp: QueuePair) -> None:
    """Enter SQE: the send queue is flushed, receiving continues."""
    stop_timers(hca, qp)
    qp.enter(hca.trace, QPState.SQE)
    flush_sends(hca, qp)


def flush_sends(hca: Adapter, qp: QueuePair) -> None:
    """Flush the send queue in states that do so, oldest first (10.3.1.7)."""
    if qp.state_row.flushes_sends:
        while (wqe := qp.sq.wqes.get(qp.comp.serial)) is not None:
            complete_send(hca, qp, wqe, WCStatus.WR_FLUSH_ERR)


def flush_recvs(hca: Adapter, qp: QueuePair) -> None:
    """Flush the receive queue; WQEs of an SRQ stay for other QPs."""
    if qp.state_row.flushes_recvs:
        # WQEs of an SRQ are not flushed (measured): QP_LAST_WQE_REACHED says when to stop waiting.
        while qp.rq.wqes:
            complete_recv(hca, qp, qp.rq.wqes.popleft(), WCStatus.WR_FLUSH_ERR)


def complete_send(hca: Adapter, qp: QueuePair, wqe: SendWqe, status: WCStatus) -> None:
    """A send WQE ends in error: always with a CQE, signaled or not."""
    qp.comp.serial = wqe.serial + 1
    if wqe.wr.opcode == _BIND:
        mw.cancel_bind(hca, wqe.wr)
    hca.trace.record(Kind.WQE_COMPLETED, hca.node, qp.number, wqe, status)
    if hca.profile.slots_freed is SlotsFreed.EXECUTED:
        slots.free(hca, qp.number, qp.sq, wqe.serial)
    # IBA 10.7.3.1: an error has a completion, also of an unsignaled request.
    hca.complete(qp, qp.send_cq, error_cqe(hca, qp, wqe, status, is_send=True))


def complete_recv(hca: Adapter, qp: QueuePair, wqe: RecvWqe, status: WCStatus) -> None:
    """A receive WQE ends in error."""
    if hca.profile.slots_freed is SlotsFreed.EXECUTED:
        slots.free_recv(hca, qp, wqe)
    cqe = error_cqe(hca, qp, wqe, status, is_send=False)
    cqe.srq = wqe.srq
    cqe.solicited = qp.resp.solicited and status != WCStatus.WR_FLUSH_ERR
    hca.complete(qp, srq.cq_of(hca, qp, wqe), cqe)


def error_cqe(
    hca: Adapter, qp: QueuePair, wqe: SendWqe | RecvWqe, status: WCStatus, *, is_send: bool
) -> Cqe:
    """An error CQE: only wr_id, status, qp_num and vendor_err are defined."""
    junk = hca.profile.junk_on_error
    failed = _failed_check(hca, qp, wqe) if status is WCStatus.LOC_PROT_ERR else None
    code = hca.profile.vendor_errors.code(status, failed)
    return Cqe(wqe.wr.wr_id, status, junk, junk, qp.number, wqe.serial, is_send, vendor_err=code)


_CHECKS = {dma.Denied.KEY: LKEY, dma.Denied.RANGE: RANGE, dma.Denied.RIGHTS: LOCAL_WRITE}


def _failed_check(hca: Adapter, qp: QueuePair, wqe: SendWqe | RecvWqe) -> int | None:
    """The code of the check that a send's buffers fail; None: not measured, as on receives."""
    if isinstance(wqe, RecvWqe) or wqe.work is None:
        return None
    scatters = wqe.work.local is Local.SCATTER
    rights = dma.LOCAL_WRITE if scatters else dma.LOCAL_READ
    for sge in wqe.sg:
        denied = dma.locate(hca.lkeys, sge.lkey, qp, rights, sge.addr, sge.length)
        if isinstance(denied, dma.Denied):
            return _CHECKS.get(denied)
    return None


def discard(hca: Adapter, qp: QueuePair) -> None:
    """Enter RESET: empty the queues. Requests that have not completed get no completion."""
    stop_timers(hca, qp)
    if qp.resp.recv is not None and hca.profile.slots_freed is SlotsFreed.POLLED:
        slots.free_shared(hca, [qp.resp.recv])
    # A request that has completed and is not polled yet still holds its slot, and is not lost.
    slots.free(hca, qp.number, qp.sq, qp.comp.serial - 1)
    own = qp.rq.posted - len(qp.rq.wqes) - (qp.resp.recv is not None and not qp.resp.recv.srq)
    slots.free(hca, qp.number, qp.rq, own - 1)
    waiting = len(qp.rq.wqes) + (qp.resp.recv is not None)
    for queue, count in (("sq", qp.sq.used), ("rq", waiting)):
        if count:
            hca.trace.record(Kind.QUEUE_DISCARDED, hca.node, qp.number, queue, count)
    for serial, wqe in qp.sq.wqes.items():
        if serial >= qp.comp.serial and wqe.wr.opcode == _BIND:  # not completed yet
            mw.cancel_bind(hca, wqe.wr)
    # libmlx5 removes them in mlx5_modify_qp (mlx5_cq_clean); on Soft-RoCE they stay (measured).
    if hca.profile.reset_purges_cqes:
        for number in dict.fromkeys(cq for cq in (qp.send_cq, qp.recv_cq) if cq):
            slots.free_shared(hca, hca.cqs.find(number).forget(qp.number))
    qp.clear()
