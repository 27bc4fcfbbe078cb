"""The short answer: the verdict, the root causes with their best evidence, the fix."""

from collections.abc import Sequence
from typing import NamedTuple

from rdmalab.doctor.report.report import TOO_EARLY, Cause, Report
from rdmalab.doctor.report.rows import Row, RowPart
from rdmalab.views import fmt

MOST_LINES = 10
"""Lines of a short answer, where the evidence allows it."""

_NAMED = 2  # slugs of warnings
_ALSO = 1  # root causes that are left out, and still named
_ALWAYS = (RowPart.STANDING, RowPart.LOOKED, RowPart.ASK, RowPart.NEXT, RowPart.FIX)
_LEADING = (RowPart.CAUSE, RowPart.WAIT, RowPart.WARNING)


class Budget(NamedTuple):
    """Limits of an answer: pieces of evidence of a cause, lines of a fix, root causes, the text
    of their rules, root causes that are only named, and whether a fix has its note.
    """

    evidence: int = 3
    fix: int = 9
    roots: int = 9
    rules: bool = False
    also: int = _ALSO
    note: bool = True


BUDGETS = (
    Budget(rules=True), Budget(), Budget(roots=1), Budget(fix=5, roots=1), Budget(fix=1, roots=1),
    Budget(2, 1, 1), Budget(1, 1, 1), Budget(1, 1, 1, also=0),
    Budget(1, 1, 1, also=0, note=False),
)  # fmt: skip
"""From the longest answer to the shortest: the rules go first; a piece of evidence always stays."""


def brief(report: Report, budget: Budget) -> list[Row]:
    """The rows that a person needs first; the last but the fix counts what is left out."""
    kept = _kept(report, budget)
    fix = [row for row in report.rows if row.part is RowPart.LINE]
    most = budget.fix if report.has_lines else 0
    shown, more = fix[:most], len(fix) - max(most, 1)
    if not budget.note and report.remedy is not None:
        note = f" ({report.remedy.cure.note})"
        kept = [row._replace(text=row.text.replace(note, "")) for row in kept]
    if more > 0:
        shown.append(Row(RowPart.LINE, f"… and {more} more: {_whole(report)}"))
    cut = next((n for n, row in enumerate(kept) if row.part is RowPart.FIX), len(kept))
    return [*kept[:cut], *_rest(report, budget), *kept[cut:], *shown]


def _kept(report: Report, budget: Budget) -> list[Row]:
    """The rows before the lines of the fix. Without rules a cause begins with its evidence, and
    what the first row has is not repeated.
    """
    left, found, bare = 0, list[Row](), False
    warned: set[str] = set()  # of warnings of one kind the first is enough
    rows = report.rows
    for row in rows:
        wanted = row.part in _ALWAYS or (row.part is RowPart.UNKNOWN and not report.chain)
        if row.part in _LEADING:
            wanted = row.number <= min(budget.roots, max(1, len(report.causes)))
            wanted = wanted if row.part is RowPart.CAUSE else _leads(report, row)
            wanted = wanted and not (row.part is RowPart.WARNING and row.slug in warned)
            warned |= {row.slug} if row.part is RowPart.WARNING else set()
            bare = wanted and row.part is RowPart.CAUSE and not budget.rules
            left = 0 if not wanted else 1 if bare and row.number > 1 else budget.evidence
            left = 0 if row.slug == TOO_EARLY != report.slug else left  # when it ends is enough
        elif row.part is RowPart.EVIDENCE and left > 0:
            left -= 1
            wanted = row.text not in rows[0].text
            if bare:
                about = found[-1].text.partition(": ")[0]
                found[-1] = found[-1]._replace(text=f"{about}: {row.text}", event=row.event)
                wanted = bare = False
        found += [row] if wanted else []
    return found


def _leads(report: Report, row: Row) -> bool:
    """Whether a wait or a warning is the first of its kind, and nothing ranks before it.

    Of a wait that time alone ends the moment of its end stands there, too.
    """
    kind = RowPart.WAIT if report.waits else RowPart.WARNING
    first = (report.waits or report.warnings)[0].check.slug
    return not report.chain and row.part is kind and row.slug in (first, TOO_EARLY)


def _slugs(causes: Sequence[Cause]) -> str:
    """The names of the first few, each once: one of them can be the root."""
    found = list(dict.fromkeys(cause.check.slug for cause in causes))
    return ", ".join([*found[:_NAMED], *(["…"] if len(found) > _NAMED else [])])


def _rest(report: Report, budget: Budget) -> list[Row]:
    """The rows that name or count what is left out; [] if nothing is."""
    also = _also(report, budget)
    shown = any(_leads(report, row) for row in report.rows if row.part is RowPart.WARNING)
    beside = len(report.warnings) - shown
    counts = (
        (len(report.causes) - budget.roots - budget.also, "further cause"),
        (len(report.stations), "effect"),
        (beside, "warning", f"({_slugs(report.warnings[shown:])})"),
        (len(report.ruled_out), "cause", "ruled out"),
    )  # fmt: skip
    parts = [f"{fmt.count(count, what)}{''.join(f' {m}' for m in more)}"
            for count, what, *more in counts if count > 0]  # fmt: skip
    if not parts:
        return also
    return [*also, Row(RowPart.REST, f"{', '.join(parts)}: {_whole(report)}")]


def _whole(report: Report) -> str:
    """The command that prints all of it; at a program of the host there is no prompt."""
    ask = "exec --save FILE, then rdmalab why -v FILE" if report.in_program else "why -v"
    return f"{ask} {report.question}".rstrip()


def _also(report: Report, budget: Budget) -> list[Row]:
    """The first of the root causes that are left out, each in a row."""
    left = report.causes[budget.roots :]
    return [Row(RowPart.REST, f"{cause.name} {cause.check.slug}", "also: ", _event(cause),
                slug=cause.check.slug) for cause in left[: budget.also]]  # fmt: skip


def _event(cause: Cause) -> int | None:
    """The event in which a cause came into the world."""
    return cause.finding.origin if cause.finding.origin >= 0 else None
