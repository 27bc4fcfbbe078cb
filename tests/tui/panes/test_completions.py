"""The pane of the completion queues."""

from rdmalab.shell.styled_text import text_of
from tests.tui.playing import first


def test_all_queues_and_their_completions() -> None:
    _, panes = first()
    lines = [text_of(line) for line in panes["cq"].lines(78, 12)]
    assert lines[0].startswith("A.cq0  CQ ■□")
    assert "wr_id" in lines[1]
    assert "SUCCESS" in lines[2]
    assert lines[4].startswith("B.cq0")


def test_headings_give_way_in_a_small_pane() -> None:
    _, panes = first()
    lines = [text_of(line) for line in panes["cq"].lines(78, 4)]
    assert len(lines) == 4
    assert not any("wr_id" in line for line in lines)
