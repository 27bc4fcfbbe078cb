"""Feedback on a task: the cause that `why` names, and the words of the lab for it; answers."""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from rdmalab.classroom.goals import parsed
from rdmalab.classroom.grade_document import Cause
from rdmalab.classroom.model import Task
from rdmalab.command import NotUnderstood
from rdmalab.doctor.consultation import consult
from rdmalab.doctor.report import Report
from rdmalab.grammar.quantities import whole
from rdmalab.session.session import Session
from rdmalab.spec.rules import ERRNO_NAMES

_ERRNOS = {name: number for number, name in ERRNO_NAMES.items()}
_PREFIXES = ("IBV_WC_", "IBV_QPS_", "IBV_EVENT_", "IBV_WR_", "IBV_QPT_", "IBV_")


def feedback(session: Session, task: Task, names: Mapping[str, str]) -> Cause:
    """Why the goals of a task are not met. names: of `%{NAME}` in its `why`.

    The first cause or warning of `why` for which the lab has words; else its `else`.
    """
    found = list(_reports(session, task, names))
    slugs = [slug for report in found for slug in _slugs(report)]
    headline = next((report.lines[0] for report in found), "")
    for slug in slugs:
        if slug in task.when_wrong:
            return Cause(id=slug, rationale=headline, help=task.when_wrong[slug])
    return Cause(id=slugs[0] if slugs else "", rationale=headline, help=task.otherwise or "")


def _reports(session: Session, task: Task, names: Mapping[str, str]) -> Iterator[Report]:
    """What `why` says: of what the task names, then of everything."""
    if task.why is not None:
        with suppress(NotUnderstood):  # what it names may not exist in this world
            yield consult(session, parsed(task.why, names).expression.node)
    yield consult(session)


def _slugs(report: Report) -> list[str]:
    """Causes, then what is waited for, then warnings, in the order of the doctor."""
    found = (*report.causes, *report.waits, *report.warnings)
    return list(dict.fromkeys([*(cause.check.slug for cause in found), report.slug]))


# --------------------------------------------------------------------------- answers
def right_choice(task: Task) -> int:
    """The number of the right choice, from 1."""
    return next(n for n, each in enumerate(task.choice or (), 1) if each.right)


def same_answer(given: str, right: str) -> bool:
    """Whether an answer is right: numbers by value, words without regard to case and prefix."""
    return bool(given.strip()) and _normal(given) == _normal(right)


def _normal(text: str) -> str | int:
    text = text.strip().strip("\"'").strip()
    try:
        return whole(text)
    except NotUnderstood:
        pass
    upper = text.upper()
    if (number := _ERRNOS.get(upper)) is not None:
        return number
    prefix = next((each for each in _PREFIXES if upper.startswith(each)), "")
    return upper.removeprefix(prefix)
