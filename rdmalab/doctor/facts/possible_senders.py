"""The possible senders to a queue pair: its peer, or the UD QPs that send datagrams to it."""

from rdmalab.doctor.call import Call
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.partners import thing_of
from rdmalab.doctor.subject import Subject
from rdmalab.doctor.work import attempts
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wqe import SendWqe
from rdmalab.spec.records import Kind, event_of, node_of, object_of, send_wqe_of
from rdmalab.spec.states import BRING_UP
from rdmalab.world.relations import find_qp, node_at, peer_of


def talkers(case: Case, qp: QueuePair) -> list[QueuePair]:
    """The peer of a connection; of a datagram queue pair those that sent to it."""
    if qp.transport.connected:
        peer = peer_of(case.world, qp)
        return [peer] if peer is not None else []
    found: dict[tuple[str, int], None] = {}
    for _, record in case.log.of(Kind.SEND_POSTED):
        if _is_for(case, node_of(record), send_wqe_of(record), qp):
            found[node_of(record), object_of(record)] = None
    living = (find_qp(case.world, *each) for each in found)
    return [each for each in living if each is not None]


def _is_for(case: Case, node: str, wqe: SendWqe, qp: QueuePair) -> bool:
    made = wqe.av or case.world.nodes[node].ahs.items.get(wqe.wr.ah or 0)
    to = node_at(case.world, case.node, made.attr) if made is not None else None
    return wqe.wr.remote_qpn == qp.number and to == qp.node


def newest(case: Case, qp: QueuePair) -> list[Subject]:
    """What a queue pair posted last, which may have gone without a word and without a packet."""
    thing = thing_of(qp)
    posts = [send_wqe_of(record) for _, record in case.log.about(Kind.SEND_POSTED, thing)[-1:]]
    return [Subject.of_send(thing, wqe) for wqe in posts]


def unsent(case: Case, qp: QueuePair) -> list[Call]:
    """The last post of a queue pair that was refused, if none was accepted since."""
    mine = (qp.node, qp.number)
    refused = [c for c in case.log.refused() if c.thing == mine and c.verb in attempts.SENDING]
    posts = case.log.about(Kind.SEND_POSTED, thing_of(qp))
    newest = event_of(posts[-1].record) if posts else -1
    return [call for call in refused[-1:] if call.event > newest]


def stopped(case: Case, qp: QueuePair) -> list[Call]:
    """The first move up that was refused since a queue pair stands where it does."""
    moves = case.log.about(Kind.STATE_CHANGED, thing_of(qp))
    since = event_of(moves[-1].record) if moves else -1
    if qp.state not in BRING_UP[:-1]:
        return []
    return [
        call
        for call in case.log.refused()
        if call.thing == (qp.node, qp.number) and call.verb == "modify_qp" and call.event > since
    ][:1]
