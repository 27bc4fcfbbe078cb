"""Feedback on a task: the cause that `why` names, and the words of the lab for it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from rdmalab.classroom.goals import parsed
from rdmalab.classroom.grade_document import Cause
from rdmalab.classroom.model import Task
from rdmalab.command import NotUnderstood
from rdmalab.doctor.consultation import consult
from rdmalab.doctor.evidence.subject import Sort
from rdmalab.doctor.report.report import Report
from rdmalab.session.session import Session


def feedback(session: Session, task: Task, names: Mapping[str, str]) -> Cause:
    """The cause of goals of a task that are not met. names: of `%{NAME}` in its `why`.

    The first cause or warning of `why` for which the lab has words; else its `else`, and the first
    cause, since a warning is none.
    """
    found = list(_reports(session, task, names))
    slugs = [slug for report in found for slug in _slugs(report)]
    headline = next((report.lines[0] for report in found), "")
    for slug in slugs:
        if slug in task.when_wrong:
            text = task.when_wrong[slug]
            return Cause(id=slug, rationale=headline, help=text, of_call=_is_of_call(found, slug))
    warned = {each.check.slug for report in found for each in report.warnings}
    first = next((slug for slug in slugs if slug not in warned), "")
    return Cause(id=first, rationale=headline, help=task.otherwise or "")


def cause_of(session: Session, tasks: Sequence[Task], *, of_calls: bool) -> tuple[Task, str] | None:
    """The first task that has words for a cause that `why` names alone now, and its slug.

    of_calls: also for a cause that only calls have that were refused.
    """
    known = [task for task in tasks if task.when_wrong]
    reports = [consult(session)] if known else []
    slugs = [slug for report in reports for slug in _slugs(report)
             if of_calls or not _is_of_call(reports, slug)]  # fmt: skip
    return next(((task, slug) for slug in slugs for task in known if slug in task.when_wrong), None)


def _reports(session: Session, task: Task, names: Mapping[str, str]) -> Iterator[Report]:
    """Reports of `why` about the object that the task names, then about the whole session."""
    if task.why is not None:
        with suppress(NotUnderstood):  # what it names may not exist in this world
            yield consult(session, parsed(task.why, names).expression.node)
    yield consult(session)


def _is_of_call(reports: Sequence[Report], slug: str) -> bool:
    """Whether a cause is only that of refused calls."""
    sorts = {each.subject.sort for report in reports for each in report.causes
             if each.check.slug == slug}  # fmt: skip
    return sorts == {Sort.CALL}


def _slugs(report: Report) -> list[str]:
    """Causes, then what is waited for, then warnings, in the order of the doctor."""
    found = (*report.causes, *report.waits, *report.warnings)
    return list(dict.fromkeys([*(cause.check.slug for cause in found), report.slug]))
