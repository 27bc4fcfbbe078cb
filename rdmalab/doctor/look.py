"""The findings of the checks for a subject at a moment, and which of them hold now.

Findings of another moment are data: they keep no object of that world.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rdmalab.doctor.case import Case
from rdmalab.doctor.cures import cured
from rdmalab.doctor.diagnose import Diagnosis, followed, report_of, unique
from rdmalab.doctor.finding import Fix, Verdict
from rdmalab.doctor.healthy_checks import coming
from rdmalab.doctor.log import Log
from rdmalab.doctor.moments import (
    Moment,
    Why,
    visit,
)
from rdmalab.doctor.outcome import Status, SubjectOutcome, standing
from rdmalab.doctor.report import TOO_EARLY, Cause, Report, TriedFix
from rdmalab.doctor.subject import Subject
from rdmalab.doctor.work.send import Send
from rdmalab.doctor.work.time_spent import TimeSpent
from rdmalab.session.session import Session
from rdmalab.world.relations import exists


@dataclass(frozen=True, slots=True)
class Look:
    """The findings of the checks for a subject at a moment."""

    moment: Moment
    subject: Subject
    report: Report

    @property
    def decides(self) -> bool:
        """Whether a root was found; a station where nothing was still to come."""
        stations_do = self.moment.why in (Why.BEFORE_TEARDOWN, Why.QUIET)
        return any(stations_do or not cause.check.row.station for cause in self.report.causes)

    @property
    def rank(self) -> tuple[int, int]:
        """Lower is better: a root, then more stations, then a wait or a warning, then nothing."""
        if self.decides:
            return 0, 0
        if self.report.causes:
            return 1, -len({cause.check.slug for cause in self.report.chain})
        return (2, 0) if self.report.waits or self.report.warnings else (3, 0)


def looks_at(log: Log, moment: Moment, group: Sequence[Subject]) -> list[Look]:
    """A look at each subject of a group; of those of one story the same."""
    session = log.session
    with visit(log, moment.event) as then:
        stories: list[list[Diagnosis]] = followed(session, group, then, asked=True)
        return [
            Look(moment, diagnosis.case.subject, report_of(session, [story]))
            for story in stories
            for diagnosis in story
            if diagnosis.case.subject in group
        ]


def as_of_now(session: Session, log: Log, look: Look, found: Sequence[Subject]) -> Report:
    """The findings of a moment; the standing and the fix of now."""
    report = look.report
    if look.moment.why is Why.NOW:
        report.remedy = cured(session, report, Case(session, look.subject, log, asked=True))
    else:
        report.event = session.world.event
        if look.moment.why is not Why.QUIET:  # nothing has happened to it since
            report.standing = _standing(session, log, look)
        report.remedy = _remedy(session, log, look, found)
    if look.report.standing.kind is Status.LATE:
        report.waits = _waited_for(session, log, look.subject)
    if report.standing.kind is Status.PENDING:
        report.next = coming(session, look.subject)
    return report


def _waited_for(session: Session, log: Log, subject: Subject) -> list[Cause]:
    """What late work waited for in its longest wait."""
    waits = TimeSpent(Send(session, subject, log)).waits
    during = waits[0].during if waits else None
    if during is None:
        return []
    with visit(log, during) as then:
        stories = followed(session, [subject], then, asked=True)
        seen = [diagnosis for story in stories for diagnosis in story]
        found = [c for v in (Verdict.WAIT, Verdict.FAIL) for d in seen for c in d.causes(v)]
    return unique(cause for cause in found if cause.check.slug != TOO_EARLY)


def _standing(session: Session, log: Log, look: Look) -> SubjectOutcome:
    """How it stands now: what was destroyed without an error is well."""
    found = standing(session, look.subject, log)
    gone = not exists(session.world, look.subject.thing)
    then = look.report.standing
    if then.kind is Status.LATE:
        return then
    if gone and not look.report.causes and (then.good or then.kind is Status.PENDING):
        work = look.subject.serial >= 0
        return found if work else replace(found, kind=Status.WELL)
    return found


# --------------------------------------------------------------------------- the fix
def _remedy(session: Session, log: Log, look: Look, found: Sequence[Subject]) -> TriedFix | None:
    """Lines made from the world of now and tried now; else those of then, for the program."""
    case = Case(session, look.subject, log, asked=True)
    lives = exists(session.world, look.subject.thing)
    tried = cured(session, look.report, case) if lives else None
    if tried is not None and not tried.works and not tried.cure.program:
        now = report_of(session, followed(session, found, log, asked=True))
        slugs = {cause.check.slug for cause in look.report.chain}
        now.causes = [cause for cause in now.causes if cause.check.slug in slugs]
        other = cured(session, now, case) if now.causes else None
        tried = other if other is not None and other.works else tried
    if lives and (tried is None or tried.works or tried.cure.program):
        return tried
    with visit(log, look.moment.event) as log_then:
        subject = look.subject
        then = cured(session, look.report, Case(session, subject, log_then, asked=True))
    return of_then(then, look.moment.event) if then is not None and then.works else tried or then


def of_then(remedy: TriedFix | None, event: int) -> TriedFix | None:
    """Lines that worked at an event of the past; typed now they would not."""
    if remedy is None or remedy.cure.program or not remedy.works:
        return remedy
    lines = "; ".join(remedy.cure.lines)
    return TriedFix(Fix(program=f"after event {event} this works: {lines}"))
