"""The verbs of XRC domains, and what create_qp asks of each type."""

import pytest

from tests.labs import refusal, well
from tests.sharing import ask, xrc


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
