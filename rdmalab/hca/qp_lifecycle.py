"""Creating and destroying queue pairs: types, parts, sizes, rights."""

from dataclasses import replace

from rdmalab.command import Refused
from rdmalab.hca import async_events, flush, groups
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.attributes import INLINE_HEADER, LONGEST_WQE, SGE_BYTES, WQE_BLOCK, recv_wqe_bytes
from rdmalab.hca.device import GROUP_QPN
from rdmalab.hca.errors import check_useful, one_of, refused
from rdmalab.hca.lifecycle import check_limit, check_unused, count, created, destroyed
from rdmalab.hca.offloads import TSO_TYPES
from rdmalab.hca.port import ETHERNET
from rdmalab.hca.qp import Capacity, QueuePair
from rdmalab.spec.states import QPState, QPType
from rdmalab.spec.transports import TRANSPORTS, Transport

QP_LIMITS = {
    "max_send_wr": "max_qp_wr",
    "max_recv_wr": "max_qp_wr",
    "max_send_sge": "max_send_sge",
    "max_recv_sge": "max_recv_sge",
    "max_inline_data": "max_inline_data",
}


def create_qp(  # noqa: PLR0913  (ibv_qp_init_attr has these)
    hca: Adapter,
    qp_type: QPType,
    pd: int,
    send_cq: int,
    recv_cq: int,
    cap: Capacity,
    *,
    sig_all: bool,
    srq: int = 0,
    xrcd: int = 0,
    max_tso_header: int = 0,
) -> QueuePair:
    """`ibv_create_qp`; 0 is no object of that kind. What the type does not use is not kept."""
    check_useful(hca)
    parts = {"pd": pd, "send_cq": send_cq, "recv_cq": recv_cq, "srq": srq, "xrcd": xrcd}
    refusal = _judge_qp(hca, qp_type, cap, parts) or _judge_rights(hca, qp_type, max_tso_header)
    if refusal is not None:
        raise refusal
    check_limit(hca, hca.qps)
    if hca.qps.next_number >= GROUP_QPN:
        raise refused(hca.profile, "limit", "2^24 QP numbers, and none is used twice")
    transport = TRANSPORTS[qp_type]
    sizes = _used(cap, transport, shared=srq != 0)
    qp = QueuePair(
        hca.node, hca.qps.next_number, qp_type, _granted(hca, qp_type, sizes, max_tso_header)
    )
    qp.sq_sig_all, qp.max_tso_header = sig_all, max_tso_header
    for name in transport.parts:
        setattr(qp, name, parts[name])
    qp.domain = qp.pd
    if (domain := hca.pds.items.get(qp.pd)) is not None:
        qp.pd, qp.locked = domain.base, domain.td is None
    if srq:
        qp.share_receives(hca.srqs.find(srq))
    if hca.profile.create_qp_returns_asked:
        wrs = {"max_send_wr": sizes.max_send_wr, "max_recv_wr": sizes.max_recv_wr}
        qp.reported_cap = replace(qp.cap, **wrs)
    created(hca, hca.qps, qp)
    return qp


def _judge_qp(
    hca: Adapter, qp_type: QPType, cap: Capacity, parts: dict[str, int]
) -> Refused | None:
    if qp_type not in tuple(QPType):
        legal = one_of("qp_type", sorted(hca.profile.qp_types))
        return refused(hca.profile, "qp-type-unknown", qp_type, argument="qp_type", legal=legal)
    refusal = _judge_parts(hca, qp_type, parts)
    if refusal is None and qp_type not in hca.profile.qp_types:
        legal = one_of("qp_type", sorted(hca.profile.qp_types))
        name = qp_type.name
        return refused(hca.profile, "qp-type-support", name, argument="qp_type", legal=legal)
    used = _used(cap, TRANSPORTS[qp_type], shared=parts["srq"] != 0)
    return refusal or _judge_sizes(hca, qp_type, used)


def _judge_parts(hca: Adapter, qp_type: QPType, parts: dict[str, int]) -> Refused | None:
    transport = TRANSPORTS[qp_type]
    missing = " ".join(name for name in transport.parts if not parts[name])
    if missing:
        legal = f"{qp_type.name} takes: {' '.join(transport.parts)}"
        return refused(
            hca.profile, "qp-parts", qp_type.name, missing, argument=missing.split()[0], legal=legal
        )
    srq = hca.srqs.items.get(parts["srq"])
    if srq is not None and (srq.xrcd or transport.names_srq):
        why = "an XRC SRQ is named by each message, it is tied to no queue pair"
        if not srq.xrcd:
            why = f"a {qp_type.name} queue pair is tied to no SRQ"
        return refused(hca.profile, "qp-srq", why, argument="srq", legal="leave srq out")
    return None


_SENDING = ("max_send_wr", "max_send_sge", "max_inline_data")


_RECEIVING = ("max_recv_wr", "max_recv_sge")


def _used(cap: Capacity, transport: Transport, *, shared: bool) -> Capacity:
    """The sizes that count: of a queue that the QP does not have none is looked at."""
    idle = () if transport.sends else _SENDING
    own = transport.receives and not (shared or transport.names_srq)
    return replace(cap, **dict.fromkeys(idle if own else (*idle, *_RECEIVING), 0))


def _judge_sizes(hca: Adapter, qp_type: QPType, cap: Capacity) -> Refused | None:
    limits = {name: int(getattr(hca.profile.caps, cell)) for name, cell in QP_LIMITS.items()}
    if (header := hca.profile.send_wqe_headers.get(qp_type)) is not None:
        inline = LONGEST_WQE - header - INLINE_HEADER
        limits["max_inline_data"] = min(limits["max_inline_data"], inline)
    for name, most in limits.items():
        asked = getattr(cap, name)
        if not 0 <= asked <= most:
            legal = f"{name} takes 0..{most}"
            return refused(hca.profile, "qp-cap", f"{name}={asked}", argument=name, legal=legal)
    room = hca.profile.caps.max_sq_bytes
    if cap.sq_bytes <= room:
        return None
    fits = room // cap.wqe_bytes
    legal = f"max_send_wr up to {fits} of this kind; or fewer SGEs or inline bytes"
    both = (cap.sq_bytes, room)
    return refused(hca.profile, "qp-memory", *both, argument="max_send_wr", legal=legal)


def _judge_raw(hca: Adapter) -> Refused | None:
    """Refuse a RAW_PACKET queue pair without an Ethernet port or a privileged process."""
    if hca.lids:
        legal = f"port {hca.node} {ETHERNET}"
        return refused(hca.profile, "raw-ethernet", argument="qp_type", legal=legal)
    if not hca.profile.caps.cap_net_raw:
        legal = "give the process CAP_NET_RAW"
        return refused(hca.profile, "net-raw", argument="qp_type", legal=legal)
    return None


def _judge_rights(hca: Adapter, qp_type: QPType, max_tso_header: int) -> Refused | None:
    """Refuse what this port, this process or this device may not do."""
    profile, caps = hca.profile, hca.profile.caps
    if TRANSPORTS[qp_type].service is None and (refusal := _judge_raw(hca)) is not None:
        return refusal
    if not max_tso_header:
        return None
    if not caps.max_tso:
        return refused(profile, "tso-support", argument="max_tso_header", legal="leave it out")
    if qp_type not in TSO_TYPES:
        return refused(profile, "tso-type", qp_type.name, argument="max_tso_header")
    if max_tso_header > caps.max_tso_header:
        legal = f"max_tso_header takes 0..{caps.max_tso_header}"
        asked = f"max_tso_header={max_tso_header}"
        return refused(profile, "qp-cap", asked, argument="max_tso_header", legal=legal)
    return None


def _granted(hca: Adapter, qp_type: QPType, cap: Capacity, max_tso_header: int) -> Capacity:
    """The granted sizes: never less than requested (Soft-RoCE rounds up, S073)."""
    granted, per_sge = hca.profile.rounding.granted, hca.profile.inline_bytes_per_sge
    sges, inline = cap.max_send_sge, cap.max_inline_data
    # rxe_qp.c: SGEs and inline bytes share the space of a WQE, so each size grows to the other.
    if per_sge:
        sges, inline = max(sges, inline // per_sge), max(inline, per_sge * sges)
    recvs, pieces = granted(cap.max_recv_wr), cap.max_recv_sge
    if (header := hca.profile.send_wqe_headers.get(qp_type)) and cap.max_send_wr:
        inline = cap.inline_room(header, max_tso_header)
    if hca.profile.recv_wqe_powers and cap.max_recv_wr:
        wqe = recv_wqe_bytes(pieces, 1)
        recvs, pieces = max(recvs, WQE_BLOCK // wqe), wqe // SGE_BYTES
    return Capacity(granted(cap.max_send_wr), recvs, sges, pieces, inline)


def destroy_qp(hca: Adapter, qp: QueuePair) -> None:
    """`ibv_destroy_qp`: its work requests are discarded without completions."""
    if qp.opened > 1:  # another process has it still
        qp.share(hca.trace, -1)
        return
    flows = sum(flow.qp == qp.number for flow in hca.flows.items.values())
    joined = len(groups.groups_of(hca, qp))
    # uverbs_free_qp of the kernel: EBUSY while the QP is attached to a group.
    check_unused(hca, count("multicast group", joined) + count("flow rule", flows))
    async_events.check_acked(hca, "qp", qp.number)
    if qp.state is not QPState.RESET:
        flush.discard(hca, qp)
    hca.leave_line(qp)
    destroyed(hca, hca.qps, qp)
