"""Creating and destroying objects: limits, required parts, objects still in use."""

from typing import TypeVar

from rdmalab.hca import async_events, channels, polling
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.ah import judge, routed
from rdmalab.hca.attributes import AhAttr
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.errors import check_useful, one_of, refused
from rdmalab.hca.mw import unbind
from rdmalab.hca.objects import (
    AddressHandle,
    CompChannel,
    MemoryWindow,
    Numbered,
    ProtectionDomain,
    Table,
    ThreadDomain,
    window_key,
)
from rdmalab.spec.access import MWType
from rdmalab.spec.completions import WcEx
from rdmalab.spec.records import Kind

_T = TypeVar("_T", bound=Numbered)


def check_limit(hca: Adapter, table: Table[_T]) -> None:
    """ENOMEM when the device has no room for one more."""
    check_useful(hca)
    limit = int(getattr(hca.profile.caps, f"max_{table.noun}"))
    if len(table.items) >= limit:
        raise refused(hca.profile, "limit", f"max_{table.noun}={limit}")


def created(hca: Adapter, table: Table[_T], item: _T) -> None:
    """Add an object to its table and record it."""
    table.add(item)
    hca.trace.record(Kind.CREATED, hca.node, item.number, table.noun)


def destroyed(hca: Adapter, table: Table[_T], item: _T) -> None:
    """Remove an object and its unread events, and record it."""
    async_events.discard(hca, table.noun, item.number)
    table.remove(item)
    hca.trace.record(Kind.DESTROYED, hca.node, item.number, table.noun)


def check_unused(hca: Adapter, users: list[str]) -> None:
    """Raise EBUSY while other objects use it; nothing changes."""
    if users:
        raise refused(hca.profile, "in-use", " and ".join(users), legal="destroy these first")


def count(noun: str, number: int) -> list[str]:
    """`["2 QPs"]`, and nothing for none."""
    return [f"{number} {noun}{'s' if number > 1 else ''}"] if number else []


# --------------------------------------------------------------------------- PDs
def alloc_pd(hca: Adapter) -> ProtectionDomain:
    """`ibv_alloc_pd`."""
    check_limit(hca, hca.pds)
    pd = ProtectionDomain(hca.pds.next_number)
    created(hca, hca.pds, pd)
    return pd


def dealloc_pd(hca: Adapter, pd: ProtectionDomain) -> None:
    """`ibv_dealloc_pd`; EBUSY while an object is in the domain."""
    # The kernel has one use count in a PD; here its users are counted by kind, to name them.
    srqs = sum(srq.pd == pd.number for srq in hca.srqs.items.values())
    mrs = sum(mr.pd == pd.number for mr in hca.mrs.items.values())
    qps = sum(pd.number in (qp.pd, qp.domain) for qp in hca.qps.items.values())
    ahs = sum(ah.pd == pd.number for ah in hca.ahs.items.values())
    mws = sum(mw.pd == pd.number for mw in hca.mws.items.values())
    parents = sum(p.base == pd.number and p is not pd for p in hca.pds.items.values())
    users = (
        ("MR", mrs), ("MW", mws), ("QP", qps), ("SRQ", srqs), ("AH", ahs),
        ("parent domain", parents),
    )  # fmt: skip
    check_unused(hca, [text for noun, number in users for text in count(noun, number)])
    destroyed(hca, hca.pds, pd)


# --------------------------------------------------------------------------- thread domains
def alloc_td(hca: Adapter) -> ThreadDomain:
    """`ibv_alloc_td`."""
    td = ThreadDomain(hca.tds.next_number)
    created(hca, hca.tds, td)
    return td


def dealloc_td(hca: Adapter, td: ThreadDomain) -> None:
    """`ibv_dealloc_td`; EBUSY while a parent domain has it."""
    in_use = any(pd.td == td.number for pd in hca.pds.items.values())
    check_unused(hca, ["a parent domain"] if in_use else [])
    destroyed(hca, hca.tds, td)


def alloc_parent_domain(
    hca: Adapter, pd: ProtectionDomain, td: ThreadDomain | None
) -> ProtectionDomain:
    """`ibv_alloc_parent_domain`: another name for the protection of `pd`."""
    check_limit(hca, hca.pds)
    parent = ProtectionDomain(hca.pds.next_number, pd.base, td.number if td else None)
    created(hca, hca.pds, parent)
    return parent


# --------------------------------------------------------------------------- channels, CQs
def create_comp_channel(hca: Adapter) -> CompChannel:
    """`ibv_create_comp_channel`."""
    channel = CompChannel(hca.node, hca.channels.next_number)
    created(hca, hca.channels, channel)
    return channel


def destroy_comp_channel(hca: Adapter, channel: CompChannel) -> None:
    """`ibv_destroy_comp_channel`; EBUSY while a CQ uses it."""
    # libibverbs counts the CQs of a channel and returns EBUSY itself; the kernel is not asked.
    check_unused(hca, count("CQ", len(channels.members(hca, channel))))
    destroyed(hca, hca.channels, channel)


def create_cq(
    hca: Adapter,
    cqe: int,
    comp_vector: int,
    channel: int = 0,
    context: int = 0,
    fields: int | None = None,
) -> CompletionQueue:
    """`ibv_create_cq`, `ibv_create_cq_ex`.

    channel: its number, 0 for none. fields: the fields that an extended CQ provides, None for a
    plain CQ.
    """
    caps = hca.profile.caps
    check_limit(hca, hca.cqs)
    _check_cqe(hca, cqe)
    if not 0 <= comp_vector < caps.num_comp_vectors:
        last = caps.num_comp_vectors - 1
        raise refused(hca.profile, "comp-vector", last, argument="comp_vector")
    if odd := (fields or 0) & ~hca.profile.extended_fields:
        legal = "|".join(str(flag.name) for flag in hca.profile.extended_fields)
        raise refused(
            hca.profile, "wc-flags", WcEx(odd).name or hex(odd), argument="wc_flags", legal=legal
        )
    granted = hca.profile.cq_srq_rounding.granted(cqe)
    cq = CompletionQueue(hca.node, hca.cqs.next_number, granted, comp_vector)
    cq.channel, cq.context, cq.fields = channel, context, fields
    created(hca, hca.cqs, cq)
    return cq


def _check_cqe(hca: Adapter, cqe: int) -> None:
    most = hca.profile.caps.max_cqe
    if not 0 < cqe <= most:
        raise refused(hca.profile, "cqe-range", most, argument="cqe")


def resize_cq(hca: Adapter, cq: CompletionQueue, cqe: int) -> int:
    """`ibv_resize_cq`: the granted capacity; the completions in the CQ must fit."""
    _check_cqe(hca, cqe)
    polling.check_closed(hca, cq)
    if cqe < len(cq.cqes):
        legal = f"cqe={len(cq.cqes)} or more, or poll first"
        raise refused(hca.profile, "cqe-unpolled", len(cq.cqes), cqe, argument="cqe", legal=legal)
    cq.resize(hca.trace, hca.profile.cq_srq_rounding.granted(cqe))
    return cq.capacity


def destroy_cq(hca: Adapter, cq: CompletionQueue) -> None:
    """`ibv_destroy_cq`; EBUSY while a QP or SRQ uses it."""
    users = sum(cq.number in (qp.send_cq, qp.recv_cq) for qp in hca.qps.items.values())
    srqs = sum(cq.number == srq.cq for srq in hca.srqs.items.values())
    check_unused(hca, count("QP", users) + count("SRQ", srqs))
    channels.check_acked(hca, cq)
    async_events.check_acked(hca, "cq", cq.number)
    channels.discard(hca, cq)
    destroyed(hca, hca.cqs, cq)


# --------------------------------------------------------------------------- AHs
def create_ah(hca: Adapter, pd: int, attr: AhAttr) -> AddressHandle:
    """`ibv_create_ah`."""
    check_limit(hca, hca.ahs)
    if (refusal := judge(hca, attr, 1, hca.profile.create_ah_judges)) is not None:
        raise refusal
    ah = AddressHandle(hca.ahs.next_number, pd, routed(hca, attr, "ah"))
    created(hca, hca.ahs, ah)
    return ah


def destroy_ah(hca: Adapter, ah: AddressHandle) -> None:
    """`ibv_destroy_ah`, never EBUSY: work requests that use it will fail."""
    destroyed(hca, hca.ahs, ah)


# --------------------------------------------------------------------------- MWs
def alloc_mw(hca: Adapter, pd: int, mw_type: int) -> MemoryWindow:
    """`ibv_alloc_mw`: an unbound window."""
    if mw_type not in tuple(MWType):
        legal = one_of("type", MWType)
        raise refused(hca.profile, "mw-type", mw_type, argument="type", legal=legal)
    check_limit(hca, hca.mws)
    number = hca.mws.next_number
    mw = MemoryWindow(number, pd, MWType(mw_type), window_key(number, hca.host))
    created(hca, hca.mws, mw)
    return mw


def dealloc_mw(hca: Adapter, mw: MemoryWindow) -> None:
    """`ibv_dealloc_mw`, never EBUSY: a bound window is unbound, an outstanding bind will fail."""
    if mw.binding is not None:
        unbind(hca, mw, "deallocated")
    destroyed(hca, hca.mws, mw)
