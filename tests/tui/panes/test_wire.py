"""The wire pane."""

from rdmalab.shell.styled_text import text_of
from rdmalab.tui.panes.wire import WirePane
from tests.tui.playing import first

SEND = "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64]"


def wire(*lines: str) -> WirePane:
    _, panes = first(*lines)
    pane = panes["wire"]
    assert isinstance(pane, WirePane)
    return pane


def drawn(pane: WirePane, width: int, height: int) -> list[str]:
    return [text_of(line).rstrip() for line in pane.lines(width, height)]


def test_now_and_the_future_are_both_seen_in_a_small_pane() -> None:
    rows = drawn(wire(SEND, "step 3"), 78, 4)
    assert any(row.startswith("▶") for row in rows)
    assert any("planned" in row for row in rows)


def test_where_there_is_room_the_packet_is_taken_apart() -> None:
    text = "\n".join(drawn(wire(), 78, 12))
    assert "taken apart: ev 19 ACK" in text
    assert "AETH" in text
    assert "Ethernet" not in text
    assert "Ethernet" in "\n".join(drawn(wire(), 78, 26))


def test_the_mark_goes_through_the_packets_and_back_to_the_newest() -> None:
    pane = wire()
    pane.action_move(-1)
    assert pane.marked is not None
    pane.action_inspect()
    assert "SEND_ONLY" in drawn(pane, 78, 6)[0]
    assert pane.escape()
    pane.action_move(1)
    assert pane.marked is None


def test_the_filter_keeps_what_fits() -> None:
    pane = wire()
    pane.filter.pattern = "ack psn"
    assert len(pane.text().splitlines()) == 1
    pane.filter.pattern = "nothing like it"
    assert drawn(pane, 78, 5) == ["no row matches the filter"]


def test_a_mark_does_not_jump_to_another_packet_of_another_branch() -> None:
    lab, panes = first("post_recv B.qp0 sg=B.mr0[0:64]")
    lab.do("post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64]; step")
    pane = panes["wire"]
    pane.action_move(-1)
    pane.action_move(1)
    lab.do("step 10")
    pane.action_move(-1)
    pane.action_move(-1)
    marked = pane.breakpoint()
    assert marked == "break wire.last.opcode == ACKNOWLEDGE"
    lab.do("goto 18")
    lab.do("post_send A.qp0 wr_id=3 opcode=RDMA_WRITE sg=A.mr0[0:4] remote=B.mr0[0]; run")
    newest = lab.look("wire.last.opcode")
    assert pane.breakpoint() == f"break wire.last.opcode == {newest}"
