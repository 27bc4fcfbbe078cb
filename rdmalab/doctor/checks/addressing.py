"""The queue pair number and the address that packets are sent to."""

from rdmalab.command import Noun
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.finding import NA, Evidence, Finding, Fix, check, fact, hinders, ok
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.fixes.reconnecting import once_more, reconnect
from rdmalab.doctor.work.send import Send
from rdmalab.doctor.work.unanswered_sends import Unanswered
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wqe import SendWqe
from rdmalab.spec.records import Kind, event_of, packet_of, reason_of
from rdmalab.views import fmt
from rdmalab.wire.packet import Packet
from rdmalab.world.network import NO_ADDRESS
from rdmalab.world.relations import peer_node


# ------------------------------------------------------------ wrong-qpn
# wrong-qpn: at the other node no QP has the number in the packets, or a QP with another peer.
@check("wrong-qpn")
def wrong_qpn(case: Case) -> Finding:
    """Whether its packets were dropped because no queue pair has that number."""
    misled = partners.misled(case)
    if misled is not None and misled[0].node == misled[1].node:
        return _wrong_qpn_of_another(case, *misled)
    unanswered, qp = case.unanswered, case.qp
    if unanswered is None or qp is None or unanswered.send.wqe is None:
        return NA
    misses = unanswered.because("wrong-qpn")
    if not misses:
        return ok("each of its packets named a QP number that exists")
    node, number = misses[-1].node, misses[-1].number
    gone = partners.destroyed(case, node, number)
    set_at = _peer_set_at(case, qp)
    if gone is not None and set_at is not None and gone > set_at:
        return ok(f"queue pair {number:#x} was there when they were connected", set_at)
    evidence = [
        _number_evidence(case, qp, number, set_at),
        fact(f"{node} has no queue pair {number:#x}: {_dropped(len(misses))}", misses[-1].event),
        *([fact(f"queue pair {number:#x} of {node} was destroyed", gone)] if gone else []),
    ]
    cure, right = _wrong_qpn_cure(case, qp, unanswered.send.wqe, node)
    if right is not None:
        evidence.append(fact(f"{case.qp_name(right)} has number {right.number:#x}"))
    return unanswered.finding(*evidence, cure=cure, since=set_at or unanswered.send.posted)


def _wrong_qpn_of_another(case: Case, reached: QueuePair, wanted: QueuePair) -> Finding:
    """The number is that of a queue pair which has another peer."""
    qp, wqe = case.qp, case.send.wqe if case.send is not None else None
    if qp is None or wqe is None:
        return NA
    set_at, right = partners.peer_set_at(case, qp), case.qp_name(wanted)
    lines = reconnect(case, qp, wanted) + once_more(case, qp, wqe.wr, wanted, after_reset=True)
    return hinders(
        case,
        fact(f"{case.qp_name(qp)} was given dest_qp_num={reached.number:#x}", set_at),
        fact(f"that is {case.qp_name(reached)}, which has another peer",
             partners.peer_set_at(case, reached)),
        fact(f"{right}, which expects {case.qp_name(qp)}, has number {wanted.number:#x}",
             partners.peer_set_at(case, wanted)),
        cure=Fix(lines), since=set_at,
    )  # fmt: skip


def _peer_set_at(case: Case, qp: QueuePair) -> int | None:
    """The event that set the peer of a connected QP; None for UD, whose WRs each name one."""
    return partners.peer_set_at(case, qp) if qp.transport.connected else None


def _dropped(number: int) -> str:
    return f"{fmt.count(number, 'packet')} dropped"


def _number_evidence(case: Case, qp: QueuePair, number: int, set_at: int | None) -> Evidence:
    if qp.transport.connected:
        return fact(f"{case.qp_name(qp)} was given dest_qp_num={number:#x}", set_at)
    posted = case.send.posted if case.send is not None else None
    return fact(f"it was posted with remote_qpn={number:#x}", posted)


def _wrong_qpn_cure(
    case: Case, qp: QueuePair, wqe: SendWqe, node: str
) -> tuple[Fix | None, QueuePair | None]:
    """Tell the number of who is meant; None where that is anybody's guess."""
    if not qp.transport.connected:
        found = partners.listeners(case.world, node, wqe.wr.remote_qkey)
        if not found:
            return None, None
        name = case.qp_name(found[0])
        return Fix(once_more(case, qp, wqe.wr, found[0], remote_qpn=name)), found[0]
    peer = partners.meant(case.world, qp, node)
    if peer is None:
        return None, None
    lines = reconnect(case, qp, peer)
    return Fix(lines + once_more(case, qp, wqe.wr, peer, after_reset=True)), peer


# ------------------------------------------------------------ wrong-gid
# wrong-gid: packets go to an address that no port has, or come from one the peer rejects.
_LOST = (NO_ADDRESS, "wrong-address")


@check("wrong-gid")
def wrong_gid(case: Case) -> Finding:
    """Which address is wrong: that of the peer, or the one it is known by there."""
    misled = partners.misled(case)
    if misled is not None and misled[0].node != misled[1].node:
        return _wrong_gid_of_another(case, misled[1])
    unanswered, qp = case.unanswered, case.qp
    if unanswered is None or qp is None or unanswered.send.wqe is None:
        return NA
    if unanswered.because(*_LOST):
        return _no_owner(case, unanswered, qp)
    if unanswered.because("wrong-source"):
        return _disowned(case, unanswered, qp)
    if not unanswered.misses and (found := _no_way_back(case, unanswered, qp)) is not None:
        return found
    return ok("the addresses of its packets are those of the two nodes")


def _wrong_gid_of_another(case: Case, wanted: QueuePair) -> Finding:
    """The GID is that of a node on which another QP has the number."""
    send, qp = case.send, case.qp
    if send is None or qp is None:
        return NA
    since, node = partners.peer_set_at(case, qp), peer_node(case.world, qp)
    gid = qp.path.flow.dst if qp.path is not None else 0
    return hinders(
        case,
        fact(f"{case.qp_name(qp)} sends to {partners.gid_words(gid)}, which is {node}", since),
        fact(f"{case.qp_name(wanted)} expects it", partners.peer_set_at(case, wanted)),
        *_addresses(case, wanted), cure=_wrong_gid_cure(case, send, qp, wanted), since=since,
    )  # fmt: skip


def _since(case: Case, qp: QueuePair, unanswered: Unanswered) -> int | None:
    """The event that set the address: of the connection, or of the post of a datagram."""
    return partners.peer_set_at(case, qp) if qp.transport.connected else unanswered.send.posted


def _moved(case: Case, node: str, since: int | None) -> int | None:
    """The first event after the connection in which the node's addresses changed."""
    changes = [event_of(r) for _, r in case.log.of(Kind.GID_SET, node)]
    return next((event for event in changes if event > (since or 0)), None)


def _no_owner(case: Case, unanswered: Unanswered, qp: QueuePair) -> Finding:
    misses, since = unanswered.because(*_LOST), _since(case, qp, unanswered)
    gid = misses[-1].packet.flow.dst
    node = case.world.network.target_of(misses[-1].packet.flow)
    moved = _moved(case, node, since) if node else None
    evidence = [fact(f"{case.qp_name(qp)} sends to {partners.gid_words(gid)}", since)]
    if moved is not None:
        evidence.append(fact(f"{node} got other addresses", moved))
    evidence.append(fact("no port has that address: the packets are dropped", misses[-1].event))
    peer = _partner(case, unanswered, qp, node)
    return unanswered.finding(
        *evidence, *_addresses(case, peer),
        cure=_wrong_gid_cure(case, unanswered.send, qp, peer), since=moved or since,
    )  # fmt: skip


def _addresses(case: Case, peer: QueuePair | None) -> list[Evidence]:
    if peer is None:
        return []
    gids = " and ".join(partners.gid_words(gid) for gid in case.world.nodes[peer.node].gids if gid)
    return [fact(f"{peer.node} has {gids}")]


def _partner(case: Case, unanswered: Unanswered, qp: QueuePair, node: str) -> QueuePair | None:
    """Who should have got it: who expects it, or who has the number."""
    if qp.transport.connected:
        return partners.meant(case.world, qp, node)
    number = unanswered.send.wqe.wr.remote_qpn if unanswered.send.wqe is not None else 0
    found = [
        hca.qps.items[number]
        for name, hca in case.world.nodes.items()
        if name != qp.node and number in hca.qps.items
    ]
    return found[0] if len(found) == 1 else None


def _disowned(case: Case, unanswered: Unanswered, qp: QueuePair) -> Finding:
    misses, peer = unanswered.because("wrong-source"), partners.target(case)
    if peer is None or peer.path is None:
        return ok("its peer does not exist")
    if peer_node(case.world, peer) not in (qp.node, ""):
        return ok(f"{case.qp_name(peer)} is connected to another node")
    source, wanted = misses[-1].packet.flow.src, peer.path.flow.dst
    since = _since(case, qp, unanswered)
    return unanswered.finding(
        fact(f"{case.qp_name(qp)} sends from {partners.gid_words(source)}", since),
        fact(f"{case.qp_name(peer)} was given the peer address {partners.gid_words(wanted)}",
             partners.peer_set_at(case, peer)),
        fact(f"{peer.node} drops packets from another address", misses[-1].event),
        cure=_wrong_gid_cure(case, unanswered.send, qp, peer), since=since,
    )  # fmt: skip


def _no_way_back(case: Case, unanswered: Unanswered, qp: QueuePair) -> Finding | None:
    """It arrives, and the answers go to an address that this node has no more."""
    lost = _lost_answers(case, unanswered, qp)
    if not lost or qp.path is None:
        return None
    since, gid = _since(case, qp, unanswered), qp.path.flow.src
    moved = _moved(case, qp.node, since)
    return unanswered.finding(
        fact(f"{case.qp_name(qp)} sends from {partners.gid_words(gid)}", since),
        fact(f"{qp.node} no longer has that address", moved),
        fact("no port has that address: the replies are dropped", lost[-1]),
        cure=_wrong_gid_cure(case, unanswered.send, qp, case.peer), since=moved or since,
    )  # fmt: skip


def _lost_answers(case: Case, unanswered: Unanswered, qp: QueuePair) -> list[int]:
    """The events in which something for this queue pair went to its address in vain."""
    gid = qp.path.flow.src if qp.path is not None else 0
    return [
        event_of(r)
        for kind in (Kind.PACKET_LOST, Kind.PACKET_DROPPED)
        for _, r in case.log.of(kind)
        if reason_of(r) in _LOST and event_of(r) > (unanswered.send.posted or 0)
        and isinstance(packet := packet_of(r), Packet)
        and (packet.flow.dst, packet.dest_qp) == (gid, qp.number)
    ]  # fmt: skip


def _wrong_gid_cure(case: Case, send: Send, qp: QueuePair, peer: QueuePair | None) -> Fix | None:
    if peer is None or send.wqe is None:
        return None
    wr = send.wqe.wr
    if qp.transport.connected:
        lines = reconnect(case, qp, peer)
        return Fix(lines + once_more(case, qp, wr, peer, after_reset=True))
    name, pd = simple_fixes.free_name(case, Noun.AH, qp.node), case.name(Noun.PD, qp.node, qp.pd)
    made = f"create_ah {name} pd={pd} to={peer.node}"
    return Fix([made, *once_more(case, qp, wr, peer, ah=name)])
