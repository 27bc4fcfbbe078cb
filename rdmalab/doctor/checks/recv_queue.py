"""Which queue a receive went to, and whether it had room."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.call import Call
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import shared
from rdmalab.doctor.facts.backlog import after_polling, answer, backlog
from rdmalab.doctor.finding import NA, Evidence, Finding, Fix, check, fact, fail, ok
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.fixes.reconnecting import receive_at, reconnect
from rdmalab.doctor.work import attempts
from rdmalab.doctor.work.send import Send
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.srq import SharedReceiveQueue
from rdmalab.hca.wqe import SendWqe
from rdmalab.hca.wr import SendWR
from rdmalab.spec.records import Kind, cqe_of, event_of, object_of, recv_wqe_of
from rdmalab.spec.rules import errno_name
from rdmalab.spec.states import QPState, QPType
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.views import fmt
from rdmalab.world.relations import node_at, peer_of

# ------------------------------------------------------------ srq-vs-rq
# srq-vs-rq: the receive went to another queue than the one that messages are taken from.


@check("srq-vs-rq")
def srq_vs_rq(case: Case) -> Finding:
    """Of a refused post_recv, whether its queue pair has an SRQ; of a send that finds no receive,
    whether receives were posted to an SRQ that the peer does not take them from."""
    if case.call is not None and case.call.verb == "post_recv" and case.qp is not None:
        return _of_call(case, case.call, case.qp)
    send, peer = case.send, case.peer
    if send is None or send.wqe is None or peer is None or not case.asked:
        return NA
    if not shared.lacks_receive(case, peer):
        return NA
    misplaced_receive = shared.misplaced_receive(case, peer)
    if not misplaced_receive:
        return ok("no receive for the peer was posted to another queue")
    cure = _where_it_is_taken(case, peer, send.wqe)
    return fail(
        *misplaced_receive, _no_receive(case, peer), cure=cure, since=misplaced_receive[0].event
    )


def _where_it_is_taken(case: Case, peer: QueuePair, wqe: SendWqe) -> Fix:
    """A receive on the right queue; where the send has ended, a new connection and the send."""
    srq = shared.shared_by(case, peer)
    lines = [simple_fixes.room(case, peer, wqe.length)]
    if srq is not None:
        pd = Thing(Noun.PD, srq.node, srq.pd)
        name = case.name(Noun.SRQ, srq.node, srq.number)
        lines = [receive_at(case, name, pd, wqe.length, srq.posted + 1)]
    qp = case.qp
    if qp is None or case.send is None or case.send.ending is None:
        return Fix(lines)
    again = simple_fixes.post_send(case, qp, wqe.wr)
    connect = reconnect(case, qp, peer)
    return Fix([*lines, *connect, again] if srq is not None else [*connect, *lines, again])


def _of_call(case: Case, call: Call, qp: QueuePair) -> Finding:
    if call.refusal != shared.RULE:
        return ok("it was posted to the right queue")
    attempt, srq = attempts.of_call(case.log, case.call), case.name(Noun.SRQ, qp.node, qp.srq)
    wrs = attempts.bound(case.session, attempt, attempt.left) if attempt is not None else []
    answer = f"{call.verb} returned {errno_name(call.errno)}: {call.message}"
    made = case.log.created(Thing(Noun.QP, qp.node, qp.number))
    lines = [simple_fixes.post_recv(case, qp, wr) for wr in wrs]
    return fail(
        fact(f"{case.qp_name(qp)} was made with srq={srq}", made),
        fact(answer, call.event),
        cure=Fix(lines) if lines else None,
        since=call.event,
    )


def _no_receive(case: Case, peer: QueuePair) -> Evidence:
    """The message that found none."""
    found = case.log.about(Kind.REQUEST_REFUSED, Thing(Noun.QP, peer.node, peer.number))
    return fact("a message found no receive", event_of(found[0].record) if found else None)


# ------------------------------------------------------------ recv-before-send
# recv-before-send: the answer is here, and was taken for the completion of the request.
@check("recv-before-send")
def recv_before_send(case: Case) -> Finding:
    """Of a post that found no slot, whether it followed the peer's answer and not a completion."""
    found, call = backlog(case), case.call
    if found is None or call is None or not case.asked:
        return NA
    if not found.all_under_way:
        return ok("some of what held its slots was done")
    message = answer(case, found)
    if message is None:
        return ok("no message was taken for their completion")
    last, cqe = found.sends[-1], cqe_of(message)
    lines = after_polling(case, found)
    return fail(
        _state(last, call.event),
        fact(f"the peer's message was polled ({fmt.wr(cqe.wr_id)} of the receives), "
             "which frees no slot", event_of(message)),
        fact(f"{call.verb} followed at once", call.event),
        cure=Fix(lines) if lines else None, since=last.posted,
    )  # fmt: skip


def _state(send: Send, event: int) -> Evidence:
    """The newest request, and where its acknowledgement was then."""
    name = fmt.wr(send.subject.wr_id)
    acks = [row for row in send.answers if row.event <= event]
    if not acks:
        return fact(f"{name} was posted, and not yet acknowledged", send.posted)
    return fact(f"{name} was posted, and its {acks[-1].label}, which left at "
                f"{fmt.ev(acks[-1].event)}, had not come", send.posted)  # fmt: skip


# ------------------------------------------------------------ rq-full
# rq-full: as many receives are posted as the queue holds.
Queue = QueuePair | SharedReceiveQueue
_POSTED = {Noun.QP: Kind.RECV_POSTED, Noun.SRQ: Kind.SRQ_POSTED}


@check("rq-full")
def rq_full(case: Case) -> Finding:
    """Of a receive that found no slot, whether all slots held receives that no message took."""
    call, queue = case.call, attempts.queue_of(case.world, case.call)
    if call is None or queue is None or call.verb not in attempts.RECEIVING or not case.asked:
        return NA
    if call.refusal != "queue-full":
        return ok("the receive queue was not full")
    thing = _thing(queue)
    name, many = case.names.of(thing), _capacity(queue)
    if _waiting(case, queue, thing, call.event) < many:
        return ok("messages had taken some of its receives")
    posted = [event_of(r) for _, r in case.log.about(_POSTED[thing.noun], thing)
              if event_of(r) <= call.event]  # fmt: skip
    return fail(
        fact(f"{fmt.count(many, 'receive')} are all that {name} holds, and no message had taken "
             "one of them", posted[-many] if len(posted) >= many else None),
        fact(f"{call.verb} returned {errno_name(call.errno)}, which is the answer: it does not set "
             "errno", call.event),
        cure=_cure(case, queue), since=call.event,
    )  # fmt: skip


def _thing(queue: Queue) -> Thing:
    return Thing(Noun.QP if isinstance(queue, QueuePair) else Noun.SRQ, queue.node, queue.number)


def _capacity(queue: Queue) -> int:
    return queue.rq.capacity if isinstance(queue, QueuePair) else queue.capacity


def _waiting(case: Case, queue: Queue, thing: Thing, event: int) -> int:
    """How many receives waited in that event: what waits now, less what came and went since."""
    now = len(queue.rq.wqes if isinstance(queue, QueuePair) else queue.wqes)
    shared = thing.number if thing.noun is Noun.SRQ else 0
    taken = sum(
        event_of(r) > event
        and recv_wqe_of(r).srq == shared
        and (shared > 0 or object_of(r) == thing.number)
        for _, r in case.log.of(Kind.RECV_TAKEN, thing.node)
    )
    posted = sum(event_of(r) > event for _, r in case.log.about(_POSTED[thing.noun], thing))
    return int(now + taken - posted)


# --------------------------------------------------------------------------- the cure
def _cure(case: Case, queue: Queue) -> Fix:
    """A message takes the oldest of them, and its polled completion gives the slot back."""
    attempt = attempts.of_call(case.log, case.call)
    users = case.world.nodes[queue.node].qps.items.values()
    takers = [queue] if isinstance(queue, QueuePair) else [
        qp for qp in users if qp.srq == queue.number
    ]  # fmt: skip
    for qp in takers:
        message = _message(case, qp)
        if message and attempt is not None and qp.recv_cq:
            cq = case.name(Noun.CQ, qp.node, qp.recv_cq)
            again = attempts.said_again(case.session, attempt, attempt.left)
            return Fix([message, "run", f"poll_cq {cq}", again])
    return Fix(program="count the receives that are posted, or ask for a longer queue when it is "
                        "made")  # fmt: skip


def _message(case: Case, qp: QueuePair) -> str:
    """An empty message to this queue pair, from its peer or from a datagram's sender."""
    wr = SendWR(opcode=WROpcode.SEND, flags=SendFlags.SIGNALED)
    peer = peer_of(case.world, qp)
    if peer is not None and peer.state is QPState.RTS:
        return simple_fixes.post_send(case, peer, wr, wr_id=None)
    for hca in case.world.nodes.values():
        for other in hca.qps.items.values():
            ah = _handle(case, other, qp)
            if ah and other.state is QPState.RTS and qp.qp_type is QPType.UD:
                wr.ah, wr.remote_qpn, wr.remote_qkey = ah, qp.number, qp.attr.qkey or 0
                return simple_fixes.post_send(
                    case, other, wr, wr_id=None, remote_qpn=case.qp_name(qp)
                )
    return ""


def _handle(case: Case, sender: QueuePair, receiver: QueuePair) -> int:
    """The number of an address handle of a UD queue pair that leads there; 0: it has none."""
    handles = case.world.nodes[sender.node].ahs.items.values()
    if sender.qp_type is not QPType.UD or sender is receiver:
        return 0
    leads = (
        ah.number
        for ah in handles
        if ah.pd == sender.pd and node_at(case.world, sender.node, ah.attr) == receiver.node
    )
    return next(leads, 0)
