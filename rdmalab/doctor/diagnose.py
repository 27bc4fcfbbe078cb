"""A consultation: every check asked about every subject, roots before symptoms, cures tried."""

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rdmalab.command import NotUnderstood
from rdmalab.doctor.case import Case
from rdmalab.doctor.checklist import CHECKS
from rdmalab.doctor.finding import Check, Finding, Fix, Verdict
from rdmalab.doctor.fixes.simple_fixes import once_more
from rdmalab.doctor.healthy_checks import coming, looked_at
from rdmalab.doctor.log import Log
from rdmalab.doctor.outcome import Status, SubjectOutcome, standing
from rdmalab.doctor.question import asked as put_right
from rdmalab.doctor.related_subjects import behind
from rdmalab.doctor.report import TIMEOUT_HUGE, TOO_EARLY, Cause, Report, TriedFix
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.doctor.subjects import subjects
from rdmalab.doctor.topics import examples
from rdmalab.doctor.what_if import attempt
from rdmalab.grammar.expressions import render
from rdmalab.grammar.nodes import Literal, Node, Path
from rdmalab.session.session import Session

MOST_CURES = 3
MOST_SUBJECTS = 24


@dataclass(slots=True)
class Diagnosis:
    """What all checks say of one subject."""

    case: Case
    name: str
    standing: SubjectOutcome
    findings: list[tuple[Check, Finding]]

    def causes(self, verdict: Verdict) -> list[Cause]:
        """Those with this verdict, in the order of the checklist."""
        return [
            Cause(check, finding, self.case.subject, self.name)
            for check, finding in self.findings
            if finding.verdict is verdict
        ]


def consult(session: Session, question: Node | None = None) -> Report:
    """The answer to `why`; NotUnderstood where the question is about nothing."""
    log = Log(session)
    question = put_right(session, log, question)
    asked = subjects(session, log, question)
    if asked:
        report = _report(session, _followed(session, asked, log, asked=question is not None))
    else:
        report = _well(session, log, question)
    report.question = render(question) if question is not None else ""
    return report


def _well(session: Session, log: Log, question: Node | None) -> Report:
    """Nothing is wrong anywhere, or on one node; at what one has looked to say so."""
    node = str(question.steps[0]) if isinstance(question, Path) else ""
    well = SubjectOutcome(Status.WELL, "nothing has failed, was refused, or hangs")
    return Report(
        node, well, session.world.event,
        looked=looked_at(session, log, node), examples=examples(session, log, node),
    )  # fmt: skip


def cause(session: Session, what: Sequence[Any], keys: Mapping[str, Any]) -> str:
    """The root cause in a word: what `why(A.qp0.wr[7])` is worth in a question."""
    if len(what) > 1 or keys:
        raise NotUnderstood("why() takes one thing", hint="write why(A.qp0.wr[7])")
    question = next(iter(what), None)
    if isinstance(question, int | str):
        question = Literal(question, str(question))
    return consult(session, question).slug


def _followed(
    session: Session, subjects_: Sequence[Subject], log: Log, *, asked: bool
) -> list[list[Diagnosis]]:
    """Stories: what is asked about, each with what stands behind it, as far as it leads.

    What leads to the same thing is one story.
    """
    found: dict[Subject, Diagnosis] = {}
    story: dict[Subject, int] = {}
    waiting = deque((subject, number, False) for number, subject in enumerate(subjects_))
    while waiting and len(found) < MOST_SUBJECTS:
        subject, number, arrival = waiting.popleft()
        if subject in found:
            _join(story, story[subject], number)
            continue
        found[subject] = diagnose(session, subject, log, asked=asked, arrival=arrival)
        story[subject] = number
        receives = subject.sort in (Sort.RECV, Sort.BYTES)
        waiting.extend((each, number, receives) for each in behind(found[subject].case))
    return [
        [found[subject] for subject in found if story[subject] == number]
        for number in dict.fromkeys(story.values())
    ]


def _join(story: dict[Subject, int], one: int, other: int) -> None:
    """Two stories turn out to be one."""
    kept, gone = sorted((one, other))
    for subject, number in story.items():
        if number == gone:
            story[subject] = kept


def diagnose(
    session: Session, subject: Subject, log: Log, *, asked: bool, arrival: bool = False
) -> Diagnosis:
    """All checks, in their order."""
    case = Case(session, subject, log, asked=asked, arrival=arrival)
    findings = [(check, check.examine(case)) for check in CHECKS]
    found = _foreseen(case, standing(session, subject, log), findings)
    return Diagnosis(case, name_of(session, subject), found, findings)


def _foreseen(
    case: Case, found: SubjectOutcome, findings: Iterable[tuple[Check, Finding]]
) -> SubjectOutcome:
    """Pending, or never: what waits in vain will never come."""
    if found.kind is not Status.PENDING:
        return found
    verdicts = {check.slug: finding.verdict for check, finding in findings}
    if verdicts.get(TOO_EARLY) is Verdict.WAIT:
        return found
    causes = {slug for slug, verdict in verdicts.items() if verdict is Verdict.FAIL}
    if TIMEOUT_HUGE in causes:
        return replace(found, sentence=f"{found.sentence}, and will have none for a long time")
    if causes:
        return replace(
            found, kind=Status.NEVER, sentence=f"{found.sentence}, and {_vain(case.subject)}"
        )
    if Verdict.WARN in verdicts.values() and case.in_vain:
        return replace(found, sentence=f"{found.sentence}, and {_vain(case.subject)}")
    return found


def _vain(subject: Subject) -> str:
    """What will not happen if nobody does anything."""
    if subject.sort is Sort.PROGRAM:
        return "will not get past it by itself"
    return "none will come by itself"


def _report(session: Session, stories: Sequence[Sequence[Diagnosis]]) -> Report:
    """The first is what was asked about; of the others only what they have to do with it."""
    seen = [diagnosis for story in stories for diagnosis in story]
    first = seen[0]
    told = [d for d in seen if d.causes(Verdict.FAIL)] or [first]
    chains = [_chain(story, story[0].standing) for story in stories]
    roots = sorted(_unique(c for found, _ in chains for c in found), key=_origin)
    stations = sorted(_unique(c for _, found in chains for c in found), key=_origin)
    report = Report(
        first.name, first.standing, session.world.event, roots, stations,
        warnings=_unique(c for d in told for c in d.causes(Verdict.WARN)),
        waits=_waits(told),
        ruled_out=[c.slug for c, f in first.findings if f.verdict is Verdict.OK],
        unknown=first.causes(Verdict.UNKNOWN),
    )  # fmt: skip
    report.remedy = _cured(session, report, first.case)
    if first.standing.kind is Status.PENDING:
        report.next = coming(session, first.case.subject)
    return report


def _chain(story: Sequence[Diagnosis], found: SubjectOutcome) -> tuple[list[Cause], list[Cause]]:
    """Roots and stations; a station is the root of a story that has no other.

    What came into the world after the failure that the story is about is not its cause.
    """
    last = found.event if found.kind is Status.FAILED and found.event is not None else math.inf
    causes = [
        cause
        for diagnosis in story
        for cause in diagnosis.causes(Verdict.FAIL)
        if cause.finding.origin <= last
    ]
    roots = [cause for cause in causes if not cause.check.station]
    stations = sorted((cause for cause in causes if cause.check.station), key=_origin)
    return (roots, stations) if roots else (stations[:1], stations[1:])


def _waits(told: Sequence[Diagnosis]) -> list[Cause]:
    """What is waited for: before the general word that it is too early, what says why."""
    found = _unique(c for d in told for c in d.causes(Verdict.WAIT))
    return sorted(found, key=lambda cause: cause.check.slug == TOO_EARLY)


def _origin(cause: Cause) -> tuple[int, int]:
    return cause.finding.origin, cause.check.number


def _unique(causes: Iterable[Cause]) -> list[Cause]:
    """Each suspicion once a thing: several work requests fail of the same."""
    found: dict[tuple[str, object], Cause] = {}
    for cause in causes:
        found.setdefault((cause.check.slug, cause.subject.thing), cause)
    return list(found.values())


def _cured(session: Session, report: Report, asked: Case) -> TriedFix | None:
    """The first cure that works.

    What is asked about was perhaps only flushed with it: then it is posted once more, too.
    """
    tried: TriedFix | None = None
    for found, subject in _candidates(report, asked.subject):
        cure = found if found.program or subject == asked.subject else _with(found, asked)
        if cure.program:
            tried = tried or TriedFix(cure)
            continue
        outcome = attempt(session, cure.lines, _measure(asked, subject), asked.log)
        if outcome.works:
            return TriedFix(cure, works=True)
        tried = tried or TriedFix(cure, works=False, failure=outcome.failure)
    return tried


def _measure(asked: Case, subject: Subject) -> Subject:
    """What must be good then: a receive that waits, any work behind a call, else the cause's.

    A call is made good by another that is accepted, which alone brings no work to its end.
    """
    called = asked.send is not None and subject.sort is Sort.CALL
    waits = asked.receive is not None and not asked.over
    return asked.subject if asked.asked and (called or waits) else subject


def _with(cure: Fix, asked: Case) -> Fix:
    return Fix([*cure.lines, *(line for line in once_more(asked) if line not in cure.lines)])


def _candidates(report: Report, asked: Subject) -> list[tuple[Fix, Subject]]:
    """Cures, the smallest first, each with what it must make good.

    Where the root lies in another work than the one asked about, that one's own cure may do; else
    both are needed. Several roots: each alone, or all of them together. A refused call changed
    nothing: what else is wrong is mended before it.
    """
    aside = sorted(report.causes, key=lambda c: c.subject != asked and c.subject.sort is Sort.CALL)
    roots = _with_cure(aside)[:MOST_CURES]
    if not roots:
        beside = _with_cure((*report.stations, *report.warnings, *report.waits))
        return [(cure, cause.subject) for cause, cure in beside]
    found = [(cure, cause.subject) for cause, cure in roots]
    if any(cause.subject == asked for cause, _ in roots) or not found[0][0].lines:
        return [*found, *_together([cure for _, cure in roots], roots[-1][0].subject)]
    own = [cure for cause, cure in _with_cure(report.stations) if cause.subject == asked]
    first = [(cure, asked) for cure in own if cure.lines]
    return [*first, *_together([found[0][0], *own], asked), *found]


def _with_cure(causes: Iterable[Cause]) -> list[tuple[Cause, Fix]]:
    return [(cause, cause.finding.cure) for cause in causes if cause.finding.cure is not None]


def _together(cures: Sequence[Fix], subject: Subject) -> list[tuple[Fix, Subject]]:
    """All of them as one; what several say is said once."""
    if len(cures) < 2 or any(cure.program for cure in cures):
        return []
    lines = [line for cure in cures for line in cure.lines]
    return [(Fix(list(dict.fromkeys(lines))), subject)]


def name_of(session: Session, subject: Subject) -> str:
    """What one types to ask about it: `A.qp0.wr[7]`."""
    name = session.names.of(subject.thing)
    match subject.sort:
        case Sort.SEND:
            return f"{name}.wr[{subject.wr_id}]"
        case Sort.RECV:
            return f"{name}.recv_wr[{subject.wr_id}]"
        case Sort.BYTES:
            return f"{name}[{subject.start}:{subject.stop}]"
        case Sort.CALL:
            return f"the call of event {subject.event}"
    return name
