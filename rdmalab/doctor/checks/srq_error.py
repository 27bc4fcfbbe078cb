"""A shared receive queue, or a queue pair that uses one, in its error state."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.facts.shared import Refused, refused
from rdmalab.doctor.facts.undelivered import users_of
from rdmalab.doctor.facts.waiting import watcher
from rdmalab.doctor.finding import NA, Evidence, Finding, Fix, check, fact, fail, ok, warn
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.fixes.reconnecting import create_like, join, room, some_message
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.srq import SharedReceiveQueue
from rdmalab.hca.wqe import RecvWqe
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.records import Kind, async_event_of, event_of
from rdmalab.spec.states import QPState
from rdmalab.views import fmt
from rdmalab.world.relations import peer_of

# ------------------------------------------------------------ srq-error
# srq-error: the shared receive queue broke, and gives no receive any more.
_MOST = 4


@check("srq-error")
def srq_error(case: Case) -> Finding:
    """Of a send that found no receive, a receive that waits, or a call that was refused."""
    if case.send is not None:
        return _of_send(case)
    srq = _asked_about(case)
    if srq is None:
        return NA
    if not srq.dead:
        return ok("the shared receive queue works")
    broke = _broke(case, srq)
    return fail(*broke, fact(f"it keeps what it has: {fmt.count(len(srq.lost), 'receive')}"),
                cure=Fix(program=_SRQ_ERROR_PROGRAM))  # fmt: skip


_SRQ_ERROR_PROGRAM = (
    "make a new SRQ and queue pairs on it when IBV_EVENT_SRQ_ERR comes; this one is lost"
)


def _asked_about(case: Case) -> SharedReceiveQueue | None:
    receive, call = case.receive, case.call
    if receive is not None and receive.shared and case.asked and receive.ending is None:
        found = receive.queue
        return found if isinstance(found, SharedReceiveQueue) else None
    if call is not None and call.refusal == "srq-error":
        return case.world.nodes[call.thing[0]].srqs.items.get(call.thing[1])
    return None


def _of_send(case: Case) -> Finding:
    found = refused(case)
    if found is None:
        return NA
    if not found.srq.dead:
        return ok("the shared receive queue works")
    kept = fmt.count(len(found.srq.lost), "receive")
    return fail(
        *_broke(case, found.srq),
        fact(f"it keeps {kept}, and {case.qp_name(found.target)} finds none", found.events[0]),
        cure=_srq_error_cure(case, found),
    )


def _broke(case: Case, srq: SharedReceiveQueue) -> list[Evidence]:
    thing = Thing(Noun.SRQ, srq.node, srq.number)
    return [
        fact(f"{case.names.of(thing)} broke", event_of(r))
        for _, r in case.log.about(Kind.SRQ_FAILED, thing)[:1]
    ]


def _srq_error_cure(case: Case, found: Refused) -> Fix | None:
    """A new SRQ, a new queue pair on it, the receives that are stuck, and the message again."""
    send, qp, target = case.send, case.qp, found.target
    if send is None or qp is None or send.wqe is None or not target.srq:
        return Fix(program=_SRQ_ERROR_PROGRAM)
    queue, name = (simple_fixes.free_name(case, noun, target.node) for noun in (Noun.SRQ, Noun.QP))
    pd = case.name(Noun.PD, target.node, found.srq.pd)
    sizes = {"pd": pd, "max_wr": found.srq.capacity, "max_sge": found.srq.max_sge}
    stuck = list(found.srq.lost)[:_MOST]
    return Fix([
        simple_fixes.line("create_srq", queue, sizes),
        create_like(case, target, name, srq=queue),
        *join(case, qp, name),
        _restocked(case, queue, target.node, stuck) if stuck
        else room(case, target, send.wqe.wr, send.wqe.length),
        simple_fixes.post_send(case, qp, send.wqe.wr),
    ])  # fmt: skip


def _restocked(case: Case, name: str, node: str, stuck: list[RecvWqe]) -> str:
    """What the broken queue keeps, posted to the new one."""
    said_ = [
        f"wr={{wr_id={wqe.wr.wr_id} "
        f"sg={','.join(simple_fixes.sge_words(case, node, sge) for sge in wqe.wr.sg)}}}"
        for wqe in stuck
    ]
    return " ".join(["post_srq_recv", name, *said_])


# ------------------------------------------------------------ srq-qp-err-no-flush
# srq-qp-err-no-flush: a queue pair died, and the receives of its SRQ are not flushed.
_SRQ_QP_ERR_NO_FLUSH_PROGRAM = (
    "count no flushes of an SRQ: wait for QP_LAST_WQE_REACHED, its receives serve others"
)


@check("srq-qp-err-no-flush")
def srq_qp_err_no_flush(case: Case) -> Finding:
    """Of a receive that waits on an SRQ, whether a queue pair that used it is in ERR."""
    receive = case.receive
    if receive is None or not receive.shared or not case.asked or receive.queue is None:
        return NA
    if not receive.on_queue:
        return NA
    users = users_of(case, case.subject.thing)
    dead = [qp for qp in users if qp.state is QPState.ERR]
    if not dead:
        return ok("no queue pair of the SRQ is in ERR")
    qp, name = dead[0], case.names.of(case.subject.thing)
    facts = [
        fact(f"{case.qp_name(qp)} entered ERR", partners.entered(case, qp, QPState.ERR)),
        fact(f"{name} still has {fmt.count(len(receive.queue.wqes), 'receive')}: they are its "
             "own, and are not flushed"),
        _last(case, qp),
    ]  # fmt: skip
    cure = _srq_qp_err_no_flush_cure(
        case, users, receive.wqe.length if receive.wqe is not None else 0
    )
    watching = watcher(case, qp)
    if not watching:  # others may use it up
        return warn(*facts, cure=cure)
    return fail(*facts, fact(f"{watching} waits"), cure=cure)


def _last(case: Case, qp: QueuePair) -> Evidence:
    """The event that comes instead of flushes."""
    raised = [
        event_of(r)
        for _, r in case.log.about(Kind.ASYNC_RAISED, Thing(Noun.QP, qp.node, qp.number))
        if async_event_of(r) is AsyncEvent.QP_LAST_WQE_REACHED
    ]
    if raised:
        return fact("QP_LAST_WQE_REACHED reports that it consumes no more", raised[-1])
    return fact("this device raises no QP_LAST_WQE_REACHED either")


def _srq_qp_err_no_flush_cure(case: Case, users: list[QueuePair], length: int) -> Fix:
    """The next message through another queue pair takes it."""
    for qp in users:
        peer = peer_of(case.world, qp)
        if qp.state is QPState.RTS and peer is not None and peer.state is QPState.RTS:
            return Fix([some_message(case, peer, min(length, _BYTES))])
    return Fix(program=_SRQ_QP_ERR_NO_FLUSH_PROGRAM)


_BYTES = 8
