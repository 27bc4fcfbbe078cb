"""Addresses and paths: who a packet goes to, and whether its addresses, key and GRH are right."""

from ipaddress import IPv6Address
from typing import NamedTuple

from rdmalab.doctor.fixes.refused_calls import advice
from rdmalab.doctor.kit import *
from rdmalab.hca.ah import ah_attr_of
from rdmalab.hca.port import FULL_MEMBER, share_partition
from rdmalab.world.network import NO_ADDRESS, NO_LID
from rdmalab.world.relations import node_of_address


@check("wrong-qpn")
def wrong_qpn(case: Case, qp: QueuePair, unanswered: Unanswered) -> Finding:
    """Check whether the request's packets were dropped because no queue pair has that number."""
    misses = unanswered.because("wrong-qpn")
    if not misses or _reply_to_itself(case) is not None:
        return ok("each of its packets named a QP number that exists where it was meant to go")
    node, number = misses[-1].node, misses[-1].number
    many = fmt.count(len(misses), "packet")
    gone = receivers.destroyed(case, node, number)
    set_at = receivers.peer_set_at(case, qp) if qp.transport.connected else None
    if gone is not None and set_at is not None and gone > set_at:
        return ok(f"queue pair {number:#x} was there when they were connected", set_at)
    right = _right(case, qp, unanswered.wqe, node)
    but = f", but {case.qp_name(right)} has number {right.number:#x}" if right is not None else ""
    how = "it was posted with remote_qpn"
    if qp.transport.connected:
        how = f"{case.qp_name(qp)} was given dest_qp_num"
    evidence = [
        fact(f"{how}={number:#x}{but}", _since(case, qp, unanswered)),
        fact(f"{node} has no queue pair {number:#x}: {many} dropped", misses[-1].event),
        *([fact(f"queue pair {number:#x} of {node} was destroyed", gone)] if gone else []),
    ]
    cure = _wrong_qpn_cure(case, qp, unanswered.wqe.wr, right, node)
    return unanswered.finding(*evidence, cure=cure, since=set_at or unanswered.send.posted)


@wrong_qpn.instead
def _wrong_qpn_of_another(case: Case, qp: QueuePair, wqe: SendWqe) -> Finding | None:
    """The number is that of a queue pair which has another peer."""
    reached, wanted = receivers.misled(case) or (qp, qp)
    if reached is wanted or reached.node != wanted.node:
        return None
    set_at, right = receivers.peer_set_at(case, qp), case.qp_name(wanted)
    lines = recovery.reconnected_to(case, qp, wanted, wqe.wr)
    return blocking(
        case,
        fact(f"{case.qp_name(qp)} was given dest_qp_num={reached.number:#x}, but {right} has "
             f"number {wanted.number:#x}", set_at),
        fact(f"{reached.number:#x} is {case.qp_name(reached)}, which has another peer",
             receivers.peer_set_at(case, reached)),
        fact(f"{right} expects {case.qp_name(qp)}", receivers.peer_set_at(case, wanted)),
        cure=Fix(lines), since=set_at,
    )  # fmt: skip


def _right(case: Case, qp: QueuePair, wqe: SendWqe, node: str) -> QueuePair | None:
    """The queue pair whose number was meant; None where that is anybody's guess."""
    if qp.transport.connected:
        return receivers.meant(case.world, qp, node)
    return next(iter(receivers.listeners(case.world, node, wqe.wr.remote_qkey)), None)


def _wrong_qpn_cure(
    case: Case, qp: QueuePair, wr: SendWR, right: QueuePair | None, node: str
) -> Fix:
    if right is None:
        key = "dest_qp_num" if qp.transport.connected else "remote_qpn"
        text = f"give {case.qp_name(qp)} as {key} the number that create_qp returned on {node}"
        return Fix(program=f"{text}, while that queue pair exists")
    if qp.transport.connected:
        return Fix(recovery.reconnected_to(case, qp, right, wr))
    return Fix(commands.again(case, qp, wr, right, remote_qpn=case.qp_name(right)))


_MOST_REPLIES = 64  # of each node and queue pair, the newest
_LOST = (NO_ADDRESS, "wrong-address")


@check("wrong-gid")
def wrong_gid(case: Case, qp: QueuePair, unanswered: Unanswered) -> Finding:
    """The wrong address: that of the peer, or the one it is known by there."""
    if _astray(unanswered):
        return _no_owner(case, unanswered, qp)
    if unanswered.because("wrong-source"):
        return _disowned(case, unanswered, qp)
    if not unanswered.misses and (found := _no_way_back(case, unanswered, qp)) is not None:
        return found
    return ok("the addresses of its packets are those of the two nodes")


class _Reply(NamedTuple):
    """A datagram that a server sent to its own node. came: the request; peer: who sent that."""

    case: Case
    wqe: SendWqe
    came: int
    peer: QueuePair


def _reply_to_itself(case: Case) -> _Reply | None:
    """The send that is asked about, or that a waiting receive would get."""
    if case.send is not None:
        return _own_reply(case)
    qp, receive = case.qp, case.receive
    if not case.asked or case.has_ended or qp is None or receive is None or qp.transport.connected:
        return None
    for node in case.world.nodes:
        for record in reversed(case.log.of(Kind.SEND_POSTED, node)[-_MOST_REPLIES:]):
            wqe = send_wqe_of(record)
            if node != qp.node and wqe.wr.remote_qpn == qp.number:
                thing = Thing(Noun.QP, node, object_of(record))
                its = Case(case.session, Subject.of_send(thing, wqe), case.log, asked=True)
                if (found := _own_reply(its)) is not None and found.peer is qp:
                    return found
    return None


def _own_reply(case: Case) -> _Reply | None:
    """If a send went to its own node, with the number of one whose datagram had come before."""
    qp, wqe, send = case.qp, case.wqe, case.send
    if qp is None or not isinstance(wqe, SendWqe) or send is None or qp.transport.connected:
        return None
    if receivers.goes_to(case, send)[0] != qp.node:
        return None
    for record in reversed(case.log.about(Kind.RECV_TAKEN, qp.thing)[-_MOST_REPLIES:]):
        event, came = event_of(record), messages.arrived_with(case.log, record)
        if came is None or came.thing.node == qp.node or event > (send.posted or 0):
            continue
        peer = find_qp(case.world, *came.thing[1:])
        return _Reply(case, wqe, event, peer) if peer and peer.number == wqe.wr.remote_qpn else None
    return None


@wrong_gid.instead
def _sent_to_itself(case: Case) -> Finding | None:
    reply = _reply_to_itself(case)
    case = reply.case if reply is not None else case
    qp, send = case.qp, case.send
    if reply is None or qp is None or send is None:
        return None
    handle, av = Thing(Noun.AH, qp.node, reply.wqe.wr.ah or 0), receivers.address_of(case, send)
    gid = receivers.gid_words(av.dgid) if av is not None else "its GID"
    name, to, through = case.qp_name(qp), case.qp_name(reply.peer), case.names.of(handle)
    return fail(
        fact(f"{name} sent its reply through {through}, whose dgid {gid} is that of {qp.node}:"
             " in the GRH of a datagram sgid is the sender, dgid the receiver", send.posted),
        fact(f"the request of {to} came to {name}", reply.came),
        cure=_wrong_gid_cure(case, send, qp, reply.peer), since=case.log.created(handle),
    )  # fmt: skip


@wrong_gid.instead
def _wrong_gid_of_another(case: Case, send: Send, qp: QueuePair) -> Finding | None:
    """The GID is that of a node on which another QP has the number."""
    reached, wanted = receivers.misled(case) or (qp, qp)
    if reached.node == wanted.node:
        return None
    since, node = receivers.peer_set_at(case, qp), peer_node(case.world, qp)
    whose = f"its own node, {node}" if node == qp.node else node
    gid = qp.path.flow.dst if qp.path is not None else 0
    return blocking(
        case,
        fact(f"{case.qp_name(qp)} sends to {_address_words(case, gid)}, which is {whose}", since),
        fact(f"{case.qp_name(wanted)} expects it", receivers.peer_set_at(case, wanted)),
        *_addresses(case, wanted), cure=_wrong_gid_cure(case, send, qp, wanted), since=since,
    )  # fmt: skip


def _since(case: Case, qp: QueuePair, unanswered: Unanswered) -> int | None:
    """The event that set the address: of the connection, or of the post of a datagram."""
    return receivers.peer_set_at(case, qp) if qp.transport.connected else unanswered.send.posted


def _moved(case: Case, node: str, since: int | None) -> int | None:
    """The first event after the connection in which the node's addresses changed."""
    changes = [event_of(r) for r in case.log.of(Kind.GID_SET, node)]
    return next((event for event in changes if event > (since or 0)), None)


def _astray(unanswered: Unanswered) -> list[messages.Miss]:
    """Its packets to an address, or a LID, that no port has."""
    lids = {miss.reason for miss in unanswered.misses if miss.reason.startswith(NO_LID)}
    return unanswered.because(*_LOST, *lids)


def _no_owner(case: Case, unanswered: Unanswered, qp: QueuePair) -> Finding:
    misses, since = _astray(unanswered), _since(case, qp, unanswered)
    gid = misses[-1].packet.flow.dst
    node = case.world.network.target_of(misses[-1].packet.flow)
    moved = _moved(case, node, since) if node else None
    to = f"{case.qp_name(qp)} sends to {_address_words(case, gid)}"
    evidence = [fact(f"{to}, an address that no port has", since)]
    if moved is not None:
        evidence.append(fact(f"{node} got other addresses", moved))
    evidence.append(fact("the packets to it are dropped", misses[-1].event))
    peer = _partner(case, unanswered, qp, node)
    return unanswered.finding(
        *evidence, *_addresses(case, peer),
        cure=_wrong_gid_cure(case, unanswered.send, qp, peer), since=moved or since,
    )  # fmt: skip


def _addresses(case: Case, peer: QueuePair | None) -> list[Evidence]:
    if peer is None:
        return []
    hca = case.world.nodes[peer.node]
    own = [_address_words(case, each) for each in hca.lids or hca.gids if each]
    return [fact(f"{peer.node} has {' and '.join(own)}")]


def _address_words(case: Case, address: int) -> str:
    """An address of packets: a LID between InfiniBand ports, or a GID."""
    return f"LID {address}" if case.hca.lids else receivers.gid_words(address)


def _partner(case: Case, unanswered: Unanswered, qp: QueuePair, node: str) -> QueuePair | None:
    """Queue pair that should have received it: the one that expects it, or has its number."""
    if qp.transport.connected:
        return receivers.meant(case.world, qp, node)
    number = unanswered.wqe.wr.remote_qpn
    found = [hca.qps.items[number] for name, hca in case.world.nodes.items()
             if name != qp.node and number in hca.qps.items]  # fmt: skip
    return found[0] if len(found) == 1 else None


def _disowned(case: Case, unanswered: Unanswered, qp: QueuePair) -> Finding:
    misses, peer = unanswered.because("wrong-source"), receivers.target(case)
    if peer is None or peer.path is None:
        return ok("its peer does not exist")
    if peer_node(case.world, peer) not in (qp.node, ""):
        return ok(f"{case.qp_name(peer)} is connected to another node")
    source, wanted = misses[-1].packet.flow.src, peer.path.flow.dst
    since = _since(case, qp, unanswered)
    return unanswered.finding(
        fact(f"{case.qp_name(qp)} sends from {_address_words(case, source)}", since),
        fact(f"{case.qp_name(peer)} was given the peer address {_address_words(case, wanted)}",
             receivers.peer_set_at(case, peer)),
        fact(f"{peer.node} drops packets from another address", misses[-1].event),
        cure=_wrong_gid_cure(case, unanswered.send, qp, peer), since=since,
    )  # fmt: skip


def _no_way_back(case: Case, unanswered: Unanswered, qp: QueuePair) -> Finding | None:
    """Finding if requests arrive and replies go to an address that this node no longer has."""
    lost = _lost_answers(case, unanswered, qp)
    if not lost or qp.path is None:
        return None
    since, gid = _since(case, qp, unanswered), qp.path.flow.src
    moved = _moved(case, qp.node, since)
    return unanswered.finding(
        fact(f"{case.qp_name(qp)} sends from {_address_words(case, gid)}", since),
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
        for r in case.log.of(kind)
        if (reason_of(r) in _LOST or reason_of(r).startswith(NO_LID))
        and event_of(r) > (unanswered.send.posted or 0)
        and isinstance(packet := packet_of(r), Packet)
        and (packet.flow.dst, packet.dest_qp) == (gid, qp.number)
    ]  # fmt: skip


def _wrong_gid_cure(case: Case, send: Send, qp: QueuePair, peer: QueuePair | None) -> Fix | None:
    if peer is None or send.wqe is None:
        return None
    wr = send.wqe.wr
    if qp.transport.connected:
        return Fix(recovery.reconnected_to(case, qp, peer, wr))
    return Fix(recovery.through_new_handle(case, qp, wr, peer.node, peer))


@check("no-grh", verbs=("modify_qp", "create_ah"))
def no_grh(case: Case, call: Call) -> Finding:
    """Check whether a call was refused because its address has is_global=0."""
    if call.refusal != "ah-global":
        return ok("is_global is not the reason")
    given: CallArguments = call.invocation.arguments.get("attr", {}) if call.invocation else {}
    address: CallArguments = given.get("ah_attr", given)
    return fail(
        fact(f"{call.verb} was given is_global=0 dlid={address.get('dlid', 0)}", call.event),
        fact(f"the port of {call.thing[0]} is Ethernet: it does not use LIDs"),
        cure=Fix([line]) if (line := advice(case).line) else None,
    )


@check("no-route")
def no_route(case: Case, send: Send, qp: QueuePair) -> Finding:
    """Of a send, whether all that goes to or from one of its two addresses is lost."""
    found = delivery.unrouted_address(case)
    if found is None or found.match.gid is None:
        return ok("each of its addresses is routed")
    chosen = _chosen(case, qp)
    node = node_of_address(case.world, found.match.gid)
    came = f"; no counter of {node} counted it" if node and node != case.node else ""
    return delivery.finding(
        case,
        chosen,
        fact(f"each packet to or from it was lost on the way, {len(found.lost)} so far{came}",
             found.lost[-1].event),
        *_other(case, found, node),
        cure=_no_route_cure(case, qp, found), since=chosen.event,
    )  # fmt: skip


def _chosen(case: Case, qp: QueuePair) -> Evidence:
    """The call that set the addresses of its packets."""
    wqe = case.wqe
    if qp.path is not None and qp.transport.connected:
        ends = f"from {_words(qp.path.flow.src)} to {_words(qp.path.flow.dst)}"
        connected = f"{case.qp_name(qp)} was connected {ends}"
        return fact(connected, receivers.peer_set_at(case, qp))
    number = wqe.wr.ah or 0 if wqe is not None else 0
    made = case.log.created(Thing(Noun.AH, qp.node, number))
    ah = case.hca.ahs.items.get(number)
    where = f" leads to {_words(ah.attr.dgid)}" if ah is not None else " was made"
    return fact(f"{case.name(Noun.AH, qp.node, number)}{where}", made)


def _words(gid: int) -> str:
    """An address, and what is to be known of it."""
    local = " (link-local)" if IPv6Address(gid).is_link_local else ""
    return f"{receivers.gid_words(gid)}{local}"


def _other(case: Case, found: delivery.Obstacle, node: str) -> list[Evidence]:
    """Another address of the same port."""
    gid = _reached(case, node, found) if node else 0
    return [fact(f"{node} has {receivers.gid_words(gid)} as well")] if gid else []


def _reached(case: Case, node: str, found: delivery.Obstacle) -> int:
    """The other address of a port, which routers know; 0 if that is the dead one."""
    gid = ah_attr_of(case.world.nodes[node]).dgid
    return gid if gid != found.match.gid else 0


def _no_route_cure(case: Case, qp: QueuePair, found: delivery.Obstacle) -> Fix:
    """Fix: connect and send again by the addresses that routers know."""
    wqe, there = case.wqe, found.lost[-1]
    other = there.target if there.source == case.node else there.source
    if wqe is None or not other or not all(_reached(case, n, found) for n in (case.node, other)):
        return Fix(program="choose a GID (sgid_index and dgid) that the network between routes")
    if qp.transport.connected:
        lines = commands.bring_up_again(case, qp, {"ah_attr": other}, {"ah_attr": case.node})
        return Fix([*lines, *commands.again(case, qp, wqe.wr, after_reset=True)])
    return Fix(recovery.through_new_handle(case, qp, wqe.wr, other))


@check("pkey")
def pkey(case: Case, qp: QueuePair, path: Path, unanswered: Unanswered) -> Finding:
    """Check whether the peer's port dropped packets for their P_Key."""
    peer, misses = receivers.target(case), unanswered.because("pkey")
    if not misses or peer is None or peer.path is None:
        return ok("no packet was dropped for its P_Key")
    ours, theirs = misses[-1].packet.pkey, peer.path.pkey
    both = not (ours | theirs) & FULL_MEMBER
    why = "both are limited members" if both else "these are two partitions"
    since = _key_since(case, qp) or case.log.last_entered(qp.thing, qp.state)
    keys = [(since or 0, f"{case.qp_name(qp)} sends with P_Key {ours:#06x}, entry "
                         f"{qp.attr.pkey_index or 0} of its table"),
            (_key_since(case, peer) or 0, f"{case.qp_name(peer)} wants P_Key {theirs:#06x}, entry "
                                          f"{peer.attr.pkey_index or 0} of its table")]  # fmt: skip
    newer, older = sorted(keys, key=lambda each: -each[0])
    since = newer[0] or since
    return unanswered.finding(
        fact(newer[1], since), fact(f"{older[1]}: {why}", older[0] or None),
        fact(f"{fmt.count(len(misses), 'packet')} dropped, counted in bad_pkey_cntr",
             misses[-1].event),
        cure=_pkey_cure(case, unanswered.wqe.wr, qp, peer), since=since,
    )  # fmt: skip


def _key_since(case: Case, qp: QueuePair) -> int | None:
    """The event in which a queue pair got its P_Key: by its bring-up, or by its table since."""
    index, at = qp.attr.pkey_index or 0, receivers.peer_set_at(case, qp)
    filled = [event_of(r) for r in case.log.of(Kind.PKEY_SET, qp.node)
              if rec.table_index_of(r) == index and event_of(r) <= case.ended]  # fmt: skip
    return max((event for event in (at, *filled[-1:]) if event is not None), default=None)


def _pkey_cure(case: Case, wr: SendWR, qp: QueuePair, peer: QueuePair) -> Fix:
    """The entries that name a partition of both; where there is none, one is put in."""
    shared, now = _shared(case, qp, peer), (qp.attr.pkey_index or 0, peer.attr.pkey_index or 0)
    assigned = [_assigned(qp, peer, now)] if shared is None else []
    ours, theirs = ({"pkey_index": str(index)} for index in shared or now)
    if qp.transport.connected:
        return Fix(assigned + recovery.reconnected_to(case, qp, peer, wr, ours, theirs))
    up = [commands.bring_up_again(case, *end) for end in ((qp, ours), (peer, theirs))]
    return Fix([*assigned, *up[0], *up[1], *commands.again(case, qp, wr, peer, after_reset=True)])


def _assigned(qp: QueuePair, peer: QueuePair, pair: tuple[int, int]) -> str:
    """Put the partition of one end into the entry of the other; an empty entry names none."""
    ours, theirs = (q.path.pkey if q.path is not None else 0 for q in (qp, peer))
    node, index, key = (peer.node, pair[1], ours) if ours else (qp.node, pair[0], theirs)
    return f"pkey set {node} {index} {key | FULL_MEMBER:#06x}"


def _shared(case: Case, qp: QueuePair, peer: QueuePair) -> tuple[int, int] | None:
    """Entries of both tables that go together, as near to the present ones as may be."""
    mine, theirs = (case.world.nodes[q.node].pkeys for q in (qp, peer))
    now = qp.attr.pkey_index or 0, peer.attr.pkey_index or 0
    fitting = [(i, j) for i, a in enumerate(mine) for j, b in enumerate(theirs)
               if a and b and share_partition(a, b)]  # fmt: skip
    return min(fitting, key=lambda pair: (pair[0] != now[0], pair[1] != now[1]), default=None)
