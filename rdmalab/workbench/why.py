"""Why: the question that the lab is there for, its checklists, and the cure that was tried."""

from typing import Annotated

from rdmalab.command import NOWHERE, SCRIPTABLE, TOPIC, Expression, NotUnderstood, OneOf, command
from rdmalab.doctor.checklist import LISTS
from rdmalab.doctor.checklist_report import Walk, walk
from rdmalab.doctor.diagnose import consult
from rdmalab.doctor.report import Report
from rdmalab.session.lines import Script
from rdmalab.session.session import Session

Topic = Annotated[Expression, TOPIC]


@command(SCRIPTABLE)
def why(session: Session, what: Topic | None = None) -> Report:
    """Say why there is no completion, or not the one that was wanted; alone: what is wrong at all.

    Of a work request by its wr_id, A.qp0.wr[7] or B.qp0.recv_wr[3], a queue pair, a queue, a
    program, bytes (B.mr0[0:64]), or of an errno: the last call that was refused so. First how it
    stands: completed, pending, never, lost, refused; then the causes, the first one first, each
    with its events; what was ruled out; and a fix that was tried on a branch of time. apply carries
    it out.

    Example: why A.qp0.wr[7]
    """
    return consult(session, None if what is None else what.node)


@command(SCRIPTABLE)
def apply(session: Session, what: Topic | None = None) -> Script:
    """Carry out the fix that `why` offers for the same question.

    Example: apply A.qp0.wr[7]
    """
    report = consult(session, None if what is None else what.node)
    remedy, place = report.remedy, NOWHERE if what is None else what.place
    if remedy is None and report.standing.good:
        hint = "name what you mean: apply A.qp0.wr[7]" if what is None else "why says how it is"
        raise NotUnderstood("there is nothing to apply: nothing is wrong", place, hint)
    if remedy is None:
        raise NotUnderstood("there is nothing to apply: why offers no fix", place, "read why again")
    if remedy.cure.program:
        message = f"only the program can be changed: {remedy.cure.program}"
        raise NotUnderstood(message, place, "change it, and play it again")
    return Script(remedy.cure.lines)


@command(SCRIPTABLE)
def checklist(
    session: Session, which: Annotated[str, OneOf(LISTS)], what: Topic | None = None
) -> Walk:
    """Work through a checklist: every item with pass, fail, wait, unknown or not applicable.

    no-completion, no-receive, bring-up, slow; of one thing, or of what is wrong at all.

    Example: checklist no-completion A.qp0.wr[7]
    """
    return walk(session, which, None if what is None else what.node)
