"""Slots of the queues: freed when their requests are done, or polled, as the profile says."""

from collections import Counter
from collections.abc import Iterable

from rdmalab.hca.adapter import Adapter
from rdmalab.hca.qp import QueuePair, RecvQueue, SendQueue
from rdmalab.hca.wr import Cqe, RecvWqe
from rdmalab.spec.records import Kind

_FREED = Kind.SLOTS_FREED


def free(hca: Adapter, qpn: int, queue: SendQueue | RecvQueue, serial: int) -> None:
    """Free the slots of one of a QP's own queues up to this WQE."""
    if count := queue.free_through(serial):
        hca.trace.record(_FREED, hca.node, qpn, queue.noun, count)


def frees(qp: QueuePair, cqe: Cqe) -> bool:
    """Whether a poll of a completion can free slots of a queue pair: not if a RESET freed them."""
    queue = qp.sq if cqe.is_send else qp.rq
    return cqe.qp_num == qp.number and not cqe.srq and cqe.serial >= queue.freed


def used_after_poll(queue: SendQueue, cqe: Cqe) -> int:
    """Slots that hold a WQE once this completion and those before it are polled."""
    return queue.posted - max(queue.freed, cqe.serial + 1)


def free_recv(hca: Adapter, qp: QueuePair, wqe: RecvWqe) -> None:
    """The device is done with this receive."""
    if wqe.srq:
        _free_of_srq(hca, wqe.srq, 1)
    else:
        free(hca, qp.number, qp.rq, wqe.serial)


def free_shared(hca: Adapter, done: Iterable[Cqe | RecvWqe]) -> None:
    """Free slots of shared receive queues one by one, for any QP."""
    for number, count in Counter(each.srq for each in done if each.srq).items():
        _free_of_srq(hca, number, count)


def _free_of_srq(hca: Adapter, number: int, count: int) -> None:
    """Slots come back in any order: they are counted. Nothing to do if the SRQ is gone."""
    srq = hca.srqs.items.get(number)
    if srq is not None:
        srq.freed += count
        hca.trace.record(Kind.SRQ_FREED, hca.node, number, count)
