"""The answer: how it stands, the chain of causes, what was ruled out, and a cure that was tried."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from itertools import groupby

from rdmalab.doctor.answers import list_for
from rdmalab.doctor.check import Check, Finding, Fix, Verdict
from rdmalab.doctor.evidence.outcome import Status, SubjectOutcome
from rdmalab.doctor.evidence.subject import Subject
from rdmalab.doctor.moments.what_if import WAITS_AGAIN
from rdmalab.doctor.report.rows import AnswerInRows, Row, RowPart, evidence_rows, named
from rdmalab.spec.causes import cause_rows
from rdmalab.spec.row import dataclass
from rdmalab.spec.rules import ERRNO_NAMES, RULES
from rdmalab.spec.statuses import WCStatus

SCHEMA = 1
MOST_RULED_OUT = 12
"""The number of slugs that are listed as ruled out."""

_TOLD = re.compile(rf"\b({'|'.join([*WCStatus.__members__, *ERRNO_NAMES.values()])})\b")
TOO_EARLY = "too-early"
NO_MESSAGE = "no-remote-send"
SLOW = "slow"
UNKNOWN = "unknown"


_HELPED = {
    Status.REFUSED: "the call succeeds", Status.FAILED: "the request succeeds",
    Status.LOST: "the request succeeds", Status.COMPLETED: "the message is sent again",
}  # fmt: skip


@dataclass(slots=True)
class Cause:
    """A check that found something in a case. name: what the case is about, `A.qp0.wr[7]`."""

    check: Check
    finding: Finding
    subject: Subject
    name: str


@dataclass(slots=True)
class TriedFix:
    """A fix and its result on a branch. works: None if it could not be tested.

    ends: it ends the wait, and is no cure of the program, for this reason. of: the slug of the
    cause that it cures; empty if it only posts once more what was asked about. A cure without lines
    is not allowed in this lab, for the reason in `failure`.
    """

    cure: Fix
    works: bool | None = None
    failure: str = ""
    ends: str = ""
    of: str = ""

    @property
    def helps(self) -> bool:
        """Whether its lines help what was asked about, if only that."""
        return bool(self.works or self.ends)


@dataclass(slots=True)
class Report(AnswerInRows):
    """The answer to `why`. name: of the subject, empty if nothing was named.

    causes: the roots in causal order; stations: what stands between them and the symptom.
    question: as it was asked, empty for `why` alone. applies: `apply` is there, and the rules of a
    lab allow it. in_program: the calls are those of a program of the host, which has to change.
    next: of what is pending, what comes next.
    looked, examples: where nothing is wrong, at what, and what one could ask about. detailed: all
    of it was asked for, not the short answer. callers: event → the program that called in it.
    is_outside: the outcome is what befell programs of the host outside of the adapters.
    """

    name: str
    outcome: SubjectOutcome
    event: int
    causes: list[Cause] = field(default_factory=list)
    stations: list[Cause] = field(default_factory=list)
    warnings: list[Cause] = field(default_factory=list)
    waits: list[Cause] = field(default_factory=list)
    ruled_out: list[str] = field(default_factory=list)
    unknown: list[Cause] = field(default_factory=list)
    remedy: TriedFix | None = None
    question: str = ""
    applies: bool = True
    in_program: bool = False
    next: str = ""
    looked: str = ""
    examples: list[str] = field(default_factory=list)
    detailed: bool = False
    callers: Mapping[int, str] = field(default_factory=dict)
    is_outside: bool = False

    @property
    def slug(self) -> str:
        """The root cause in a word: what `why(…)` is compared with."""
        if self.causes:
            return self.causes[0].check.slug
        if self.outcome.rule:
            return self.outcome.rule
        if self.outcome.kind is Status.LATE:
            return self.waits[0].check.slug if self.waits else SLOW
        if self.outcome.good:
            return str(self.outcome.kind.value)
        if self.waits:
            return self.waits[0].check.slug
        return self.warnings[0].check.slug if self.warnings else UNKNOWN

    @property
    def is_trouble(self) -> bool:
        """Whether something is wrong: no success, even late, no wait in progress, no suspicion."""
        waits = self.outcome.kind is Status.PENDING and self.outcome.ends_well
        return bool(self.causes) or not (self.outcome.good or waits)

    @property
    def chain(self) -> list[Cause]:
        """From the first cause to what stands right before the symptom."""
        return self.causes + self.stations

    @property
    def rows(self) -> list[Row]:
        """All of it, one fact a row."""
        rows = [*self._head(), *self._chain(), *self._waits(), *self._beside(), *self._fix()]
        return [self._with_caller(row) for row in rows] if self.callers else rows

    def _with_caller(self, row: Row) -> Row:
        caller = self.callers.get(row.event if row.event is not None else -1)
        return row if caller is None else row._replace(text=f"{row.text}, called by {caller}")

    def _head(self) -> list[Row]:
        found, text = self.outcome, named(self.name, self.outcome.sentence)
        about = f"{self.name}: " if self.name and text == found.sentence else ""
        rows = [Row(RowPart.STANDING, f"{about}{text}", f"{found.kind.name}  ", found.event)]
        if self.looked:
            rows.append(Row(RowPart.LOOKED, self.looked, "looked at "))
        if self.examples:
            text = "   ".join(f"why {example}" for example in self.examples)
            rows.append(Row(RowPart.ASK, text, "ask about one thing: "))
        return rows

    def _chain(self) -> list[Row]:
        rows = []
        for number, cause in enumerate(self.chain, 1):
            check = cause.check
            about = "" if cause.name == self.name else f" of {cause.name}"
            text = f"{about}: {check.row.rule}"
            rows.append(Row(RowPart.CAUSE, text, check.slug, number=number, slug=check.slug))
            rows += evidence_rows(RowPart.EVIDENCE, cause.finding.evidence, check.slug, cause.name)
        if not rows and self.outcome.rule:
            rule = self.outcome.rule
            text = f": rule of {RULES[rule].source} (explain rule {rule})"
            return [Row(RowPart.CAUSE, text, rule, self.outcome.event, number=1)]
        return rows + self._symptom(rows)

    def _symptom(self, rows: list[Row]) -> list[Row]:
        """The result of the chain, unless its last row names it or the verdict is all of it."""
        event, name = self.outcome.event, self.name or self.chain[-1].name if self.chain else ""
        is_shown = event is not None and any(row.event == event for row in rows)
        if not rows or is_shown or self.outcome.good or self.outcome.kind is Status.NEVER:
            return []
        # A reason stands in the first line.
        end = ":" if self.outcome.kind is Status.REFUSED else ";"
        text = named(name, self.outcome.sentence.partition(end)[0])
        return [Row(RowPart.SYMPTOM, text, "so ", event)]

    def _waits(self) -> list[Row]:
        """The rows of waits and the next event, where nothing is wrong."""
        if self.chain:
            return []
        rows: list[Row] = []
        for cause in self.waits:
            rows.append(_finding_row(RowPart.WAIT, cause))
            more, slug = cause.finding.evidence[1:], cause.check.slug
            rows += evidence_rows(RowPart.EVIDENCE, more, slug, cause.name)
        if not rows and self.next:
            rows.append(Row(RowPart.NEXT, self.next, "next: "))
        return rows

    def _beside(self) -> list[Row]:
        rows = self._warnings()
        if self.ruled_out:
            text = _listed(self.ruled_out, self.checklist)
            rows.append(Row(RowPart.RULED_OUT, text, "ruled out: "))
        rows += [_finding_row(RowPart.UNKNOWN, cause, "not known: ") for cause in self.unknown]
        found = self.is_outside or self.outcome.kind is Status.PENDING
        if self.slug == UNKNOWN and not found:
            rows.append(Row(RowPart.UNKNOWN, "no check matched", "cause unknown: "))
        return rows

    def _warnings(self) -> list[Row]:
        """The rows of warnings; where nothing else is found, with all their evidence."""
        rows: list[Row] = []
        for cause in self.warnings:
            about = "" if cause.name == self.name else f" of {cause.name}"
            rows.append(_finding_row(RowPart.WARNING, cause, "warning: ", about))
            if not self.chain:
                more = cause.finding.evidence[1:]
                rows += evidence_rows(RowPart.EVIDENCE, more, cause.check.slug, cause.name)
        return rows

    def _fix(self) -> list[Row]:
        remedy = self.remedy
        if remedy is None or (self.needs_time and not remedy.helps):
            return []
        if remedy.cure.program:
            text = f"change the program: {remedy.cure.program}"
            more = remedy.cure.lines if len(remedy.cure.lines) > 1 else []
            return [Row(RowPart.FIX, text, "fix: "), *_lines(more)]
        rows = _lines(remedy.cure.lines)
        note = f" ({remedy.cure.note})" if remedy.cure.note else ""
        if remedy.works:
            how = f"{self.apply} carries it out" if self.applies else "type these lines"
            how = "the program has to do the same" if self.in_program else how
            text = f"tested on a copy of the session: it works{note}; {how}:"
        elif remedy.ends:
            does = f"{_HELPED.get(self.outcome.kind, 'it ends the wait')}, no more"
            does = "it is posted again" if remedy.ends == WAITS_AGAIN else does
            text = f"tested on a copy of the session: {does} ({remedy.ends}){note}:"
        elif not remedy.cure.lines:
            text = f"none that is allowed here: {remedy.failure}"
        else:
            text = f"tested on a copy of the session: not sufficient ({remedy.failure}):"
        return [Row(RowPart.FIX, text, "fix: "), *rows]

    @property
    def needs_time(self) -> bool:
        """Whether nothing is wrong, and what was asked about ends when time goes on."""
        return not self.chain and any(cause.check.slug == TOO_EARLY for cause in self.waits)

    @property
    def apply(self) -> str:
        """The words that carry the fix out."""
        return f"apply {self.question}".rstrip()

    @property
    def has_lines(self) -> bool:
        """Whether there is a fix that `apply` can carry out."""
        cure = self.remedy.cure if self.remedy is not None else Fix()
        return bool(cure.lines) and not cure.program

    @property
    def can_apply(self) -> bool:
        """Whether those lines helped on the copy; others are only shown."""
        return self.applies and self.has_lines and self.remedy is not None and self.remedy.helps

    @property
    def checklist(self) -> str:
        """The command that works through the checklist for what was asked about."""
        return f"checklist {list_for(self.name)} {self.question or self.name}".rstrip()

    def word(self, row: Row) -> str:
        """The word to `explain` a row: its check, a status or errno in it, else the cause."""
        if row.slug:
            return f"{'cause' if row.slug in cause_rows() else 'rule'} {row.slug}"
        if match := _TOLD.search(row.text):
            return match[1]
        return self.chain[0].check.article if self.chain else ""

    def as_json(self) -> dict[str, object]:
        """One document; `rdmalab schema --of why` describes it."""
        remedy = self.remedy
        return {
            "rdmalab": SCHEMA, "question": self.question, "about": self.name,
            "event": self.event, "cause": self.slug,
            "is": self.outcome.kind.name.lower(), "sentence": self.outcome.sentence,
            "since": self.outcome.event,
            "causes": [_cause_json(c) for c in self.causes],
            "stations": [_cause_json(c) for c in self.stations],
            "warnings": [_cause_json(c) for c in self.warnings],
            "waits": [_cause_json(c) for c in self.waits],
            "next": self.next, "ruled_out": self.ruled_out,
            "unknown": [c.check.slug for c in self.unknown],
            "cure": None if remedy is None else {
                "lines": remedy.cure.lines, "program": remedy.cure.program,
                "works": remedy.works, "failure": remedy.failure, "ends": remedy.ends,
            },
        }  # fmt: skip


def _lines(lines: Iterable[str]) -> list[Row]:
    """The lines of a fix; equal ones in a row as one, with a comment that counts them."""
    rows = []
    for line, same in groupby(lines):
        count = len(list(same))
        rows.append(Row(RowPart.LINE, line if count == 1 else f"{line}  # {count} times"))
    return rows


def _listed(slugs: list[str], checklist: str) -> str:
    """The first few; the checklist has them all, each with what speaks against it."""
    more = len(slugs) - MOST_RULED_OUT
    if more <= 1:
        return ", ".join(slugs)
    return f"{', '.join(slugs[:MOST_RULED_OUT])} and {more} more: {checklist}"


def _finding_row(part: RowPart, cause: Cause, lead: str = "", about: str = "") -> Row:
    """A check and the first fact that it found, in one row."""
    slug, evidence = cause.check.slug, cause.finding.evidence
    text, event = evidence[0] if evidence else (cause.check.row.rule, None)
    text = named(cause.name, text)
    if not lead:
        return Row(part, text, f"{slug}: ", event, slug=slug)
    return Row(part, f"{slug}{about}: {text}", lead, event, slug=slug)


def _cause_json(cause: Cause) -> dict[str, object]:
    check = cause.check
    return {
        "slug": check.slug, "item": check.row.item, "about": cause.name, "rule": check.row.rule,
        "source": check.row.source, "verdict": cause.finding.verdict.name,
        "evidence": [{"text": e.text, "event": e.event} for e in cause.finding.evidence],
    }  # fmt: skip


__all__ = ["Cause", "Report", "Status", "TriedFix", "Verdict"]
