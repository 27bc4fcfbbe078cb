"""Which queue pair sends to which: where packets go, which QP expects them, and since when."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case, QueuePair, Send
from rdmalab.hca.attributes import AhAttr
from rdmalab.spec.records import Kind, event_of, new_state_of
from rdmalab.spec.states import QPState, QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.wire.packet import gid_text, is_multicast
from rdmalab.world.relations import find_qp, node_at, peer_node, peer_of, peer_thing
from rdmalab.world.world import World


# --------------------------------------------------------------------------- where packets go
def address_of(case: Case, send: Send) -> AhAttr | None:
    """What a datagram was sent to."""
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
    """Who believes that `qp` is its peer."""
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
    """The same of a send that is asked about, unless it went well."""
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
    lonely = [
        other
        for name, hca in world.nodes.items()
        if name == node or (not node and name != qp.node)
        for other in hca.qps.items.values()
        if other.qp_type is mate and not _taken(world, other)
    ]
    return lonely[0] if len(lonely) == 1 else None


def _taken(world: World, qp: QueuePair) -> bool:
    """It has a peer that knows it."""
    if qp.path is None:
        return False
    other = find_qp(world, peer_node(world, qp), qp.path.dest_qpn)
    return other is not None and is_for(world, other, qp)


def listeners(world: World, node: str, qkey: int) -> list[QueuePair]:
    """The UD queue pairs of a node that such a datagram may be for, those that wait first."""
    found = [
        qp
        for qp in world.nodes[node].qps.items.values()
        if qp.qp_type is QPType.UD and qp.attr.qkey == qkey
    ]
    return sorted(found, key=lambda qp: not qp.source.wqes)


# --------------------------------------------------------------------------- since when
def entered(case: Case, qp: QueuePair, state: QPState) -> int | None:
    """The event of its last step into a state."""
    return max(case.log.entered(qp.thing, state), default=None)


def peer_set_at(case: Case, qp: QueuePair) -> int | None:
    """The event that set its peer: the transition to RTR."""
    return entered(case, qp, QPState.RTR)


def state_at(case: Case, qp: QueuePair, event: int) -> tuple[QPState, int | None]:
    """The state in which it was then, and since which event."""
    moves = case.log.about(Kind.STATE_CHANGED, qp.thing)
    earlier = [r for r in moves if event_of(r) < event]
    return (new_state_of(earlier[-1]), event_of(earlier[-1])) if earlier else (QPState.RESET, None)


def destroyed(case: Case, node: str, number: int) -> int | None:
    """The event in which the queue pair of this number was destroyed."""
    return case.log.destroyed(Thing(Noun.QP, node, number)) if node else None
