"""The lines that cause one more completion on a CQ, for a program that waits for its event."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.send_checks import supported_work
from rdmalab.hca.wqe import Cqe
from rdmalab.hca.wr import SendWR
from rdmalab.spec.records import Kind, send_wqe_of
from rdmalab.spec.states import QPState
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.views import fmt
from rdmalab.world.relations import find_qp, peer_of

_GRH_BYTES = 40  # what a datagram's receive holds before the message


def one_more(case: Case, cq: CompletionQueue, *, solicited: bool = False) -> list[str]:
    """The lines for another completion like the newest one on the CQ; [] without a known sender.

    solicited: its message is sent with SOLICITED.
    """
    cqe = cq.cqes[-1] if cq.cqes else cq.last
    qp = find_qp(case.world, cq.node, cqe.qp_num) if cqe is not None else None
    if cqe is None or qp is None:
        return []
    if not cqe.is_send:
        return message_again(case, qp, cqe, solicited=solicited)
    if WROpcode.RDMA_WRITE in supported_work(qp.qp_type, case.profile.lacks):  # no bytes
        wr = SendWR(WROpcode.RDMA_WRITE, flags=SendFlags.SIGNALED)
        return [simple_fixes.post_send(case, qp, wr, wr_id=None)]
    sent = last_sent(case, qp)
    return (
        simple_fixes.again(case, qp, sent, flags=_flags(sent, SendFlags.SIGNALED)) if sent else []
    )


def message_again(
    case: Case, qp: QueuePair, cqe: Cqe, *, solicited: bool = False, after_reset: bool = False
) -> list[str]:  # fmt: skip
    """The message that this receive was completed by, sent once more.

    after_reset: the receives of the queue pair were lost by a reset before.
    """
    if qp.state is QPState.ERR and not after_reset:
        return [simple_fixes.room(case, qp, 0)]  # it is flushed at once
    sender = sender_of(case, qp, cqe)
    sent = last_sent(case, sender, qp) if sender is not None else None
    if sender is None or sent is None:
        return []
    changed = {"flags": _flags(sent, SendFlags.SOLICITED)} if solicited else {}
    if qp.transport.connected:
        return simple_fixes.again(case, sender, sent, after_reset=after_reset, **changed)
    length = sum(sge.length for sge in sent.sg) + _GRH_BYTES
    rooms = [] if qp.source.wqes and not after_reset else [simple_fixes.room(case, qp, length)]
    name = case.qp_name(qp)
    return [*rooms, simple_fixes.post_send(case, sender, sent, remote_qpn=name, **changed)]


def sender_of(case: Case, qp: QueuePair, cqe: Cqe) -> QueuePair | None:
    """The sender of the message: the peer, or the queue pair that sent the datagram."""
    if qp.transport.connected:
        return peer_of(case.world, qp)
    others = [node for node in case.world.nodes if node != qp.node]
    found = [find_qp(case.world, node, cqe.src_qp) for node in others]
    return next((each for each in found if each is not None), None)


def last_sent(case: Case, sender: QueuePair, to: QueuePair | None = None) -> SendWR | None:
    """Its newest send; to: the newest that took a receive of this queue pair."""
    for _, record in reversed(case.log.about(Kind.SEND_POSTED, _thing(sender))):
        wr: SendWR = send_wqe_of(record).wr
        if to is None or (simple_fixes.needs_receive(wr) and _goes_to(sender, wr, to)):
            return wr
    return None


def _goes_to(sender: QueuePair, wr: SendWR, qp: QueuePair) -> bool:
    return sender.transport.connected or wr.remote_qpn == qp.number


def _thing(qp: QueuePair) -> Thing:
    return Thing(Noun.QP, qp.node, qp.number)


def _flags(wr: SendWR, more: SendFlags) -> str:
    return fmt.flags(int(SendFlags(wr.flags) | more), SendFlags)
