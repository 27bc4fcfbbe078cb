"""Fixes of completion queues: made again with other attributes, or given another completion."""

from dataclasses import asdict

from rdmalab.command import Noun
from rdmalab.doctor.case import Case, CompletionQueue, QueuePair
from rdmalab.hca.qp import Capacity
from rdmalab.hca.send_checks import supported_work
from rdmalab.hca.wr import Cqe, SendWR
from rdmalab.repair import commands
from rdmalab.spec.records import Kind, send_wqe_of
from rdmalab.spec.states import QPState
from rdmalab.spec.work import SendFlags, SendOps, WROpcode
from rdmalab.views import fmt
from rdmalab.world.relations import find_qp, peer_of


def users(case: Case, cq: CompletionQueue) -> list[QueuePair]:
    """The queue pairs that complete there."""
    qps = case.world.nodes[cq.node].qps.items.values()
    return [qp for qp in qps if cq.number in (qp.send_cq, qp.recv_cq)]


def needed(case: Case, cq: CompletionQueue) -> int:
    """Most completions that may come onto it before anybody polls: the depths of its queues."""
    hca, depth = case.world.nodes[cq.node], 0
    for qp in users(case, cq):
        depth += qp.sq.capacity if qp.send_cq == cq.number else 0
        depth += qp.rq.capacity if qp.recv_cq == cq.number and not qp.srq else 0
    shared = {qp.srq for qp in users(case, cq) if qp.recv_cq == cq.number and qp.srq}
    return depth + sum(hca.srqs.items[number].capacity for number in sorted(shared))


def recreate(case: Case, cq: CompletionQueue, *, cqe: int = 0, channel: int = 0) -> list[str]:
    """Destroy the CQ and its queue pairs, and create them again under the same names.

    cqe: its size, the present one if 0; channel: its completion channel, none if 0. Outstanding
    receives are posted again; no lines if one of its queue pairs has no name.
    """
    name, mine = case.name(Noun.CQ, cq.node, cq.number), users(case, cq)
    options = f" channel={case.name(Noun.CHANNEL, cq.node, channel)}" if channel else ""
    options += f" cq_context={cq.context}" if cq.context else ""
    return [
        *([f"poll_cq {name} num_entries={len(cq.cqes)}"] if cq.cqes else []),
        *([f"ack_cq_events {name} nevents={cq.unacked}"] if cq.unacked else []),
        *(f"destroy_qp {case.qp_name(qp)}" for qp in mine),
        f"destroy_cq {name}",
        f"create_cq {name} cqe={cqe or cq.capacity}{options}",
        *(create_qp(case, qp) for qp in mine),
        *(line for qp in mine for line in _brought_up(case, qp)),
        *(commands.post_recv(case, qp, wqe.wr) for qp in mine if not qp.srq for wqe in qp.rq.wqes),
    ]


def _brought_up(case: Case, qp: QueuePair) -> list[str]:
    """A queue pair that was just made is in RESET already."""
    if qp.path is None and qp.transport.connected:
        return []
    fresh = f"modify_qp {case.qp_name(qp)} state=RESET"
    return [line for line in commands.bring_up_again(case, qp) if line != fresh]


def create_qp(case: Case, qp: QueuePair) -> str:
    """The call that makes such a queue pair."""
    verb = "create_qp_ex" if qp.ex is not None else "create_qp"
    parts = {
        "pd": (Noun.PD, qp.domain), "send_cq": (Noun.CQ, qp.send_cq),
        "recv_cq": (Noun.CQ, qp.recv_cq), "srq": (Noun.SRQ, qp.srq), "xrcd": (Noun.XRCD, qp.xrcd),
    }  # fmt: skip
    given = [f"{key}={case.name(noun, qp.node, number)}"
            for key, (noun, number) in parts.items() if number]  # fmt: skip
    own, usual = asdict(qp.cap), asdict(Capacity())
    if qp.srq:
        own["max_recv_wr"] = usual["max_recv_wr"]  # its size is that of the SRQ
    given += [f"{key}={value}" for key, value in own.items() if value != usual[key]]
    given += ["sq_sig_all=1"] if qp.sq_sig_all else []
    given += [f"max_tso_header={qp.max_tso_header}"] if qp.max_tso_header else []
    if qp.ex is not None:
        given.append(f"send_ops_flags={fmt.flags(qp.ex.ops, SendOps) if qp.ex.ops else 0}")
    return " ".join([verb, case.qp_name(qp), f"qp_type={qp.qp_type.name}", *given])


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
        return [commands.post_send(case, qp, wr, wr_id=None)]
    sent = last_sent(case, qp)
    return commands.again(case, qp, sent, flags=_flags(sent, SendFlags.SIGNALED)) if sent else []


def message_again(
    case: Case, qp: QueuePair, cqe: Cqe, *, solicited: bool = False, after_reset: bool = False
) -> list[str]:  # fmt: skip
    """The message that this receive was completed by, sent once more.

    after_reset: the receives of the queue pair were lost by a reset before.
    """
    if qp.state is QPState.ERR and not after_reset:
        return commands.rooms(case, qp, 0)  # it is flushed at once
    sender = sender_of(case, qp, cqe)
    sent = last_sent(case, sender, qp) if sender is not None else None
    if sender is None or sent is None:
        return []
    changed = {"flags": _flags(sent, SendFlags.SOLICITED)} if solicited else {}
    if qp.transport.connected:
        return commands.again(case, sender, sent, after_reset=after_reset, **changed)
    length = sum(sge.length for sge in sent.sg)
    rooms = [] if qp.source.wqes and not after_reset else commands.rooms(case, qp, length)
    name = case.qp_name(qp)
    return [*rooms, commands.post_send(case, sender, sent, remote_qpn=name, **changed)]


def sender_of(case: Case, qp: QueuePair, cqe: Cqe) -> QueuePair | None:
    """The sender of the message: the peer, or the queue pair that sent the datagram."""
    if qp.transport.connected:
        return peer_of(case.world, qp)
    others = [node for node in case.world.nodes if node != qp.node]
    found = [find_qp(case.world, node, cqe.src_qp) for node in others]
    return next((each for each in found if each is not None), None)


def last_sent(case: Case, sender: QueuePair, to: QueuePair | None = None) -> SendWR | None:
    """Its newest send; to: the newest that took a receive of this queue pair."""
    for record in reversed(case.log.about(Kind.SEND_POSTED, sender.thing)):
        wr: SendWR = send_wqe_of(record).wr
        if to is None or (commands.needs_receive(wr) and _goes_to(sender, wr, to)):
            return wr
    return None


def _goes_to(sender: QueuePair, wr: SendWR, qp: QueuePair) -> bool:
    return sender.transport.connected or wr.remote_qpn == qp.number


def _flags(wr: SendWR, more: SendFlags) -> str:
    return fmt.flags(int(SendFlags(wr.flags) | more), SendFlags)
