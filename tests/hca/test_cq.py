"""Completion queues: first in, first out, and what an overrun loses."""

from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.wr import Cqe
from rdmalab.spec.records import Kind, kind_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.world.trace import Trace


def cqe(wr_id: int, qp_num: int = 17) -> Cqe:
    return Cqe(wr_id, WCStatus.SUCCESS, 0, 0, qp_num, wr_id, True)


def test_cq_is_first_in_first_out_over_all_qps() -> None:
    trace, cq = Trace(), CompletionQueue("A", 1, 3, 0)
    for wr_id in (5, 6, 7):
        assert cq.push(trace, cqe(wr_id))
    assert cq.last == cqe(7)
    assert [cqe.wr_id for cqe in cq.take(trace, 4)] == [5, 6, 7]
    kinds = [kind_of(record) for record in trace.records]
    assert kinds == [Kind.CQE_ADDED] * 3 + [Kind.CQE_POLLED] * 3
    assert cq.total == 3


def test_cq_overrun_loses_the_completion_and_raises_cq_err() -> None:
    trace, cq = Trace(), CompletionQueue("A", 1, 1, 0)
    assert cq.push(trace, cqe(1))
    assert not cq.push(trace, cqe(2))
    assert [entry.wr_id for entry in cq.cqes] == [1]
    assert kind_of(trace.records[-1]) is Kind.CQ_OVERRUN
    cq.take(trace, 1)
    assert cq.push(trace, cqe(3))
    cq.dead = True
    cq.take(trace, 1)
    assert not cq.push(trace, cqe(4))


def test_cq_removes_the_completions_of_a_destroyed_qp_only() -> None:
    trace, cq = Trace(), CompletionQueue("A", 1, 4, 0)
    for wr_id in range(4):
        cq.push(trace, cqe(wr_id, 17 + wr_id % 2))
    cq.forget(17)
    assert [entry.wr_id for entry in cq.cqes] == [1, 3]
