import pytest

from tests.shell.prompts import Prompt

KEY = "remote_qkey=0x11111111"


@pytest.mark.parametrize(
    ("width", "lines", "text"),
    [
        (
            100,
            ("use ud_pair", "post_recv B.qp0 sg=B.mr0[0:200]",
             f"post_send A.qp0 opcode=SEND ah=A.ah0 remote_qpn=B.qp0 {KEY}"),
            "Q_Key 0x11111111",
        ),
        (
            120,
            ("use ud_pair", "attach_mcast B.qp0 gid=224.0.0.9",
             "create_ah A.ah1 pd=A.pd0 port_num=1 is_global=1 sgid_index=1 hop_limit=1 "
             "dgid=224.0.0.9",
             "post_recv B.qp0 sg=B.mr0[0:200]",
             f"post_send A.qp0 opcode=SEND ah=A.ah1 remote_qpn=0xffffff {KEY}"),
            "to 224.0.0.9 Q_Key 0x11111111",
        ),
        (
            80,
            ("use xrc_pair", "post_srq_recv B.srq0",
             "post_send A.qp0 opcode=SEND remote_srqn=B.srq0"),
            "SRQ 0x31",
        ),
    ],
)  # fmt: skip
def test_what_the_headers_say_of_where_it_goes_is_drawn(
    width: int, lines: tuple[str, ...], text: str
) -> None:
    prompt = Prompt(*lines, "run", width=width)
    assert text in " ".join(" ".join(prompt.ask("show wire")).split())


def test_a_reason_has_a_row_of_its_own_and_is_not_cut() -> None:
    prompt = Prompt("use rc_pair", "post_recv B.qp0", "post_recv B.qp0", width=80)
    write = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:5] remote_addr=0x1064 rkey=0xdead"
    prompt.ask(write, write, "run")
    lines = " ".join(" ".join(prompt.ask("show wire")).split())
    assert "! refused: rkey 0xdead is the key of no MR or bound window on B" in lines
    assert "an earlier request was NAKed, later packets are discarded" in lines
    assert "…" not in lines


def test_a_bind_is_planned_and_is_no_arrow() -> None:
    reg = "reg_mr B.mr1 pd=B.pd0 length=64 access=LOCAL_WRITE|MW_BIND"
    prompt = Prompt("use rc_pair", reg, "alloc_mw B.mw0 pd=B.pd0 type=TYPE_1")
    prompt.ask("bind_mw B.qp0 B.mw0 bind=B.mr1[8:64] bind_access=REMOTE_WRITE")
    (row,) = prompt.ask("show wire")[1:]
    assert "executes wr0 BIND_MW" in row
    assert "▷" not in row
