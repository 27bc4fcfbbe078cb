"""A completion queue made anew, and all that hangs on it."""

import pytest

from rdmalab.doctor.case import Case
from rdmalab.doctor.fixes.completion_queues import needed, recreate, users
from rdmalab.hca.cq import CompletionQueue
from rdmalab.lab import Lab
from tests.doctor.asking import case_of
from tests.labs import RECV, SEND, lab_of, well


def of(lab: Lab, name: str) -> tuple[Case, CompletionQueue]:
    case = case_of(lab, name)
    assert case.cq is not None
    return case, case.cq


@pytest.mark.parametrize("pair", ["use rc_pair max_inline_data=0", "use uc_pair sq_sig_all=1"])
def test_recreate_cq_with_its_qps_and_receives(pair: str) -> None:
    lab = lab_of(RECV, "create_comp_channel B.ch", pair=pair)
    case, cq = of(lab, "B.cq0")
    before = [(qp.cap, qp.sq_sig_all, qp.qp_type) for qp in users(case, cq)]
    channel = next(iter(lab.session.world.nodes["B"].channels.items))
    for line in recreate(case, cq, cqe=77, channel=channel):
        well(lab, line)
    case, cq = of(lab, "B.cq0")
    assert (cq.capacity, cq.channel) == (77, channel)
    assert [(qp.cap, qp.sq_sig_all, qp.qp_type) for qp in users(case, cq)] == before
    well(lab, SEND)
    lab.run()
    assert lab.look("B.cq0.next.wr_id == 2")


def test_datagrams_are_brought_up_alone() -> None:
    lab = lab_of(pair="use ud_pair")
    for line in recreate(*of(lab, "B.cq0")):
        well(lab, line)
    assert lab.look("B.qp0.state == RTS")
    assert lab.look("B.qp0.qkey == A.qp0.qkey")


def test_recreate_cq_with_unacked_events_and_unpolled_completions() -> None:
    lab = lab_of(RECV, "req_notify_cq B.cq0", SEND, "run", "get_cq_event B.ch0",
                 pair="use rc_pair channel=1")  # fmt: skip
    for line in recreate(*of(lab, "B.cq0")):
        well(lab, line)


def test_extended_queue_pairs_get_their_builders_back() -> None:
    lab = lab_of("create_qp_ex A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 "
                 "send_ops_flags=SEND|RDMA_READ")  # fmt: skip
    assert any(
        line.startswith("create_qp_ex A.qp1") and line.endswith("send_ops_flags=SEND|RDMA_READ")
        for line in recreate(*of(lab, "A.cq0"))
    )


def test_needed_cqe_is_the_sum_of_the_queues() -> None:
    assert needed(*of(lab_of(pair="use rc_pair max_send_wr=5"), "A.cq0")) == 13
    lab = lab_of(pair="use srq_pair max_recv_wr=6 max_send_wr=3")
    assert needed(*of(lab, "B.cq0")) == 3 + 3 + 6
