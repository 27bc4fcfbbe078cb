"""Making and destroying objects: limits, what belongs together, who still uses what."""

from typing import TYPE_CHECKING, Any

from rdmalab.command import Refused
from rdmalab.hca import flush, groups
from rdmalab.hca.ah import AddressHandle, judge
from rdmalab.hca.attributes import AhAttr
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.device import Table
from rdmalab.hca.keys import window_key
from rdmalab.hca.mw import MemoryWindow, unbind
from rdmalab.hca.pd import ProtectionDomain
from rdmalab.hca.qp import Capacity, QueuePair
from rdmalab.hca.refuse import refused
from rdmalab.spec.access import MWType
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState, QPType

if TYPE_CHECKING:
    from rdmalab.hca.device import Hca


def check_limit(hca: "Hca", table: Table[Any]) -> None:
    """ENOMEM when the device has no room for one more."""
    limit = int(getattr(hca.profile.caps, f"max_{table.noun}"))
    if len(table.items) >= limit:
        raise refused(hca.profile, "limit", f"max_{table.noun}={limit}")


def created(hca: "Hca", table: Table[Any], item: Any) -> None:
    """Into its table, and into the log."""
    table.add(item)
    hca.trace.record(Kind.CREATED, hca.node, item.number, table.noun)


def destroyed(hca: "Hca", table: Table[Any], item: Any) -> None:
    """Out of its table, and into the log."""
    table.remove(item)
    hca.trace.record(Kind.DESTROYED, hca.node, item.number, table.noun)


def check_unused(hca: "Hca", users: list[str]) -> None:
    """EBUSY while others need it; nothing changes."""
    if users:
        raise refused(hca.profile, "in-use", " and ".join(users), legal="destroy these first")


def _count(noun: str, count: int) -> list[str]:
    return [f"{count} {noun}{'s' if count > 1 else ''}"] if count else []


# --------------------------------------------------------------------------- PDs
def alloc_pd(hca: "Hca") -> ProtectionDomain:
    check_limit(hca, hca.pds)
    pd = ProtectionDomain(hca.pds.next_number)
    created(hca, hca.pds, pd)
    return pd


def dealloc_pd(hca: "Hca", pd: ProtectionDomain) -> None:
    mrs = sum(mr.pd == pd.number for mr in hca.mrs.items.values())
    qps = sum(qp.pd == pd.number for qp in hca.qps.items.values())
    ahs = sum(ah.pd == pd.number for ah in hca.ahs.items.values())
    mws = sum(mw.pd == pd.number for mw in hca.mws.items.values())
    users = (("MR", mrs), ("MW", mws), ("QP", qps), ("AH", ahs))
    check_unused(hca, [text for noun, count in users for text in _count(noun, count)])
    destroyed(hca, hca.pds, pd)


# --------------------------------------------------------------------------- CQs
def create_cq(hca: "Hca", cqe: int, comp_vector: int) -> CompletionQueue:
    caps = hca.profile.caps
    check_limit(hca, hca.cqs)
    if not 0 < cqe <= caps.max_cqe:
        raise refused(hca.profile, "cqe-range", caps.max_cqe, argument="cqe")
    if not 0 <= comp_vector < caps.num_comp_vectors:
        last = caps.num_comp_vectors - 1
        raise refused(hca.profile, "comp-vector", last, argument="comp_vector")
    granted = hca.profile.rounding.granted(cqe)
    cq = CompletionQueue(hca.node, hca.cqs.next_number, granted, comp_vector)
    created(hca, hca.cqs, cq)
    return cq


def destroy_cq(hca: "Hca", cq: CompletionQueue) -> None:
    users = sum(cq.number in (qp.send_cq, qp.recv_cq) for qp in hca.qps.items.values())
    check_unused(hca, _count("QP", users))
    destroyed(hca, hca.cqs, cq)


# --------------------------------------------------------------------------- AHs
def create_ah(hca: "Hca", pd: int, attr: AhAttr) -> AddressHandle:
    check_limit(hca, hca.ahs)
    if (refusal := judge(hca, attr, 1)) is not None:
        raise refusal
    ah = AddressHandle(hca.ahs.next_number, pd, attr)
    created(hca, hca.ahs, ah)
    return ah


def destroy_ah(hca: "Hca", ah: AddressHandle) -> None:
    """Never EBUSY: work requests that name it are not asked; they will fail."""
    destroyed(hca, hca.ahs, ah)


# --------------------------------------------------------------------------- MWs
def alloc_mw(hca: "Hca", pd: int, mw_type: int) -> MemoryWindow:
    """A window that opens nothing yet."""
    if mw_type not in tuple(MWType):
        legal = "type=" + "|".join(t.name for t in MWType)
        raise refused(hca.profile, "mw-type", mw_type, argument="type", legal=legal)
    check_limit(hca, hca.mws)
    number = hca.mws.next_number
    mw = MemoryWindow(number, pd, MWType(mw_type), window_key(number, hca.host))
    created(hca, hca.mws, mw)
    return mw


def dealloc_mw(hca: "Hca", mw: MemoryWindow) -> None:
    """Never EBUSY: a bound window is unbound, a bind under way will fail."""
    if mw.binding is not None:
        unbind(hca, mw, "deallocated")
    destroyed(hca, hca.mws, mw)


# --------------------------------------------------------------------------- QPs
_LIMITS = {
    "max_send_wr": "max_qp_wr",
    "max_recv_wr": "max_qp_wr",
    "max_send_sge": "max_send_sge",
    "max_recv_sge": "max_recv_sge",
    "max_inline_data": "max_inline_data",
}


def create_qp(  # noqa: PLR0913  (ibv_qp_init_attr has these)
    hca: "Hca",
    qp_type: QPType,
    pd: int,
    send_cq: int,
    recv_cq: int,
    cap: Capacity,
    *,
    sig_all: bool,
) -> QueuePair:
    if (refusal := _judge_qp(hca, qp_type, cap)) is not None:
        raise refusal
    check_limit(hca, hca.qps)
    qp = QueuePair(hca.node, hca.qps.next_number, qp_type, _granted(hca, cap))
    qp.pd, qp.send_cq, qp.recv_cq, qp.sq_sig_all = pd, send_cq, recv_cq, sig_all
    created(hca, hca.qps, qp)
    return qp


def _judge_qp(hca: "Hca", qp_type: QPType, cap: Capacity) -> Refused | None:
    if qp_type not in tuple(QPType):
        legal = " ".join(t.name for t in hca.profile.qp_types)
        return refused(hca.profile, "qp-type-unknown", qp_type, argument="qp_type", legal=legal)
    if qp_type not in hca.profile.qp_types:
        legal = "qp_type=" + "|".join(t.name for t in sorted(hca.profile.qp_types))
        name = qp_type.name
        return refused(hca.profile, "qp-type-support", name, argument="qp_type", legal=legal)
    for name, limit in _LIMITS.items():
        asked, most = getattr(cap, name), int(getattr(hca.profile.caps, limit))
        if not 0 <= asked <= most:
            legal = f"{name} takes 0..{most}"
            return refused(hca.profile, "qp-cap", f"{name}={asked}", argument=name, legal=legal)
    return None


def _granted(hca: "Hca", cap: Capacity) -> Capacity:
    """What the device really gives: never less than asked (Soft-RoCE rounds up, S073)."""
    granted, per_sge = hca.profile.rounding.granted, hca.profile.inline_bytes_per_sge
    sges, inline = cap.max_send_sge, cap.max_inline_data
    if per_sge:
        sges, inline = max(sges, inline // per_sge), max(inline, per_sge * sges)
    return Capacity(
        granted(cap.max_send_wr), granted(cap.max_recv_wr), sges, cap.max_recv_sge, inline
    )


def destroy_qp(hca: "Hca", qp: QueuePair) -> None:
    """Whatever waits in its queues vanishes without a completion."""
    check_unused(hca, _count("multicast group", len(groups.groups_of(hca, qp))))
    if qp.state is not QPState.RESET:
        flush.discard(hca, qp)
    destroyed(hca, hca.qps, qp)
