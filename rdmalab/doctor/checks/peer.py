"""The queue pair and the port at the other end."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.failed_work import failed_before_flush
from rdmalab.doctor.finding import NA, Evidence, Finding, Fix, check, fact, fail, ok, warn
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.fixes.reconnecting import create_like, join, once_more, receive_at, reconnect
from rdmalab.doctor.work.unanswered_sends import Unanswered
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import SendWR
from rdmalab.spec.limits import PortState
from rdmalab.spec.records import Kind, event_of, packet_of, port_state_of
from rdmalab.spec.states import QPState
from rdmalab.views import fmt
from rdmalab.world.relations import peer_node


# ------------------------------------------------------------ peer-state
# peer-state: the peer was not ready to take requests.
@check("peer-state")
def peer_state(case: Case) -> Finding:
    """Of a send, whether the peer dropped it for its state; of a receive, if the peer can send."""
    if case.receive is not None:
        return _of_receive(case)
    unanswered, qp = case.unanswered, case.qp
    if unanswered is None or qp is None or not qp.transport.acknowledged:
        return NA
    peer = partners.target(case)
    misses = unanswered.because("not-ready")
    if not misses or peer is None:
        return ok("the peer dropped nothing because of its state")
    state, since = partners.state_at(case, peer, misses[-1].event)
    name = case.qp_name(peer)
    if state is QPState.ERR and failed_before_flush(case.log, partners.thing_of(peer)):
        return ok(f"{name} was in ERR, for another reason", since)
    return unanswered.finding(
        fact(f"{name} was in {state.name}", since),
        fact(f"it dropped {fmt.count(len(misses), 'request')}, the first here", misses[0].event),
        cure=_peer_state_cure(case, unanswered, qp, peer), since=misses[0].event,
    )  # fmt: skip


def _of_receive(case: Case) -> Finding:
    receive, peer = case.receive, case.peer
    if receive is None or not receive.on_queue or peer is None or not case.asked:
        return NA
    if peer.state_row.starts_sends or not case.at_rest:
        return ok(f"{case.qp_name(peer)} is in {peer.state.name}")
    since = partners.entered(case, peer, peer.state)
    return warn(fact(f"{case.qp_name(peer)} is in {peer.state.name}: it sends nothing", since))


def _peer_state_cure(
    case: Case, unanswered: Unanswered, qp: QueuePair, peer: QueuePair
) -> Fix | None:
    """Both ends reset and connected, the peer with the attributes of this end."""
    if unanswered.send.wqe is None or qp.path is None:
        return None
    lines = reconnect(case, qp, peer)
    return Fix(lines + once_more(case, qp, unanswered.send.wqe.wr, peer, after_reset=True))


# ------------------------------------------------------------ peer-type
# peer-type: the two ends of a connection are of different types.
@check("peer-type")
def peer_type(case: Case) -> Finding:
    """Whether the peer dropped it because its opcode is of another type."""
    unanswered, qp = case.unanswered, case.qp
    if unanswered is None or qp is None or unanswered.send.wqe is None:
        return NA
    peer, misses = partners.target(case), unanswered.because("wrong-type")
    if not misses or peer is None or partners.mistaken(case.world, qp) is not None:
        return ok("the other end has the same transport")
    since = partners.peer_set_at(case, qp) if qp.transport.connected else unanswered.send.posted
    label = misses[-1].packet.opcode_row.label
    return unanswered.finding(
        fact(f"{case.qp_name(qp)} is {qp.qp_type.name}, {case.qp_name(peer)} is "
             f"{peer.qp_type.name}", since),
        fact(f"{peer.node} dropped {label} of {qp.qp_type.name}: "
             f"{fmt.count(len(misses), 'packet')}", misses[-1].event),
        cure=_peer_type_cure(case, qp, peer, unanswered.send.wqe.wr), since=since,
    )  # fmt: skip


def _peer_type_cure(case: Case, qp: QueuePair, peer: QueuePair, wr: SendWR) -> Fix | None:
    """In the place of the peer one of the right type."""
    if not qp.transport.connected or qp.transport.names_srq:
        return Fix(program="make both queue pairs with the same qp_type")
    name = case.qp_name(peer)
    lines = [
        f"destroy_qp {name}",
        create_like(case, peer, name, qp_type=qp.qp_type.name),
        *join(case, qp, name),
        *once_more(case, qp, wr, peer, after_reset=True),
    ]
    return Fix(lines)


# ------------------------------------------------------------ peer-destroyed
# peer-destroyed: the peer was there when the connection was made, and is no more.
@check("peer-destroyed")
def peer_destroyed(case: Case) -> Finding:
    """Whether the queue pair at the other end was destroyed while this end was connected."""
    qp = case.qp
    if qp is None or not qp.transport.connected or qp.path is None:
        return NA
    node, number = peer_node(case.world, qp), qp.path.dest_qpn
    gone, set_at = partners.destroyed(case, node, number), partners.peer_set_at(case, qp)
    if gone is None or (set_at is not None and gone < set_at):
        return ok("the peer was not destroyed")
    evidence = [
        fact(f"{case.qp_name(qp)} was connected to {case.name(Noun.QP, node, number)}", set_at),
        fact(f"{case.name(Noun.QP, node, number)} was destroyed", gone),
    ]
    unanswered = case.unanswered
    if unanswered is None:
        waits = case.receive is not None and case.receive.on_queue and case.asked
        return fail(*evidence, cure=Fix(program=_PROGRAM), since=gone) if waits else ok()
    misses = unanswered.because("wrong-qpn")
    if not misses:
        return ok("no packet of it went to a destroyed peer")
    evidence.append(fact(f"{node} drops the packets for it", misses[-1].event))
    return unanswered.finding(
        *evidence, cure=_peer_destroyed_cure(case, unanswered, qp, (node, number)), since=gone
    )


_PROGRAM = "agree on the end over another channel, or reconnect, before one end is destroyed"


def _peer_destroyed_cure(
    case: Case, unanswered: Unanswered, qp: QueuePair, end: tuple[str, int]
) -> Fix | None:
    """Make the peer once more, as it was made, and connect."""
    thing = Thing(Noun.QP, *end)
    made = case.log.created(thing)
    invocation = case.log.asked(made)[0] if made is not None else None
    name = case.names.of(thing)
    if unanswered.send.wqe is None or invocation is None or invocation.name != "create_qp":
        return Fix(program=_PROGRAM)
    if not case.names.is_free(name):
        return Fix(program=_PROGRAM)
    wr, pd = unanswered.send.wqe.wr, case.names.find(str(invocation.arguments.get("pd")))
    lines = [invocation.line, *join(case, qp, name)]
    if simple_fixes.needs_receive(wr) and pd is not None:
        lines.append(receive_at(case, name, pd, unanswered.send.wqe.length, wr.wr_id))
    return Fix([*lines, simple_fixes.post_send(case, qp, wr)])


# ------------------------------------------------------------ peer-port
# peer-port: the port at the other end is not ACTIVE.
@check("peer-port")
def peer_port(case: Case) -> Finding:
    """Whether its packets, or the answers to them, met a port of the peer that was not ACTIVE."""
    unanswered = case.unanswered
    if unanswered is None or case.send is None:
        return NA
    node, _ = partners.goes_to(case, case.send)
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
    changes = [r for _, r in case.log.of(Kind.PORT_CHANGED, node) if event_of(r) <= event]
    if not changes or port_state_of(changes[-1]) is PortState.ACTIVE:
        return None
    return port_state_of(changes[-1]), event_of(changes[-1])


# ------------------------------------------------------------ one-sided-connect
# one-sided-connect: the peer is connected to another queue pair.
@check("one-sided-connect")
def one_sided_connect(case: Case) -> Finding:
    """Whether the requests arrive, and the answers go elsewhere."""
    unanswered, qp, peer = case.unanswered, case.qp, case.peer
    if unanswered is None or qp is None or not qp.transport.acknowledged:
        return NA
    if peer is None or peer.path is None:
        return ok("it has no peer that could answer another QP")
    if partners.is_for(case.world, peer, qp):
        return ok(f"{case.qp_name(peer)} answers to {case.qp_name(qp)}")
    if partners.mistaken(case.world, qp) is not None or (
        unanswered.misses and not unanswered.because("wrong-source")
    ):
        return ok("its requests did not arrive")
    node = peer_node(case.world, peer)
    if not node:
        return ok(f"{case.qp_name(peer)} was given an address that no port has")
    other = case.qp_name_at(node, peer.path.dest_qpn)
    set_at = partners.peer_set_at(case, peer)
    return unanswered.finding(
        fact(f"{case.qp_name(qp)} sends to {case.qp_name(peer)}", partners.peer_set_at(case, qp)),
        fact(f"{case.qp_name(peer)} was connected to {other}", set_at),
        *_answers(case, unanswered, peer, other),
        cure=_one_sided_connect_cure(case, unanswered, qp, peer), since=set_at,
    )  # fmt: skip


def _answers(case: Case, unanswered: Unanswered, peer: QueuePair, other: str) -> list[Evidence]:
    """The acknowledgements of the peer, which went to another queue pair."""
    dropped = unanswered.because("wrong-source")
    if dropped:
        return [fact(f"{peer.node} drops packets of any other sender", dropped[0].event)]
    posted = unanswered.send.posted or 0
    sent = [
        event_of(r)
        for _, r in case.log.about(Kind.PACKET_SENT, partners.thing_of(peer))
        if event_of(r) > posted and getattr(packet_of(r), "aeth", None) is not None
    ]
    return [fact(f"its acknowledgements go to {other}", sent[0])] if sent else []


def _one_sided_connect_cure(
    case: Case, unanswered: Unanswered, qp: QueuePair, peer: QueuePair
) -> Fix | None:
    if unanswered.send.wqe is None:
        return None
    lines = reconnect(case, qp, peer)
    return Fix(lines + once_more(case, qp, unanswered.send.wqe.wr, peer, after_reset=True))
