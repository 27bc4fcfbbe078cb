"""The node pane."""

from rdmalab.command import Noun
from rdmalab.lab import Lab
from rdmalab.shell.styled_text import text_of
from rdmalab.tui.panes.node import NodePane
from tests.tui.playing import Free, first, panes_of


def test_the_bars_tell_done_under_way_waiting_and_free() -> None:
    send = "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]"
    _, panes = first(f"{send} wr_id=2", "step", f"{send} wr_id=3")
    text = panes["left"].text()
    assert "SQ ■▶▪□□□□□ 3/8  1 done, 1 in progress, 1 waiting" in text
    assert "wr3  SEND" in text


def test_it_shows_what_was_named_last_and_what_a_key_chose() -> None:
    made = "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0"
    lab, panes = first(f"{made} max_send_wr=4 max_recv_wr=4")
    pane = panes["left"]
    assert isinstance(pane, NodePane)
    assert pane.sentences()[0] == "show A.qp1"
    lab.do("query_qp A.qp0")
    pane.chosen.clear()
    lab.do("post_recv A.qp0 sg=A.mr0[0:64]")
    assert pane.sentences()[0] == "show A.qp0"
    pane.action_other("qp", 1)
    assert pane.sentences()[0] == "show A.qp1"
    assert "2 of 2" in text_of(pane.title())
    assert pane.chosen[Noun.QP] == lab.session.names.find("A.qp1")


def test_a_cq_says_what_it_waits_for_as_far_as_there_is_room() -> None:
    lab = Lab()
    for line in ("use rc_pair channel=1", "req_notify_cq A.cq0 solicited_only=1"):
        lab.do(line)
    pane = panes_of(Free(lab))["left"]
    assert isinstance(pane, NodePane)

    def cq(width: int) -> str:
        lines = [text_of(line).rstrip() for line in pane.lines(width, 40)]
        return next(line for line in lines if line.startswith("CQ "))

    assert cq(60) == "CQ □□□□□□□□□□□□□□□□ 0/16  cq0  ARMED solicited  channel: ch0"
    assert cq(38) == "CQ □□□□□□□□ 0/16  cq0  ARMED solicited"
    assert cq(30) == "CQ □□□□□□□□ 0/16  cq0"


def test_a_cq_without_a_channel_says_nothing_of_waking() -> None:
    _, panes = first()
    assert "armed" not in panes["left"].text()
