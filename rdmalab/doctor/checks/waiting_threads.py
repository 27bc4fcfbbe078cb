"""Threads that wait, or poll in vain, for what no other thread and no work request will bring."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.thread_waits import ThreadWait, of_program, thread_wait
from rdmalab.doctor.facts.waiting import is_quiet
from rdmalab.doctor.finding import NA, Evidence, Finding, Fix, check, fact, fail, ok
from rdmalab.doctor.fixes.reconnecting import some_message
from rdmalab.grammar.trees import facts, render
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import Kind, async_event_of, event_of
from rdmalab.spec.states import QPState
from rdmalab.views import fmt
from rdmalab.world.program_state import Program
from rdmalab.world.relations import peer_of

_POSTS = (Kind.SEND_POSTED, Kind.RECV_POSTED)


# ------------------------------------------------------------ thread-stopped
@check("thread-stopped")
def thread_stopped(case: Case) -> Finding:
    """Whether a thread that was to provide what it waits for has failed, or ended without it."""
    waits = thread_wait(case)
    if waits is None:
        return NA
    gone = [other for other in waits.providers if other.state is ProgramState.FAILED]
    gone += [other for other in waits.providers if other.state is ProgramState.DONE]
    if not gone:
        return ok("no thread that it waits for has stopped")
    return fail(_stopped(case, gone[0]), waits.words(), cure=_restart(case, gone[0]))


def _stopped(case: Case, other: Program) -> Evidence:
    thing = Thing(Noun.PROGRAM, other.node, other.number)
    failed = other.state is ProgramState.FAILED
    kind = Kind.PROGRAM_FAILED if failed else Kind.PROGRAM_DONE
    found = case.log.about(kind, thing)
    event = event_of(found[-1].record) if found else None
    line = f"failed in line {other.line.number}: {other.line.text}: {other.why}"
    return fact(f"{case.names.of(thing)} {line if failed else 'has ended'}", event)


def _restart(case: Case, other: Program) -> Fix:
    name = case.names.of(Thing(Noun.PROGRAM, other.node, other.number))
    return Fix(program=f"let {name} signal its waiters before it stops, also after an error")


# ------------------------------------------------------------ mutual-wait
@check("mutual-wait")
def mutual_wait(case: Case) -> Finding:
    """Whether the threads that it waits for wait, in a circle, for it."""
    waits = thread_wait(case)
    if waits is None:
        return NA
    circle = _circle(waits, [])
    if len(circle) < 2:
        return ok("no other thread waits for it in a circle")
    if waits.thing != min(each.thing for each in circle):
        return ok("the circle is reported for another of its threads")
    names = ", ".join(each.name for each in circle)
    return fail(
        *[each.words() for each in circle],
        cure=Fix(program=f"let one of {names} go on first: post, or signal, before it waits"),
    )


def _circle(waits: ThreadWait, before: list[ThreadWait]) -> list[ThreadWait]:
    """The threads from this one back to it, each of which waits for the next."""
    path = [*before, waits]
    for other in waits.providers:
        if other is path[0].program:
            return path
        known = any(other is each.program for each in path)
        following = None if known else of_program(waits.case, other)
        if following is not None and (found := _circle(following, path)):
            return found
    return []


# ------------------------------------------------------------ nothing-outstanding
@check("nothing-outstanding")
def nothing_outstanding(case: Case) -> Finding:
    """Whether no work request is left that could complete on the queues that a thread looks at."""
    waits = thread_wait(case)
    if waits is None or not waits.cqs:
        return NA
    cqs = [case.world.find(thing, CompletionQueue) for thing in waits.cqs]
    if any(cq.cqes for cq in cqs):
        return ok("a completion is on a queue that it looks at")
    feeding = [qp for qp in waits.qps if _completes_on(qp, waits.cqs)]
    left = [qp for qp in feeding if _outstanding(qp, waits.cqs)]
    if left:
        return ok(f"{case.qp_name(left[0])} has work outstanding")
    evidence = [_last_post(case, qp) for qp in feeding[:3]]
    names = " and ".join(case.names.of(thing) for thing in waits.cqs)
    return fail(
        *(evidence or [fact(f"no queue pair completes on {names}")]), waits.words(),
        cure=Fix(program=f"post a signaled send or a receive that completes on {names}, then poll"),
        since=waits.since(),
    )  # fmt: skip


def _completes_on(qp: QueuePair, cqs: list[Thing]) -> bool:
    return any(cq.node == qp.node and cq.number in (qp.send_cq, qp.recv_cq) for cq in cqs)


def _outstanding(qp: QueuePair, cqs: list[Thing]) -> bool:
    """Whether a send or a receive of it is not over, and is to complete on one of these queues."""
    numbers = [cq.number for cq in cqs if cq.node == qp.node]
    sends = qp.send_cq in numbers and (qp.comp.serial < qp.sq.posted or bool(qp.sq.early))
    return sends or (qp.recv_cq in numbers and bool(qp.source.wqes))


def _last_post(case: Case, qp: QueuePair) -> Evidence:
    """What it posted last, and that all is over."""
    name, thing = case.qp_name(qp), Thing(Noun.QP, qp.node, qp.number)
    posts = sorted(each for kind in _POSTS for each in case.log.about(kind, thing))
    if not posts:
        since = f" since event {case.log.begins}" if case.log.begins else ""
        return fact(f"nothing was posted on {name}{since}")
    many = fmt.count(len(posts), "work request")
    return fact(f"{many} posted on {name}, none outstanding; the last one here",
                event_of(posts[-1].record))  # fmt: skip


# ------------------------------------------------------------ silent-peer
@check("silent-peer")
def silent_peer(case: Case) -> Finding:
    """Whether its receives wait for messages of a peer that has nothing left to send."""
    waits = thread_wait(case)
    if waits is None or not waits.cqs:
        return NA
    numbers = {(cq.node, cq.number) for cq in waits.cqs}
    listening = [q for q in waits.qps if q.source.wqes and (q.node, q.recv_cq) in numbers
                 and q.state is not QPState.ERR]  # fmt: skip
    if not listening or any(case.world.find(cq, CompletionQueue).cqes for cq in waits.cqs):
        return ok("no receive of it waits for a message")
    qp = next((qp for qp in listening if is_quiet(case, qp)), None)
    peer = peer_of(case.world, qp) if qp is not None else None
    if qp is None or peer is None:
        return ok("its peer may still send")
    receives = fmt.count(len(qp.source.wqes), "receive")
    length = qp.source.wqes[0].length
    lines = [some_message(case, peer, length)] if peer.state is QPState.RTS else []
    return fail(
        fact(f"{receives} posted on {case.qp_name(qp)}, and no message has come for it"),
        _last_post(case, peer), waits.words(), cure=Fix(lines) if lines else None,
        since=waits.since(),
    )  # fmt: skip


# ------------------------------------------------------------ condition-false
@check("condition-false")
def condition_false(case: Case) -> Finding:
    """Whether a thread waits at rest for a condition that is false."""
    waits = thread_wait(case)
    question = waits.program.line.question if waits is not None else None
    if waits is None or question is None or waits.program.state is not ProgramState.WAITING:
        return NA
    values = [
        fact(f"{render(asked_fact)} is {_value(case.session.ask(asked_fact))}")
        for asked_fact in facts(question)
    ]
    return fail(
        *values, waits.words(), since=waits.since(),
        cure=Fix(program=f"wait for what the objects can reach; {render(question)} stays false"),
    )  # fmt: skip


def _value(value: object) -> str:
    return getattr(value, "name", None) or str(value)


# ------------------------------------------------------------ event-taken
@check("event-taken")
def event_taken(case: Case) -> Finding:
    """Whether an event of its device was returned to another thread since it was started."""
    waits, log = _for_an_event(case), case.log
    if waits is None:
        return NA
    begun = log.created(waits.thing)
    since = log.begins if begun is None else begun
    taken = [r for _, r in log.of(Kind.ASYNC_TAKEN, waits.program.node) if event_of(r) >= since]
    others = [(r, by) for r in taken if (by := log.asked(event_of(r))[1]) != waits.name]
    if not others:
        return ok("no other thread read an event since it was started")
    record, by = others[0]
    return fail(
        fact(f"{by or 'a call'} read {async_event_of(record).name}", event_of(record)),
        waits.words(),
        cure=Fix(program="read asynchronous events in one thread, and notify the others"),
    )  # fmt: skip


def _for_an_event(case: Case) -> ThreadWait | None:
    """Of a thread that waits for an asynchronous event what it waits for."""
    waits = thread_wait(case)
    asks = waits is not None and waits.program.line.text.startswith("get_async_event")
    return waits if asks else None


# ------------------------------------------------------------ sqd-notify-missing
@check("sqd-notify-missing")
def sqd_notify_missing(case: Case) -> Finding:
    """Whether a queue pair of its device has drained, and no event was raised."""
    waits = _for_an_event(case)
    if waits is None:
        return NA
    qps = [qp for qp in case.hca.qps.items.values() if qp.state is QPState.SQD]
    for qp in (qp for qp in qps if qp.comp.serial == qp.req.started):
        thing = Thing(Noun.QP, qp.node, qp.number)
        moved = event_of(case.log.about(Kind.STATE_CHANGED, thing)[-1].record)
        raised = case.log.about(Kind.ASYNC_RAISED, thing)
        since = [async_event_of(r) for _, r in raised if event_of(r) >= moved]
        if AsyncEvent.SQ_DRAINED not in since:
            name = case.names.of(thing)
            return fail(
                fact(f"{name} was moved to SQD without en_sqd_async_notify=1", moved),
                fact(f"it has drained, and no event was raised for {name}"), waits.words(),
                cure=Fix(program=f"modify_qp {name} state=SQD en_sqd_async_notify=1"),
            )  # fmt: skip
    return ok("no queue pair of its device has drained without an event")
