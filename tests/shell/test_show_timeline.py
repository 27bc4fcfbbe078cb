"""The tape as it is drawn."""

import pytest

from rdmalab.lab import Lab
from rdmalab.shell.show import render
from rdmalab.shell.show_timeline import HERE, drawn, event_at
from rdmalab.shell.styled_text import in_ascii, text_of
from rdmalab.views.columns import Meaning
from rdmalab.views.timeline import TimelineRow, tape_row

RUN = (
    "use rc_pair",
    "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]",
    "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED",
    "run",
)


def tape(*lines: str, cells: int = 60) -> TimelineRow:
    lab = Lab()
    for line in lines:
        assert not lab.do(line)[-1].failed, line
    return tape_row(lab.session.history, lab.session.names, lab.session.checkpoints, cells)


def test_an_empty_world() -> None:
    assert text_of(drawn(tape(), 60)) == "▲ now"


def test_commands_events_and_now() -> None:
    row = tape(*RUN)
    assert text_of(drawn(row, 60)) == "├─●─●─●─●─●─●─●─●─●─●─●─●─●─●─●─●───────▲ now"
    assert text_of(drawn(row, 22)) == "├●●●●●●●●●●●●●●●●───▲ now"


def test_checkpoints_have_their_names_up_to_the_next_mark() -> None:
    marks = ("goto 4", "checkpoint first-of-all", "goto 9", "checkpoint b", "goto 12")
    row = tape(*RUN, *marks)
    assert text_of(drawn(row, 60)) == "├─●─●─●─●─◆first-of…◆b●─●─▲─●─●─●────────"


def test_what_lies_ahead_is_dim() -> None:
    line = drawn(tape(*RUN, "goto 12"), 60)
    at = next(n for n, (_, text) in enumerate(line) if text == HERE)
    assert {style for style, _ in line[at + 2 :]} == {"class:dim"}
    assert "class:dim" not in {style for style, _ in line[:at]}


def test_where_branches_part() -> None:
    row = tape(*RUN, "goto 6", "alloc_pd A.pd7", "alloc_pd A.pd8")
    assert text_of(drawn(row, 20)) == "├─●─●─●─●─●─●─┬─●─▲ now"


@pytest.mark.parametrize("width", [1, 10, 40, 80, 120, 200])
def test_a_column_leads_to_the_event_that_is_drawn_there(width: int) -> None:
    row = tape(*RUN, "goto 16", cells=width)
    line = text_of(drawn(row, width))
    assert len(line) <= max(width, 4)
    assert event_at(row, width, 0) == -1
    found = [event_at(row, width, at) for at in range(len(line))]
    assert found == sorted(found)
    assert found[line.index(HERE)] == 16 or width < 20
    assert event_at(row, width, 500) == row.end or width < 2


def test_troubles_are_drawn_where_they_were() -> None:
    row = tape(*RUN)
    line = drawn(row, 60, {17: Meaning.FAILED, 18: Meaning.LOST})
    assert text_of(line).endswith("●───✗─╳─▲ now")
    assert ("class:bad", "✗") in line


def test_ascii_timeline_has_distinct_marks() -> None:
    row = tape(*RUN, "goto 6", "checkpoint x", "goto 12")
    line = text_of(in_ascii(drawn(row, 60)))
    assert line == "+-#-#-#-#-#-#-*x#-#-#-#-#-^-#-#-#--------"
    assert line.isascii()


def test_show_time_says_it_in_words_and_draws_it() -> None:
    lab = Lab()
    for line in (*RUN, "goto 12", "checkpoint x"):
        lab.do(line)
    (view,) = [reply.value for reply in lab.do("show time")]
    lines = [text_of(line).rstrip() for line in render(view, 100)]
    assert lines[0].startswith("ev 12 of 19, PAST, at 0.000 us of ")
    assert HERE in lines[1]
    assert "@x at ev 12, 0.000 us" in lines
    assert not any(HERE in text_of(line) for line in render(view, 50))
