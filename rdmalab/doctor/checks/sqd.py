"""sqd: the queue pair was drained, and begins nothing."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.bring_up import entered
from rdmalab.doctor.facts.line import held
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, hinders, ok, said
from rdmalab.doctor.fixes import recovery
from rdmalab.hca import requester
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.states import QPState


def examine(case: Case) -> Finding:
    """Whether it waits in SQD, or on a device that sleeps on when SQD is left."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None or not send.on_queue or send.begun:
        return NA
    drained = entered(case, qp, QPState.SQD)
    asleep = qp.state is QPState.RTS and _sleeps(case, qp)
    if drained is None or not (qp.state is QPState.SQD or asleep):
        return ok(f"{case.qp_name(qp)} is in {qp.state.name} and awake")
    name = case.qp_name(qp)
    evidence = [said(f"{name} went to SQD", drained),
                said("it was posted, and waits to begin", send.posted)]  # fmt: skip
    lines = []
    if qp.state is QPState.SQD:
        lines.append(f"modify_qp {name} state=RTS")
    else:
        back = entered(case, qp, QPState.RTS)
        evidence.append(said(f"{name} is back in RTS, and nothing was posted since", back))
    if not case.profile.resumes_after_sqd:
        evidence.append(said("this device looks at its queue only when something is posted"))
        lines.append(recovery.nudge(case, qp, send.wqe.wr))
    return hinders(case, *evidence, cure=Fix(lines), since=drained)


def _sleeps(case: Case, qp: QueuePair) -> bool:
    """It could send, and does not stand in line for the port."""
    return (
        not case.profile.resumes_after_sqd
        and not qp.queued
        and held(case) is None
        and requester.next_wqe(qp) is not None
    )


CHECK = Check(
    23, "sqd", Section.LOCAL,
    question="Is, or was, the queue pair in SQD?",
    rule="in SQD work is accepted and not begun; SQD to RTS lets it go on",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
