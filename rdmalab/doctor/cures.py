"""The cures of a report: which are tried, in what order, and what they must make good."""

from collections.abc import Iterable, Sequence

from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import Fix
from rdmalab.doctor.fixes.simple_fixes import once_more
from rdmalab.doctor.report import Cause, Report, TriedFix
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.doctor.what_if import attempt
from rdmalab.session.session import Session

MOST_CURES = 3


def cured(session: Session, report: Report, asked: Case) -> TriedFix | None:
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
    """What must be good then: the work or thread asked about, else what the cause is about."""
    if asked.program is not None and asked.asked:
        return asked.subject
    work = asked.asked and asked.subject.sort in (Sort.SEND, Sort.RECV)
    posted = asked.subject.serial >= 0 or subject.sort is Sort.CALL
    return asked.subject if work and posted else subject


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
    """All of them as one, without repeated lines."""
    if len(cures) < 2 or any(cure.program for cure in cures):
        return []
    lines = [line for cure in cures for line in cure.lines]
    return [(Fix(list(dict.fromkeys(lines))), subject)]
