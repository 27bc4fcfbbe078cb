"""What all panes share: scrolling, framing, marking."""

from rdmalab.shell.styled_text import text_of
from rdmalab.tui.pane import marked
from tests.tui.playing import first


def test_it_follows_the_newest_until_somebody_looks_back() -> None:
    _, panes = first()
    pane = panes["log"]
    assert pane.place is not None
    pane.place = pane.place._replace(height=7)
    assert "20." in text_of(pane._framed(100, 7)[5])
    pane.action_end(-1)
    rows = [text_of(row) for row in pane._framed(100, 7)]
    assert "0.1" in rows[1]
    assert "below" in rows[-1]
    pane.action_end(1)
    assert pane.top is None


def test_the_frame_holds_title_and_lines() -> None:
    _, panes = first()
    rows = [text_of(row) for row in panes["right"]._framed(60, 9)]
    assert rows[0].startswith("┌─ B  10.0.0.2  qp0 RC")
    assert {len(row) for row in rows} == {60}
    assert rows[-1].startswith("└─ ■ done")


def test_a_marked_line_is_reverse_to_the_end() -> None:
    assert marked([("x", "ab"), ("", "c")], 5) == [("class:marked", "abc  ")]
