"""unsignaled: it was carried out, and nobody asked for a completion."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Of a send that is done, whether it was to have a completion at all."""
    send = case.send
    if send is None or send.wqe is None or not case.asked or case.arrival:
        return NA
    if send.wqe.signaled:
        return ok("it asks for a completion", send.posted)
    if send.ending is None or send.ending.status is not WCStatus.SUCCESS:
        return ok("an error would have a completion all the same")
    wr, qp = send.wqe.wr, send.qp
    flags = SendFlags(wr.flags) | SendFlags.SIGNALED
    lines = simple_fixes.again(case, qp, wr, flags=fmt.flags(flags, SendFlags)) if qp else []
    return fail(
        said("posted without IBV_SEND_SIGNALED, and the queue pair has sq_sig_all=0", send.posted),
        said("carried out with success", send.ending.event),
        cure=Fix(lines) if lines else None,
    )


CHECK = Check(
    4, "unsignaled", Section.POSTED,
    question="Is it done, and was posted without IBV_SEND_SIGNALED?",
    rule="a send that is not signaled, on a QP without sq_sig_all, has no completion",
    source="ibv_post_send(3)", examine=examine,
)  # fmt: skip
