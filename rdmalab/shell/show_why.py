"""Render the rows of `why`: verdict first, events at the right, continuation lines indented."""

from collections.abc import Iterable
from functools import partial

from rdmalab.doctor.report.brief import BUDGETS, MOST_LINES, brief
from rdmalab.doctor.report.report import Report
from rdmalab.doctor.report.rows import Row, RowPart, meaning
from rdmalab.shell.styled_text import Line, fold, laid, shown, text_of
from rdmalab.shell.tables import DIM, EVENT, NAME, style
from rdmalab.views import fmt

_GAP = 2
_USUAL = 80  # the width at which an answer is to have its lines
_WIDEST = 100  # beyond that an event stands too far from what it belongs to

_TEXTS = {RowPart.TITLE: "class:title", RowPart.SECTION: NAME,
          **dict.fromkeys((RowPart.REST, RowPart.RULED_OUT, RowPart.LOOKED), DIM)}  # fmt: skip
_HANGING = (
    RowPart.RULED_OUT,
    RowPart.STANDING,
    RowPart.LOOKED,
    RowPart.ASK,
    RowPart.NEXT,
    RowPart.FIX,
    RowPart.REST,
)


def answer_lines(
    report: Report, width: int, *, plain: bool = False, most: int = MOST_LINES
) -> list[Line]:
    """The short answer, or all of it where that was asked for. most: rows that are to suffice."""
    if report.detailed:
        return lines_of(report.rows, width, plain=plain)
    rows = list[Row]()
    for budget in BUDGETS:  # the width folds, and does not decide what is shown
        rows = brief(report, budget)
        if len(lines_of(rows, _USUAL)) <= most:
            break
    return lines_of(rows, width, plain=plain)


def lines_of(rows: Iterable[Row], width: int, *, plain: bool = False) -> list[Line]:
    """All rows; plain: nothing set to the right."""
    return [line for row in rows for line in row_lines(row, width, plain=plain)]


def row_lines(row: Row, width: int, *, plain: bool = False) -> list[Line]:
    """The lines of one row; a line of a fix is not folded, because it is for copying."""
    return laid(partial(_row_lines, row, plain=plain), width)


def _row_lines(row: Row, width: int, *, plain: bool) -> list[Line]:
    line: Line = [("", row.margin), (style(meaning(row)), row.lead)]
    line.append((_TEXTS.get(row.part, ""), shown(row.text)))
    line = [fragment for fragment in line if fragment[1]]
    if row.part is RowPart.LINE and not plain:
        return [line]
    width = width if plain else min(width, _WIDEST)
    return tagged(line, row.event, width, _hang(row), plain=plain)


def tagged(
    line: Line, event: int | None, width: int, hang: int, *, plain: bool = False
) -> list[Line]:
    """The line, folded, with its event at the right of the last row; plain: after it."""
    if event is None:
        return fold(line, width, hang)
    tag = f"[{fmt.ev(event)}]"
    lines = fold(line, width, hang)
    if len(text_of(lines[-1])) + _GAP + len(tag) > width:
        lines = fold(line, width - len(tag) - _GAP, hang)
    gap = _GAP if plain else width - len(text_of(lines[-1])) - len(tag)
    return [*lines[:-1], [*lines[-1], ("", " " * gap), (EVENT, tag)]]


def _hang(row: Row) -> int:
    """The indentation of the later lines, from the last blank of the margin."""
    if row.part in _HANGING:
        return len(row.lead)
    if row.part is RowPart.CAUSE:
        return len(row.margin.lstrip())
    return len(row.lead) + 1 if row.part is RowPart.ITEM else 2
