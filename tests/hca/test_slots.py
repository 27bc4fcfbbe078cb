"""Slots of the queues: which ones a poll or the end of a request gives back."""

import pytest

from rdmalab.hca import polling, slots
from rdmalab.spec.profiles import MLX5, RXE, Profile
from rdmalab.spec.work import WROpcode
from tests.pairs import Pair

SEND, WRITE = WROpcode.SEND, WROpcode.RDMA_WRITE


def test_poll_cq_returns_the_oldest_up_to_num_entries() -> None:
    pair = Pair()
    for wr_id in range(5):
        pair.a.issue(WRITE, wr_id=wr_id)
    pair.run()
    cq = pair.a.send_cq
    assert [cqe.wr_id for cqe in polling.poll(pair.a.hca, cq, 2)] == [0, 1]
    assert pair.a.qp.sq.posted - pair.a.qp.sq.freed == 3
    assert [cqe.wr_id for cqe in polling.poll(pair.a.hca, cq, 9)] == [2, 3, 4]
    assert polling.poll(pair.a.hca, cq, 9) == []


def test_two_qps_may_share_a_cq_and_each_gets_its_own_slots_back() -> None:
    pair = Pair()
    a, b = pair.end("A"), pair.end("B")
    pair.connect(a, b)
    a.qp.send_cq = pair.a.qp.send_cq
    for end in (pair.a, a, pair.a):
        end.issue(WRITE)
        pair.run()
    cqes = pair.a.poll(pair.a.send_cq)
    numbers = [pair.a.qp.number, a.qp.number, pair.a.qp.number]
    assert [cqe.qp_num for cqe in cqes] == numbers
    assert [end.qp.sq.posted - end.qp.sq.freed for end in (pair.a, a)] == [0, 0]


@pytest.mark.parametrize(("profile", "free_at_once"), [(RXE, True), (MLX5, False)])
def test_a_receive_frees_its_slot_when_executed_or_when_polled(
    profile: Profile, free_at_once: bool
) -> None:
    pair = Pair(profile=profile)
    pair.b.recv()
    pair.a.issue(SEND)
    pair.run()
    assert pair.b.qp.rq.used == (0 if free_at_once else 1)
    pair.b.poll(pair.b.recv_cq)
    assert pair.b.qp.rq.used == 0


@pytest.mark.parametrize("profile", [RXE, MLX5])
def test_used_after_poll_is_what_a_poll_leaves(profile: Profile) -> None:
    pair = Pair(profile=profile)
    for wr_id in range(3):
        pair.a.issue(WRITE, wr_id=wr_id)
    pair.run()
    queue, cq = pair.a.qp.sq, pair.a.send_cq
    left = []
    for cqe in list(cq.cqes):
        expected = slots.used_after_poll(queue, cqe)
        polling.poll(pair.a.hca, cq, 1)
        left.append(queue.used)
        assert expected == queue.used
    assert left == ([0, 0, 0] if profile is RXE else [2, 1, 0])
