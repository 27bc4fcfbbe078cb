"""The queue pairs and SRQs that the messages of a send go to, and those that expect them."""

from collections import Counter
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case, QueuePair, Send, SharedReceiveQueue
from rdmalab.doctor.evidence.finding import Evidence, fact
from rdmalab.doctor.evidence.log import Call
from rdmalab.doctor.evidence.made_good import left_refused
from rdmalab.doctor.evidence.messages import arrived_with
from rdmalab.hca.attributes import AhAttr
from rdmalab.hca.qp import RecvQueue
from rdmalab.spec import records as rec
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.records import Kind, event_of, new_state_of, packet_of, place_of, recv_wqe_of
from rdmalab.spec.states import QPState, QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.timers import INFINITE_RETRIES
from rdmalab.wire.packet import Packet, gid_text, is_multicast
from rdmalab.world.relations import find_qp, node_at, peer_node, peer_of, peer_thing
from rdmalab.world.world import World

RULE = "recv-shared"


class Refused(NamedTuple):
    """A send that found no receive on an SRQ. events: of the RNR NAKs, or of the drops."""

    target: QueuePair
    srq: SharedReceiveQueue
    events: list[int]

    @property
    def thing(self) -> Thing:
        """The SRQ."""
        return self.srq.thing


def refused(case: Case) -> Refused | None:
    """A send that failed or was dropped because an SRQ had no receive."""
    send, qp = case.send, case.qp
    peer = target(case)
    if send is None or qp is None or peer is None or not peer.shares_receives:
        return None
    srq = case.shared_by(peer)
    if srq is None:
        return None
    if not qp.transport.acknowledged:
        misses = case.unanswered.because("no-receive") if case.unanswered is not None else []
        return Refused(peer, srq, [miss.event for miss in misses]) if misses else None
    if not stays_without_receive(case, srq):
        return None
    naks = [row.event for row in send.rnr_naks]
    return Refused(peer, srq, naks) if naks else None


def ran_empty(case: Case) -> Refused | None:
    """A send that an empty SRQ refused, unless it was broken or its receive is on another queue."""
    found = refused(case)
    lost = found is None or found.srq.dead or misplaced_receive(case, found.target)
    return None if lost else found


def limit_reached(case: Case, found: Refused) -> int | None:
    """The last event in which SRQ_LIMIT_REACHED was raised for an SRQ before it refused a send."""
    raised = [event_of(r) for r in case.log.about(Kind.ASYNC_RAISED, found.thing)
              if rec.async_event_of(r) is AsyncEvent.SRQ_LIMIT_REACHED]  # fmt: skip
    return raised[-1] if raised and raised[-1] <= found.events[-1] else None


def found_empty(case: Case, found: Refused) -> list[Evidence]:
    """Evidence of the message that met an empty SRQ, after that of who took its last receive."""
    name, event = case.names.of(found.thing), found.events[0]
    taken = [r for r in case.log.of(Kind.RECV_TAKEN, found.srq.node)
             if recv_wqe_of(r).srq == found.srq.number and event_of(r) < event][-1:]  # fmt: skip
    takers = [(case.name(Noun.QP, *place_of(r)), event_of(r)) for r in taken]
    return [
        *(fact(f"{taker} consumed the last receive of {name}", at) for taker, at in takers),
        fact(f"a message came to {case.qp_name(found.target)}, and {name} was empty", event),
    ]


def stays_without_receive(case: Case, srq: SharedReceiveQueue) -> bool:
    """Whether it ended with RNR_RETRY_EXC_ERR, or waits without limit for an SRQ that has none."""
    send, qp = case.send, case.qp
    if send is None or qp is None:
        return False
    if send.ending is not None:
        return send.ending.status is WCStatus.RNR_RETRY_EXC_ERR
    endless = send.on_queue and qp.attr.rnr_retry == INFINITE_RETRIES
    return srq.dead or (endless and not srq.wqes)


def lacks_receive(case: Case, peer: QueuePair) -> bool:
    """Whether a send got an RNR NAK, and the peer still has no receive for it."""
    send = case.send
    if send is None or not send.rnr_naks:
        return False
    if send.ending is not None:
        return send.ending.status is WCStatus.RNR_RETRY_EXC_ERR
    return send.on_queue and not source(case, peer).wqes


_MADE_FIRST = ("create_qp", "create_srq", "create_cq", "alloc_pd")
"""A queue pair, and what its call names."""


def refused_creation(case: Case) -> Call | None:
    """The refused call that was to make the queue pair or SRQ which a send names by number.

    Nothing had this number, and no call has made good what was refused before the post.
    """
    send, qp, posted = case.send, case.qp, case.work.posted if case.work is not None else None
    if send is None or send.wqe is None or qp is None or posted is None:
        return None
    misses = case.unanswered.because("wrong-qpn") if case.unanswered is not None else []
    verbs: tuple[str, ...] = _MADE_FIRST
    node = misses[-1].node if misses else peer_node(case.world, qp)
    thing = Thing(Noun.QP, node, misses[-1].number) if misses else None
    if qp.transport.names_srq and send.ending is not None and not misses:
        is_named = send.ending.status is WCStatus.REM_INV_REQ_ERR
        verbs, thing = ("create_srq",), Thing(Noun.SRQ, node, send.wqe.wr.remote_srqn)
        thing = thing if is_named else None
    if thing is None or case.exists(thing) or case.log.destroyed(thing) is not None:
        return None
    if misses and qp.transport.connected and meant(case.world, qp, node) is not None:
        return None
    return next((c for v in verbs for c in left_refused(case.log, v, node, posted)), None)


def source(case: Case, peer: QueuePair) -> RecvQueue | SharedReceiveQueue:
    """The queue from which a message of the send takes its receive."""
    return case.shared_by(peer) or peer.source


def misplaced_receive(case: Case, peer: QueuePair) -> list[Evidence]:
    """The receive that was posted, or was to be posted, to another queue than the one it is of."""
    srq = case.shared_by(peer)
    own = (srq or peer).thing
    name = case.names.of(own) if srq else "its own receive queue"
    filled = [event_of(r) for r in case.log.about(
        Kind.SRQ_POSTED if srq else Kind.RECV_POSTED, own)]  # fmt: skip
    refused_ = [call for call in case.log.refused()
                if call.refusal == RULE and call.thing == (peer.node, peer.number)]  # fmt: skip
    takes = f"{case.qp_name(peer)} takes its receives from {name}"
    if refused_ and not filled:
        text = f"{refused_[0].verb} to {case.qp_name(peer)} was refused"
        return [fact(text, refused_[0].event), fact(takes)]
    pd = srq.pd if srq else peer.pd
    for number, other in case.world.nodes[peer.node].srqs.items.items():
        posts = case.log.about(Kind.SRQ_POSTED, Thing(Noun.SRQ, peer.node, number))
        first = next((event_of(r) for r in posts if event_of(r) > max(filled, default=-1)), None)
        if other is not source(case, peer) and other.wqes and other.pd == pd and first:
            got = f"{case.name(Noun.SRQ, peer.node, number)} got a receive"
            return [fact(got, first), fact(f"{takes}, which is empty")]
    return []


# --------------------------------------------------------------------------- where packets go
def address_of(case: Case, send: Send) -> AhAttr | None:
    """The address that a datagram was sent to; None if its handle is gone."""
    if send.wqe is None:
        return None
    made = send.wqe.av or case.hca.ahs.items.get(send.wqe.wr.ah or 0)
    return made.attr if made is not None else None


def goes_to(case: Case, send: Send) -> tuple[str, int]:
    """The node and the number of the queue pair; the node is empty if no port has the address."""
    qp, wqe = send.qp, send.wqe
    if qp is None or wqe is None:
        return "", 0
    if qp.transport.connected:
        thing = peer_thing(case.world, qp)
        return (thing.node, thing.number) if thing is not None else ("", 0)
    av = address_of(case, send)
    return (node_at(case.world, qp.node, av) if av is not None else ""), wqe.wr.remote_qpn


def target(case: Case) -> QueuePair | None:
    """The queue pair that the packets of a send go to, if it lives."""
    return find_qp(case.world, *goes_to(case, case.send)) if case.send is not None else None


def group_of(case: Case, send: Send) -> int:
    """The multicast address that a datagram was sent to; 0 for all others."""
    av = address_of(case, send)
    return av.dgid if av is not None and is_multicast(av.dgid) else 0


def gid_words(gid: int) -> str:
    """An address as a person writes it: 10.0.0.2, fe80::1."""
    return gid_text(gid).removeprefix("::ffff:")


# --------------------------------------------------------------------------- who expects them


def is_for(world: World, qp: QueuePair, other: QueuePair) -> bool:
    """Whether `qp` believes that `other` is its peer."""
    if qp.path is None or not qp.transport.connected or qp.path.dest_qpn != other.number:
        return False
    return peer_node(world, qp) == other.node


def expecting(world: World, qp: QueuePair) -> QueuePair | None:
    """Queue pair that has `qp` as its peer; None if there is none."""
    for hca in world.nodes.values():
        for other in hca.qps.items.values():
            if other is not qp and is_for(world, other, qp):
                return other
    return None


def mistaken(world: World, qp: QueuePair) -> tuple[QueuePair, QueuePair] | None:
    """The queue pair that its packets reach, and the one that expects them.

    None if these are the same, or if the reached one has no other peer.
    """
    reached, wanted = peer_of(world, qp), expecting(world, qp)
    if reached is None or wanted is None or reached is wanted:
        return None
    strange = reached is qp or (not is_for(world, reached, qp) and _taken(world, reached))
    return (reached, wanted) if strange else None


def misled(case: Case) -> tuple[QueuePair, QueuePair] | None:
    """QPs that a send reaches, and that expects it; None if they are the same or it succeeded."""
    send, qp = case.send, case.qp
    if send is None or qp is None or send.wqe is None or send.posted is None:
        return None
    good = send.ending is not None and send.ending.status is WCStatus.SUCCESS
    if good and (case.unanswered is None or not case.unanswered.misses):
        return None
    return mistaken(case.world, qp)


_MATES = {QPType.XRC_SEND: QPType.XRC_RECV, QPType.XRC_RECV: QPType.XRC_SEND}


def meant(world: World, qp: QueuePair, node: str = "") -> QueuePair | None:
    """The intended peer of a connected QP: the one that expects it, or the only unconnected one.

    node: where to look for an unconnected one; empty: on all other nodes.
    """
    found = expecting(world, qp)
    if found is not None:
        return found
    mate = _MATES.get(qp.qp_type, qp.qp_type)
    lonely = [other for name, hca in world.nodes.items()
              if name == node or (not node and name != qp.node) for other in hca.qps.items.values()
              if other.qp_type is mate and not _taken(world, other)]  # fmt: skip
    return lonely[0] if len(lonely) == 1 else None


def _taken(world: World, qp: QueuePair) -> bool:
    """Whether the queue pair has a peer that is connected to it."""
    if qp.path is None:
        return False
    other = find_qp(world, peer_node(world, qp), qp.path.dest_qpn)
    return other is not None and is_for(world, other, qp)


def listeners(world: World, node: str, qkey: int) -> list[QueuePair]:
    """The UD queue pairs of a node that such a datagram may be for, those that wait first."""
    found = [qp for qp in world.nodes[node].qps.items.values()
             if qp.qp_type is QPType.UD and qp.attr.qkey == qkey]  # fmt: skip
    return sorted(found, key=lambda qp: not qp.source.wqes)


def addressee(case: Case, sender: Thing, target: QueuePair, qkey: int) -> QueuePair | None:
    """The UD queue pair that a datagram was meant for, which came to one that expects none.

    It has this Q_Key and a receive that waits; the other one never had a receive, or got the reply
    to its request before.
    """
    if case.log.begins or target.shares_receives:
        return None
    if case.log.about(Kind.RECV_POSTED, target.thing):
        return _without_reply(case, sender, target, qkey)
    nodes = sorted(case.world.nodes, key=lambda node: node != target.node)
    waiting = (qp for node in nodes for qp in listeners(case.world, node, qkey) if qp.source.wqes)
    return next((qp for qp in waiting if qp is not target and qp.thing != sender), None)


def _without_reply(case: Case, sender: Thing, target: QueuePair, qkey: int) -> QueuePair | None:
    """The UD queue pair that sent a datagram to a sender and got none back, while another got two.

    None where the sender posts more datagrams than it gets: then they are no replies.
    """
    came = (arrived_with(case.log, r) for r in case.log.about(Kind.RECV_TAKEN, sender))
    requests = Counter(message.thing for message in came if message is not None)
    left = (packet_of(r) for r in case.log.about(Kind.PACKET_SENT, sender) if requests)
    replies = Counter(
        Thing(Noun.QP, case.world.network.target_of(packet.flow), packet.dest_qp)
        for packet in left if isinstance(packet, Packet)
    )  # fmt: skip
    if replies.total() > requests.total() or not 0 < requests[target.thing] < replies[target.thing]:
        return None
    ends = (find_qp(case.world, *thing[1:]) for thing in requests if not replies[thing])
    return next((qp for qp in ends if qp is not None and qp.source.wqes and qp.thing != sender
                 and qp.attr.qkey == qkey), None)  # fmt: skip


# --------------------------------------------------------------------------- since when
def peer_set_at(case: Case, qp: QueuePair) -> int | None:
    """The event that set its peer: the transition to RTR."""
    return case.log.last_entered(qp.thing, QPState.RTR)


def state_at(case: Case, qp: QueuePair, event: int) -> tuple[QPState, int | None]:
    """The state in which it was then, and since which event."""
    moves = case.log.about(Kind.STATE_CHANGED, qp.thing)
    earlier = [r for r in moves if event_of(r) < event]
    return (new_state_of(earlier[-1]), event_of(earlier[-1])) if earlier else (QPState.RESET, None)


def destroyed(case: Case, node: str, number: int) -> int | None:
    """The event in which the queue pair of this number was destroyed."""
    return case.log.destroyed(Thing(Noun.QP, node, number)) if node else None
