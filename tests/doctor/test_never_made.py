"""What B never made: the answer about the queue pair of A, which was told, leads to it."""

import pytest

from tests.doctor.asking import played, why

_BRING_UP = (
    "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0",
    "modify_qp A.qp1 state=INIT pkey_index=0 port_num=1 qp_access_flags=REMOTE_WRITE",
    "modify_qp A.qp1 state=RTR path_mtu=512 dest_qp_num=0x12 rq_psn=0 max_dest_rd_atomic=1 "
    "min_rnr_timer=12 ah=B",
    "modify_qp A.qp1 state=RTS timeout=8 retry_cnt=2 rnr_retry=7 sq_psn=0 max_rd_atomic=1",
    "post_send A.qp1 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:4] remote=B.mr0[0] flags=SIGNALED",
    "run", "poll_cq A.cq0",
)  # fmt: skip
_MADE = "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0"


@pytest.mark.parametrize("question", ["A.qp1", "A.qp1.wr[1]", ""])
@pytest.mark.parametrize("refused", [f"{_MADE} max_send_wr=100000", "create_cq B.cq1 cqe=70000000"])
def test_the_refused_creation_of_the_peer_is_the_root_of_a_number_that_nothing_has(
    refused: str, question: str
) -> None:
    report = why(played("use rc_pair", refused, *_BRING_UP), question)
    assert report.slug == "beyond-device"
    assert "wrong-qpn" in [cause.check.slug for cause in report.chain]


def test_wrong_qpn_where_the_call_was_made_good() -> None:
    lab = played("use rc_pair", f"{_MADE} max_send_wr=100000", _MADE,
                 *(line.replace("0x12", "0x77") for line in _BRING_UP))  # fmt: skip
    assert why(lab, "A.qp1").slug == "wrong-qpn"


@pytest.mark.parametrize("question", ["A.qp0", "A.tx", ""])
def test_the_call_that_a_thread_failed_of_is_the_root_of_the_receive_that_it_did_not_post(
    question: str,
) -> None:
    lab = played(
        "use rc_pair rnr_retry=1 min_rnr_timer=1",
        "program B.rx lines={reg_mr B.mr1 pd=B.pd0 length=64 access=REMOTE_WRITE; "
        "post_recv B.qp0 wr_id=1 sg=B.mr1[0:64]; poll B.cq0}",
        "program A.tx lines={sleep 2us; post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:4] "
        "flags=SIGNALED; poll A.cq0}", "run 1ms",
    )  # fmt: skip
    report = why(lab, question)
    slugs = [cause.check.slug for cause in report.chain]
    assert slugs == ["mr-access", "no-rr", "rnr-retry-exc"]


@pytest.mark.parametrize("question", ["A.qp0.wr[6]", ""])
def test_a_receive_that_was_refused_in_reset_is_the_root_and_is_posted_by_the_fix(
    question: str,
) -> None:
    lab = played(
        "use rc_pair", "reset A.qp0", "reset B.qp0", "post_recv B.qp0 wr_id=3 sg=B.mr0[0:64]",
        "connect A.qp0 B.qp0 rnr_retry=2",
        "post_send A.qp0 wr_id=6 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED", "run",
    )  # fmt: skip
    report = why(lab, question)
    assert [cause.check.slug for cause in report.chain][:2] == ["recv-state", "no-rr"]
    assert report.remedy is not None
    assert report.remedy.works
    receives = [line for line in report.remedy.cure.lines if line.startswith("post_recv")]
    assert receives == ["post_recv B.qp0 wr_id=3 sg=B.mr0[0:64]"]
