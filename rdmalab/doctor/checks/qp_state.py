"""The state of a queue pair: not ready, drained, in ERR or SQE, reset; and the flush after it."""

from rdmalab.doctor.evidence.components import things_in
from rdmalab.doctor.evidence.work_of_queues import first_failed
from rdmalab.doctor.facts.bring_up import Ends, began_alone, ends, stopped
from rdmalab.doctor.facts.line import held, worst
from rdmalab.doctor.facts.qp_error_cause import posted_in_error, qp_error_cause
from rdmalab.doctor.kit import *
from rdmalab.hca import requester
from rdmalab.repair.bring_up import steps_to_rts
from rdmalab.spec.states import BRING_UP
from rdmalab.views.planned import PlannedRow, planned_rows


@check("too-early")
def too_early(case: Case, work: Send | Receive) -> Finding:
    """Check, by running a copy, whether the request completes with SUCCESS without a new call."""
    if work.ending is not None or work.posted is None:
        return NA
    if case.at_rest:
        return ok("no packet, timer or program is pending")
    if not case.will_succeed:
        return ok("it does not complete without a new call")
    return wait(
        fact(f"it completes at {fmt.clock(case.future.end_ns)} if time goes on, "
             f"in {fmt.duration(case.future.end_ns - case.world.now_ns)}"),
        *_next(case), *(fact(text) for text in worst(case)), cure=Fix(["run"]),
    )  # fmt: skip


def _next(case: Case) -> list[Evidence]:
    """The next planned event of its queue pair or of the peer, as evidence."""
    names = [case.qp_name(qp) for qp in (case.qp, case.peer) if qp is not None]
    own = [row for row in planned_rows(case.world, case.names) if row.qp in names]
    return [fact(f"next, at {fmt.clock(row.at_ns)}: {row.qp} {row.sentence}", _cause(case, row))
            for row in own[:1]]  # fmt: skip


def _cause(case: Case, row: PlannedRow) -> int | None:
    """The event in which a packet that is under way left."""
    return None if row.number is None else event_of(case.world.trace.records[row.number])


def _below_rts(case: Case) -> QueuePair | None:
    return _awaited(case) if case.program is not None else _asked(case)


@check("qp-not-rts", found=_below_rts)
def qp_not_rts(case: Case, found: QueuePair) -> Finding:
    """Check whether the queue pair asked about, or one that a program waits for, is below RTS."""
    if found.state not in BRING_UP[:-1]:
        return ok(f"{case.qp_name(found)} is in {found.state.name}")
    if not case.asked and not (case.program is not None and case.at_rest):
        return ok("it may still be brought up")
    name, lines = case.qp_name(found), steps_to_rts(case, found)
    moved = case.log.last_entered(found.thing, found.state)
    receives = case.program is None and found.state is QPState.RTR and found.source.wqes
    return (warn if receives else fail)(
        fact(f"{name} entered {found.state.name}, and no call has moved it further", moved),
        fact(f"{name} needs {' and '.join(to.name for to in BRING_UP[:-1][found.state + 1:])}"
             f"{' and ' if found.state < QPState.RTR else ''}RTS before it sends"),
        cure=Fix(lines) if lines else None,
    )  # fmt: skip


def _asked(case: Case) -> QueuePair | None:
    if case.subject.sort is not Sort.QP or case.qp is None or not case.qp.transport.sends:
        return None
    return case.qp


def _awaited(case: Case) -> QueuePair | None:
    """The first queue pair below RTS whose state a program waits for."""
    program = case.program
    if program is None or program.state is not ProgramState.WAITING:
        return None
    named = [t for t in things_in(case.session, program.line.question) if t.noun is Noun.QP]
    found = [qp for t in named if (qp := find_qp(case.world, t.node, t.number)) is not None]
    below = [qp for qp in found if qp.state in BRING_UP[:-1]]
    return next(iter(below or found), None)


@check("sqd", send=waiting)
def sqd(case: Case, send: Send, wqe: SendWqe, qp: QueuePair) -> Finding:
    """Check whether the request waits in SQD, or on a device that does not resume after SQD."""
    if send.begun:
        return NA
    drained = case.log.last_entered(qp.thing, QPState.SQD)
    stalled = qp.state is QPState.RTS and _is_stalled(case, qp)
    if drained is None or not (qp.state is QPState.SQD or stalled):
        return ok(f"{case.qp_name(qp)} is in {qp.state.name}, not drained")
    if qp.state is QPState.SQD and stopped(case, qp):
        return ok("the call that was to move it back to RTS was refused")
    name = case.qp_name(qp)
    evidence = [fact(f"{name} entered SQD: no request starts in it", drained),
                fact("it was posted, and waits to start", send.posted)]  # fmt: skip
    lines = []
    if qp.state is QPState.SQD:
        lines.append(f"modify_qp {name} state=RTS")
    else:
        back = case.log.last_entered(qp.thing, QPState.RTS)
        evidence.append(fact(f"{name} is back in RTS, and nothing was posted since", back))
    if not case.profile.resumes_after_sqd:
        evidence.append(fact("this device looks at its queue only when something is posted"))
        lines.append(recovery.ring_doorbell(case, qp, wqe.wr))
    return blocking(case, *evidence, cure=Fix(lines), since=drained)


def _is_stalled(case: Case, qp: QueuePair) -> bool:
    """Whether the QP could send, and is not queued for the port."""
    return (not case.profile.resumes_after_sqd and not qp.queued and held(case) is None
            and requester.next_wqe(qp) is not None)  # fmt: skip


@check("sqe")
def sqe(case: Case, send: Send, wqe: SendWqe, ending: Ending, qp: QueuePair) -> Finding:
    """Check whether the request was flushed in SQE."""
    if not send.flushed:
        return ok("it was not flushed")
    error_cause = qp_error_cause(case)
    if error_cause is None or error_cause.state is not QPState.SQE:
        return ok("its queue pair was not in SQE")
    name = case.qp_name(qp)
    back = [f"modify_qp {name} state=RTS"] if qp.state is QPState.SQE else []
    return fail(
        fact(f"{name} entered SQE: {error_cause.sentence}", error_cause.event),
        fact(f"it was posted {'in SQE' if error_cause.event < (send.posted or 0) else 'before'}",
             send.posted),
        fact("and flushed", ending.event),
        cure=Fix([*back, *commands.again(case, qp, wqe.wr)]), since=error_cause.event,
    )  # fmt: skip


@check("cached-state", asked=True)
def cached_state(case: Case, qp: QueuePair) -> Finding:
    """Check whether the device changed the state, so that the program's copy of it is stale."""
    work = case.work
    if work is None and case.subject.sort is not Sort.QP:
        return NA
    if qp.known_state is qp.state:
        return ok("the program's copy of the state is correct")
    moved = case.log.last_entered(qp.thing, qp.state)
    if work is not None and (work.posted is None or moved is None or work.posted < moved):
        return ok("it was posted before the state changed")
    name = case.qp_name(qp)
    lines = [f"query_qp {name}"]
    if qp.state is QPState.ERR:
        lines += commands.bring_up_again(case, qp)
    return warn(
        fact(f"{name} entered {qp.state.name} without a modify_qp", moved),
        fact(f"its qp->state is still {qp.known_state.name}; only query_qp asks the device"),
        cure=Fix(lines),
    )  # fmt: skip


_NOUNS = {"sq": "send", "rq": "receive"}


@check("reset-swallowed")
def reset_swallowed(case: Case, work: Send | Receive, qp: QueuePair) -> Finding:
    """Check whether the request was discarded without a completion when its QP went to RESET."""
    if work.posted is None:
        return NA
    if work.discarded is None:
        return ok("no RESET discarded it")
    return fail(
        fact(f"{case.log.who(work.discarded)} moved {case.qp_name(qp)} to RESET", work.discarded),
        fact("it was posted", work.posted),
        *_thrown(case, qp, work.discarded), cure=_cure(case, qp), since=work.discarded,
    )  # fmt: skip


def _thrown(case: Case, qp: QueuePair, event: int) -> list[Evidence]:
    """Number of work requests that went with it."""
    queue = "sq" if case.send is not None else "rq"
    found = case.log.about(Kind.QUEUE_DISCARDED, qp.thing)
    here = (r for r in found if event_of(r) == event and rec.queue_of(r) == queue)
    return [fact(f"{fmt.count(rec.requests_of(r), _NOUNS[queue])} discarded without a completion",
                 event) for r in here]  # fmt: skip


def _cure(case: Case, qp: QueuePair) -> Fix | None:
    send, entry, name = case.send, case.entry, case.qp_name(qp)
    if send is not None and (fix := ordered(case.log, send.discarded, send.posted, name)):
        return fix
    if isinstance(entry, SendWqe):
        return Fix(recovery.resend(case, qp, entry.wr))
    if entry is not None and recovery.dropped_message(case, qp):
        return Fix(recovery.receive_again(case, qp, entry.wr))
    return recovery.drain(name, f"modify_qp {name} state=RESET")


@check("qp-err-flush")
def qp_err_flush(case: Case, qp: QueuePair) -> Finding:
    """Check whether the request was flushed: since when its QP is in ERR, and why."""
    work = case.work
    if work is None and case.subject.sort is not Sort.QP:
        return NA
    if not (_qp_err_flush_flushed(case) or _stuck(case)):
        return ok("it was not flushed")
    error_cause = qp_error_cause(case)
    if error_cause is not None and error_cause.state is QPState.SQE:
        return ok("its queue pair was in SQE")
    evidence, name = list[Evidence](), case.qp_name(qp)
    if error_cause is not None and posted_in_error(case, error_cause):
        text = f"{name} has been in ERR since {fmt.ev(error_cause.event)}: {error_cause.sentence}"
        how = f"no call had reset {name} when {fmt.wr(case.subject.wr_id)} was posted"
        evidence = [fact(text, error_cause.event), fact(how, work.posted if work else None)]
    elif error_cause is not None:
        did = "stopped" if case.hca.unavailable_rule else "entered ERR"
        evidence = [fact(f"{name} {did}: {error_cause.sentence}", error_cause.event)]
    since = error_cause.event if error_cause else None
    return fail(*evidence, _end(case), cure=_qp_err_flush_cure(case, qp), since=since)


def _qp_err_flush_flushed(case: Case) -> bool:
    work = case.work
    if work is not None:
        return work.flushed
    return case.asked and case.qp is not None and case.qp.state is QPState.ERR


def _stuck(case: Case) -> bool:
    """Whether it is not even flushed: on a dead device, or a receive posted in ERR on Soft-RoCE."""
    work, qp = case.work, case.qp
    if work is None or qp is None or not work.on_queue or not case.asked:
        return False
    ignored = case.receive is not None and not case.profile.flushes_recvs_posted_in_err
    own = not qp.shares_receives
    return bool(case.hca.unavailable_rule) or (ignored and own and qp.state is QPState.ERR)


def _end(case: Case) -> Evidence:
    work = case.work
    if work is None:
        return fact("all work posted on it is flushed")
    if work.ending is None:
        return fact("this device does not flush it", work.posted)
    error_cause = qp_error_cause(case)
    since = error_cause.event if error_cause is not None else -1
    there = "in ERR" if work.posted and work.posted > since else "before"
    text = f"it was posted {there}, at event {work.posted}, and was flushed"
    return fact(text, work.ending.event)


def _qp_err_flush_cure(case: Case, qp: QueuePair) -> Fix | None:
    """Both ends reset and connected again, and the work posted again."""
    work, entry = case.work, case.entry
    if case.hca.unavailable_rule:
        return Fix(program="close_device, open_device, and create all objects again")
    if work is None:
        return Fix(commands.bring_up_again(case, qp))
    if isinstance(entry, SendWqe):
        return Fix(recovery.resend(case, qp, entry.wr))
    if entry is None or work.shared:
        return None
    return Fix(recovery.receive_again(case, qp, entry.wr))


@check("own-err")
def own_err(case: Case, work: Send | Receive, qp: QueuePair, ending: Ending) -> Finding:
    """Of flushed work, whether a modify_qp of its own side, and no failure, began it."""
    if ending.status is not WCStatus.WR_FLUSH_ERR:
        return ok("it was not flushed")
    moves = [r for r in case.log.about(Kind.STATE_CHANGED, qp.thing) if event_of(r) <= ending.event]
    move = next((r for r in moves[-1:] if rec.new_state_of(r) is QPState.ERR), None)
    if move is None or not _by_hand(case, qp.thing, event_of(move)):
        return ok("no call on its own node moved its queue pair to ERR")
    who, old = case.log.who(event_of(move)), rec.old_state_of(move).name
    late = [fact(f"{fmt.wr(case.subject.wr_id)} was posted after that, in ERR", work.posted)]
    return fail(
        fact(f"{who} moved {case.qp_name(qp)} from {old} to ERR", event_of(move)),
        fact(f"no work of {case.qp_name(qp)} had failed before"),
        *(late if (work.posted or 0) > event_of(move) else []),
        fact(f"{fmt.wr(case.subject.wr_id)} was given back, flushed: its buffer is yours again",
             ending.event),
        cure=ordered(case.log, event_of(move), work.posted, case.qp_name(qp))
        or _own_err_cure(case, qp),
    )  # fmt: skip


def _by_hand(case: Case, thing: Thing, event: int) -> bool:
    """Whether a modify_qp moved the QP to ERR before any request failed (SQE is a failure)."""
    invocation, _ = case.log.asked(event)
    if invocation is None or invocation.name != "modify_qp":
        return False
    first = [_ending(case, subject) for subject in first_failed(case.log, thing)]
    return not first or (first[0] is not None and first[0].status is WCStatus.WR_FLUSH_ERR)


def _own_err_cure(case: Case, qp: QueuePair) -> Fix:
    """Nothing to do if ERR was intended; otherwise both ends are reset and connected again."""
    work, entry, lines = case.work, case.entry, commands.bring_up_again(case, qp)
    if isinstance(entry, SendWqe):
        return Fix([*lines, *commands.again(case, qp, entry.wr, after_reset=True)])
    if entry is not None and work is not None and not work.shared:
        return Fix([*lines, commands.post_recv(case, qp, entry.wr)])
    return Fix(program="flushes at a teardown are no failure: give the buffers back, report none")


@check("local-recovery-one-side", both=ends)
def local_recovery_one_side(case: Case, wqe: SendWqe, both: Ends) -> Finding:
    """Check whether one end was reset after the bring-up, so that the PSNs differ."""
    if not both.sender.transport.acknowledged:
        return NA
    alone = began_alone(case, both)
    if alone is None:
        return ok("neither end was reset after the other was brought up")
    sent, expected = both.sender.comp.psn, both.receiver.resp.psn
    lost = sent != expected and both.receiver.state_row.receives and carried_out(case) is None
    up, end = case.log.last_entered(both.receiver.thing, QPState.RTR), case.ending
    late = up is not None and end is not None and end.event < up
    if not lost or late or not stays_unanswered(case):  # late: no packet of it met these numbers
        return ok("their packet numbers still fit")
    reset, at = alone
    other = both.receiver if reset is both.sender else both.sender
    lines = recovery.reconnected(case, both.sender, wqe.wr)
    is_locked = case.session.refusal(f"modify_qp {case.qp_name(other)} state=RESET")
    if is_locked and reset is both.sender:  # the rules of a lab shut the other end
        lines = recovery.rejoined(case, reset, other, wqe.wr)
    return blocking(
        case, fact(f"{case.qp_name(reset)} was reset; {case.qp_name(other)} was not", at),
        fact(f"{case.qp_name(both.sender)} sends psn={sent}",
             set_at(case, both.sender, Attr.SQ_PSN)),
        fact(f"{case.qp_name(both.receiver)} expects psn={expected}"),
        cure=Fix(lines), since=at,
    )  # fmt: skip


@local_recovery_one_side.instead
def _taken_for_duplicate(case: Case, wqe: SendWqe, qp: QueuePair) -> Finding | None:
    """The cause of a send with SUCCESS that the peer did not carry out."""
    found = (e for e in ownership.swallowed(case.log, case.node) if e.subject == case.subject)
    if (each := next(found, None)) is None:
        return None
    name, peer = case.qp_name(qp), case.names.of(each.peer)
    return fail(
        fact(f"{name} was reset; {peer} was not", each.reset),
        fact(f"{peer} took psn={wqe.first_psn} for a duplicate: it acknowledged it, and delivered "
             "nothing", each.event),
        cure=Fix(recovery.reconnected(case, qp, wqe.wr)), since=each.reset,
    )  # fmt: skip


@check("flush-only")
def flush_only(case: Case, work: Send | Receive, ending: Ending, qp: QueuePair) -> Finding:
    """Check whether another request of the QP failed first, and this one was flushed."""
    if ending.status is not WCStatus.WR_FLUSH_ERR:
        return ok("it is no flush")
    found = first_failed(case.log, qp.thing)
    first = _ending(case, found[0]) if found else None
    if first is None or first.status is WCStatus.WR_FLUSH_ERR:
        return ok("no work request of it failed with its own error")
    others, failed = _flush_only_flushed(case, qp) - 1, name_of(case.names, found[0])
    more = f", and {fmt.count(others, 'other')}" if others else ""
    return fail(fact(f"{failed} failed first, with {first.status.name}", first.event),
                fact(f"this one was flushed after it{more}", ending.event),
                since=ending.event)  # fmt: skip


def _ending(case: Case, subject: Subject) -> Ending | None:
    return Case(case.session, subject, case.log, asked=case.asked).ending


def _flush_only_flushed(case: Case, qp: QueuePair) -> int:
    """Of both its queues."""
    where = (qp.node, qp.number)
    sends = [rec.place_of(r) for r in case.log.failed_sends if rec.status_of(r) == _FLUSH]
    failed = [r for r in case.log.failed_receives if cqe_of(r).status == _FLUSH]
    receives = [(node_of(r), cqe_of(r).qp_num) for r in failed]
    return (sends + receives).count(where)


_FLUSH = WCStatus.WR_FLUSH_ERR
