"""The answer: how it stands, the chain of causes, what was ruled out, and a cure that was tried."""

from dataclasses import dataclass, field
from typing import Any

from rdmalab.doctor.finding import Check, Cure, Evidence, Finding, Verdict
from rdmalab.doctor.standing import Is, Standing
from rdmalab.doctor.subject import Subject
from rdmalab.lens import words

SCHEMA = 1
TOO_EARLY = "too-early"
UNKNOWN = "unknown"


@dataclass(slots=True)
class Cause:
    """A check that found something in a case. name: what the case is about, `A.qp0.wr[7]`."""

    check: Check
    finding: Finding
    subject: Subject
    name: str


@dataclass(slots=True)
class Remedy:
    """A cure and what came of it on a branch. works: None if nobody could try it."""

    cure: Cure
    works: bool | None = None
    failure: str = ""


@dataclass(slots=True)
class Report:
    """What the doctor says. name: of what was asked about, empty if nothing was named.

    causes: the roots in causal order; stations: what stands between them and the symptom.
    """

    name: str
    standing: Standing
    event: int
    causes: list[Cause] = field(default_factory=list)
    stations: list[Cause] = field(default_factory=list)
    warnings: list[Cause] = field(default_factory=list)
    waits: list[Cause] = field(default_factory=list)
    ruled_out: list[str] = field(default_factory=list)
    unknown: list[Cause] = field(default_factory=list)
    remedy: Remedy | None = None

    @property
    def slug(self) -> str:
        """The root cause in a word: what `why(…)` is compared with."""
        if self.causes:
            return self.causes[0].check.slug
        if self.standing.good:
            return self.standing.kind.value
        if self.waits:
            return self.waits[0].check.slug
        return self.warnings[0].check.slug if self.warnings else UNKNOWN

    @property
    def chain(self) -> list[Cause]:
        """From the first cause to what stands right before the symptom."""
        return self.causes + self.stations

    @property
    def lines(self) -> list[str]:
        """All of it in words, one fact a line."""
        return [*self._head(), *self._chain(), *self._beside(), *self._fix()]

    def _head(self) -> list[str]:
        about = f"{self.name}: " if self.name else ""
        kind = self.standing.kind.value.upper()
        return [f"{about}{kind}: {self.standing.sentence}{_at(self.standing.event)}"]

    def _chain(self) -> list[str]:
        lines = []
        for number, cause in enumerate(self.chain, 1):
            about = "" if cause.name == self.name else f" ({cause.name})"
            lines.append(f"{number}. {cause.check.slug}{about}: {cause.check.rule}")
            lines += [f"     {said_line(each)}" for each in cause.finding.evidence]
        return lines

    def _beside(self) -> list[str]:
        lines = []
        for cause in self.waits if not self.chain else []:
            lines += [f"{cause.check.slug}: {said_line(e)}" for e in cause.finding.evidence]
        for cause in self.warnings:
            lines += [f"warning: {cause.check.slug}: {said_line(e)}"
                      for e in cause.finding.evidence[:1]]  # fmt: skip
        if self.ruled_out:
            lines.append(f"ruled out: {' '.join(self.ruled_out)}")
        lines += [f"not known: {c.check.slug}: {c.finding.evidence[0].text}" for c in self.unknown]
        return lines

    def _fix(self) -> list[str]:
        remedy = self.remedy
        if remedy is None:
            return []
        if remedy.cure.program:
            return [f"fix: only the program can be changed: {remedy.cure.program}"]
        tried = "tried on a branch: it works" if remedy.works else f"tried: {remedy.failure}"
        return [
            f"fix ({tried}; apply carries it out):",
            *(f"  {line}" for line in remedy.cure.lines),
        ]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def as_json(self) -> dict[str, Any]:
        """One document; `rdmalab schema --of why` describes it."""
        remedy = self.remedy
        return {
            "rdmalab": SCHEMA, "about": self.name, "event": self.event, "cause": self.slug,
            "is": self.standing.kind.value, "sentence": self.standing.sentence,
            "since": self.standing.event,
            "causes": [_cause_json(c) for c in self.causes],
            "stations": [_cause_json(c) for c in self.stations],
            "warnings": [_cause_json(c) for c in self.warnings],
            "waits": [_cause_json(c) for c in self.waits],
            "ruled_out": self.ruled_out,
            "unknown": [c.check.slug for c in self.unknown],
            "cure": None if remedy is None else {
                "lines": remedy.cure.lines, "program": remedy.cure.program,
                "works": remedy.works, "failure": remedy.failure,
            },
        }  # fmt: skip


def _cause_json(cause: Cause) -> dict[str, Any]:
    check = cause.check
    return {
        "slug": check.slug, "item": check.number, "about": cause.name, "rule": check.rule,
        "source": check.source, "verdict": cause.finding.verdict.name,
        "evidence": [{"text": e.text, "event": e.event} for e in cause.finding.evidence],
    }  # fmt: skip


def said_line(evidence: Evidence) -> str:
    """A fact with its event, `B.qp0 holds 0 receives  [ev 30]`."""
    return f"{evidence.text}{_at(evidence.event)}"


def _at(event: int | None) -> str:
    return "" if event is None else f"  [{words.ev(event)}]"


__all__ = ["Cause", "Is", "Remedy", "Report", "Verdict", "said_line"]
