"""Shared receive queues: empty, taken by others, in error; XRC."""

from typing import NamedTuple

from rdmalab.doctor.facts.receivers import Refused
from rdmalab.doctor.kit import *
from rdmalab.hca.srq import named_srq
from rdmalab.spec.async_events import AsyncEvent


@check("srq-stolen", asked=True)
def srq_stolen(case: Case, receive: Receive) -> Finding:
    """Check whether one QP took the receive, and then another QP of the SRQ found none."""
    taker = case.qp
    if not receive.shared or receive.taking is None:
        return NA
    event = event_of(receive.taking)
    others = (qp for qp in undelivered.users_of(case, case.subject.thing) if qp is not taker)
    left_out = [(qp, at) for qp in others if (at := _refused(case, qp, event)) is not None]
    if taker is None or not left_out or receive.queue is None or receive.queue.wqes:
        return ok("no other queue pair lacked a receive")
    qp, since = left_out[0]
    name = case.name(Noun.SRQ, qp.node, case.subject.thing.number)
    return fail(
        fact(f"it was posted to {name}, which gives it to any QP", receive.posted),
        fact(f"{case.qp_name(taker)} consumed it", event),
        fact(f"then a message came to {case.qp_name(qp)}, and {name} was empty", since),
        cure=_srq_stolen_cure(case, receive, qp), since=event,
    )  # fmt: skip


def _refused(case: Case, qp: QueuePair, since: int) -> int | None:
    """The event in which it had no receive for a message that still waits."""
    found = [event_of(r) for kind in (Kind.REQUEST_REFUSED, Kind.PACKET_DROPPED)
             for r in case.log.about(kind, qp.thing)
             if reason_of(r) == "no-receive" and event_of(r) > since]  # fmt: skip
    taken = case.log.about(Kind.RECV_TAKEN, qp.thing)
    return found[0] if found and not any(event_of(r) > found[-1] for r in taken) else None


def _srq_stolen_cure(case: Case, receive: Receive, qp: QueuePair) -> Fix | None:
    """As many receives as messages can come at once."""
    wqe, peer = receive.wqe, peer_of(case.world, qp)
    if wqe is None or (peer is not None and peer.comp.serial == peer.sq.posted):
        return None
    return Fix([commands.post_recv(case, qp, wqe.wr)])


class Limit(NamedTuple):
    """The SRQ_LIMIT_REACHED event. value: the armed srq_limit; heeded: what followed, in words."""

    event: int
    value: int
    heeded: str


@check("srq-empty-limit", found=receivers.refused)
def srq_empty_limit(case: Case, found: Refused) -> Finding:
    """Of a send that found no receive on an SRQ: since when, and whether its event was heeded."""
    limit = _limit(case, found) if receivers.ran_empty(case) is not None else None
    if limit is None:
        return ok("no limit was armed, or it was not empty, but broken or not meant")  # see no-rr
    name = case.name(Noun.SRQ, found.srq.node, found.srq.number)
    return blocking(
        case,
        fact(f"SRQ_LIMIT_REACHED was raised for {name}: {limit.heeded}", limit.event),
        *receivers.found_empty(case, found),
        cure=Fix(recovery.refilled(case, found, limit.value)),
    )


def _limit(case: Case, found: Refused) -> Limit | None:
    """The last time that SRQ_LIMIT_REACHED was raised."""
    reached = receivers.limit_reached(case, found)
    if reached is None:
        return None
    settings = case.log.about(Kind.SRQ_SET, found.thing)
    armed = [r for r in settings if rec.srq_field_of(r) == "srq_limit"]
    again = any(event_of(r) > reached and rec.srq_value_of(r) for r in armed)
    value = rec.srq_value_of(armed[-1]) if armed else 0
    return Limit(reached, value, _heeded(case, found, reached, again=again))


def _raised(case: Case, thing: Thing, event: AsyncEvent) -> list[int]:
    """The events in which an asynchronous event was raised for a thing, oldest first."""
    raised = case.log.about(Kind.ASYNC_RAISED, thing)
    return [event_of(r) for r in raised if rec.async_event_of(r) is event]


def _heeded(case: Case, found: Refused, raised: int, *, again: bool) -> str:
    """`B.refill posted 2 receives since`, or that no program read the event."""
    unread = case.world.nodes[found.srq.node].async_events
    if (AsyncEvent.SRQ_LIMIT_REACHED, found.srq.number) in unread:
        return "no program read it"
    posts = [r for r in case.log.about(Kind.SRQ_POSTED, found.thing)
             if raised < event_of(r) < found.events[0]]  # fmt: skip
    if not posts:
        return "a program read it, and posted nothing"
    unarmed = "" if again else "; no modify_srq armed it again"
    who = case.log.who(event_of(posts[0]))
    return f"{who} posted {fmt.count(len(posts), 'receive')} since{unarmed}"


@check("xrc-srqn")
def xrc_srqn(case: Case, send: Send, wqe: SendWqe, qp: QueuePair) -> Finding:
    """Check whether the peer refused the request because of its remote_srqn."""
    peer = case.peer
    if not qp.transport.names_srq:
        return NA
    if send.ending is None or send.ending.status is not WCStatus.REM_INV_REQ_ERR or peer is None:
        return ok("the peer knows the SRQ that it names")
    refused = case.log.about(Kind.REQUEST_REFUSED, peer.thing)
    naks = [event_of(r) for r in refused if reason_of(r) == "wrong-srq"
            and (send.posted or 0) < event_of(r) <= send.ending.event]  # fmt: skip
    if not naks:
        return ok("it was refused for another reason")
    return fail(
        fact(
            f"it names remote_srqn={wqe.wr.remote_srqn:#x}: {_of_domain(case, peer, wqe)}",
            send.posted,
        ),
        fact(f"{case.qp_name(peer)} refused it", naks[-1]),
        *_known(case, peer),
        cure=_xrc_srqn_cure(case, qp, peer, wqe),
    )


def _srqs(case: Case, peer: QueuePair) -> list[SharedReceiveQueue]:
    """The SRQs that it could have named, those with receives first."""
    hca = case.world.nodes[peer.node]
    found = [srq for srq in hca.srqs.items.values() if named_srq(hca, peer, srq.number) is srq]
    return sorted(found, key=lambda srq: not srq.wqes)


def _of_domain(case: Case, peer: QueuePair, wqe: SendWqe) -> str:
    """Whose the number is: of an SRQ in another domain, or of none."""
    srq = case.world.nodes[peer.node].srqs.items.get(wqe.wr.remote_srqn)
    if srq is None or not srq.xrcd:
        gone = case.log.destroyed(thing := Thing(Noun.SRQ, peer.node, wqe.wr.remote_srqn))
        of = f"that was {case.names.of(thing)}, which {case.log.who(gone)} destroyed in "
        return f"{of}{fmt.ev(gone)}" if gone is not None else "its domain has no such SRQ"
    theirs, ours = (case.name(Noun.XRCD, peer.node, number) for number in (srq.xrcd, peer.xrcd))
    return f"that is {case.names.of(srq.thing)} of {theirs}, and {case.qp_name(peer)} is in {ours}"


def _known(case: Case, peer: QueuePair) -> list[Evidence]:
    found = [f"{case.name(Noun.SRQ, srq.node, srq.number)} is {srq.number:#x} and has "
             f"{fmt.count(len(srq.wqes), 'receive')}" for srq in _srqs(case, peer)]  # fmt: skip
    return [fact(", ".join(found))] if found else []


def _xrc_srqn_cure(case: Case, qp: QueuePair, peer: QueuePair, wqe: SendWqe) -> Fix | None:
    """Both ends reset and connected, and the message once more to an SRQ that exists."""
    srqs = _srqs(case, peer)
    if not srqs:
        return Fix(program="make an XRC SRQ in the peer's domain, and send its srq_num")
    name, receives = case.names.of(srqs[0].thing), list[str]()
    if not srqs[0].wqes and commands.needs_receive(wqe.wr):
        domain = Thing(Noun.PD, peer.node, srqs[0].pd)
        receives = commands.receive_at(case, name, domain, wqe.length, wqe.wr.wr_id)
    again = commands.post_send(case, qp, wqe.wr, remote_srqn=name)
    return Fix([*reconnect(case, qp, peer), *receives, again])


_MOST = 4


def _asked_about(case: Case) -> SharedReceiveQueue | None:
    receive, call = case.receive, case.call
    if call is not None and call.refusal == "srq-error":
        return case.world.nodes[call.thing[0]].srqs.items.get(call.thing[1])
    waits = receive is not None and case.asked and receive.ending is None
    queue = receive.queue if receive is not None and waits else None
    return queue if isinstance(queue, SharedReceiveQueue) else None


@check("srq-error", srq=_asked_about, found=receivers.refused)
def srq_error(case: Case, srq: SharedReceiveQueue) -> Finding:
    """Of a send that found no receive, a receive that waits, or a call that was refused."""
    if not srq.dead:
        return ok("the shared receive queue works")
    broke = _broke(case, srq)
    left = fmt.count(len(srq.lost), "receive")
    return fail(*broke, fact(f"the SRQ gives out none of its {left}"),
                cure=Fix(program=_MAKE_A_NEW_ONE))  # fmt: skip


_MAKE_A_NEW_ONE = (
    "make a new SRQ and queue pairs on it when IBV_EVENT_SRQ_ERR comes; this one is lost"
)


@srq_error.instead
def _of_send(case: Case, send: Send, found: Refused) -> Finding:
    if not found.srq.dead:
        return ok("the shared receive queue works")
    kept = fmt.count(len(found.srq.lost), "receive")
    return fail(
        *_broke(case, found.srq),
        fact(f"the SRQ gives out none of its {kept}; {case.qp_name(found.target)} finds none",
             found.events[0]),
        cure=_srq_error_cure(case, found),
    )  # fmt: skip


def _broke(case: Case, srq: SharedReceiveQueue) -> list[Evidence]:
    return [fact(f"{case.names.of(srq.thing)} broke", event_of(r))
            for r in case.log.about(Kind.SRQ_FAILED, srq.thing)[:1]]  # fmt: skip


def _srq_error_cure(case: Case, found: Refused) -> Fix | None:
    """A new SRQ, a new queue pair on it, the receives that are stuck, and the message again."""
    send, qp, target = case.send, case.qp, found.target
    if send is None or qp is None or send.wqe is None or not target.srq:
        return Fix(program=_MAKE_A_NEW_ONE)
    room = commands.piece(case, target.node, found.srq.pd, send.wqe.length)
    stuck = [wqe.wr for wqe in list(found.srq.lost)[:_MOST]] or [RecvWR(send.wqe.wr.wr_id, room)]
    lines = recovery.on_new_srq(case, qp, target, found.srq, stuck)
    return Fix([*lines, commands.post_send(case, qp, send.wqe.wr)])


_SRQ_QP_ERR_NO_FLUSH_PROGRAM = (
    "count no flushes of an SRQ: wait for QP_LAST_WQE_REACHED, its receives serve others"
)


@check("srq-qp-err-no-flush", asked=True)
def srq_qp_err_no_flush(case: Case, receive: Receive) -> Finding:
    """Of a receive that waits on an SRQ, whether a queue pair that used it is in ERR."""
    if not receive.shared or receive.queue is None or not receive.on_queue:
        return NA
    users = undelivered.users_of(case, case.subject.thing)
    dead = [qp for qp in users if qp.state is QPState.ERR]
    if not dead:
        return ok("no queue pair of the SRQ is in ERR")
    qp, name = dead[0], case.names.of(case.subject.thing)
    facts = [
        fact(f"{case.qp_name(qp)} entered ERR", case.log.last_entered(qp.thing, QPState.ERR)),
        fact(f"{name} still has {fmt.count(len(receive.queue.wqes), 'receive')}: they are its "
             "own, and are not flushed"),
        _last_event(case, qp),
    ]  # fmt: skip
    length = receive.wqe.length if receive.wqe is not None else 0
    cure = _srq_qp_err_no_flush_cure(case, users, length)
    watching = undelivered.watcher(case, qp)
    if not watching:  # others may use it up
        return warn(*facts, cure=cure)
    return fail(*facts, fact(f"{watching} waits"), cure=cure)


def _last_event(case: Case, qp: QueuePair) -> Evidence:
    """The event that comes instead of flushes."""
    if raised := _raised(case, qp.thing, AsyncEvent.QP_LAST_WQE_REACHED):
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
