"""A message once more, into the receive that took it the first time."""

from rdmalab.doctor.case import Case, Message, QueuePair, RecvWqe
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.work.messages import arrived
from rdmalab.hca.wr import SendWR
from rdmalab.spec.records import Kind, event_of, kind_of, node_of, object_of, packet_of, recv_wqe_of
from rdmalab.wire.packet import Packet


def receive_of(case: Case, message: Message) -> tuple[QueuePair, RecvWqe] | None:
    """The receive that a message took, and whose it is."""
    for record in reversed(case.log.of(Kind.RECV_TAKEN)):
        node, number = node_of(record), object_of(record)
        if event_of(record) <= message.posted:
            break
        if not _may_be(case, message, event_of(record)):
            continue
        found = arrived(case.world, case.log, event_of(record), node, number)
        qp = case.world.nodes[node].qps.items.get(number)
        if found is not None and found.subject == message.subject and qp is not None:
            return qp, recv_wqe_of(record)
    return None


def _may_be(case: Case, message: Message, event: int) -> bool:
    """Whether one of its PSNs arrived then: cheap, and rarely wrong."""
    came = (r for r in case.log.within(event) if kind_of(r) is Kind.PACKET_RECEIVED)
    return any(
        isinstance(packet, Packet) and message.wqe.has_psn(packet.psn)
        for packet in map(packet_of, came)
    )


def posted_again(
    case: Case, qp: QueuePair, message: Message, wr: SendWR | None = None, **changed: object
) -> list[str]:
    """The message, changed or not, and before it a receive as it had, if none waits there."""
    send = simple_fixes.post_send(case, qp, wr or message.wqe.wr, **changed)
    found = receive_of(case, message)
    if found is None or found[0].source.wqes:
        return [send]
    return [simple_fixes.post_recv(case, found[0], found[1].wr), send]
