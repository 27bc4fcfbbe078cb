"""The verbs of shared receive queues: what they take and give."""

import pytest

from tests.covers import covers
from tests.labs import lab_of, misread, refusal, well
from tests.sharing import ask, shared, xrc


def test_create_post_query_and_destroy_srq() -> None:
    lab = lab_of("create_srq A.srq0 pd=A.pd0 max_wr=4 max_sge=2")
    well(lab, "post_srq_recv A.srq0 wr={wr_id=1 sg=A.mr0[0:8]} wr={wr_id=2}")
    cap = well(lab, "query_srq A.srq0").value
    assert (cap.max_wr, cap.max_sge, cap.srq_limit) == (4, 2, 0)
    assert (ask(lab, "A.srq0.count"), ask(lab, "A.srq0.total")) == (2, 2)
    well(lab, "destroy_srq A.srq0")


def test_create_srq_of_another_node() -> None:
    lab = lab_of("create_srq A.srq0 pd=A.pd0 max_wr=4")
    assert refusal(lab, "create_srq A.srq1 pd=B.pd0 max_wr=4").rule == "other-node"
    make = "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0 srq=A.srq0"
    assert refusal(lab, make).rule == "other-node"


def test_create_srq_ex_of_the_basic_type() -> None:
    lab = lab_of("create_srq_ex A.srq0 pd=A.pd0 max_wr=4")
    assert ask(lab, "A.srq0.srq_type").name == "BASIC"


def test_fault_srq_error_needs_an_srq() -> None:
    assert "which SRQ" in misread(shared(qps=0), "fault srq_error").message


def test_a_queue_pair_on_an_srq_has_no_receive_queue() -> None:
    lab = shared(qps=1)
    assert (ask(lab, "B.qp1.srq"), ask(lab, "B.qp1.rq.capacity")) == ("B.srq0", 0)
    big = "qp_type=RC send_cq=B.cq0 recv_cq=B.cq0 max_recv_wr=99999"
    well(lab, f"create_qp B.qp2 pd=B.pd0 {big} srq=B.srq0")  # ignored, so not judged
    assert refusal(lab, f"create_qp B.qp3 pd=B.pd0 {big}").rule == "qp-cap"


@covers("S200")
def test_query_srq_has_no_number_of_outstanding_receives() -> None:
    """The lab counts for the person who looks; the program has to count by itself."""
    lab = shared(qps=1)
    before = well(lab, "query_srq B.srq0").value
    well(lab, "post_srq_recv B.srq0 wr={wr_id=1 sg=B.mr0[0:8]} wr={wr_id=2}")
    assert well(lab, "query_srq B.srq0").value == before
    assert ask(lab, "B.srq0.count") == 2


@covers("S216")
def test_the_srq_of_a_queue_pair_cannot_be_changed() -> None:
    """modify_qp has no such attribute, and a queue pair that is reset keeps its SRQ."""
    lab = shared("create_srq B.srq1 pd=B.pd0 max_wr=4", qps=1)
    misread(lab, "modify_qp B.qp1 srq=B.srq1")
    well(lab, "modify_qp B.qp1 state=RESET")
    assert ask(lab, "B.qp1.srq") == "B.srq0"


@covers("S171")
def test_post_srq_recv_bad_wr_is_named() -> None:
    lab = lab_of("create_srq A.srq0 pd=A.pd0 max_wr=4 max_sge=1")
    two = "sg=A.mr0[0:8],A.mr0[8:16]"
    refused = refusal(
        lab, f"post_srq_recv A.srq0 wr={{wr_id=1}} wr={{wr_id=2 {two}}} wr={{wr_id=3}}"
    )
    assert (refused.rule, refused.bad_wr) == ("srq-sges", 1)
    assert ask(lab, "A.srq0.count") == 1


@covers("S172")
@pytest.mark.parametrize("state", ["RESET", "ERR", "RTS"])
def test_post_srq_recv_in_every_qp_state(state: str) -> None:
    lab = shared(qps=1)
    if state != "RTS":
        well(lab, f"modify_qp B.qp1 state={state}")
    well(lab, "post_srq_recv B.srq0 wr_id=1 sg=B.mr0[0:8]")
    assert ask(lab, "B.srq0.count") == 1


def test_open_xrcd_and_close_xrcd() -> None:
    lab = xrc("open_xrcd A.xrcd0 fd=7 oflag=O_CREAT")
    assert (ask(lab, "A.xrcd0.fd"), ask(lab, "A.xrcd0.srqs")) == (7, 0)
    assert (ask(lab, "B.xrcd0.srqs"), ask(lab, "B.xrcd0.qps")) == (1, 1)
    well(lab, "close_xrcd A.xrcd0")


@pytest.mark.parametrize(
    ("parts", "rule"),
    [
        ("qp_type=XRC_RECV", "qp-parts"),
        ("qp_type=XRC_SEND send_cq=B.cq0", "qp-parts"),  # the PD
        ("qp_type=XRC_SEND pd=B.pd0", "qp-parts"),
        ("qp_type=RC pd=B.pd0 send_cq=B.cq0", "qp-parts"),
        ("qp_type=RC pd=B.pd0 send_cq=B.cq0 recv_cq=B.cq0 srq=B.srq0", "qp-srq"),
    ],
)
def test_xrc_arguments_missing_or_surplus(parts: str, rule: str) -> None:
    no = refusal(xrc(), f"create_qp B.qp5 {parts}")
    assert (no.rule, no.errno) == (rule, 22)


def test_an_xrc_queue_pair_is_tied_to_no_srq() -> None:
    lab = xrc("create_srq B.srq5 pd=B.pd0 max_wr=1")
    make = "create_qp B.qp5 qp_type=XRC_RECV xrcd=B.xrcd0 srq=B.srq5"
    assert refusal(lab, make).rule == "qp-srq"


def test_open_qp_asks_on_its_own_node() -> None:
    lab = xrc()
    assert refusal(lab, "open_qp A.qp5 xrcd=B.xrcd0 qp_num=B.qp1").rule == "other-node"
