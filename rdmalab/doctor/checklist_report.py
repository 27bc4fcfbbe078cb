"""A checklist worked through: every item with its verdict and what speaks for it."""

from collections import Counter
from dataclasses import field
from itertools import groupby
from typing import Any

from rdmalab.doctor.answers import list_for
from rdmalab.doctor.asking.questions import examples, normalised
from rdmalab.doctor.asking.subjects import subjects
from rdmalab.doctor.check import Check, Finding, Verdict
from rdmalab.doctor.diagnosis.diagnose import LISTS, diagnose
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.subject import name_of
from rdmalab.doctor.report.rows import AnswerInRows, Row, RowPart, evidence_rows
from rdmalab.grammar.nodes import Node
from rdmalab.session.session import Session
from rdmalab.spec.row import dataclass

VERDICTS = {Verdict.FAIL: "FAIL", Verdict.WARN: "warn", Verdict.WAIT: "wait", Verdict.UNKNOWN: "?",
            Verdict.OK: "pass", Verdict.NA: "-"}  # fmt: skip
_NA = Verdict.NA
_FOUND = (Verdict.FAIL, Verdict.WARN, Verdict.WAIT, Verdict.UNKNOWN)


@dataclass(slots=True)
class ChecklistReport(AnswerInRows):
    """One list, about one thing; name: which, empty if nothing is wrong anywhere."""

    title: str
    name: str
    items: list[tuple[Check, Finding]]
    examples: list[str] = field(default_factory=list)

    @property
    def rows(self) -> list[Row]:
        """First the sum and the items that found something, then the others by section."""
        about = f" of {self.name}" if self.name else ": no check found a fault"
        rows = [Row(RowPart.TITLE, f"checklist {self.title}{about}")]
        if self.examples:
            text = "   ".join(f"checklist {self.title} {example}" for example in self.examples[:1])
            return [*rows, Row(RowPart.ASK, text, "name what you mean: ")]
        rows.append(Row(RowPart.REST, self._sum, "in all: "))
        found = [item for item in self.items if item[1].verdict in _FOUND]
        rows += _of_section(sorted(found, key=lambda item: item[1].verdict), self.name)
        others = [item for item in self.items if item[1].verdict not in _FOUND]
        for section, group in groupby(others, key=lambda item: item[0].section):
            rows += [Row(RowPart.SECTION, section.value), *_of_section(list(group), self.name)]
        return rows

    @property
    def _sum(self) -> str:
        """`1 FAIL, 4 pass, 12 do not concern it`."""
        counts = Counter(finding.verdict for _, finding in self.items)
        parts = [f"{counts[v]} {name}" for v, name in VERDICTS.items() if counts[v] and v != _NA]
        return ", ".join([*parts, f"{counts[_NA]} not applicable"])

    def as_json(self) -> dict[str, Any]:
        """The items, as `why --json` has its causes."""
        items = [
            {
                "slug": check.slug, "item": check.row.item, "section": check.section.value,
                "question": check.row.asks, "verdict": finding.verdict.name,
                "evidence": [{"text": e.text, "event": e.event} for e in finding.evidence],
            }
            for check, finding in self.items
        ]  # fmt: skip
        return {"checklist": self.title, "about": self.name, "items": items}


def _of_section(items: list[tuple[Check, Finding]], name: str) -> list[Row]:
    rows: list[Row] = []
    for check, finding in items:
        if finding.verdict is not _NA:
            lead = f"{VERDICTS[finding.verdict]:<4}"
            text = f" {check.slug}: {check.row.asks}"
            rows.append(Row(RowPart.ITEM, text, lead, number=check.row.item, slug=check.slug))
            rows += evidence_rows(RowPart.GROUND, finding.evidence, check.slug, name)
    rest = [check.slug for check, finding in items if finding.verdict is _NA]
    return rows + ([Row(RowPart.REST, ", ".join(rest), "-    not applicable: ")] if rest else [])


def walk(session: Session, title: str, question: Node | None) -> ChecklistReport:
    """Every item asked of what is asked about; without a question, of what is wrong first.

    title: of the list; empty: the one for that subject.
    """
    log = Log(session)
    found = subjects(session, log, normalised(session, log, question))
    name = name_of(session.names, found[0]) if found else ""
    title = title or list_for(name)
    if not found:
        nothing = [(check, Finding(_NA)) for check in LISTS[title]]
        return ChecklistReport(title, "", nothing, examples(session, log))
    seen = diagnose(session, found[0], log, asked=True)
    by_slug = {check.slug: finding for check, finding in seen.findings}
    return ChecklistReport(title, name, [(c, by_slug[c.slug]) for c in LISTS[title]])
