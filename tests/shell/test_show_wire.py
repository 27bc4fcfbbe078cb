import pytest

from rdmalab.shell.show_wire import arrow
from tests.shell.talk import Talk


@pytest.mark.parametrize("width", [8, 12, 20, 40])
@pytest.mark.parametrize("lost", [0, 3])
@pytest.mark.parametrize("to_right", [True, False])
def test_an_arrow_fills_its_lane(width: int, lost: int, to_right: bool) -> None:
    drawn = arrow("SEND_ONLY psn=3", width, to_right=to_right, dash="─", head="▶◀", lost=lost)
    assert len(drawn) == width
    assert ("▶" in drawn) is to_right
    assert ("◀" in drawn) is not to_right
    assert drawn.endswith(" " * lost) if to_right else drawn.startswith(" " * lost)


@pytest.mark.parametrize(
    ("lines", "remark"),
    [
        (
            ("use ud_pair", "post_recv B.qp0 sg=B.mr0[0:200]",
             "post_send A.qp0 opcode=SEND ah=A.ah0 remote_qpn=B.qp0 remote_qkey=0x11111111"),
            "Q_Key 0x11111111",
        ),
        (
            ("use ud_pair", "attach_mcast B.qp0 gid=224.0.0.9",
             "create_ah A.ah1 pd=A.pd0 port_num=1 is_global=1 sgid_index=1 hop_limit=1 "
             "dgid=224.0.0.9",
             "post_recv B.qp0 sg=B.mr0[0:200]",
             "post_send A.qp0 opcode=SEND ah=A.ah1 remote_qpn=0xffffff remote_qkey=0x11111111"),
            "to 224.0.0.9  Q_Key 0x11111111",
        ),
        (
            ("use xrc_pair", "post_srq_recv B.srq0",
             "post_send A.qp0 opcode=SEND remote_srqn=B.srq0"),
            "SRQ 0x31",
        ),
        (("use rc_pair", "post_recv B.qp0", "post_send A.qp0 opcode=SEND"), ""),
    ],
)  # fmt: skip
def test_what_the_headers_say_of_where_it_goes_stands_behind_the_arrow(
    lines: tuple[str, ...], remark: str
) -> None:
    talk = Talk(*lines, "run", width=120)
    row = next(row for row in talk.ask("show wire") if "SEND_ONLY" in row)
    assert row.partition("┤ B ev ")[2].partition(" ")[2].strip() == remark


def test_a_bind_is_planned_and_is_no_arrow() -> None:
    reg = "reg_mr B.mr1 pd=B.pd0 length=64 access=LOCAL_WRITE|MW_BIND"
    talk = Talk("use rc_pair", reg, "alloc_mw B.mw0 pd=B.pd0 type=TYPE_1")
    talk.ask("bind_mw B.qp0 B.mw0 bind=B.mr1[8:64] bind_access=REMOTE_WRITE")
    (row,) = talk.ask("show wire")[1:]
    assert "B · executes wr0 BIND_MW" in row
    assert "▷" not in row
