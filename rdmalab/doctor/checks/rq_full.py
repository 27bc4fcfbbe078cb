"""rq-full: as many receives are posted as the queue holds."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import attempts
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.srq import SharedReceiveQueue
from rdmalab.hca.wr import SendWR
from rdmalab.spec.records import A, Kind, event_of, object_of
from rdmalab.spec.rules import errno_name
from rdmalab.spec.states import QPState, QPType
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.views import fmt
from rdmalab.world.relations import node_at, peer_of

Queue = QueuePair | SharedReceiveQueue
_POSTED = {Noun.QP: Kind.RECV_POSTED, Noun.SRQ: Kind.SRQ_POSTED}


def examine(case: Case) -> Finding:
    """Of a receive that found no slot, whether all slots held receives that no message took."""
    call, queue = case.call, attempts.queue_of(case)
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
        said(f"{fmt.count(many, 'receive')} are all that {name} holds, and no message had taken "
             "one of them", posted[-many] if len(posted) >= many else None),
        said(f"{call.verb} returned {errno_name(call.errno)}, which is the answer: it does not set "
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
        event_of(r) > event and r[A].srq == shared and (shared > 0 or object_of(r) == thing.number)
        for _, r in case.log.of(Kind.RECV_TAKEN, thing.node)
    )
    posted = sum(event_of(r) > event for _, r in case.log.about(_POSTED[thing.noun], thing))
    return int(now + taken - posted)


# --------------------------------------------------------------------------- the cure
def _cure(case: Case, queue: Queue) -> Fix:
    """A message takes the oldest of them, and its polled completion gives the slot back."""
    attempt = attempts.of_call(case)
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


CHECK = Check(
    103, "rq-full", Section.RECEIVE,
    question="Was the receive queue full of receives that wait?",
    rule="a receive holds its slot until a message has taken it and its completion is polled",
    source="ompi-376", examine=examine,
)  # fmt: skip
