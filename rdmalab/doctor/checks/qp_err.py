"""What moved the own queue pair to ERR, and what was flushed by it."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.bring_up import began_alone, ends, set_at, stays_unanswered
from rdmalab.doctor.facts.delivery import carried_out
from rdmalab.doctor.facts.qp_error_cause import qp_error_cause
from rdmalab.doctor.failed_work import first_failed
from rdmalab.doctor.finding import (
    NA,
    Evidence,
    Finding,
    Fix,
    check,
    fact,
    fail,
    hinders,
    ok,
)
from rdmalab.doctor.fixes import recovery, simple_fixes
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.doctor.work.receive import Receive
from rdmalab.doctor.work.send import Ending, Send
from rdmalab.hca.qp import QueuePair
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.states import Attr, QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt


# ------------------------------------------------------------ qp-err-flush
# qp-err-flush: the queue pair was in ERR; what matters is what took it there.
@check("qp-err-flush")
def qp_err_flush(case: Case) -> Finding:
    """Whether the work was flushed, since when its queue pair is dead, and who did it."""
    work, qp = case.send or case.receive, case.qp
    if qp is None or (work is None and case.subject.sort is not Sort.QP):
        return NA
    if not (_qp_err_flush_flushed(case) or _stuck(case)):
        return ok("it was not flushed")
    error_cause = qp_error_cause(case)
    if error_cause is not None and error_cause.state is QPState.SQE:
        return ok("its queue pair was in SQE")
    evidence = []
    if error_cause is not None:
        evidence.append(
            fact(f"{case.qp_name(qp)} {_did(case)}: {error_cause.sentence}", error_cause.event)
        )
    return fail(
        *evidence,
        _end(case),
        cure=_qp_err_flush_cure(case),
        since=error_cause.event if error_cause else None,
    )


def _did(case: Case) -> str:
    return "stopped" if case.hca.unavailable_rule else "entered ERR"


def _qp_err_flush_flushed(case: Case) -> bool:
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
        return fact("all work posted on it is flushed")
    if work.ending is None:
        return fact("this device does not flush it", work.posted)
    there = "in ERR" if work.posted and work.posted > _since(case) else "before"
    return fact(f"it was posted {there}, at event {work.posted}, and flushed", work.ending.event)


def _since(case: Case) -> int:
    error_cause = qp_error_cause(case)
    return error_cause.event if error_cause is not None else -1


def _qp_err_flush_cure(case: Case) -> Fix | None:
    """Both ends reset and connected again, and the work posted again."""
    qp, send, receive = case.qp, case.send, case.receive
    if qp is None:
        return None
    if case.hca.unavailable_rule:
        return Fix(program="close_device, open_device, and create all objects again")
    if send is not None and send.wqe is not None:
        return Fix(recovery.resend(case, qp, send.wqe.wr))
    if receive is not None and receive.wqe is not None and not receive.shared:
        return Fix(recovery.receive_again(case, qp, receive.wqe.wr))
    return Fix(simple_fixes.bring_up_again(case, qp)) if send is None and receive is None else None


# ------------------------------------------------------------ own-err
# own-err: nothing had failed; a call on this node moved the queue pair to ERR.
@check("own-err")
def own_err(case: Case) -> Finding:
    """Of flushed work, whether a modify_qp of its own side, and no failure, began it."""
    work, qp = case.send or case.receive, case.qp
    if work is None or qp is None or work.ending is None:
        return NA
    if work.ending.status is not WCStatus.WR_FLUSH_ERR:
        return ok("it was not flushed")
    thing = Thing(Noun.QP, qp.node, qp.number)
    move = _error_transition(case, thing, work.ending.event)
    if move is not None and (work.posted or 0) > rec.event_of(move):
        return ok("it was posted when its queue pair was in ERR already")
    if move is None or not _by_hand(case, thing, rec.event_of(move)):
        return ok("no call on its own node moved its queue pair to ERR")
    _, who = case.log.asked(rec.event_of(move))
    old = rec.old_state_of(move).name
    return fail(
        fact(f"{who or 'a call'} moved {case.qp_name(qp)} from {old} to ERR", rec.event_of(move)),
        fact(f"no work of {case.qp_name(qp)} had failed before"),
        fact(f"{fmt.wr(case.subject.wr_id)} was given back, flushed: its buffer is yours again",
             work.ending.event),
        cure=_own_err_cure(case, qp),
    )  # fmt: skip


def _error_transition(case: Case, thing: Thing, event: int) -> Record | None:
    """Its last step to ERR before that event."""
    moves = [r for _, r in case.log.about(Kind.STATE_CHANGED, thing) if rec.event_of(r) <= event]
    return moves[-1] if moves and rec.new_state_of(moves[-1]) is QPState.ERR else None


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


def _own_err_cure(case: Case, qp: QueuePair) -> Fix:
    """Nothing to do if ERR was intended; otherwise both ends are reset and connected again."""
    send, receive = case.send, case.receive
    lines = simple_fixes.bring_up_again(case, qp)
    if send is not None and send.wqe is not None:
        return Fix([*lines, *simple_fixes.again(case, qp, send.wqe.wr, after_reset=True)])
    if receive is not None and receive.wqe is not None and not receive.shared:
        return Fix([*lines, simple_fixes.post_recv(case, qp, receive.wqe.wr)])
    return Fix(program="flushes at a teardown are no failure: give the buffers back, report none")


# ------------------------------------------------------------ local-recovery-one-side
# local-recovery-one-side: only one side was reset: its PSNs no longer match the peer's.
@check("local-recovery-one-side")
def local_recovery_one_side(case: Case) -> Finding:
    """Whether an end was reset since the other was brought up, and their PSNs fell apart."""
    send, both = case.send, ends(case)
    if send is None or send.wqe is None or both is None or not both.sender.transport.acknowledged:
        return NA
    alone = began_alone(case, both)
    if alone is None:
        return ok("neither end was reset after the other was brought up")
    sent, expected = both.sender.comp.psn, both.receiver.resp.psn
    receives = both.receiver.state_row.receives
    if (
        sent == expected
        or not receives
        or carried_out(case) is not None
        or not stays_unanswered(case)
    ):
        return ok("their packet numbers still fit")
    reset, at = alone
    other = both.receiver if reset is both.sender else both.sender
    return hinders(
        case, fact(f"{case.qp_name(reset)} was reset; {case.qp_name(other)} was not", at),
        fact(f"{case.qp_name(both.sender)} sends psn={sent}",
             set_at(case, both.sender, Attr.SQ_PSN)),
        fact(f"{case.qp_name(both.receiver)} expects psn={expected}"),
        cure=Fix(recovery.reconnected(case, both.sender, send.wqe.wr)), since=at,
    )  # fmt: skip


# ------------------------------------------------------------ flush-only
# flush-only: all that was seen is a flush; something else failed before it.
@check("flush-only")
def flush_only(case: Case) -> Finding:
    """Whether another work request of the queue pair failed first, and this one was flushed."""
    work, qp = case.send or case.receive, case.qp
    if work is None or work.ending is None or qp is None:
        return NA
    if work.ending.status is not WCStatus.WR_FLUSH_ERR:
        return ok("it is no flush")
    found = first_failed(case.log, Thing(Noun.QP, qp.node, qp.number))
    first = _ending(case, found[0]) if found else None
    if first is None or first.status is WCStatus.WR_FLUSH_ERR:
        return ok("no work request of it failed with its own error")
    others = _flush_only_flushed(case, qp) - 1
    more = f", and {fmt.count(others, 'other')}" if others else ""
    return fail(
        fact(f"{_name(case, found[0])} failed first, with {first.status.name}", first.event),
        fact(f"this one was flushed after it{more}", work.ending.event),
        since=work.ending.event,
    )


def _ending(case: Case, subject: Subject) -> Ending | None:
    sort = Send if subject.sort is Sort.SEND else Receive
    return sort(case.session, subject, case.log).ending


def _name(case: Case, subject: Subject) -> str:
    what = "wr" if subject.sort is Sort.SEND else "recv_wr"
    return f"{case.names.of(subject.thing)}.{what}[{subject.wr_id}]"


def _flush_only_flushed(case: Case, qp: QueuePair) -> int:
    """Of both its queues."""
    where = (qp.node, qp.number)
    sends = [
        (rec.node_of(r), rec.object_of(r))
        for _, r in case.log.failed_sends
        if rec.status_of(r) == _FLUSH
    ]
    failed = [r for _, r in case.log.failed_receives if rec.cqe_of(r).status == _FLUSH]
    receives = [(rec.node_of(r), rec.cqe_of(r).qp_num) for r in failed]
    return (sends + receives).count(where)


_FLUSH = WCStatus.WR_FLUSH_ERR
