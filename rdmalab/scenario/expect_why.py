"""Check the expectations of a step `why`: the cause, its chain, and the fix."""

from rdmalab.command import NotUnderstood
from rdmalab.doctor.consultation import consult
from rdmalab.doctor.finding import Fix
from rdmalab.doctor.report import Cause, Report
from rdmalab.doctor.what_if import makes_true
from rdmalab.scenario.expect import Failure
from rdmalab.scenario.planned_step import PlannedStep
from rdmalab.scenario.result import Stop
from rdmalab.session.session import Session

_NO_TROUBLE = ("no", False)  # as this program reads YAML, and as editors do


def judge_report(session: Session, planned: PlannedStep, report: Report) -> None:
    """Raise Stop at the first expectation about the reply that is not met."""
    step = planned.step
    if step.cause is None:
        return
    warns = step.verdict == "warning"
    found = report.warnings if warns else report.causes
    names = _slugs(found) or [report.slug]
    if step.cause not in (names if warns else names[:1]):
        what = "warning" if warns else "cause"
        raise Stop(Failure(what, step.cause, [", then ".join(names)], report.lines))
    named = next((each for each in found if each.check.slug == step.cause), None)
    if named is not None:
        _judge_evidence(named)
    if step.station is not None and step.station not in (chain := _slugs(report.chain))[1:]:
        raise Stop(Failure("station", step.station, [" -> ".join(chain)], report.lines))
    _judge_plain(session, planned)
    remedy = report.remedy.cure if report.remedy is not None else None
    offered = named.finding.cure if warns and named is not None else remedy
    _judge_cure(session, planned, offered or Fix())


def _judge_plain(session: Session, planned: PlannedStep) -> None:
    """What `why` alone says at this point."""
    expected = planned.step.plain
    if expected is None:
        return
    report = consult(session)
    if report.is_trouble if expected in _NO_TROUBLE else report.slug != expected:
        raise Stop(Failure("plain", str(expected), [report.slug], report.lines))


def _slugs(causes: list[Cause]) -> list[str]:
    return [cause.check.slug for cause in causes]


def _judge_evidence(cause: Cause) -> None:
    """Check that the cause names its events."""
    if all(each.event is None for each in cause.finding.evidence):
        said = [each.text for each in cause.finding.evidence] or ["nothing"]
        raise Stop(Failure("evidence", f"{cause.check.slug} names an event", said))


def _judge_cure(session: Session, planned: PlannedStep, cure: Fix) -> None:
    """The fix offered for the causes, or for a warning."""
    if planned.step.cure == "program":
        if not cure.program:
            offered = cure.lines or ["no fix"]
            raise Stop(Failure("cure", "the fix is a change of the program", offered))
        return
    if not planned.goal:
        return
    if not cure.lines:
        raise Stop(Failure("cure", "commands that reach the goal", [cure.program or "no fix"]))
    for placed, so in zip(planned.goal, _reached(session, planned, cure), strict=True):
        if not so:
            raise Stop(Failure("goal", placed.text, ["false after the fix:", *cure.lines]))


def _reached(session: Session, planned: PlannedStep, cure: Fix) -> list[bool]:
    """The lines of the goal that the fix makes true."""
    questions = [placed.expectation.expression.node for placed in planned.goal]
    try:
        return makes_true(session, cure.lines, questions)
    except NotUnderstood:
        for placed, question in zip(planned.goal, questions, strict=True):
            try:
                makes_true(session, cure.lines, [question])
            except NotUnderstood as wrong:
                raise placed.spot.error(wrong) from None
        raise
