"""A completion queue created again with another channel or size, and its queue pairs too."""

from dataclasses import asdict

from rdmalab.command import Noun
from rdmalab.doctor.case import Case
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.qp import Capacity, QueuePair
from rdmalab.spec.work import SendOps
from rdmalab.views import fmt


def users(case: Case, cq: CompletionQueue) -> list[QueuePair]:
    """The queue pairs that complete there."""
    qps = case.world.nodes[cq.node].qps.items.values()
    return [qp for qp in qps if cq.number in (qp.send_cq, qp.recv_cq)]


def needed(case: Case, cq: CompletionQueue) -> int:
    """How many completions may come onto it before anybody polls: the depths of its queues."""
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
        *(
            simple_fixes.post_recv(case, qp, wqe.wr)
            for qp in mine
            if not qp.srq
            for wqe in qp.rq.wqes
        ),
    ]


def _brought_up(case: Case, qp: QueuePair) -> list[str]:
    """A queue pair that was just made is in RESET already."""
    if qp.path is None and qp.transport.connected:
        return []
    fresh = f"modify_qp {case.qp_name(qp)} state=RESET"
    return [line for line in simple_fixes.bring_up_again(case, qp) if line != fresh]


def create_qp(case: Case, qp: QueuePair) -> str:
    """The call that makes such a queue pair."""
    verb = "create_qp_ex" if qp.ex is not None else "create_qp"
    parts = {
        "pd": (Noun.PD, qp.domain), "send_cq": (Noun.CQ, qp.send_cq),
        "recv_cq": (Noun.CQ, qp.recv_cq), "srq": (Noun.SRQ, qp.srq), "xrcd": (Noun.XRCD, qp.xrcd),
    }  # fmt: skip
    said = [f"{key}={case.name(noun, qp.node, number)}"
            for key, (noun, number) in parts.items() if number]  # fmt: skip
    own, usual = asdict(qp.cap), asdict(Capacity())
    if qp.srq:
        own["max_recv_wr"] = usual["max_recv_wr"]  # its size is that of the SRQ
    said += [f"{key}={value}" for key, value in own.items() if value != usual[key]]
    said += ["sq_sig_all=1"] if qp.sq_sig_all else []
    said += [f"max_tso_header={qp.max_tso_header}"] if qp.max_tso_header else []
    if qp.ex is not None:
        said.append(f"send_ops_flags={fmt.flags(qp.ex.ops, SendOps) if qp.ex.ops else 0}")
    return " ".join([verb, case.qp_name(qp), f"qp_type={qp.qp_type.name}", *said])
