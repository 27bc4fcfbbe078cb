"""own-err: nothing had failed; this side moved its queue pair to ERR by itself."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.failed_work import first_failed
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.records import A, B, Kind, Record, event_of
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Of flushed work, whether a modify_qp of its own side, and no failure, began it."""
    work, qp = case.send or case.receive, case.qp
    if work is None or qp is None or work.ending is None:
        return NA
    if work.ending.status is not WCStatus.WR_FLUSH_ERR:
        return ok("it was not flushed")
    thing = Thing(Noun.QP, qp.node, qp.number)
    move = _fall(case, thing, work.ending.event)
    if move is not None and (work.posted or 0) > event_of(move):
        return ok("it was posted when its queue pair was in ERR already")
    if move is None or not _by_hand(case, thing, event_of(move)):
        return ok("nobody of its own side moved its queue pair to ERR")
    _, who = case.log.asked(event_of(move))
    return fail(
        said(f"{who or 'a call'} moved {case.qp_name(qp)} from {move[A].name} to ERR",
             event_of(move)),
        said(f"no work of {case.qp_name(qp)} had failed before"),
        said(f"{fmt.wr(case.subject.wr_id)} was given back, flushed: its buffer is yours again",
             work.ending.event),
        cure=_cure(case, qp),
    )  # fmt: skip


def _fall(case: Case, thing: Thing, event: int) -> Record | None:
    """Its last step to ERR before that event."""
    moves = [r for _, r in case.log.about(Kind.STATE_CHANGED, thing) if event_of(r) <= event]
    return moves[-1] if moves and moves[-1][B] is QPState.ERR else None


def _by_hand(case: Case, thing: Thing, event: int) -> bool:
    """By a modify_qp, before which nothing had failed; SQE is such a failure."""
    invocation, _ = case.log.asked(event)
    if invocation is None or invocation.name != "modify_qp":
        return False
    first = first_failed(case.log, thing)
    return not first or _is_flushed(case, first[0])


def _is_flushed(case: Case, first: Subject) -> bool:
    """Whether the first failure of a queue pair is itself a flush."""
    other = Case(case.session, first, case.log, asked=case.asked)
    work = other.send if first.sort is Sort.SEND else other.receive
    return work is not None and work.ending is not None and (
        work.ending.status is WCStatus.WR_FLUSH_ERR
    )  # fmt: skip


def _cure(case: Case, qp: QueuePair) -> Fix:
    """If it was wanted there is nothing to cure; else both ends are made anew."""
    send, receive = case.send, case.receive
    lines = simple_fixes.revive(case, qp)
    if send is not None and send.wqe is not None:
        return Fix([*lines, *simple_fixes.again(case, qp, send.wqe.wr, revived=True)])
    if receive is not None and receive.wqe is not None and not receive.shared:
        return Fix([*lines, simple_fixes.post_recv(case, qp, receive.wqe.wr)])
    return Fix(program="flushes at a teardown are no failure: give the buffers back, report none")


CHECK = Check(
    108, "own-err", Section.LOCAL,
    question="Did this side move its queue pair to ERR itself, with nothing failed before?",
    rule="a move to ERR gives everything back as WR_FLUSH_ERR: at a teardown that is no failure",
    source="spdk-298", examine=examine,
)  # fmt: skip
