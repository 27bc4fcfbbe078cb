"""The peer and the path to it: its state and type, lost packets, ports, hop limit."""

from rdmalab.doctor.evidence.work_of_queues import failed_before_flush
from rdmalab.doctor.kit import *
from rdmalab.doctor.moments.unreported import created_with
from rdmalab.hca.ah import ROUTE_HOP_LIMIT
from rdmalab.hca.attributes import AhAttr
from rdmalab.hca.qp import SharedReceiveQueue
from rdmalab.spec.limits import PortState
from rdmalab.spec.states import MigState
from rdmalab.spec.timers import MOST_RETRIES
from rdmalab.wire.packet import gid_text


@check("peer-state", qp=acknowledged)
def peer_state(case: Case, qp: QueuePair, unanswered: Unanswered) -> Finding:
    """Of a send, whether the peer dropped it for its state; of a receive, if the peer can send."""
    peer = receivers.target(case)
    misses = unanswered.because("not-ready")
    if not misses or peer is None:
        return ok("the peer dropped nothing because of its state")
    state, since = receivers.state_at(case, peer, misses[-1].event)
    name = case.qp_name(peer)
    if state is QPState.ERR and failed_before_flush(case.log, peer.thing):
        return ok(f"{name} was in ERR, for another reason", since)
    return unanswered.finding(
        fact(f"{name} was in {state.name}", since),
        fact(f"{name} dropped {fmt.count(len(misses), 'request')}: the first", misses[0].event),
        cure=_reconnected(case, unanswered, qp, peer),
        since=since if since in case.log.entered(peer.thing, QPState.RESET) else misses[0].event,
    )  # fmt: skip


@peer_state.instead
def _of_receive(case: Case, receive: Receive, peer: QueuePair) -> Finding:
    if not case.asked:
        return NA
    if peer.state_row.starts_sends or not (receive.on_queue and case.at_rest):
        return ok(f"{case.qp_name(peer)} is in {peer.state.name}")
    since = case.log.last_entered(peer.thing, peer.state)
    return warn(fact(f"{case.qp_name(peer)} is in {peer.state.name}: it sends nothing", since))


def _reconnected(case: Case, unanswered: Unanswered, qp: QueuePair, peer: QueuePair) -> Fix | None:
    """Both ends reset and connected, the peer with the attributes of this end."""
    if qp.path is None:
        return None
    return Fix(recovery.reconnected_to(case, qp, peer, unanswered.wqe.wr))


@check("peer-type")
def peer_type(case: Case, unanswered: Unanswered, qp: QueuePair) -> Finding:
    """Check whether the peer dropped packets because their opcode is of another QP type."""
    peer, misses = receivers.target(case), unanswered.because("wrong-type")
    if not misses or peer is None or receivers.mistaken(case.world, qp) is not None:
        return ok("the other end has the same transport")
    since = receivers.peer_set_at(case, qp) if qp.transport.connected else unanswered.send.posted
    label = misses[-1].packet.opcode_row.label
    return unanswered.finding(
        fact(f"{case.qp_name(qp)} is {qp.qp_type.name}, {case.qp_name(peer)} is "
             f"{peer.qp_type.name}", since),
        fact(f"{peer.node} dropped {label} of {qp.qp_type.name}: "
             f"{fmt.count(len(misses), 'packet')}", misses[-1].event),
        cure=_peer_type_cure(case, qp, peer, unanswered.wqe.wr), since=since,
    )  # fmt: skip


def _peer_type_cure(case: Case, qp: QueuePair, peer: QueuePair, wr: SendWR) -> Fix | None:
    """In the place of the peer one of the right type."""
    if not qp.transport.connected or qp.transport.names_srq:
        return Fix(program="make both queue pairs with the same qp_type")
    name = case.qp_name(peer)
    return Fix([
        f"destroy_qp {name}", commands.create_like(case, peer, name, qp_type=qp.qp_type.name),
        *commands.join(case, qp, name), *commands.again(case, qp, wr, peer, after_reset=True),
    ])  # fmt: skip


@check("peer-destroyed")
def peer_destroyed(case: Case, qp: QueuePair, path: Path) -> Finding:
    """Check whether the queue pair at the other end was destroyed while this end was connected."""
    if not qp.transport.connected:
        return NA
    node, number = peer_node(case.world, qp), path.dest_qpn
    gone, set_at = receivers.destroyed(case, node, number), receivers.peer_set_at(case, qp)
    if gone is None or (set_at is not None and gone < set_at):
        return ok("the peer was not destroyed")
    evidence = [
        fact(f"{case.log.who(gone)} destroyed {case.name(Noun.QP, node, number)}", gone),
        fact(f"{case.qp_name(qp)} was connected to {case.name(Noun.QP, node, number)}", set_at),
    ]
    following = _successor(case, qp, node)
    if following is not None:
        text = f"{case.qp_name(following)} has {case.qp_name(qp)} as its peer since then"
        evidence.append(fact(text, case.log.created(following.thing)))
    unanswered = case.unanswered
    if unanswered is None:
        receive = case.receive
        waits = receive is not None and (receive.on_queue or receive.wqe is qp.resp.recv)
        waits = waits and case.asked
        return fail(*evidence, cure=Fix(program=_PROGRAM), since=gone) if waits else ok()
    misses = unanswered.because("wrong-qpn")
    if not misses:
        return ok("no packet of it went to a destroyed peer")
    evidence.append(fact(f"{node} drops the packets for it", misses[-1].event))
    cure = _peer_destroyed_cure(case, unanswered, qp, (node, number))
    if following is not None:
        again = commands.again(case, qp, unanswered.wqe.wr, following)
        cure = Fix([*recovery.joined_to(case, qp, following), *again])
    return fail(*evidence, cure=cure, since=gone)  # also while it is retried: none of this can help


def _successor(case: Case, qp: QueuePair, node: str) -> QueuePair | None:
    """The queue pair of the other node that was connected to this one in the place of its peer."""
    others = case.world.nodes[node].qps.items.values() if node else ()
    return next((each for each in others if peer_of(case.world, each) is qp), None)


_PROGRAM = "agree on the end over another channel, or reconnect, before one end is destroyed"


def _peer_destroyed_cure(
    case: Case, unanswered: Unanswered, qp: QueuePair, end: tuple[str, int]
) -> Fix | None:
    """Make the peer once more, as it was made, and connect."""
    thing = Thing(Noun.QP, *end)
    invocation, name = case.log.asked(case.log.created(thing))[0], case.names.of(thing)
    is_typed = invocation is not None and invocation.line and invocation.name == "create_qp"
    if invocation is None or not is_typed or not case.names.is_free(name):
        return Fix(program=_PROGRAM)
    wr, pd = unanswered.wqe.wr, case.names.find(str(invocation.arguments.get("pd")))
    lines = [invocation.line, *commands.join(case, qp, name)]
    srq = created_with(case.session, case.log, thing, "srq")
    if srq is not None and not case.exists(srq):
        return Fix(program=_PROGRAM)
    shared = case.world.find(srq, SharedReceiveQueue) if srq is not None else None
    if commands.needs_receive(wr) and pd is not None and not (shared and shared.wqes):
        queue = case.names.of(srq) if srq is not None else name
        lines += commands.receive_at(case, queue, pd, unanswered.wqe.length, wr.wr_id)
    return Fix([*lines, commands.post_send(case, qp, wr)])


@check("peer-port")
def peer_port(case: Case, send: Send, unanswered: Unanswered) -> Finding:
    """Check whether packets or replies were dropped at a port of the peer that was not ACTIVE."""
    node, _ = receivers.goes_to(case, send)
    misses = unanswered.because("port-down")
    down = _down(case, node, misses[0].event if misses else case.ended)
    if not node or node == case.node or down is None:
        return ok(f"the port of {node} is ACTIVE" if node else "")
    state, since = down
    found = [fact(f"the port of {node} went {state.name}", since)]
    if misses:
        found.append(fact("what arrives there is dropped", misses[0].event))
    return unanswered.finding(*found, since=since)


def _down(case: Case, node: str, event: int) -> tuple[PortState, int] | None:
    """The state of the port at that event if it was not ACTIVE, and since when."""
    changes = [r for r in case.log.of(Kind.PORT_CHANGED, node) if event_of(r) <= event]
    if not changes or rec.port_state_of(changes[-1]) is PortState.ACTIVE:
        return None
    return rec.port_state_of(changes[-1]), event_of(changes[-1])


@check("one-sided-connect", qp=acknowledged)
def one_sided_connect(case: Case, qp: QueuePair, unanswered: Unanswered) -> Finding:
    """Check whether the requests arrive, and the replies go to another queue pair."""
    peer = case.peer
    if peer is None or peer.path is None:
        return ok("it has no peer that could answer another QP")
    if receivers.is_for(case.world, peer, qp):
        return ok(f"{case.qp_name(peer)} answers to {case.qp_name(qp)}")
    dropped = unanswered.misses and not unanswered.because("wrong-source")
    if dropped or receivers.mistaken(case.world, qp) is not None:
        return ok("its requests did not arrive")
    node = peer_node(case.world, peer)
    if not node:
        return ok(f"{case.qp_name(peer)} was given an address that no port has")
    other = case.qp_name_at(node, peer.path.dest_qpn)
    set_at = receivers.peer_set_at(case, peer)
    return unanswered.finding(
        fact(f"{case.qp_name(peer)} was connected to {other}, not to {case.qp_name(qp)}", set_at),
        fact(f"{case.qp_name(qp)} sends to {case.qp_name(peer)}", receivers.peer_set_at(case, qp)),
        *_answers(case, unanswered, peer, other),
        cure=_uncrossed(case, unanswered, qp, peer), since=set_at,
    )  # fmt: skip


def _uncrossed(case: Case, unanswered: Unanswered, qp: QueuePair, peer: QueuePair) -> Fix | None:
    """Both ends connected, and before them the two that they are crossed with, if there are two."""
    cure, other = _reconnected(case, unanswered, qp, peer), peer_of(case.world, peer)
    last = peer_of(case.world, other) if other is not None else None
    crossed = last is not None and last is not peer and peer_of(case.world, last) is qp
    if cure is None or other is None or last is None or not crossed:
        return cure
    return Fix([*reconnect(case, other, last), *cure.lines])


def _answers(case: Case, unanswered: Unanswered, peer: QueuePair, other: str) -> list[Evidence]:
    """The acknowledgements of the peer, which went to another queue pair."""
    if dropped := unanswered.because("wrong-source"):
        return [fact(f"{peer.node} drops packets of any other sender", dropped[0].event)]
    posted = unanswered.send.posted or 0
    later = (r for r in case.log.about(Kind.PACKET_SENT, peer.thing) if event_of(r) > posted)
    acks = [event_of(r) for r in later if getattr(packet_of(r), "aeth", None) is not None]
    return [fact(f"its acknowledgements go to {other}", acks[0])] if acks else []


@check("port-not-active", qp=acknowledged)
def port_not_active(case: Case, send: Send, wqe: SendWqe, qp: QueuePair) -> Finding:
    """Check whether the last packets or replies of the request met a port that was not ACTIVE."""
    rows = (*delivery.last_try(case), *delivery.answers(case))
    taken = [row for row in rows if delivery.by_port(row)]
    if not taken or not (send.retries_exhausted or send.on_queue):
        return ok("no port or link dropped its packets")
    if not stays_unanswered(case):
        return ok("the ports are ACTIVE again, and it is sent again")
    down = _went_down(case, taken[0].event)
    lines = _up(case)
    lines += recovery.resend(case, qp, wqe.wr) if send.ending is not None else []
    failed = [node for node in _not_active(case) if case.world.nodes[node].unavailable_rule]
    cure = Fix(lines or ["run"])
    if failed:
        cure = Fix(program=f"close_device {failed[0]} and open_device {failed[0]}, then make its "
                           "objects and the connection again")  # fmt: skip
    row = taken[-1]
    way = f" from {row.source} to {row.target}" if row.target else ""
    return blocking(
        case, *down, fact(f"{row.label} psn={row.psn}{way} was {row.fate_text}", row.event),
        *_not_retried(case, send, qp), *_now(case), cure=cure,
        since=down[0].event if down else None,
    )  # fmt: skip


def _went_down(case: Case, event: int) -> list[Evidence]:
    """The last move of each port away from ACTIVE before the packet was lost."""
    last: dict[str, Evidence] = {}
    for record in case.log.of(Kind.PORT_CHANGED):
        if event_of(record) <= event:
            last.pop(node_of(record), None)
            state = PortState(rec.port_state_of(record))
            if state is not PortState.ACTIVE:
                text = f"the port of {node_of(record)} went {state.name}"
                if any(kind_of(r) is Kind.DEVICE_DIED for r in case.log.within(event_of(record))):
                    text = f"the device of {node_of(record)} failed (DEVICE_FATAL)"
                last[node_of(record)] = fact(text, event_of(record))
    return sorted(last.values(), key=lambda each: each.event or 0)


def _now(case: Case) -> list[Evidence]:
    dead = _not_active(case)
    names, is_one = " and ".join(dead), len(dead) == 1
    if dead and case.log.whole is not None:  # judged at a moment of the past
        return [fact(f"{names} {'was' if is_one else 'were'} not ACTIVE", case.world.event)]
    if dead:
        return [fact(f"{names} {'is' if is_one else 'are'} not ACTIVE now")]
    ups = case.log.of(Kind.PORT_CHANGED)[-1:]
    return [fact("all ports are ACTIVE again since", event_of(r)) for r in ups]


def _not_active(case: Case) -> list[str]:
    """The nodes whose port carries nothing now."""
    return [node for node, hca in case.world.nodes.items()
            if hca.port_state is not PortState.ACTIVE]  # fmt: skip


def _up(case: Case) -> list[str]:
    if not case.world.network.cable.up:
        return ["link up"]
    return [f"port {node} ACTIVE" for node in _not_active(case)]


@check("loss", qp=acknowledged)
def loss(case: Case, send: Send, qp: QueuePair) -> Finding:
    """Check whether the last transmission, or its reply, was lost on the cable."""
    if not (send.retries_exhausted or send.on_queue):
        return ok("it does not wait for a missing answer")
    asked = [row for row in delivery.last_try(case) if delivery.by_fault(row)]
    harmed = [row for row in delivery.answers(case) if delivery.by_fault(row)]
    # then retransmissions arrive
    again = not (case.has_ended or case.at_rest) and case.future.repeats
    if not (asked or harmed) or again:
        return _sent_again(qp, asked if again else [])
    if delivery.narrow_link(case) or delivery.unrouted_address(case):
        return ok("no random loss: every packet of its kind is lost on the way")
    if not asked and not stays_unanswered(case) and carried_out(case) is not None:
        return ok("the peer has done it; only the ACK is missing")
    lost = [row for row in (*send.transmissions, *delivery.answers(case)) if delivery.by_fault(row)]
    more = fmt.count(len(lost) - 1, "packet")
    return blocking(
        case, fact(delivery.fate_of(lost[0]), lost[0].event), *_not_migrated(case, qp),
        *_not_retried(case, send, qp),
        *([fact(f"{more} more of it or its answers, the last one {delivery.fate_of(lost[-1])}",
                lost[-1].event)] if len(lost) > 1 else []),
        cure=_cure(case, send, qp, lost), since=_since(case, lost),
    )  # fmt: skip


def _sent_again(qp: QueuePair, asked: list[PacketRow]) -> Finding:
    """No loss, or one that the ack timer makes good."""
    if not asked or qp.timer.at_ns is None:
        return ok("the cable lost nothing of its last try, or a retransmitted packet arrives")
    return wait(fact(delivery.fate_of(asked[0]), asked[0].event),
                fact(f"the ack timer sends it again at {fmt.clock(qp.timer.at_ns)}"))  # fmt: skip


_RETRIED = {"retry_cnt": str(MOST_RETRIES)}


def _not_migrated(case: Case, qp: QueuePair) -> list[Evidence]:
    """Evidence on an alternate path that was loaded and could not be used."""
    if qp.alternate is None or qp.attr.path_mig_state != MigState.REARM:
        return []
    peer, name, why = case.peer, case.qp_name(qp), "no packet came since"
    if peer is not None and peer.alternate is None:
        why = f"{case.qp_name(peer)} has no alternate path"
    return [fact(f"{name} did not migrate: its path_mig_state stayed REARM, as {why}",
                 set_at(case, qp, Attr.PATH_MIG_STATE))]  # fmt: skip


def _not_retried(case: Case, send: Send, qp: QueuePair) -> list[Evidence]:
    """Evidence that one lost packet is enough."""
    if qp.attr.retry_cnt or not (send.retries_exhausted or send.on_queue):
        return []
    text = f"{case.qp_name(qp)} was given retry_cnt=0: no packet is sent again"
    return [fact(text, set_at(case, qp, Attr.RETRY_CNT))]


def _since(case: Case, lost: list[PacketRow]) -> int | None:
    """The event in which the first of these faults was set."""
    numbers = delivery.faults_of(case, lost)
    set_ = [event_of(r) for r in case.log.of(Kind.FAULT_SET) if object_of(r) in numbers]
    return min(set_, default=None)


def _cure(case: Case, send: Send, qp: QueuePair, lost: list[PacketRow]) -> Fix | None:
    """Without the faults that are still set; for what still waits that is all."""
    if send.wqe is None:
        return None
    there = {fault.number for fault in case.world.network.cable.faults}
    lines = [f"fault clear {n}" for n in delivery.faults_of(case, lost) if n in there]
    if _not_retried(case, send, qp):
        again = recovery.reconnected(case, qp, send.wqe.wr, _RETRIED, _RETRIED)
        return Fix([*lines, *again], note=f"retry_cnt becomes {_RETRIED['retry_cnt']}")
    if send.ending is not None:
        return Fix([*lines, *recovery.resend(case, qp, send.wqe.wr)])
    return Fix(lines or ["run"])


_LEAVES = "its packets arrive here; the first router would drop them"


@check("hop-limit", asked=True)
def hop_limit(case: Case, wqe: SendWqe, qp: QueuePair) -> Finding:
    """Check whether packets of the request, or their replies, leave with hop limit 0."""
    if qp.transport.connected:
        return _connection(case, qp)
    return _handle(case, qp, wqe.wr)


def _connection(case: Case, qp: QueuePair) -> Finding:
    ends = [end for end in (qp, case.peer) if end is not None and _is_near(end)]
    if not ends:
        return ok("neither end has hop_limit=0")
    near = [fact(f"the address in {case.qp_name(end)} has hop_limit=0", set_at(case, end, Attr.AV))
            for end in ends]  # fmt: skip
    return warn(*near, fact(_LEAVES))


def _is_near(qp: QueuePair) -> bool:
    av = qp.attr.ah_attr
    return qp.path is not None and av is not None and bool(av.is_global) and not av.hop_limit


def _handle(case: Case, qp: QueuePair, wr: SendWR) -> Finding:
    made = case.hca.ahs.items.get(wr.ah or 0)
    if made is None:
        return NA
    if made.attr.hop_limit or not made.attr.is_global:
        return ok(f"hop_limit={made.attr.hop_limit}")
    ah = Thing(Noun.AH, case.node, made.number)
    near = fact(f"{case.names.of(ah)} has hop_limit=0", case.log.created(ah))
    return warn(near, fact(_LEAVES), cure=Fix(_through_another(case, qp, wr, made.attr)))


def _through_another(case: Case, qp: QueuePair, wr: SendWR, av: AhAttr) -> list[str]:
    """A handle that is good for routers, and the datagram once more."""
    name, pd = commands.free_name(case, Noun.AH, qp.node), case.name(Noun.PD, qp.node, qp.pd)
    keys = f"is_global=1 dgid={gid_text(av.dgid)} sgid_index={av.sgid_index}"
    made = f"create_ah {name} pd={pd} {keys} hop_limit={ROUTE_HOP_LIMIT} port_num={av.port_num}"
    return [made, commands.post_send(case, qp, wr, ah=name)]
