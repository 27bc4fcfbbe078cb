"""A report and a checklist made by hand: what is said of them does not hang on the checks."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.check import Check, ChecklistSection, Finding, Fix, fact, fail, wait, warn
from rdmalab.doctor.evidence.outcome import Status, SubjectOutcome
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.doctor.report.report import Cause, Report, TriedFix
from rdmalab.spec.causes import CauseRow

SEND = Subject(Sort.SEND, Thing(Noun.QP, "A", 17), serial=0, wr_id=7)
NAME = "A.qp0.wr[7]"


def check(
    number: int,
    slug: str,
    *,
    station: bool = False,
    section: ChecklistSection = ChecklistSection.ERROR,
) -> Check:
    """A suspicion that never looks."""
    rule, asks = f"the rule of {slug}", f"Is it {slug}?"
    row = CauseRow(number, section.name, asks, rule, "nowhere", station=station)
    return Check(slug, row, lambda _case: Finding(NotImplemented))


def cause(
    number: int, slug: str, finding: Finding, name: str = NAME, *, station: bool = False
) -> Cause:
    return Cause(check(number, slug, station=station), finding, SEND, name)


def failed(**more: object) -> Report:
    """A flush with a cause, a station, a warning, and a fix that works."""
    root = fail(fact("B refused it", 27), fact("so the other one failed", 30))
    flush = fail(fact("A.qp0 went to ERR", 31))
    report = Report(
        NAME,
        SubjectOutcome(
            Status.FAILED, "it ended with WR_FLUSH_ERR; its completion is not polled", 32
        ),
        40,
        [cause(71, "rem-access", root, "A.qp0.wr[6]")],
        [cause(25, "qp-err-flush", flush, station=True)],
        warnings=[cause(50, "small-cq", warn(fact("it holds 4", 3)))],
        ruled_out=["unsignaled", "wrong-cq"],
        remedy=TriedFix(Fix(["modify_qp A.qp0 state=RESET", "connect A.qp0 B.qp0"]), works=True),
        question=NAME,
    )
    for key, value in more.items():
        setattr(report, key, value)
    return report


def pending(**more: object) -> Report:
    """It waits."""
    report = Report(
        NAME, SubjectOutcome(Status.PENDING, "it has no completion", 14), 18, question=NAME
    )
    for key, value in more.items():
        setattr(report, key, value)
    return report


WAITS = cause(20, "too-early", wait(fact("it completes at 9us"), fact("next, at 1us: A sends")))
