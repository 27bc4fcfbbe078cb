"""Receives on a neighbor's queue, completions on another one, WRITEs that are under way."""

import pytest

from tests.doctor.asking import blamed, played, warning, why

_RX = "program B.rx lines={{poll {cq}}}"


@pytest.mark.parametrize("retry", [0, 7])
def test_a_receive_for_the_srq_beside_is_the_root_of_the_rnr_nak(retry: int) -> None:
    lab = played(
        f"use srq_pair rnr_retry={retry} min_rnr_timer=4",
        "create_srq B.srq1 pd=B.pd0 max_wr=8",
        "post_srq_recv B.srq1 wr_id=1 sg=B.mr0[0:64]",
        "post_send A.qp1 wr_id=2 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED", "run 1ms",
    )  # fmt: skip
    assert blamed(lab, "A.qp1.wr[2]")[0] == "srq-vs-rq"
    report = why(lab, "A.qp1.wr[2]")
    assert report.remedy is not None
    assert report.remedy.works


def test_a_thread_finds_the_queue_of_the_srq_that_got_the_message() -> None:
    lab = played(
        "use xrc_pair", "create_cq B.cq1 cqe=16",
        "create_srq_ex B.srq1 pd=B.pd0 srq_type=XRC xrcd=B.xrcd0 cq=B.cq1 max_wr=8",
        "post_srq_recv B.srq1 wr_id=6 sg=B.mr0[0:64]", _RX.format(cq="B.cq0"),
        "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64] remote_srqn=B.srq1 flags=SIGNALED",
        "run 100us",
    )  # fmt: skip
    assert why(lab, "B.rx").slug == why(lab).slug == "wrong-cq"


@pytest.mark.parametrize("opcode", ["RDMA_READ", "ATOMIC_FETCH_AND_ADD compare_add=1"])
def test_write_no_signal_of_one_sided_requests(opcode: str) -> None:
    post = f"post_send A.qp0 wr_id=1 opcode={opcode} sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED"
    lab = played("use rc_pair", _RX.format(cq="B.cq0"), post, "run 50us")
    assert blamed(lab, "B.rx") == ["write-no-signal"]


def test_read_before_complete_of_a_write_under_way() -> None:
    write = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:2048] remote=B.mr0[0]"
    lab = played("use rc_pair path_mtu=1024", "fault drop A->B nth=2", write, "run 5us")
    assert warning(lab, "B.mr0[0:2048]") == ["read-before-complete"]
    lab = played("use rc_pair path_mtu=1024", write, "run")
    assert warning(lab, "B.mr0[0:2048]") == []


_BUILD = (
    "wr_rdma_write A.qx0 wr_id={} wr_flags=SIGNALED remote=B.mr0[0]; wr_set_sge A.qx0 sg=A.mr0[0:8]"
)


@pytest.mark.parametrize(
    ("ids", "slug"), [((1, 2, 3), "region-aborted"), ((1, 2), "polls-missing")]
)
def test_full_queue_of_a_batch(ids: tuple[int], slug: str) -> None:
    built = "; ".join(_BUILD.format(wr_id) for wr_id in ids)
    before = "" if len(ids) == 3 else f"wr_start A.qx0; {_BUILD.format(9)}; wr_complete A.qx0; "
    lab = played(
        "use rc_pair",
        "create_qp_ex A.qx0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 max_send_wr=2 "
        "send_ops_flags=RDMA_WRITE",
        "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0", "connect A.qx0 B.qp1",
        f"program A.x lines={{{before}wr_start A.qx0; {built}; try wr_complete A.qx0}}",
        "run 10us",
    )  # fmt: skip
    assert blamed(lab, "ENOMEM")[0] == slug


@pytest.mark.parametrize("retry", [0, 7])
@pytest.mark.parametrize("used", [False, True])
def test_a_receive_on_another_queue_pair_is_named_beside_the_rnr_nak(
    retry: int, used: bool
) -> None:
    """Not where the peer of that other queue pair sends, too: its receive is for that message."""
    make = "create_qp {0}.q pd={0}.pd0 qp_type=RC send_cq={0}.cq0 recv_cq={0}.cq0"
    write = "post_send A.q wr_id=8 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED"
    lab = played(
        f"use rc_pair rnr_retry={retry} min_rnr_timer=4", make.format("A"), make.format("B"),
        "connect A.q B.q", "post_recv B.q wr_id=1 sg=B.mr0[0:64]", *([write] if used else []),
        "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED", "run 1ms",
    )  # fmt: skip
    report = why(lab, "A.qp0.wr[2]")
    named = "the receive was posted on B.q, which gets no message: this one goes to B.qp0"
    assert (named in report.text) is not used
    assert report.remedy is not None
    assert report.remedy.works
