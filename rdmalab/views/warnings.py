"""Warnings after a verb that succeeded: what will fail or surprise later."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rdmalab.command import Noun, Thing
from rdmalab.hca import extended
from rdmalab.hca.device import Hca
from rdmalab.hca.dma import LOCAL_READ, LOCAL_WRITE, Denied, MemoryUser, SrqUser, gather_status
from rdmalab.hca.invalid_pointers import listed
from rdmalab.hca.psn import MASK
from rdmalab.hca.qp import QueuePair, SharedReceiveQueue
from rdmalab.hca.wr import SGE, RecvWR, SendWqe, SendWR
from rdmalab.session.lines import Reply
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.access import Access
from rdmalab.spec.builders import INLINE_SETTERS
from rdmalab.spec.causes import warning
from rdmalab.spec.completions import Arm
from rdmalab.spec.opcodes import ATOMIC_BYTES, WORD_OPS
from rdmalab.spec.records import Kind, Record, node_of, object_of, of_kinds
from rdmalab.spec.states import Attr, MigState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WORK, Local, SendFlags, WROpcode
from rdmalab.views import fmt, key_denials, memory
from rdmalab.views.device_warnings import (
    DEVICE_WARNINGS,
    WarningChecks,
    WarningContext,
    fails_later,
    looked_at,
    records_of,
    recv_departs,
    send_departs,
)
from rdmalab.views.key_denials import Denial
from rdmalab.wire.headers import GRH
from rdmalab.world.relations import peer_node


def _send_posted(moment: WarningContext) -> Iterator[str]:
    wqe = rec.send_wqe_of(moment.record)
    scatters = wqe.work is not None and wqe.work.local is Local.SCATTER
    if wqe.inline is None:
        yield from _buffers(moment, wqe.wr, LOCAL_WRITE if scatters else LOCAL_READ, moment.qp)
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
        text = warning("rem-access", mr=names.of(regions[-1]) if regions else "MR")
        later = warning("later", status=WCStatus.REM_ACCESS_ERR.name)
        yield f"{text} {later}" if transport.acknowledged else text
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
    yield from _buffers(moment, wqe.wr, LOCAL_WRITE, moment.qp)
    yield from recv_departs(moment)
    yield from _overlaps(wqe.sg)
    if moment.qp.transport.addressed and wqe.length <= GRH.LENGTH:
        yield warning("ud-40-bytes", octets=GRH.LENGTH)


def _shared_posted(moment: WarningContext) -> Iterator[str]:
    wqe = rec.recv_wqe_of(moment.record)
    srq = moment.hca.srqs.items[object_of(moment.record)]
    yield from _buffers(moment, wqe.wr, LOCAL_WRITE, *_takers(moment.hca, srq))
    yield from recv_departs(moment)
    yield from _overlaps(wqe.sg)


def _takers(hca: Hca, srq: SharedReceiveQueue) -> Sequence[MemoryUser]:
    """Whose protection domain a buffer of the SRQ may be in; of any as long as no QP takes it."""
    if hca.profile.checks_srq_pd or srq.xrcd:
        return [SrqUser(0, hca.pds.find(srq.pd).base, srq.number)]
    qps = [qp for qp in hca.qps.items.values() if qp.srq == srq.number]
    return qps or [SrqUser(0, pd) for pd in hca.pds.items]


def _overlaps(sg: list[SGE]) -> Iterator[str]:
    """The device may fill the pieces in any order; the lab goes through the list."""
    spans = sorted((sge.addr, sge.addr + sge.length) for sge in sg)
    if any(stop > start for (_, stop), (start, _) in pairwise(spans)):
        yield warning("overlap-sges")


def _owner(session: Session, denial: Denial) -> Thing | None:
    """The region of any node that has this lkey and this address."""
    for node, hca in session.world.nodes.items():
        mr = hca.lkeys.get(denial.key)
        if mr is not None and mr.iova <= denial.addr < mr.iova + mr.length:
            return Thing(Noun.MR, node, mr.number)
    return None


_DENIED = {
    Denied.KEY: "loc-prot/lkey",
    Denied.PD: "loc-prot/domain",
    Denied.RIGHTS: "loc-prot/right",
    Denied.RANGE: "loc-prot/range",
}


def _buffers(
    moment: WarningContext, wr: SendWR | RecvWR, rights: int, *users: MemoryUser
) -> Iterator[str]:
    """Elements of the list that the device will deny; users: one of them will use the request."""
    hca, names = moment.hca, moment.session.names
    lists = [key_denials.denials(hca, user, wr, rights) for user in users]
    for denial in min(lists, key=lambda found: [each.why is Denied.PD for each in found]):
        mr = hca.lkeys.get(denial.key)
        thing = Thing(Noun.MR, hca.node, mr.number) if mr else _owner(moment.session, denial)
        if listed(wr)[denial.element].length:  # of length 0 `sge-zero` speaks
            yield fails_later(
                _status(hca, wr, denial),
                "loc-prot/node" if thing and not mr else _DENIED[denial.why],
                mr=names.of(thing) if thing else "",
                owner=thing.node if thing else "",
                length=mr.length if mr else 0,
                lkey=denial.key,
                node=hca.node,
            )


def _status(hca: Hca, wr: SendWR | RecvWR, denial: Denial) -> WCStatus:
    """Status of the completion of a request whose buffer is denied."""
    if isinstance(wr, RecvWR):
        return hca.profile.refusals["receive-denied"].status or WCStatus.SUCCESS
    return WCStatus.LOC_PROT_ERR if denial.rights else gather_status(hca, denial.why)


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
    wr, verb = rec.send_wr_of(moment.record), rec.setter_of(moment.record)
    row, profile = WORK.get(wr.opcode), moment.hca.profile
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


_LOOK_BACK = 2_000  # records
_ATOMIC = int(Access.REMOTE_ATOMIC)
_ARRIVED = (Kind.PACKET_RECEIVED,)


def _destroyed(moment: WarningContext) -> Iterator[str]:
    if rec.noun_of(moment.record) != Noun.MR:
        return
    lkey_index = 2 * object_of(moment.record)
    users = [
        moment.name(noun, number)
        for noun, number, sg in _all_pending(moment.hca)
        if any(sge.lkey >> 8 == lkey_index for sge in sg)
    ]
    if users:
        name = moment.name(Noun.MR, object_of(moment.record))
        yield warning("dereg-early", users=", ".join(users), mr=name)


def _all_pending(hca: Hca) -> Iterator[tuple[Noun, int, Iterator[SGE]]]:
    """The buffers that posted work of each queue will use."""
    for qp in hca.qps.items.values():
        yield Noun.QP, qp.number, _pending(qp)
    for srq in hca.srqs.items.values():
        yield Noun.SRQ, srq.number, (sge for recv in srq.wqes for sge in recv.sg)


def _pending(qp: QueuePair) -> Iterator[SGE]:
    for serial, send in qp.sq.wqes.items():
        if serial >= qp.comp.serial and send.inline is None:
            yield from send.sg
    for recv in qp.rq.wqes:
        yield from recv.sg


def _host_wrote(moment: WarningContext) -> Iterator[str]:
    """The application writes where the HCA still reads or writes."""
    addr, length = rec.address_of(moment.record), rec.length_of(moment.record)
    yield from _under_receives(moment, addr, length)
    if _is_counter(moment, addr, length):
        yield warning("atomic-mixed")
    for qp in moment.hca.qps.items.values():
        for serial, wqe in qp.sq.wqes.items():
            if serial < qp.comp.serial or wqe.inline is not None:
                continue
            if any(meet(sge, addr, length) for sge in wqe.sg):
                name = moment.name(Noun.QP, qp.number)
                yield warning("buffer-reused-early", work=f"{fmt.wr(wqe.wr.wr_id)} of {name}")


def _under_receives(moment: WarningContext, addr: int, length: int) -> Iterator[str]:
    hca = moment.hca
    queues = [(Noun.QP, qp.number, qp.rq.wqes) for qp in hca.qps.items.values()]
    queues += [(Noun.SRQ, srq.number, srq.wqes) for srq in hca.srqs.items.values()]
    for noun, number, receives in queues:
        if any(meet(sge, addr, length) for recv in receives for sge in recv.sg):
            name = moment.name(noun, number)
            yield warning("sink-overwritten", queue=name)


def _is_counter(moment: WarningContext, addr: int, length: int) -> bool:
    """Whether the last atomics that this HCA served were on these bytes."""
    hca, trace = moment.hca, moment.session.world.trace
    # Without a key that grants atomics there was none. A program that writes its buffer before each
    # post would search the log each time: that was half of what a ping-pong of pyverbs costs.
    if not any(opened.access & _ATOMIC for opened in hca.rkeys.values()):
        return False
    latest = trace.since(max(0, trace.latest + 1 - _LOOK_BACK))
    return any(
        node_of(record) == hca.node
        and (atomic := rec.packet_of(record).atomiceth) is not None
        and addr < atomic.va + ATOMIC_BYTES
        and atomic.va < addr + length
        for record in of_kinds(latest, _ARRIVED)
    )


OWNERSHIP_WARNINGS: WarningChecks = {Kind.DESTROYED: _destroyed, Kind.HOST_WROTE: _host_wrote}


def warnings(session: Session, reply: Reply) -> list[str]:
    """Sentences about what the verb of this reply has done, each once."""
    if reply.event is None:
        return list(dict.fromkeys(_looked(session, reply)))
    if reply.refusal is not None:
        return []
    return [*_typed(reply), *looked_at(session, records_of(session, reply.event), _LOOKS)]


def moment_warnings(session: Session, records: list[Record]) -> list[str]:
    """Of records made just now, by any face: deviations of devices, and memory in use.

    They say less than `warnings`, since programs and scenario files post what they mean to post.
    """
    return looked_at(session, records, _MOMENT)


_MOMENT: WarningChecks = DEVICE_WARNINGS | OWNERSHIP_WARNINGS


def _looked(session: Session, reply: Reply) -> Iterator[str]:
    """`read` and `hexdump` of what the HCA may still write."""
    asked = reply.invocation
    if asked is None or reply.failed or asked.name not in ("read", "hexdump"):
        return
    ref = asked.arguments["where"]
    thing = session.names.find(f"{ref.node}.{ref.name}")
    if thing is None:
        return
    start, stop = ref.start or 0, ref.stop
    for row in memory.owned_rows(session.world, session.names, thing):
        if row.stop <= start or (stop is not None and row.start >= stop):
            continue
        span = f"bytes {row.start}:{row.stop}"
        if row.queue != "sq":
            yield warning("read-before-complete/receive", span=span, queue=row.qp)
        elif row.scatters:
            work = f"{fmt.wr(row.wr_id)} of {row.qp}"
            yield warning("read-before-complete", span=span, work=work)


# --------------------------------------------------------------------------- what was typed
def _typed(reply: Reply) -> Iterator[str]:
    """Values that the verb took without an error, and that do less than was typed."""
    arguments = reply.invocation.arguments if reply.invocation is not None else {}
    yield from _cut_numbers(arguments.get("attr"))
    yield from _ended_lists(arguments.get("wr"))


def _cut_numbers(attr: object) -> Iterator[str]:
    """PSNs are cut to 24 bits by the kernel core, a QP number where it is put into the BTH."""
    for name, cut in (("rq_psn", "cut-psn"), ("sq_psn", "cut-psn"), ("dest_qp_num", "cut-qpn")):
        value = attr.get(name) if isinstance(attr, dict) else None
        if isinstance(value, int) and value != value & MASK:
            yield warning(cut, field=name, value=value, kept=value & MASK)


def _ended_lists(wrs: object) -> Iterator[str]:
    """`next=NULL` before the last request: a driver reads no further."""
    listed_wrs = wrs if isinstance(wrs, list) else []
    for index, wr in enumerate(listed_wrs[:-1]):
        if wr.get("next", 0) is None:
            count = len(listed_wrs) - index - 1
            what = "the request after it is" if count == 1 else f"{count} requests after it are"
            yield warning("not-posted", index=index, requests=what)
            return


# --------------------------------------------------------------------------- attributes, objects
def _attributes(moment: WarningContext) -> Iterator[str]:
    mask, attr = rec.attr_mask_of(moment.record), moment.qp.attr
    if mask & Attr.TIMEOUT and attr.timeout == 0:
        yield warning("timeout-zero")
    if mask & Attr.MAX_DEST_RD_ATOMIC and not attr.max_dest_rd_atomic:
        yield warning("rem-inv-req/depth")
    if mask & Attr.RETRY_CNT and attr.retry_cnt == 0:
        yield warning("loss/no-retry")
    yield from _paths(moment, mask)


def _paths(moment: WarningContext, mask: int) -> Iterator[str]:
    """A LID on RoCE, and REARM without an alternate path."""
    attr, lids = moment.qp.attr, moment.hca.lids
    if mask & Attr.AV and attr.ah_attr is not None and attr.ah_attr.dlid and not lids:
        yield warning("no-grh")
    rearmed = mask & Attr.PATH_MIG_STATE and attr.path_mig_state == MigState.REARM
    is_loaded = attr.alt_ah_attr is not None and attr.alt_ah_attr.dlid
    if lids and rearmed and not is_loaded:
        yield warning("no-alternate-path")


def _created(moment: WarningContext) -> Iterator[str]:
    if rec.noun_of(moment.record) != Noun.QP:
        return
    qp = moment.qp
    cq = moment.hca.cqs.items.get(qp.send_cq)
    if cq is None:
        return
    room = cq.capacity
    work = qp.cap.max_send_wr + (qp.cap.max_recv_wr if qp.send_cq == qp.recv_cq else 0)
    if room < work:
        name = moment.name(Noun.CQ, qp.send_cq)
        yield warning("cq-overrun", cq=name, room=room, work=work)


def _armed(moment: WarningContext) -> Iterator[str]:
    """Arming a CQ that already holds completions: they raise no event."""
    cq = moment.hca.cqs.items[object_of(moment.record)]
    name = moment.name(Noun.CQ, cq.number)
    if not cq.channel:
        yield warning("no-channel", cq=name)
    waiting = len(cq.cqes) - cq.reading
    if waiting and cq.armed is not Arm.NONE:
        waiting_cqes = f"{waiting} completion{'s are' if waiting > 1 else ' is'}"
        yield warning("armed-after-cqe", waiting=waiting_cqes, cq=name)


_LOOKS: WarningChecks = {
    **POST_WARNINGS,
    **OWNERSHIP_WARNINGS,
    Kind.ATTRIBUTES_SET: _attributes,
    Kind.CREATED: _created,
    Kind.CQ_ARMED: _armed,
}
