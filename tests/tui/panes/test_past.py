"""Story and log."""

from rdmalab.shell.styled_text import text_of
from tests.tui.playing import first


def test_the_story_has_a_sentence_an_event_and_the_log_every_record() -> None:
    _, panes = first()
    story = [text_of(line) for line in panes["story"].lines(100, 10)]
    assert story[-1] == (
        "ev 20     2.215us  A.qp0 received ACK psn=0 from B; A.cq0 added wr1 SEND SUCCESS"
    )
    assert any("20.1" in text_of(line) for line in panes["log"].lines(100, 10))


def test_a_narrow_pane_leaves_the_times_out() -> None:
    _, panes = first()
    assert not any("2.215us" in text_of(line) for line in panes["story"].lines(38, 10))


def test_at_the_beginning_it_says_so() -> None:
    _, panes = first("goto start")
    for width in (38, 100):
        assert "no events yet" in text_of(panes["story"].lines(width, 10)[0])
