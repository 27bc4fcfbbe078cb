"""A checklist worked through: every item with its verdict and what speaks for it."""

from dataclasses import dataclass
from typing import Any

from rdmalab.doctor.checklist import LISTS
from rdmalab.doctor.complaints import subjects
from rdmalab.doctor.consult import diagnose, name_of
from rdmalab.doctor.finding import Check, Finding, Verdict
from rdmalab.doctor.log import Log
from rdmalab.doctor.question import asked
from rdmalab.doctor.report import said_line
from rdmalab.grammar.nodes import Node
from rdmalab.session.session import Session

VERDICTS = {
    Verdict.FAIL: "FAIL",
    Verdict.WARN: "warn",
    Verdict.WAIT: "wait",
    Verdict.UNKNOWN: "?",
    Verdict.OK: "pass",
    Verdict.NA: "-",
}


@dataclass(slots=True)
class Walk:
    """One list, about one thing; name: which, empty if nothing is wrong anywhere."""

    title: str
    name: str
    items: list[tuple[Check, Finding]]

    @property
    def lines(self) -> list[str]:
        """An item a line, with its evidence below."""
        about = f" of {self.name}" if self.name else ""
        lines = [f"checklist {self.title}{about}"]
        section = None
        for check, finding in self.items:
            if check.section is not section:
                section = check.section
                lines.append(section.value)
            mark = VERDICTS[finding.verdict]
            lines.append(f"  {check.number:>2} {mark:<4} {check.slug}: {check.question}")
            lines += [f"          {said_line(each)}" for each in finding.evidence]
        return lines

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def as_json(self) -> dict[str, Any]:
        """The items, as `why --json` has its causes."""
        items = [
            {
                "slug": check.slug, "item": check.number, "section": check.section.value,
                "question": check.question, "verdict": finding.verdict.name,
                "evidence": [{"text": e.text, "event": e.event} for e in finding.evidence],
            }
            for check, finding in self.items
        ]  # fmt: skip
        return {"checklist": self.title, "about": self.name, "items": items}


def walk(session: Session, title: str, question: Node | None) -> Walk:
    """Every item asked of what is asked about; without a question, of what is wrong first."""
    log = Log(session)
    found = subjects(session, log, asked(session, log, question))
    if not found:
        return Walk(title, "", [(check, Finding(Verdict.NA)) for check in LISTS[title]])
    seen = diagnose(session, found[0], log, asked=True)
    said = {check.slug: finding for check, finding in seen.findings}
    return Walk(title, name_of(session, found[0]), [(c, said[c.slug]) for c in LISTS[title]])
