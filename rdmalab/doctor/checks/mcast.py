"""A datagram to a multicast group."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.finding import NA, Evidence, Finding, Fix, check, fact, fail, ok
from rdmalab.doctor.fixes.reconnecting import once_more
from rdmalab.doctor.work.unanswered_sends import is_request, sent_as
from rdmalab.hca.groups import groups_of
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wqe import SendWqe
from rdmalab.spec.records import Kind, Record, event_of, roce_packet_of
from rdmalab.spec.rules import errno_name
from rdmalab.spec.states import QPType
from rdmalab.wire.packet import is_multicast


# ------------------------------------------------------------ mcast
# mcast: a datagram went to a multicast group in which the one who waits is not.
@check("mcast")
def mcast(case: Case) -> Finding:
    """A send to a group without an attached QP, a receive that it misses, a refused attach."""
    if case.call is not None:
        return _of_call(case)
    if case.receive is not None:
        return _of_receive(case)
    return _of_send(case) if case.send is not None else NA


def _of_call(case: Case) -> Finding:
    call = case.call
    if call is None or call.verb != "attach_mcast":
        return NA
    if call.refusal != "mcast-gid":
        return ok("the address is one of a group")
    return fail(fact(f"attach_mcast was refused: {call.message}", call.event),
                cure=Fix(program="attach to an address of 224.0.0.0/4 or ff00::/8"))  # fmt: skip


# ------------------------------------------------------------ mcast-type
# mcast-type: a queue pair of a connected service cannot join a group.
@check("mcast-type")
def mcast_type(case: Case) -> Finding:
    """Of a refused attach_mcast, whether it named a queue pair of another service."""
    call, qp = case.call, case.qp
    if call is None or call.verb != "attach_mcast" or qp is None:
        return NA
    if call.refusal != "mcast-type":
        return ok("it is a UD queue pair")
    made = case.log.created(partners.thing_of(qp))
    return fail(
        fact(f"{case.qp_name(qp)} was made with qp_type={qp.qp_type.name}", made),
        fact(f"attach_mcast returned {errno_name(call.errno)}: {call.message}", call.event),
        cure=Fix(program="make a UD queue pair for the group, and attach that"), since=call.event,
    )  # fmt: skip


# --------------------------------------------------------------------------- of a send
def _of_send(case: Case) -> Finding:
    unanswered, send, qp = case.unanswered, case.send, case.qp
    if unanswered is None or send is None or qp is None or send.wqe is None:
        return NA
    group = partners.group_of(case, send)
    if not group:
        return NA
    misses = unanswered.because("no-group")
    if not misses:
        return ok("a QP is attached to the group")
    unattached = _meant(case, send.wqe)
    return unanswered.finding(
        fact(f"it was sent to the group {partners.gid_words(group)}", send.posted),
        fact(f"no queue pair of {misses[-1].node} is attached to that: dropped", misses[-1].event),
        *_elsewhere(case, unattached),
        cure=_cure(case, qp, send.wqe, unattached, group),
    )


def _meant(case: Case, wqe: SendWqe) -> QueuePair | None:
    """Who may have been meant: the Q_Key fits; first those that are in another group, and wait."""
    found = [
        qp
        for node in case.world.nodes
        if node != case.node
        for qp in partners.listeners(case.world, node, wqe.wr.remote_qkey)
    ]
    nodes = case.world.nodes
    return min(found, key=lambda qp: (not groups_of(nodes[qp.node], qp), not qp.source.wqes),
               default=None)  # fmt: skip


def _elsewhere(case: Case, qp: QueuePair | None) -> list[Evidence]:
    """In which groups it is instead."""
    if qp is None:
        return []
    groups = groups_of(case.world.nodes[qp.node], qp)
    joined = case.log.about(Kind.GROUP_JOINED, partners.thing_of(qp))
    if not groups:
        return [fact(f"{case.qp_name(qp)} is in no group")]
    names = " ".join(partners.gid_words(gid) for gid in groups)
    return [
        fact(f"{case.qp_name(qp)} is in {names}", event_of(joined[-1].record) if joined else None)
    ]


def _cure(
    case: Case, qp: QueuePair, wqe: SendWqe, unattached: QueuePair | None, group: int
) -> Fix | None:
    if unattached is None:
        return None
    join = f"attach_mcast {case.qp_name(unattached)} gid={partners.gid_words(group)}"
    return Fix([join, *once_more(case, qp, wqe.wr, unattached)])


# --------------------------------------------------------------------------- of a receive
def _of_receive(case: Case) -> Finding:
    receive, qp = case.receive, case.qp
    if receive is None or qp is None or qp.qp_type is not QPType.UD or not case.asked:
        return NA
    if not receive.on_queue or receive.posted is None:
        return ok("a message has taken it")
    record = _passed_by(case, qp, receive.posted)
    if record is None:
        return ok("it missed no datagram for a group")
    group, hearer = roce_packet_of(record).flow.dst, case.world.nodes[qp.node]
    others = " ".join(case.qp_name(hearer.qps.items[n]) for n in hearer.groups.get(group, []))
    return fail(
        fact(
            f"a datagram for the group {partners.gid_words(group)} came to {others}",
            event_of(record),
        ),
        fact(f"{case.qp_name(qp)} has the same Q_Key, and is not attached to that group"),
        cure=_joined(case, qp, record, group),
    )


def _passed_by(case: Case, qp: QueuePair, since: int) -> Record | None:
    """The last datagram with its Q_Key for a group that only other QPs here are attached to."""
    hca = case.world.nodes[qp.node]
    for _, record in reversed(case.log.of(Kind.PACKET_RECEIVED, qp.node)):
        packet = roce_packet_of(record)
        if event_of(record) < since:
            return None
        if not is_request(packet) or packet.deth is None or not is_multicast(packet.flow.dst):
            continue
        member = qp.number in hca.groups.get(packet.flow.dst, [])
        if packet.deth.qkey == qp.attr.qkey and not member:
            return record
    return None


def _joined(case: Case, qp: QueuePair, record: Record, group: int) -> Fix | None:
    sent = sent_as(case.log, record)
    if sent is None or not case.lives(sent[0]):
        return None
    return _cure(case, case.world.find(sent[0], QueuePair), sent[1], qp, group)
