"""The doctor's words on a terminal: nothing wider than it, events at the right, fixes whole."""

import pytest

from rdmalab.doctor.checklist_report import ChecklistReport
from rdmalab.doctor.evidence.finding import NA, Fix, fact, fail, ok
from rdmalab.doctor.report.report import TriedFix
from rdmalab.doctor.report.rows import Row, RowPart
from rdmalab.shell.show_why import lines_of, row_lines
from rdmalab.shell.styled_text import text_of
from rdmalab.shell.tables import style
from rdmalab.views.columns import Meaning
from tests.doctor.saying import NAME, WAITS, check, failed, pending


def texts(rows: list[Row], width: int = 80, *, plain: bool = False) -> list[str]:
    return [text_of(line) for line in lines_of(rows, width, plain=plain)]


def test_events_stand_at_the_right_and_never_too_far() -> None:
    for width, edge in ((80, 80), (60, 60), (200, 100)):
        dated = [line for line in texts(failed().rows, width) if line.endswith("]")]
        assert len(dated) == 6
        assert {len(line) for line in dated} == {edge}


@pytest.mark.parametrize("width", [20, 38, 60, 80])
def test_no_line_is_wider_than_the_terminal_but_a_line_of_the_fix(width: int) -> None:
    long = "connect A.qp0 B.qp0 " + "path_mtu=512 " * 12
    rows = failed(remedy=TriedFix(Fix([long]), works=True)).rows
    wide = [line for line in texts(rows, width) if len(line) > width]
    assert wide == [f"  {long}"]
    assert max(map(len, texts(rows, 100, plain=True))) <= 100


def test_plain_sets_nothing_to_the_right() -> None:
    assert texts(failed().rows, 100, plain=True) == failed().lines


def test_later_lines_hang_below_the_words_they_go_on() -> None:
    row = Row(RowPart.STANDING, f"{NAME}: it ended with an error and nobody", "FAILED  ", 32)
    assert [text_of(line) for line in row_lines(row, 44)] == [
        "FAILED  A.qp0.wr[7]: it ended with an error",
        "        and nobody                   [ev 32]",
    ]
    rule = Row(RowPart.CAUSE, ": a rule that is too long for one line", "odd", number=1)
    assert [text_of(line) for line in row_lines(rule, 30)] == [
        " 1. odd: a rule that is too",
        "    long for one line",
    ]


def test_the_kind_and_the_verdicts_are_words_first_and_colours_second() -> None:
    styles = {}
    for report in (failed(), pending()):
        (_, word), *_ = row_lines(report.rows[0], 80)[0]
        styles[word.strip()] = row_lines(report.rows[0], 80)[0][0][0]
    assert styles == {"FAILED": style(Meaning.FAILED), "PENDING": style(Meaning.WAITING)}
    walked = ChecklistReport(
        "slow", NAME, [(check(1, "a"), ok()), (check(2, "b"), fail()), (check(3, "c"), NA)]
    )
    leads = [
        (text.strip(), style) for line in lines_of(walked.rows, 80) for style, text in line[1:2]
    ]
    assert ("pass", style(Meaning.OK)) in leads
    assert ("FAIL", style(Meaning.FAILED)) in leads


def test_what_is_waited_for() -> None:
    assert texts(pending(waits=[WAITS]).rows)[1:] == [
        f"too-early: {NAME} completes at 9us",
        "      next, at 1us: A sends",
    ]


def test_nothing_in_it_moves_the_cursor() -> None:
    row = Row(RowPart.EVIDENCE, "it says \x1b[2J", event=3)
    assert "\x1b" not in texts([row])[0]
    assert fact("x").event is None
