"""qp-err-flush: the queue pair was in ERR; what matters is what took it there."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Finding, Section, fail, ok, said
from rdmalab.lens.words import EVENT, B
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus


def examine(case: Case) -> Finding:
    """Whether the work was flushed, and since when its queue pair was dead."""
    work, qp = case.send or case.receive, case.qp
    if work is None or qp is None or work.ending is None:
        return NA
    if work.ending.status is not WCStatus.WR_FLUSH_ERR:
        return ok("it was not flushed")
    thing = Thing(Noun.QP, qp.node, qp.number)
    moves = [r for _, r in case.log.about(Kind.STATE_CHANGED, thing)
             if r[B] is QPState.ERR and r[EVENT] <= work.ending.event]  # fmt: skip
    evidence = [said(f"{case.qp_name(qp)} went to ERR", moves[-1][EVENT])] if moves else []
    return fail(*evidence, said("its work requests were flushed", work.ending.event))


CHECK = Check(
    25, "qp-err-flush", Section.LOCAL,
    question="Was it flushed, because its queue pair is in ERR?",
    rule="a flush is never the cause: the first completion with another status is",
    source="ibv_modify_qp(3)", examine=examine, station=True,
)  # fmt: skip
