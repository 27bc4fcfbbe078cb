"""qp-err-flush: the queue pair was in ERR; what matters is what took it there."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.qp_error_cause import qp_error_cause
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import recovery, simple_fixes
from rdmalab.doctor.subject import Sort
from rdmalab.spec.states import QPState


def examine(case: Case) -> Finding:
    """Whether the work was flushed, since when its queue pair is dead, and who did it."""
    work, qp = case.send or case.receive, case.qp
    if qp is None or (work is None and case.subject.sort is not Sort.QP):
        return NA
    if not (_flushed(case) or _stuck(case)):
        return ok("it was not flushed")
    fall = qp_error_cause(case)
    if fall is not None and fall.state is QPState.SQE:
        return ok("its queue pair was in SQE")
    evidence = []
    if fall is not None:
        evidence.append(said(f"{case.qp_name(qp)} {_did(case)}: {fall.sentence}", fall.event))
    return fail(*evidence, _end(case), cure=_cure(case), since=fall.event if fall else None)


def _did(case: Case) -> str:
    return "stopped" if case.hca.unavailable_rule else "went to ERR"


def _flushed(case: Case) -> bool:
    work = case.send or case.receive
    if work is not None:
        return work.flushed
    return case.asked and case.qp is not None and case.qp.state is QPState.ERR


def _stuck(case: Case) -> bool:
    """Not even flushed: on a dead device; on Soft-RoCE, where a receive is posted in ERR."""
    work, qp = case.send or case.receive, case.qp
    if work is None or qp is None or not work.on_queue or not case.asked:
        return False
    ignored = case.receive is not None and not case.profile.flushes_recvs_posted_in_err
    own = not qp.shares_receives
    return bool(case.hca.unavailable_rule) or (ignored and own and qp.state is QPState.ERR)


def _end(case: Case) -> Evidence:
    work = case.send or case.receive
    if work is None:
        return said("all that is posted on it is flushed")
    if work.ending is None:
        return said("this device does not even flush it", work.posted)
    there = "in ERR" if work.posted and work.posted > _since(case) else "before"
    return said(f"it was posted {there}, at event {work.posted}, and flushed", work.ending.event)


def _since(case: Case) -> int:
    fall = qp_error_cause(case)
    return fall.event if fall is not None else -1


def _cure(case: Case) -> Fix | None:
    """Both ends made anew, and the work posted again."""
    qp, send, receive = case.qp, case.send, case.receive
    if qp is None:
        return None
    if case.hca.unavailable_rule:
        return Fix(program="close_device, open_device, and everything made anew")
    if send is not None and send.wqe is not None:
        return Fix(recovery.anew(case, qp, send.wqe.wr))
    if receive is not None and receive.wqe is not None and not receive.shared:
        return Fix(recovery.receive_anew(case, qp, receive.wqe.wr))
    return Fix(simple_fixes.revive(case, qp)) if send is None and receive is None else None


CHECK = Check(
    25, "qp-err-flush", Section.LOCAL,
    question="Was it flushed, because its queue pair is in ERR?",
    rule="a flush is never the cause: what took the queue pair to ERR is",
    source="ibv_modify_qp(3)", examine=examine, station=True,
)  # fmt: skip
