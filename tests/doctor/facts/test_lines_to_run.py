"""Lines that a thread has still to run: by any of them it may bring what another one waits for."""

from tests.doctor.asking import answer, played
from tests.each import each

_EXTENDED = (
    "create_qp_ex A.qx0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 max_send_wr=4 "
    "max_recv_wr=4 send_ops_flags=RDMA_WRITE",
    "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0",
    "connect A.qx0 B.qp1",
)
_FAILS = "reg_mr A.mr9 pd=A.pd0 length=64 access=REMOTE_WRITE"


@each(
    "post",
    [
        "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED",
        "wr_start A.qx0; wr_rdma_write A.qx0 remote=B.mr0[0]; wr_set_sge A.qx0 sg=A.mr0[0:8]",
        "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED; post_recv A.qp0 wr_id=2",
    ],
)
def test_thread_stopped_before_it_posts_the_awaited_write(post: str) -> None:
    """Root: the thread failed in the line before, unless it was to write nothing there."""
    lab = played("use rc_pair", *_EXTENDED, f"program A.tx lines={{{_FAILS}; {post}}}",
                 "program B.rx lines={wait B.mr0[7] == 1}", "run 50us")  # fmt: skip
    report = answer(lab, "why B.rx")
    stopped = report.slug == "thread-stopped" and "A.tx failed in line 1" in report.text
    assert stopped is ("remote=B.mr0[0]" in post)
