"""Warnings about work requests at their post: addresses, atomics, buffers, full queues."""

from collections.abc import Iterator
from itertools import pairwise

from rdmalab.command import Noun
from rdmalab.hca import extended
from rdmalab.hca.device import Hca
from rdmalab.hca.invalid_pointers import listed
from rdmalab.hca.psn import MASK
from rdmalab.hca.qp import QueuePair, SharedReceiveQueue
from rdmalab.hca.wr import SGE, SendWqe
from rdmalab.spec import records as rec
from rdmalab.spec.access import Access
from rdmalab.spec.builders import INLINE_SETTERS
from rdmalab.spec.causes import warning
from rdmalab.spec.opcodes import ATOMIC_BYTES, WORD_OPS
from rdmalab.spec.records import Kind, object_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WORK, Local, SendFlags, WROpcode
from rdmalab.views import fmt
from rdmalab.views.device_warnings import (
    WarningChecks,
    WarningContext,
    fails_later,
    recv_departs,
    send_departs,
)
from rdmalab.wire.headers import GRH
from rdmalab.world.relations import peer_node


def _send_posted(moment: WarningContext) -> Iterator[str]:
    wqe = rec.send_wqe_of(moment.record)
    scatters = wqe.work is not None and wqe.work.local is Local.SCATTER
    if wqe.inline is None:
        yield from _buffers(moment, listed(wqe.wr), moment.qp.pd, scatters=scatters)
    yield from send_departs(moment)
    if scatters:
        yield from _overlaps(wqe.sg)
    yield from _bound(moment, wqe)
    yield from _unaddressed(moment, wqe)
    yield from _odd_atomic(moment, wqe)
    qp = moment.qp
    if wqe.work is not None and wqe.work.outstanding and not qp.attr.max_rd_atomic:
        name = moment.name(Noun.QP, qp.number)
        yield warning("rd-atomic-zero", qp=name)
    if qp.state_row.flushes_sends:
        name = moment.name(Noun.QP, qp.number)
        yield warning("qp-err-flush", qp=name, state=qp.state.name)
    yield from _fills_up(moment, qp)


def _bound(moment: WarningContext, wqe: SendWqe) -> Iterator[str]:
    """A bind to a region that was not registered with MW_BIND."""
    mr = moment.hca.mrs.items.get(wqe.wr.bind_mr or 0)
    if mr is None or wqe.wr.opcode != WROpcode.BIND_MW or mr.access & Access.MW_BIND:
        return
    name = moment.name(Noun.MR, mr.number)
    rights = fmt.flags(Access(mr.access) | Access.MW_BIND, Access)
    yield fails_later(WCStatus.MW_BIND_ERR, "mw-bind", mr=name)
    yield warning("mw-bind/right", mr=name, rights=rights)


def _unaddressed(moment: WarningContext, wqe: SendWqe) -> Iterator[str]:
    """A message over XRC says which SRQ of the peer it is for, a datagram which QP."""
    transport = moment.qp.transport
    if wqe.op is None or moment.qp.state_row.flushes_sends:
        return
    if transport.addressed and not wqe.wr.remote_qpn:
        yield warning("wrong-qpn")
    elif transport.addressed and wqe.wr.remote_qpn > MASK:
        number = wqe.wr.remote_qpn
        yield warning("cut-qpn", field="remote_qpn", value=number, kept=number & MASK)
    if wqe.work is not None and wqe.work.remote and wqe.length and not wqe.wr.rkey:
        names, world = moment.session.names, moment.session.world
        peer = peer_node(world, moment.qp)
        regions = names.living(world, Noun.MR, peer) if peer else []
        said = warning("rem-access", mr=names.of(regions[-1]) if regions else "MR")
        later = warning("later", status=WCStatus.REM_ACCESS_ERR.name)
        yield f"{said} {later}" if transport.acknowledged else said
    if transport.names_srq and not wqe.wr.remote_srqn:
        yield fails_later(WCStatus.REM_INV_REQ_ERR, "xrc-srqn")


def _odd_atomic(moment: WarningContext, wqe: SendWqe) -> Iterator[str]:
    """An atomic that the device, or the responder, will refuse for its length or its address."""
    if wqe.op not in WORD_OPS or moment.qp.state_row.flushes_sends:
        return
    odd = moment.hca.profile.odd_atomic_status
    if wqe.length != ATOMIC_BYTES and odd is not WCStatus.SUCCESS:
        yield fails_later(odd, "loc-len/atomic", length=wqe.length)
    elif wqe.wr.remote_addr % ATOMIC_BYTES:
        addr = wqe.wr.remote_addr
        yield fails_later(WCStatus.REM_INV_REQ_ERR, "rem-inv-req/unaligned", addr=addr)


def _recv_posted(moment: WarningContext) -> Iterator[str]:
    wqe = rec.recv_wqe_of(moment.record)
    yield from _buffers(moment, listed(wqe.wr), moment.qp.pd, scatters=True)
    yield from recv_departs(moment)
    yield from _overlaps(wqe.sg)
    if moment.qp.transport.addressed and wqe.length <= GRH.LENGTH:
        yield warning("ud-40-bytes", octets=GRH.LENGTH)


def _shared_posted(moment: WarningContext) -> Iterator[str]:
    wqe = rec.recv_wqe_of(moment.record)
    srq = moment.hca.srqs.items[object_of(moment.record)]
    yield from _buffers(moment, listed(wqe.wr), *_takers(moment.hca, srq), scatters=True)
    yield from recv_departs(moment)
    yield from _overlaps(wqe.sg)


def _takers(hca: Hca, srq: SharedReceiveQueue) -> list[int]:
    """The protection domains that a buffer of the SRQ may be in; empty: not known yet."""
    if hca.profile.checks_srq_pd or srq.xrcd:
        return [hca.pds.find(srq.pd).base]
    return [qp.pd for qp in hca.qps.items.values() if qp.srq == srq.number]


def _overlaps(sg: list[SGE]) -> Iterator[str]:
    """The device may fill the pieces in any order; the lab goes through the list."""
    spans = sorted((sge.addr, sge.addr + sge.length) for sge in sg)
    if any(stop > start for (_, stop), (start, _) in pairwise(spans)):
        yield warning("overlap-sges")


def _buffers(moment: WarningContext, sg: list[SGE], *pds: int, scatters: bool) -> Iterator[str]:
    status = WCStatus.LOC_PROT_ERR
    for sge in sg:
        mr = moment.hca.lkeys.get(sge.lkey)
        if sge.length == 0:
            continue
        if mr is None:
            yield fails_later(status, "loc-prot/lkey", node=moment.hca.node, lkey=sge.lkey)
        elif not mr.iova <= sge.addr <= sge.addr + sge.length <= mr.iova + mr.length:
            name = moment.name(Noun.MR, mr.number)
            yield fails_later(status, "loc-prot/range", mr=name, length=mr.length)
        elif pds and mr.pd not in pds:
            name = moment.name(Noun.MR, mr.number)
            yield fails_later(status, "loc-prot/domain", mr=name)
        elif scatters and not mr.access & Access.LOCAL_WRITE:
            yield fails_later(status, "loc-prot/right", mr=moment.name(Noun.MR, mr.number))


def _fills_up(moment: WarningContext, qp: QueuePair) -> Iterator[str]:
    """A send queue of unsignaled work: no completion will free its slots."""
    sq = qp.sq
    used = sq.used
    silent = used > 1 and sq.is_unsignaled
    name = moment.name(Noun.QP, qp.number)
    if silent and used == sq.capacity:
        yield warning("sq-full-of-unsignaled", used=used, qp=name)
    elif silent and used == sq.capacity - 1:
        yield warning("sq-full-of-unsignaled/next", used=used, room=sq.capacity, qp=name)


def _spoiled(moment: WarningContext) -> Iterator[str]:
    yield warning("region-aborted", error=rec.batch_error_of(moment.record))


def _next_set(moment: WarningContext) -> Iterator[str]:
    if rec.send_flags_of(moment.record) & SendFlags.INLINE:
        yield warning("inline-flag")


def _filled(moment: WarningContext) -> Iterator[str]:
    """Inline data for a request that brings data here; libmlx5 and librxe look at no opcode."""
    wr, verb, profile = (
        rec.send_wr_of(moment.record),
        rec.setter_of(moment.record),
        moment.hca.profile,
    )
    row = WORK.get(wr.opcode)
    if verb not in INLINE_SETTERS or row is None or row.inline:
        return
    key = "inline-opcode" if profile.refuses_inline_read else "inline-opcode/later"
    yield warning(key, verb=verb, opcode=WROpcode(wr.opcode).name)


def _closed(moment: WarningContext) -> Iterator[str]:
    ending = rec.ending_of(moment.record)
    name = moment.name(Noun.QP, object_of(moment.record))
    if ending == extended.OVERWRITTEN:
        yield warning("region-overwritten", qp=name)
    elif ending == extended.UNOPENED:
        yield warning("region-not-open", qp=name)


def meet(sge: SGE, addr: int, length: int) -> bool:
    """Whether an SGE and a range of addresses overlap."""
    return sge.addr < addr + length and addr < sge.addr + sge.length


POST_WARNINGS: WarningChecks = {
    Kind.SEND_POSTED: _send_posted,
    Kind.RECV_POSTED: _recv_posted,
    Kind.SRQ_POSTED: _shared_posted,
    Kind.BATCH_FAILED: _spoiled,
    Kind.WR_FILLED: _filled,
    Kind.NEXT_WR_SET: _next_set,
    Kind.REGION_CLOSED: _closed,
}
