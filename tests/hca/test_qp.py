"""Queue pairs as data: slots, serials, and what RESET leaves."""

from rdmalab.hca.qp import Capacity, QueuePair, RecvQueue, SendQueue
from rdmalab.hca.wr import RecvWqe, RecvWR, SendWqe, SendWR
from rdmalab.spec.records import A, B, Kind, kind_of
from rdmalab.spec.states import QPState, QPType
from rdmalab.spec.work import WROpcode
from rdmalab.world.trace import Trace


def send(serial: int) -> SendWqe:
    return SendWqe(serial, SendWR(WROpcode.SEND), None, None, 0, [], 0, None, True, 0, 0)


def test_sq_frees_slots_up_to_a_serial() -> None:
    queue = SendQueue(4, serial=10)
    for serial in (10, 11, 12):
        queue.push(send(serial))
    assert queue.free_through(11) == 2
    assert list(queue.wqes) == [12]
    assert queue.free_through(11) == 0
    assert queue.free_through(9) == 0  # of the past
    assert queue.free_through(12) == 1
    assert (queue.posted, queue.freed) == (13, 13)


def test_rq_frees_slots_up_to_a_serial() -> None:
    queue = RecvQueue(4, serial=3)
    for serial in (3, 4):
        queue.push(RecvWqe(serial, RecvWR(), [], 0))
    assert queue.free_through(2) == 0
    assert queue.free_through(4) == 2
    assert queue.free_through(4) == 0
    assert (queue.posted, queue.freed) == (5, 5)


def test_qp_clear_keeps_number_and_serials() -> None:
    qp = QueuePair("A", 0x11, QPType.RC, Capacity(max_send_wr=2))
    qp.pd, qp.send_cq, qp.sq_sig_all = 4, 5, True
    qp.sq.push(send(0))
    qp.attr.timeout = 9
    qp.clear()
    assert (qp.number, qp.pd, qp.send_cq, qp.sq_sig_all) == (0x11, 4, 5, True)
    assert qp.sq.wqes == {}
    assert (qp.sq.posted, qp.sq.freed, qp.sq.capacity) == (1, 1, 2)
    assert qp.req.serial == qp.comp.serial == qp.req.started == 1
    assert qp.attr.timeout == 0


def test_every_change_of_state_is_recorded() -> None:
    trace, qp = Trace(), QueuePair("A", 0x11, QPType.RC, Capacity())
    qp.enter(trace, QPState.INIT)
    (record,) = trace.records
    assert kind_of(record) is Kind.STATE_CHANGED
    assert (record[A], record[B]) == (QPState.RESET, QPState.INIT)
