"""Times of work requests and receives, also after their slots are free."""

import pytest

from rdmalab.command import NotUnderstood
from tests.labs import RECV, SEND, lab_of, well


def test_the_times_of_a_request_are_known_when_its_slot_is_free() -> None:
    lab = lab_of(RECV, "run 5us", SEND, "until A.cq0.count == 1")
    done, came = lab.look("now"), lab.look("B.cq0.last.at_ns")
    well(lab, "run 5us")
    assert lab.look("A.qp0.wr[1].posted_ns") == 5_000
    assert lab.look("A.qp0.wr[1].completed_ns") == done
    assert lab.look("B.qp0.recv_wr[2].posted_ns") == 0
    assert lab.look("B.qp0.recv_wr[2].completed_ns") == came
    well(lab, "poll_cq A.cq0")
    well(lab, "poll_cq B.cq0")
    assert lab.look("A.qp0.wr[1].status == GONE")
    assert lab.look("A.qp0.wr[1].completed_ns - A.qp0.wr[1].posted_ns") == done - 5_000
    well(lab, SEND)
    assert lab.look("A.qp0.wr[1].completed_ns == NULL")  # the newest with this wr_id
    with pytest.raises(NotUnderstood) as wrong:
        lab.look("A.qp0.wr[9].posted_ns")
    assert wrong.value.message == "A.qp0.wr[9]: no send with wr_id 9 was ever posted"
    lab.do("goto start; goto end")
    assert lab.look("B.qp0.recv_wr[2].completed_ns") == came


def test_the_times_of_a_shared_receive() -> None:
    lab = lab_of("post_srq_recv B.srq0 wr_id=3 sg=B.mr0[0:64]", "run 1us", pair="use srq_pair")
    assert lab.look("B.srq0.recv_wr[3].posted_ns") == 0
    assert lab.look("B.srq0.recv_wr[3].completed_ns == NULL")
    well(lab, "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]")
    well(lab, "run")
    assert lab.look("B.srq0.recv_wr[3].completed_ns") == lab.look("B.cq0.last.at_ns")
