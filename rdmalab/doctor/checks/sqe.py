"""sqe: a send failed on an unreliable queue pair, and nobody brought it back."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.qp_error_cause import qp_error_cause
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.spec.states import QPState


def examine(case: Case) -> Finding:
    """Whether it was flushed in SQE."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or send.ending is None or qp is None:
        return NA
    if not send.flushed:
        return ok("it was not flushed")
    fall = qp_error_cause(case)
    if fall is None or fall.state is not QPState.SQE:
        return ok("its queue pair was not in SQE")
    name = case.qp_name(qp)
    back = [f"modify_qp {name} state=RTS"] if qp.state is QPState.SQE else []
    return fail(
        said(f"{name} went to SQE: {fall.sentence}", fall.event),
        said(f"it was posted {'in SQE' if fall.event < (send.posted or 0) else 'before'}",
             send.posted),
        said("and flushed", send.ending.event),
        cure=Fix([*back, *simple_fixes.again(case, qp, send.wqe.wr)]), since=fall.event,
    )  # fmt: skip


CHECK = Check(
    24, "sqe", Section.LOCAL,
    question="Was its queue pair in SQE, after an earlier send had failed?",
    rule="in SQE sends are flushed and receiving goes on, until modify_qp leads back to RTS",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
