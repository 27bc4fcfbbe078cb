"""Verbs of shared receive queues and XRC domains: create, modify, destroy."""

from rdmalab.command import Refused
from rdmalab.hca import async_events, invalid_pointers, lifecycle
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.attributes import SGE_BYTES, recv_wqe_bytes
from rdmalab.hca.errors import check_postable, one_of, refused, say_queue_too_small
from rdmalab.hca.objects import XrcDomain
from rdmalab.hca.posting import effective
from rdmalab.hca.qp import Parts, QueuePair, SharedReceiveQueue
from rdmalab.hca.srq import SrqCapacity, SrqChange, domain_of, watch_limit
from rdmalab.hca.wr import RecvWqe, RecvWR
from rdmalab.spec.limits import DeviceCap
from rdmalab.spec.records import Kind
from rdmalab.spec.srq import PRIVATE, SRQ_FIELDS, OpenFlag, SrqAttrMask, SrqType
from rdmalab.spec.states import QPType

_XRC = int(DeviceCap.XRC)
_RESIZES = int(DeviceCap.SRQ_RESIZE)


# --------------------------------------------------------------------------- made and destroyed
def create_srq(hca: Adapter, parts: Parts, attr: SrqCapacity) -> SharedReceiveQueue:
    """`ibv_create_srq`, `ibv_create_srq_ex`."""
    for refusal in (_judge_parts(hca, parts), _judge_sizes(hca, attr)):
        if refusal is not None:
            raise refusal
    lifecycle.check_limit(hca, hca.srqs)
    profile = hca.profile
    granted = profile.cq_srq_rounding.granted(attr.max_wr)
    max_sge = max(attr.max_sge, profile.least_srq_sge)
    if profile.recv_wqe_powers:
        max_sge = recv_wqe_bytes(max_sge + 1, 2) // SGE_BYTES - 1  # mlx5: a link of 16 bytes
    srq = SharedReceiveQueue(hca.node, hca.srqs.next_number, granted, max_sge, parts)
    lifecycle.created(hca, hca.srqs, srq)
    if profile.arms_created_srq and attr.srq_limit:
        srq.limit = attr.srq_limit
        hca.trace.record(Kind.SRQ_SET, hca.node, srq.number, "srq_limit", srq.limit)
    return srq


def _judge_parts(hca: Adapter, parts: Parts) -> Refused | None:
    kind, profile = parts.srq_type, hca.profile
    if kind not in tuple(SrqType):
        legal = one_of("srq_type", (SrqType.BASIC, SrqType.XRC))
        return refused(profile, "srq-type-unknown", int(kind), argument="srq_type", legal=legal)
    xrc = kind is SrqType.XRC
    if kind is SrqType.TM or (xrc and not profile.caps.device_cap_flags & _XRC):
        name = kind.name
        return refused(
            profile, "srq-type-support", name, argument="srq_type", legal="srq_type=BASIC"
        )
    for name in ("xrcd", "cq"):
        given = bool(getattr(parts, name))
        if xrc and not given:
            what = {"xrcd": "an XRC domain", "cq": "a CQ of its own"}[name]
            legal = f"{name}={hca.node}.{name}0"
            return refused(profile, "srq-parts", what, argument="srq_type", legal=legal)
        if given and not xrc:
            return refused(profile, "srq-plain-parts", name, argument=name, legal="srq_type=XRC")
    return None


def _judge_sizes(hca: Adapter, attr: SrqCapacity) -> Refused | None:
    caps = hca.profile.caps
    for name, low, high in (("max_wr", 1, caps.max_srq_wr), ("max_sge", 0, caps.max_srq_sge)):
        value = getattr(attr, name)
        if not low <= value <= high:
            return _out_of_range(hca, name, value, low, high)
    return None


def _out_of_range(hca: Adapter, name: str, value: int, low: int, high: int) -> Refused:
    legal = f"{name} takes {low}..{high}"
    return refused(hca.profile, "srq-range", f"{name}={value}", argument=name, legal=legal)


def destroy_srq(hca: Adapter, srq: SharedReceiveQueue) -> None:
    """`ibv_destroy_srq`: discard its receives. EBUSY while a QP is tied to it or uses one."""
    users = sum(
        qp.srq == srq.number or (qp.resp.recv is not None and qp.resp.recv.srq == srq.number)
        for qp in hca.qps.items.values()
    )
    lifecycle.check_unused(hca, lifecycle.count("QP", users))
    async_events.check_acked(hca, "srq", srq.number)
    lifecycle.destroyed(hca, hca.srqs, srq)


# --------------------------------------------------------------------------- changed and asked
def modify_srq(
    hca: Adapter, srq: SharedReceiveQueue, change: SrqChange, mask: SrqAttrMask | None = None
) -> None:
    """`ibv_modify_srq`: resize, arm or disarm, all or nothing."""
    given = {bit for bit, name in SRQ_FIELDS.items() if getattr(change, name) is not None}
    chosen = sum(given) if mask is None else int(mask)
    if (refusal := _judge_mask(hca, srq, given, chosen)) is not None:
        raise refusal
    max_wr = change.max_wr if chosen & SrqAttrMask.MAX_WR else None
    limit = change.srq_limit if chosen & SrqAttrMask.LIMIT else None
    if max_wr is not None and (refusal := _judge_resize(hca, srq, max_wr)) is not None:
        raise refusal
    # The limit is compared with the granted, rounded capacity (rxe_srq_chk_attr; measured).
    room = srq.capacity if max_wr is None else hca.profile.cq_srq_rounding.granted(max_wr)
    if limit is not None and not 0 <= limit <= room:
        legal = f"srq_limit takes 0..{room}; 0 disarms"
        raise refused(hca.profile, "srq-limit", limit, room, argument="srq_limit", legal=legal)
    _apply(hca, srq, room, limit)


def _judge_mask(
    hca: Adapter, srq: SharedReceiveQueue, given: set[SrqAttrMask], chosen: int
) -> Refused | None:
    profile = hca.profile
    if srq.dead:
        return refused(profile, "srq-error", legal="destroy it and make another")
    odd = chosen & ~sum(SrqAttrMask)
    # rxe_srq_chk_attr asks for the bits that it knows, and ignores others (measured).
    if odd and profile.refuses_unknown_srq_mask:
        return refused(profile, "srq-mask", hex(odd), argument="srq_attr_mask")
    missing = [name for bit, name in SRQ_FIELDS.items() if chosen & bit and bit not in given]
    if missing:
        return refused(profile, "mask-mismatch", " ".join(missing), argument="srq_attr_mask")
    return None


def _judge_resize(hca: Adapter, srq: SharedReceiveQueue, max_wr: int) -> Refused | None:
    profile, most = hca.profile, hca.profile.caps.max_srq_wr
    if not profile.caps.device_cap_flags & _RESIZES:
        return refused(profile, "srq-resize", argument="max_wr")
    if not 1 <= max_wr <= most:
        return _out_of_range(hca, "max_wr", max_wr, 1, most)
    used, armed = srq.used, srq.limit
    for least, what in ((armed, f"the limit, {armed}"), (used, f"the {used} slots in use")):
        if max_wr < least:
            return refused(profile, "srq-small", max_wr, what, argument="max_wr")
    return None


def _apply(hca: Adapter, srq: SharedReceiveQueue, room: int, limit: int | None) -> None:
    if room != srq.capacity:
        srq.capacity = room
        hca.trace.record(Kind.SRQ_SET, hca.node, srq.number, "max_wr", room)
    if limit is not None:
        srq.limit = limit
        hca.trace.record(Kind.SRQ_SET, hca.node, srq.number, "srq_limit", limit)
        # IBTA: at once, if it is undercut already. Soft-RoCE: at the next fetch (get_srq_wqe).
        if hca.profile.limit_counts_at_once:
            watch_limit(hca, srq)


def query_srq(hca: Adapter, srq: SharedReceiveQueue) -> SrqCapacity:
    """`ibv_query_srq`. No verb returns the number of receives in it (S200)."""
    if srq.dead and not hca.profile.reads_failed_srq:
        raise refused(hca.profile, "srq-error")
    return SrqCapacity(srq.capacity, srq.max_sge, srq.limit)


def srq_num(hca: Adapter, srq: SharedReceiveQueue) -> int:
    """`ibv_get_srq_num`: what a sender puts into XRCETH."""
    if not hca.profile.caps.device_cap_flags & _XRC:
        raise refused(hca.profile, "xrc-support")
    return srq.number


# --------------------------------------------------------------------------- filled
def post_srq_recv(hca: Adapter, srq: SharedReceiveQueue, wrs: list[RecvWR]) -> None:
    """`ibv_post_srq_recv`, legal in any state of any QP; the requests before the bad one stay."""
    check_postable(hca)
    for index, wr in enumerate(wrs):
        sg, length = effective(hca, invalid_pointers.listed(wr))
        if (refusal := _judge_recv(hca, srq, wr)) is not None:
            refusal.bad_wr = index
            say_queue_too_small(refusal, len(wrs), srq.capacity)
            raise refusal
        wqe = RecvWqe(srq.posted, wr, sg, length, srq.number)
        srq.push(wqe)
        hca.trace.record(Kind.SRQ_POSTED, hca.node, srq.number, wqe)
        if wr.next:
            raise invalid_pointers.lost(hca, wr, index)


def _judge_recv(hca: Adapter, srq: SharedReceiveQueue, wr: RecvWR) -> Refused | None:
    profile = hca.profile
    if srq.used >= srq.capacity:
        legal = f"slots come back {profile.slots_freed.value}"
        return refused(
            profile, "queue-full", "shared receive", srq.capacity, argument="srq", legal=legal
        )
    return invalid_pointers.check_list(hca, wr.sg, wr.num_sge, srq.max_sge, "srq-sges")


# --------------------------------------------------------------------------- XRC domains
def open_xrcd(hca: Adapter, fd: int, oflag: int) -> XrcDomain:
    """`ibv_open_xrcd`: a new domain, or the existing one of this file."""
    found = next((x for x in hca.xrcds.items.values() if x.fd == fd != PRIVATE), None)
    if (refusal := _judge(hca, fd, oflag, found)) is not None:
        raise refusal
    number = hca.xrcds.next_number
    xrcd = XrcDomain(number, fd, number if found is None else found.domain)
    lifecycle.created(hca, hca.xrcds, xrcd)
    return xrcd


def _judge(hca: Adapter, fd: int, oflag: int, found: XrcDomain | None) -> Refused | None:
    profile = hca.profile
    creates, alone = oflag & OpenFlag.O_CREAT, oflag & OpenFlag.O_EXCL
    if not profile.caps.device_cap_flags & _XRC:
        return refused(profile, "xrc-support", legal="profiles strict and mlx5 do")
    if creates and (fd == PRIVATE or found is None):
        return None
    if fd == PRIVATE:
        return refused(profile, "xrcd-private", argument="oflag", legal="oflag=O_CREAT")
    if found is None:
        return refused(profile, "xrcd-none", fd, argument="oflag", legal="oflag=O_CREAT")
    if alone:
        return refused(profile, "xrcd-exists", fd, argument="oflag", legal="leave O_EXCL out")
    return None


def close_xrcd(hca: Adapter, xrcd: XrcDomain) -> None:
    """`ibv_close_xrcd`: EBUSY while an SRQ or QP was made through this opening."""
    srqs = sum(srq.xrcd == xrcd.number for srq in hca.srqs.items.values())
    qps = sum(qp.xrcd == xrcd.number for qp in hca.qps.items.values())
    lifecycle.check_unused(hca, lifecycle.count("SRQ", srqs) + lifecycle.count("QP", qps))
    lifecycle.destroyed(hca, hca.xrcds, xrcd)


def open_qp(hca: Adapter, xrcd: int, qp_num: int, qp_type: QPType) -> QueuePair:
    """`ibv_open_qp`: another process shares an XRC_RECV queue pair of the domain."""
    qp = hca.qps.items.get(qp_num)
    shared = qp is not None and qp.qp_type is qp_type is QPType.XRC_RECV
    if qp is None or not shared or domain_of(hca, qp.xrcd) != domain_of(hca, xrcd):
        raise refused(hca.profile, "qp-open", f"{qp_num:#x}", argument="qp_num")
    qp.share(hca.trace, 1)
    return qp
