"""The state of the own queue pair."""

from rdmalab.command import Noun
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import bring_up
from rdmalab.doctor.facts.bring_up import entered, thing
from rdmalab.doctor.facts.line import held
from rdmalab.doctor.facts.qp_error_cause import qp_error_cause
from rdmalab.doctor.facts.worst_case_wait import worst
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
    wait,
    warn,
)
from rdmalab.doctor.fixes import recovery, simple_fixes
from rdmalab.doctor.named import things_in
from rdmalab.doctor.subject import Sort
from rdmalab.hca import requester
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import Kind, event_of, queue_of, slots_of
from rdmalab.spec.states import BRING_UP, QPState
from rdmalab.views import fmt
from rdmalab.views.planned import PlannedRow, planned_rows
from rdmalab.world.relations import find_qp


# ------------------------------------------------------------ too-early
# too-early: nothing is wrong, it only takes its time.
@check("too-early")
def too_early(case: Case) -> Finding:
    """Whether it comes to a good end if time goes on: that is tried."""
    work = case.send or case.receive
    if work is None or work.ending is not None or work.posted is None:
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
    """What it waits for: the next thing that happens to its queue pair, or to the peer."""
    own = [row for row in planned_rows(case.world, case.names) if row.qp in _names(case)]
    return [fact(_words(row), _cause(case, row)) for row in own[:1]]


def _names(case: Case) -> list[str]:
    return [case.qp_name(qp) for qp in (case.qp, case.peer) if qp is not None]


def _words(row: PlannedRow) -> str:
    return f"next, at {fmt.clock(row.at_ns)}: {row.qp} {row.sentence}"


def _cause(case: Case, row: PlannedRow) -> int | None:
    """The event in which a packet that is under way left."""
    return None if row.number is None else event_of(case.world.trace.records[row.number])


# ------------------------------------------------------------ qp-not-rts
# qp-not-rts: the queue pair never got as far as sending.
@check("qp-not-rts")
def qp_not_rts(case: Case) -> Finding:
    """Whether the queue pair asked about, or one that a program waits for, is below RTS."""
    found = _awaited(case) if case.program is not None else _asked(case)
    if found is None:
        return NA
    if found.state not in BRING_UP[:-1]:
        return ok(f"{case.qp_name(found)} is in {found.state.name}")
    if not case.asked and not (case.program is not None and case.at_rest):
        return ok("it may still be brought up")
    name, lines = case.qp_name(found), recovery.steps_to_rts(case, found)
    moved = bring_up.entered(case, found, found.state)
    return fail(
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


# ------------------------------------------------------------ sqd
# sqd: the queue pair was drained, and begins nothing.
@check("sqd")
def sqd(case: Case) -> Finding:
    """Whether it waits in SQD, or on a device that sleeps on when SQD is left."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None or not send.on_queue or send.begun:
        return NA
    drained = entered(case, qp, QPState.SQD)
    stalled = qp.state is QPState.RTS and _is_stalled(case, qp)
    if drained is None or not (qp.state is QPState.SQD or stalled):
        return ok(f"{case.qp_name(qp)} is in {qp.state.name}, not drained")
    name = case.qp_name(qp)
    evidence = [fact(f"{name} entered SQD", drained),
                fact("it was posted, and waits to start", send.posted)]  # fmt: skip
    lines = []
    if qp.state is QPState.SQD:
        lines.append(f"modify_qp {name} state=RTS")
    else:
        back = entered(case, qp, QPState.RTS)
        evidence.append(fact(f"{name} is back in RTS, and nothing was posted since", back))
    if not case.profile.resumes_after_sqd:
        evidence.append(fact("this device looks at its queue only when something is posted"))
        lines.append(recovery.ring_doorbell(case, qp, send.wqe.wr))
    return hinders(case, *evidence, cure=Fix(lines), since=drained)


def _is_stalled(case: Case, qp: QueuePair) -> bool:
    """It could send, and does not stand in line for the port."""
    return (
        not case.profile.resumes_after_sqd
        and not qp.queued
        and held(case) is None
        and requester.next_wqe(qp) is not None
    )


# ------------------------------------------------------------ sqe
# sqe: a send failed on an unreliable queue pair, and no call moved it back to RTS.
@check("sqe")
def sqe(case: Case) -> Finding:
    """Whether it was flushed in SQE."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or send.ending is None or qp is None:
        return NA
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
        fact("and flushed", send.ending.event),
        cure=Fix([*back, *simple_fixes.again(case, qp, send.wqe.wr)]), since=error_cause.event,
    )  # fmt: skip


# ------------------------------------------------------------ cached-state
# cached-state: the program's copy of the state is older than the queue pair.
@check("cached-state")
def cached_state(case: Case) -> Finding:
    """Whether the device changed the state, so that the program's copy of it is stale."""
    qp, work = case.qp, case.send or case.receive
    if qp is None or not case.asked or (work is None and case.subject.sort is not Sort.QP):
        return NA
    if qp.known_state is qp.state:
        return ok("the program's copy of the state is correct")
    moved = entered(case, qp, qp.state)
    posted = work.posted if work is not None else None
    if work is not None and (posted is None or moved is None or posted < moved):
        return ok("it was posted before the state changed")
    name = case.qp_name(qp)
    lines = [f"query_qp {name}"]
    if qp.state is QPState.ERR:
        lines += simple_fixes.bring_up_again(case, qp)
    return warn(
        fact(f"{name} entered {qp.state.name} without a modify_qp", moved),
        fact(f"its qp->state is still {qp.known_state.name}; only query_qp asks the device"),
        cure=Fix(lines),
    )  # fmt: skip


# ------------------------------------------------------------ reset-swallowed
# reset-swallowed: a move to RESET threw it away, without a completion.
_NOUNS = {"sq": "send", "rq": "receive"}


@check("reset-swallowed")
def reset_swallowed(case: Case) -> Finding:
    """Whether it was neither done nor flushed when its queue pair went to RESET."""
    work, qp = case.send or case.receive, case.qp
    if work is None or qp is None or work.posted is None:
        return NA
    if work.discarded is None:
        return ok("no RESET discarded it")
    return fail(
        fact("it was posted", work.posted),
        fact(f"{case.qp_name(qp)} was moved to RESET", work.discarded),
        *_thrown(case, work.discarded), cure=_cure(case), since=work.discarded,
    )  # fmt: skip


def _thrown(case: Case, event: int) -> list[Evidence]:
    """How many work requests went with it."""
    assert case.qp is not None
    queue = "sq" if case.send is not None else "rq"
    found = case.log.about(Kind.QUEUE_DISCARDED, thing(case.qp))
    counts = [slots_of(r) for _, r in found if event_of(r) == event and queue_of(r) == queue]
    return [fact(f"{fmt.count(n, _NOUNS[queue])} discarded without a completion", event)
            for n in counts]  # fmt: skip


def _cure(case: Case) -> Fix | None:
    qp, send, receive = case.qp, case.send, case.receive
    assert qp is not None
    if send is not None and send.wqe is not None:
        return Fix(recovery.resend(case, qp, send.wqe.wr))
    if receive is not None and receive.wqe is not None:
        return Fix(recovery.receive_again(case, qp, receive.wqe.wr))
    return None
