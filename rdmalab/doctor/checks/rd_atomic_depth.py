"""rd-atomic-depth: as many READs and atomics are under way as may be."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.bring_up import told
from rdmalab.doctor.facts.line import held, posted, said_of
from rdmalab.doctor.finding import NA, Check, Finding, Section, hinders, ok, said
from rdmalab.spec.states import Attr


def examine(case: Case) -> Finding:
    """Whether a READ or an atomic is next in line, and waits for those before it."""
    send, qp = case.send, case.qp
    if send is None or qp is None or not send.on_queue:
        return NA
    hold = held(case)
    if hold is None or hold.reason != "rd-atomic" or not qp.attr.max_rd_atomic:
        return ok("it does not wait for READs or atomics before it")
    depth = qp.attr.max_rd_atomic
    return hinders(
        case, said(f"{case.qp_name(qp)} was told max_rd_atomic={depth}",
                   told(case, qp, Attr.MAX_QP_RD_ATOMIC)),
        said(f"{said_of(case, hold)} waits for one of these: {hold.ahead}",
             posted(case, hold.under_way[0]) if hold.under_way else None),
        since=case.world.event,
    )  # fmt: skip


CHECK = Check(
    32, "rd-atomic-depth", Section.PROGRESS,
    question="Are max_rd_atomic READs and atomics under way before it?",
    rule="no more than max_rd_atomic READs and atomics are under way; the next waits for an answer",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
