import pytest

from tests.shell.talk import Talk


@pytest.mark.parametrize(
    ("setup", "line", "warning"),
    [
        ("", "post_recv B.qp0 sg=B.mr0[0:5000]", "sg reaches beyond B.mr0 (4096 bytes)."),
        ("", "post_recv B.qp0 sg={addr=0x10 length=8 lkey=0xdead}", "has lkey 0xdead"),
        ("", "post_send A.qp0 opcode=SEND sg=A.mr0[0:0]", "length 0 means 2147483648 bytes"),
        ("reset A.qp0", "modify_qp A.qp0 state=ERR", ""),
        ("modify_qp A.qp0 state=ERR", "post_send A.qp0 opcode=SEND", "WR_FLUSH_ERR"),
        ("", "create_cq A.cq1 cqe=2", ""),
        (
            "create_cq A.cq1 cqe=2",
            "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq1 recv_cq=A.cq1",
            "it can overrun",
        ),
        ("post_recv A.qp0 sg=A.mr0[0:64]", "dereg_mr A.mr0", "posted work of A.qp0 still uses"),
        (
            "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]",
            'write A.mr0[0:5] "later"',
            "belong to the HCA until wr0 of A.qp0 completes",
        ),
        ("", "req_notify_cq A.cq0", "A.cq0 has no channel: its event goes nowhere"),
        (
            "create_comp_channel A.ch0",
            "create_cq A.cq1 cqe=2 channel=A.ch0",
            "",
        ),
    ],
)
def test_warnings(setup: str, line: str, warning: str) -> None:
    said = Talk("use rc_pair", *([setup] if setup else []), width=200).ask(line)
    found = [row for row in said if row.startswith("warning: ")]
    assert (warning in found[0]) if warning else not found


def test_who_arms_too_late_is_told() -> None:
    """What lies there already raises nothing; a queue that is empty is armed without a word."""
    talk = Talk("use rc_pair channel=1", "post_recv B.qp0 wr={wr_id=1} wr={wr_id=2}", width=200)
    assert len(talk.ask("req_notify_cq B.cq0")) == 1
    talk.ask("post_send A.qp0 wr={opcode=SEND} wr={opcode=SEND}", "run")
    (_, warning) = talk.ask("req_notify_cq B.cq0")
    assert warning.startswith("warning: 2 completions lie on B.cq0 already")


def test_a_queue_of_unsignaled_work_is_warned_of_before_it_is_full() -> None:
    talk = Talk("use rc_pair max_send_wr=4", width=200)
    said = [talk.ask("post_send A.qp0 opcode=SEND") for _ in range(4)]
    assert [len(rows) for rows in said] == [1, 1, 2, 2]
    assert "signal the next one" in said[2][1]
    assert "nothing can ever give one back" in said[3][1]


def test_timeout_and_depth_of_zero() -> None:
    talk = Talk("use rc_pair timeout=0 max_rd_atomic=0 max_dest_rd_atomic=0", width=200)
    said = talk.ask("post_send A.qp0 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0")
    assert any("never starts a READ" in row for row in said)


def test_warnings_change_nothing() -> None:
    talk = Talk("use rc_pair", "post_recv B.qp0 sg=B.mr0[0:5000]")
    assert talk.lab.look("B.qp0.rq.used") == 1
