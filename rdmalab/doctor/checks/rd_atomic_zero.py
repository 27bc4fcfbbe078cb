"""rd-atomic-zero: no READ and no atomic may ever begin."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.bring_up import told
from rdmalab.doctor.facts.line import held, posted, said_of
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, hinders, ok, said
from rdmalab.doctor.fixes import recovery
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import SendWR
from rdmalab.spec.states import Attr


def examine(case: Case) -> Finding:
    """Whether a READ or an atomic is next in line, and max_rd_atomic is 0."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None or not send.on_queue:
        return NA
    hold = held(case)
    if hold is None or hold.reason != "rd-atomic" or qp.attr.max_rd_atomic:
        return ok("max_rd_atomic does not forbid it")
    since = told(case, qp, Attr.MAX_QP_RD_ATOMIC)
    return hinders(
        case, said(f"{case.qp_name(qp)} was told max_rd_atomic=0", since),
        said(f"{said_of(case, hold)} can never begin", posted(case, hold.wqe)),
        cure=Fix(_lines(case, qp, send.wqe.wr)), since=since,
    )  # fmt: skip


def _lines(case: Case, qp: QueuePair, wr: SendWR) -> list[str]:
    """Changed in SQD, where that does; else the connection is made anew."""
    name, peer = case.qp_name(qp), case.peer
    refuses = peer is None or not peer.attr.max_dest_rd_atomic
    if refuses or qp.comp.serial < qp.req.started:
        return recovery.reconnected(
            case, qp, wr, {"max_rd_atomic": "1"}, {"max_dest_rd_atomic": "1"}
        )
    lines = [f"modify_qp {name} state=SQD", f"modify_qp {name} state=SQD max_rd_atomic=1",
             f"modify_qp {name} state=RTS"]  # fmt: skip
    return lines if case.profile.resumes_after_sqd else [*lines, recovery.nudge(case, qp, wr)]


CHECK = Check(
    31, "rd-atomic-zero", Section.PROGRESS,
    question="Is it a READ or an atomic, and max_rd_atomic 0?",
    rule="max_rd_atomic says how many READs and atomics may be under way; 0 is none, for ever",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
