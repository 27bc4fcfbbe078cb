"""Render the rows of `why`: verdict first, events at the right, continuation lines indented."""

from collections.abc import Iterable

from rdmalab.doctor.brief import BUDGETS, MOST_LINES, brief
from rdmalab.doctor.report import Report
from rdmalab.doctor.rows import Row, RowPart
from rdmalab.shell.styled_text import Line, fold, shown, text_of
from rdmalab.shell.tables import DIM, EVENT, GOOD, NAME, WARN
from rdmalab.views import fmt

_ERROR, _HINT, _TITLE = "class:error", "class:hint", "class:title"
_GAP = 2
_WIDEST = 100  # beyond that an event stands too far from what it belongs to

_LEADS = {
    RowPart.CAUSE: NAME, RowPart.SYMPTOM: NAME, RowPart.WAIT: NAME, RowPart.NEXT: NAME,
    RowPart.WARNING: WARN, RowPart.FIX: _HINT, RowPart.ASK: _HINT,
}  # fmt: skip
_TEXTS = {RowPart.TITLE: _TITLE, RowPart.SECTION: NAME, RowPart.REST: DIM, RowPart.RULED_OUT: DIM,
          RowPart.LOOKED: DIM}  # fmt: skip
_STANDINGS = {"COMPLETED": GOOD, "WELL": GOOD, "LATE": WARN, "PENDING": WARN, "UNKNOWN": WARN}
_VERDICTS = {"FAIL": _ERROR, "pass": GOOD, "warn": WARN, "wait": WARN}
_HANGING = (
    RowPart.RULED_OUT,
    RowPart.STANDING,
    RowPart.LOOKED,
    RowPart.ASK,
    RowPart.NEXT,
    RowPart.FIX,
    RowPart.REST,
)


def answer_lines(report: Report, width: int, *, plain: bool = False) -> list[Line]:
    """The short answer, or all of it where that was asked for."""
    if report.detailed:
        return lines_of(report.rows, width, plain=plain)
    found: list[Line] = []
    for budget in BUDGETS:
        found = lines_of(brief(report, budget), width, plain=plain)
        if len(found) <= MOST_LINES:
            break
    return found


def lines_of(rows: Iterable[Row], width: int, *, plain: bool = False) -> list[Line]:
    """All rows; plain: nothing set to the right."""
    return [line for row in rows for line in row_lines(row, width, plain=plain)]


def row_lines(row: Row, width: int, *, plain: bool = False) -> list[Line]:
    """The lines of one row; a line of a fix is not folded, because it is for copying."""
    line: Line = [("", row.margin), (_lead_style(row), row.lead)]
    line.append((_TEXTS.get(row.part, ""), shown(row.text)))
    line = [fragment for fragment in line if fragment[1]]
    if row.part is RowPart.LINE and not plain:
        return [line]
    width = width if plain else min(width, _WIDEST)
    if row.event is None:
        return fold(line, width, _hang(row))
    tag = f"[{fmt.ev(row.event)}]"
    lines = fold(line, width, _hang(row))
    if len(text_of(lines[-1])) + _GAP + len(tag) > width:
        lines = fold(line, width - len(tag) - _GAP, _hang(row))
    gap = _GAP if plain else width - len(text_of(lines[-1])) - len(tag)
    return [*lines[:-1], [*lines[-1], ("", " " * gap), (EVENT, tag)]]


def _lead_style(row: Row) -> str:
    if row.part is RowPart.STANDING:
        return _STANDINGS.get(row.lead.strip(), _ERROR)
    if row.part is RowPart.ITEM:
        return _VERDICTS.get(row.lead.strip(), DIM)
    return _LEADS.get(row.part, DIM)


def _hang(row: Row) -> int:
    """The indentation of the later lines, from the last blank of the margin."""
    if row.part in _HANGING:
        return len(row.lead)
    if row.part is RowPart.CAUSE:
        return len(row.margin.lstrip())
    return len(row.lead) + 1 if row.part is RowPart.ITEM else 2
