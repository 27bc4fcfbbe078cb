"""What a node has besides QPs, CQs and regions, in its pane."""

import pytest

from rdmalab.lab import Lab
from rdmalab.shell.styled_text import text_of
from rdmalab.tui.frame import width_of
from rdmalab.tui.panes.node import NodePane
from tests.tui.playing import Free, panes_of


def drawn(*lines: str, side: str = "right", width: int = 60, height: int = 60) -> list[str]:
    lab = Lab()
    for line in lines:
        replies = lab.do(line)
        assert not any(reply.error or reply.refusal for reply in replies), line
    pane = panes_of(Free(lab))[side]
    assert isinstance(pane, NodePane)
    return [text_of(line).rstrip() for line in pane.lines(width, height)]


SRQ = (
    "use srq_pair",
    *(f"post_srq_recv B.srq0 wr_id={n} sg=B.mr0[0:64]" for n in (1, 2)),
    "post_send A.qp1 opcode=SEND sg=A.mr0[0:8]",
    "run",
    "query_qp B.qp1",
)


def test_a_qp_on_an_srq_shows_the_queue_it_takes_from() -> None:
    rows = drawn(*SRQ)
    assert "SRQ ■▪□□□□□□ 2/8  srq0  1 taken, 1 posted" in rows
    assert any(row.split()[:6] == ["wr1", "RECV", "64", "B", "taken", "by"] for row in rows)
    assert not any(row.startswith("RQ") for row in rows)


def test_where_there_is_little_room_the_gauge_says_less_and_overflows_nothing() -> None:
    rows = drawn(*SRQ, width=38, height=6)
    assert "SRQ ■▪□□□□□□ 2/8  srq0  1 taken" in rows
    assert max(map(len, rows)) <= 38


def test_an_xrc_receiver_shows_the_queues_of_its_domain() -> None:
    rows = drawn("use xrc_pair")
    assert any(row.startswith("XRC SRQ □□□□□□□□ 0/8  srq0  ! EMPTY") for row in rows)
    assert not any(row.startswith("SQ") for row in rows)


def test_an_srq_that_the_shown_qp_does_not_use_is_not_forgotten() -> None:
    rows = drawn("use rc_pair", "create_srq B.srq0 pd=B.pd0 max_wr=4")
    assert "SRQ □□□□ 0/4  srq0  ! EMPTY" in rows
    assert any(row.startswith("RQ ") for row in rows)


def test_a_bound_window_says_what_it_opens() -> None:
    reg = "reg_mr B.mr1 pd=B.pd0 length=64 access=LOCAL_WRITE|MW_BIND"
    made = ("use rc_pair", reg, "alloc_mw B.mw0 pd=B.pd0 type=TYPE_1")
    bind = "bind_mw B.qp0 B.mw0 bind=B.mr1[8:64] bind_access=REMOTE_WRITE"
    assert any(row.startswith("mw0 FREE") for row in drawn(*made))
    rows = drawn(*made, bind, "run")
    (row,) = [row for row in rows if row.startswith("mw0")]
    assert row.startswith("mw0 mr1[8:64]  rkey 0x")
    assert row.endswith("REMOTE_WRITE")


def test_a_port_that_moves_nothing_and_events_that_wait_stand_on_top() -> None:
    assert drawn("use rc_pair", "port B DOWN", height=4)[0] == "! port DOWN  ! PORT_ERR pending"
    assert not drawn("use rc_pair", "port B DOWN", side="left")[0].startswith("!")
    taken = drawn("use rc_pair", "port B DOWN", "get_async_event B")
    assert taken[0] == "! port DOWN"
    two = ("port B DOWN", "port B ACTIVE")
    assert drawn("use rc_pair", *two)[0] == "! PORT_ERR and 1 more pending"
    assert drawn("use rc_pair", "device_fatal B")[0].startswith("! device dead")


@pytest.mark.parametrize(
    ("pair", "line"),
    [
        ("ud_pair", "ah0 → A"),
        ("raw_pair", "flow0 dst_mac=02:00:0a:00:00:02 → qp0"),
    ],
)
def test_where_no_connection_says_it_the_ways_are_shown(pair: str, line: str) -> None:
    rows = drawn(f"use {pair}")
    assert line in rows
    assert not any("timeout" in row or "peer" in row for row in rows)


def test_an_open_region_tells_what_is_built() -> None:
    make = "create_qp_ex A.qx0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 send_ops_flags=SEND"
    rows = drawn("use rc_pair", make, "wr_start A.qx0", side="left")
    assert any(row.startswith("wr_start 0 built, not posted") for row in rows)


def test_a_channel_is_told_of_when_something_waits_in_it() -> None:
    lines = ("use rc_pair channel=1", "req_notify_cq B.cq0", "post_recv B.qp0")
    rows = drawn(*lines, "post_send A.qp0 opcode=SEND", "run")
    assert "B.ch0  1 event waits  0 unacked  of B.cq0" in rows


@pytest.mark.parametrize("width", [38, 58, 98])
def test_nothing_is_wider_than_the_pane(width: int) -> None:
    lab = Lab()
    for line in (*(f"use {what}_pair channel=1" for what in ("rc", "ud", "raw", "srq", "xrc")),
                 "port B DOWN"):  # fmt: skip
        lab.do(line)
    for side in ("left", "right"):
        pane = panes_of(Free(lab))[side]
        assert isinstance(pane, NodePane)
        for _ in range(6):
            pane.action_other("qp", 1)
            wide = [text_of(row) for row in pane.lines(width, 60) if width_of(row) > width]
            assert wide == []


def test_programs_stand_in_the_pane_of_their_node() -> None:
    rows = drawn(
        "use rc_pair", "program B.rx lines={poll_cq B.cq0; wait B.cq0.count > 0}", "run",
    )  # fmt: skip
    assert "rx WAITING in line 2 since 0.100us: wait B.cq0.count > 0" in rows
    assert not any("rx WAITING" in row for row in drawn("use rc_pair", side="left"))
