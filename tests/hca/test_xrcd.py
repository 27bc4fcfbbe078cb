"""XRC on the wire: every request names an SRQ of the domain, answers name none."""

import pytest

from rdmalab.spec.opcodes import OPCODES, Service
from rdmalab.spec.records import Kind
from tests.labs import packets, refusal, status, well
from tests.sharing import ask, raised, send, stock, takers, xrc

TO = "remote_srqn=B.srq0"


@pytest.mark.parametrize(
    "request_",
    [
        "opcode=SEND sg=A.mr0[0:1500]",
        "opcode=RDMA_WRITE sg=A.mr0[0:1500] remote=B.mr0",
        "opcode=RDMA_WRITE_WITH_IMM sg=A.mr0[0:8] remote=B.mr0",
        "opcode=RDMA_READ sg=A.mr0[0:1500] remote=B.mr0",
        "opcode=ATOMIC_FETCH_AND_ADD sg=A.mr0[0:8] remote=B.mr0 compare_add=1",
    ],
)
def test_xrc_requests_carry_the_srq_number_and_responses_do_not(request_: str) -> None:
    lab = xrc()
    stock(lab, 1, length=2048)
    well(lab, f"post_send A.qp1 wr_id=4 {request_} {TO} flags=SIGNALED")
    well(lab, "run")
    assert status(lab, 4) == "SUCCESS"
    sent = [packet for _, packet in packets(lab, Kind.PACKET_SENT)]
    assert {OPCODES[packet.opcode].service for packet in sent} == {Service.XRC}
    for packet in sent:
        srqn = packet.xrceth.srqn if packet.xrceth is not None else None
        assert srqn == (0x31 if OPCODES[packet.opcode].request else None)


def test_xrc_receive_completes_on_the_cq_of_the_srq() -> None:
    lab = xrc()
    stock(lab, 9)
    send(lab, "A.qp1", more=TO)
    (cqe,) = well(lab, "poll_cq B.cq1 num_entries=9").value
    assert (cqe.wr_id, cqe.qp_num, cqe.byte_len) == (9, 0x12, 32)
    assert (ask(lab, "B.cq0.total"), ask(lab, "B.srq0.used")) == (0, 0)


def test_xrc_one_qp_reaches_each_srq_of_its_domain() -> None:
    lab = xrc("create_srq_ex B.srq1 pd=B.pd0 srq_type=XRC xrcd=B.xrcd0 cq=B.cq0 max_wr=8")
    stock(lab, 1)
    stock(lab, 2, srq="B.srq1")
    for srq in ("B.srq1", "B.srq0"):
        send(lab, "A.qp1", more=f"remote_srqn={srq}")
    assert takers(lab) == [("B.0x12", 2), ("B.0x12", 1)]
    assert (ask(lab, "B.cq0.next.wr_id"), ask(lab, "B.cq1.next.wr_id")) == (2, 1)


@pytest.mark.parametrize("srqn", ["0", "77", "B.srq1", "B.srq2"])
@pytest.mark.parametrize(
    "request_", ["SEND sg=A.mr0[0:8]", "RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0"]
)
def test_xrc_srq_number_of_another_domain_is_refused(srqn: str, request_: str) -> None:
    lab = xrc(
        "create_srq B.srq1 pd=B.pd0 max_wr=8",
        "open_xrcd B.xrcd1 oflag=O_CREAT",
        "create_srq_ex B.srq2 pd=B.pd0 srq_type=XRC xrcd=B.xrcd1 cq=B.cq1 max_wr=8",
    )
    for srq in ("B.srq0", "B.srq1", "B.srq2"):
        stock(lab, 1, srq=srq)
    well(lab, f"post_send A.qp1 wr_id=4 opcode={request_} remote_srqn={srqn}")
    well(lab, "run")
    assert status(lab, 4) == "REM_INV_REQ_ERR"
    assert (ask(lab, "A.qp1.state").name, ask(lab, "B.qp1.state").name) == ("ERR", "ERR")
    assert raised(lab) == ["QP_REQ_ERR", "QP_LAST_WQE_REACHED"]
    assert takers(lab) == []


def test_xrcd_opened_twice_is_the_same_domain() -> None:
    lab = xrc(
        "open_xrcd B.xrcd1 fd=3 oflag=O_CREAT",
        "open_xrcd B.xrcd2 fd=3",
        "create_srq_ex B.srq1 pd=B.pd0 srq_type=XRC xrcd=B.xrcd1 cq=B.cq1 max_wr=8",
        "create_qp A.qp2 pd=A.pd0 qp_type=XRC_SEND send_cq=A.cq0",
        "create_qp B.qp2 qp_type=XRC_RECV xrcd=B.xrcd2",
        "connect A.qp2 B.qp2",
    )
    stock(lab, 1, srq="B.srq1")
    send(lab, "A.qp2", wr_id=6, more="remote_srqn=B.srq1")
    assert status(lab, 6) == "SUCCESS"


@pytest.mark.parametrize(
    ("request_", "ends"),
    [
        ("RDMA_WRITE sg=A.mr0[0:8] remote=B.mr1", "REM_ACCESS_ERR"),
        ("RDMA_READ sg=A.mr0[0:8] remote=B.mr1", "REM_ACCESS_ERR"),
        ("SEND sg=A.mr0[0:8]", "REM_OP_ERR"),
    ],
)
@pytest.mark.parametrize(("srq", "same_pd"), [("B.srq1", True), ("B.srq0", False)])
def test_xrc_rkey_pd_is_that_of_the_srq(request_: str, ends: str, srq: str, same_pd: bool) -> None:
    rights = "LOCAL_WRITE|REMOTE_WRITE|REMOTE_READ"
    lab = xrc(
        "alloc_pd B.pd1",
        f"reg_mr B.mr1 pd=B.pd1 length=64 access={rights}",
        "create_srq_ex B.srq1 pd=B.pd1 srq_type=XRC xrcd=B.xrcd0 cq=B.cq1 max_wr=8",
        f"post_srq_recv {srq} sg=B.mr1[0:64]",
    )
    well(lab, f"post_send A.qp1 wr_id=4 opcode={request_} remote_srqn={srq} flags=SIGNALED")
    well(lab, "run")
    assert status(lab, 4) == ("SUCCESS" if same_pd else ends)


def test_xrc_duplicate_read_uses_the_same_pd() -> None:
    lab = xrc("fault drop B->A opcode=RDMA_READ_RESPONSE_LAST nth=1", 'write B.mr0[900:903] "abc"')
    well(lab, f"post_send A.qp1 wr_id=4 opcode=RDMA_READ sg=A.mr0[0:1000] remote=B.mr0 {TO}"
              " flags=SIGNALED")  # fmt: skip
    well(lab, "run")
    assert (status(lab, 4), ask(lab, 'A.mr0[900:903] == "abc"')) == ("SUCCESS", True)


def test_xrc_empty_srq_answers_rnr_nak() -> None:
    lab = xrc(f"post_send A.qp1 wr_id=4 opcode=SEND sg=A.mr0[0:8] {TO} flags=SIGNALED")
    well(lab, "until wire.any(syndrome=RNR_NAK)")
    stock(lab, 1)
    well(lab, "run")
    assert status(lab, 4) == "SUCCESS"


def test_xrc_qps_have_no_receive_queue() -> None:
    lab = xrc()
    for qp in ("A.qp1", "B.qp1"):
        assert refusal(lab, f"post_recv {qp}").rule == "no-receive-queue"
    assert refusal(lab, "post_send B.qp1 opcode=SEND").rule == "no-send-queue"


def test_xrc_ini_qp_drops_requests() -> None:
    lab = xrc(
        "create_qp B.qp2 pd=B.pd0 qp_type=XRC_SEND send_cq=B.cq0",
        "create_qp A.qp2 pd=A.pd0 qp_type=XRC_SEND send_cq=A.cq0",
        "connect A.qp2 B.qp2 timeout=8 retry_cnt=0",
    )
    send(lab, "A.qp2", wr_id=4, more=TO)
    assert status(lab, 4) == "RETRY_EXC_ERR"
    assert lab.session.world.nodes["B"].drops == {"wrong-type": 1}
