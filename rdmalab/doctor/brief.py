"""The short answer: the verdict, the root causes with their best evidence, the fix."""

from typing import NamedTuple

from rdmalab.doctor.report import Report
from rdmalab.doctor.rows import Row, RowPart
from rdmalab.views import fmt

MOST_LINES = 10
"""Lines of a short answer, where the evidence allows it."""

_ALWAYS = (RowPart.STANDING, RowPart.LOOKED, RowPart.ASK, RowPart.NEXT, RowPart.FIX)
_LEADING = (RowPart.CAUSE, RowPart.WAIT, RowPart.WARNING)


class Budget(NamedTuple):
    """How much of an answer is shown: pieces of evidence of a cause, lines of a fix."""

    evidence: int
    fix: int


BUDGETS = (Budget(3, 9), Budget(3, 4), Budget(2, 3), Budget(2, 1), Budget(1, 1), Budget(0, 1))
"""From the longest answer to the shortest."""


def brief(report: Report, budget: Budget) -> list[Row]:
    """The rows that a person needs first; the last but the fix counts what is left out."""
    kept = _evidence_rows(report, budget.evidence)
    fix = [row for row in report.rows if row.part is RowPart.LINE]
    shown, more = fix[: budget.fix], len(fix) - budget.fix
    if more > 0:
        shown.append(Row(RowPart.LINE, f"… and {more} more: why -v shows them"))
    cut = next((n for n, row in enumerate(kept) if row.part is RowPart.FIX), len(kept))
    return [*kept[:cut], *_rest(report), *kept[cut:], *shown]


def _evidence_rows(report: Report, evidence: int) -> list[Row]:
    """The rows before the lines of the fix; of what is beside a cause none."""
    roots = max(1, len(report.causes))
    left, found = 0, []
    warned: set[str] = set()  # of warnings of one kind the first is enough
    for row in report.rows:
        if row.part in _LEADING:
            wanted = row.number <= roots if row.part is RowPart.CAUSE else _leads(report, row)
            wanted = wanted and not (row.part is RowPart.WARNING and row.slug in warned)
            warned |= {row.slug} if row.part is RowPart.WARNING else set()
            left = evidence if wanted else 0
        elif row.part in _ALWAYS or (row.part is RowPart.UNKNOWN and not report.chain):
            wanted = True
        else:
            wanted, left = row.part is RowPart.EVIDENCE and left > 0, max(0, left - 1)
        if wanted:
            found.append(row)
    return found


def _leads(report: Report, row: Row) -> bool:
    """Whether a wait or a warning is the first of its kind, and nothing ranks before it."""
    kind = RowPart.WAIT if report.waits else RowPart.WARNING
    first = (report.waits or report.warnings)[0].check.slug
    return not report.chain and row.part is kind and row.slug == first


def _rest(report: Report) -> list[Row]:
    """What is left out, counted."""
    shown = any(_leads(report, row) for row in report.rows if row.part is RowPart.WARNING)
    beside = len(report.warnings) - shown
    counts = (
        (len(report.stations), "effect"), (beside, "warning"),
        (len(report.ruled_out), "cause", "ruled out"),
    )  # fmt: skip
    said = [f"{fmt.count(count, what)}{''.join(f' {m}' for m in more)}"
            for count, what, *more in counts if count > 0]  # fmt: skip
    if not said:
        return []
    return [Row(RowPart.REST, f"{', '.join(said)}: why -v {report.question}".rstrip())]
