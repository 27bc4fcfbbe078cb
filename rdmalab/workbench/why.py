"""Commands why, apply and checklist."""

from typing import TYPE_CHECKING, Annotated

from rdmalab.command import (
    NOWHERE,
    SCRIPTABLE,
    SPOKEN,
    TOPIC,
    Expression,
    Flag,
    Moment,
    NotAllowed,
    NothingToDo,
    OneOf,
    command,
)
from rdmalab.doctor.answers import LISTS
from rdmalab.session.lines import Script
from rdmalab.session.session import Session

if TYPE_CHECKING:
    from rdmalab.doctor.checklist_report import ChecklistReport
    from rdmalab.doctor.report.report import Report

Topic = Annotated[Expression, TOPIC]


@command(SCRIPTABLE)
def why(
    session: Session,
    what: Topic | None = None,
    *,
    at: Annotated[Moment | None, SPOKEN] = None,
    verbose: Annotated[bool, Flag("-v")] = False,
) -> "Report":
    """Explain a missing or unexpected completion; without argument: the oldest error not repaired.

    Subjects: a work request by its wr_id, A.qp0.wr[7] or B.qp0.recv_wr[3], a queue pair, a queue,
    a program, bytes (B.mr0[0:64]), or an errno: the last call that returned it. The reply starts
    with the outcome: completed, pending, never, lost, refused. Right after a refused call, that
    call comes first. The causes follow with their events, the first cause first, and a fix tested
    on a copy of the session. apply runs the fix. Causes are judged at the moment of the error; at
    gives the answer as of any moment. -v adds the effects, all evidence, warnings, and what was
    ruled out. read at the prompt is no event, and no call of the session: bytes that it showed too
    early give a warning; those that a program read, a failure.

    Example: why A.qp0.wr[7]
    Example: why A.qp0.wr[7] at=ev 13
    """
    from rdmalab.doctor.consultation import consult

    report = consult(session, None if what is None else what.node, at)
    report.detailed = verbose
    return report


@command(SCRIPTABLE)
def apply(session: Session, what: Topic | None = None) -> Script:
    """Run the fix that `why` offers for the same subject.

    Example: apply A.qp0.wr[7]
    """
    from rdmalab.doctor.consultation import consult

    report = consult(session, None if what is None else what.node)
    remedy, place = report.remedy, NOWHERE if what is None else what.place
    if remedy is None and report.outcome.good:
        hint = "name the subject: apply A.qp0.wr[7]" if what is None else "type why for the outcome"
        raise NothingToDo("nothing to apply: there is no error", place, hint)
    if remedy is None:
        raise NothingToDo("nothing to apply: why offers no fix", place, "type why again")
    if report.needs_time and not remedy.helps:
        raise NothingToDo("nothing to apply: the work needs time", place, "type run")
    if remedy.cure.program:
        message = f"the fix is a change of the program: {remedy.cure.program}"
        raise NothingToDo(message, place, "change it, and run the session again")
    if not remedy.cure.lines:
        raise NotAllowed(f"this is not allowed here: {remedy.failure}", place)
    if not remedy.helps:
        message = f"the fix was tested and is not sufficient: {remedy.failure}"
        raise NothingToDo(message, place, "why -v shows its lines")
    return Script(remedy.cure.lines)


@command(SCRIPTABLE)
def checklist(
    session: Session, which: Annotated[str, OneOf(LISTS)], what: Topic | None = None
) -> "ChecklistReport":
    """Print a checklist: each item with pass, fail, wait, unknown or not applicable.

    Lists: no-completion, no-receive, bring-up, slow; about one subject, or about all errors.

    Example: checklist no-completion A.qp0.wr[7]
    """
    from rdmalab.doctor.checklist_report import walk

    return walk(session, which, None if what is None else what.node)
