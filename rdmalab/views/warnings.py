"""Warnings after a verb that succeeded: what will fail or surprise later."""

from collections.abc import Iterator
from itertools import islice, pairwise

from rdmalab.command import Noun
from rdmalab.hca import extended
from rdmalab.hca.device import Hca
from rdmalab.hca.invalid_pointers import listed
from rdmalab.hca.psn import MASK
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.srq import SharedReceiveQueue
from rdmalab.hca.wqe import SendWqe
from rdmalab.hca.wr import SGE
from rdmalab.session.lines import Reply
from rdmalab.session.session import Session
from rdmalab.spec.access import Access
from rdmalab.spec.builders import INLINE_SETTERS
from rdmalab.spec.completions import Arm
from rdmalab.spec.opcodes import ATOMIC_BYTES, WORD_OPS
from rdmalab.spec.records import (
    Kind,
    address_of,
    attr_mask_of,
    batch_error_of,
    ending_of,
    kind_of,
    length_of,
    node_of,
    noun_of,
    object_of,
    packet_of,
    recv_wqe_of,
    send_flags_of,
    send_wqe_of,
    send_wr_of,
    setter_of,
)
from rdmalab.spec.states import Attr, MigState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WORK, Local, SendFlags, WROpcode
from rdmalab.views import fmt, memory
from rdmalab.views.device_warnings import (
    LATER,
    WarningChecks,
    WarningContext,
    looked_at,
    recv_departs,
    send_departs,
)
from rdmalab.wire.headers import GRH

_LOOK_BACK = 2_000  # records


def warnings(session: Session, reply: Reply) -> list[str]:
    """Sentences about what the verb of this reply has done, each once."""
    if reply.event is None:
        return list(dict.fromkeys(_looked(session, reply)))
    if reply.refusal is not None:
        return []
    return [*_typed(reply), *looked_at(session, reply.event, _LOOKS)]


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
            yield f"{span} are a posted receive of {row.qp}: do not read yet."
        elif row.scatters:
            work = f"wr{row.wr_id} of {row.qp}"
            yield f"{span} are written by {work}: do not read before it completes."


# --------------------------------------------------------------------------- what was typed
def _typed(reply: Reply) -> Iterator[str]:
    """Values that the verb took without an error, and that do less than was typed."""
    arguments = reply.invocation.arguments if reply.invocation is not None else {}
    yield from _cut_numbers(arguments.get("attr"))
    yield from _ended_lists(arguments.get("wr"))


def _cut_numbers(attr: object) -> Iterator[str]:
    """PSNs are cut to 24 bits by the kernel core, a QP number where it is put into the BTH."""
    for name, cut in (("rq_psn", _KEPT), ("sq_psn", _KEPT), ("dest_qp_num", _CARRIED)):
        value = attr.get(name) if isinstance(attr, dict) else None
        if isinstance(value, int) and value != value & MASK:
            yield cut.format(name, value, value & MASK)


_KEPT = "{}={:#x}: the kernel keeps the low 24 bits, {:#x}."
# Soft-RoCE masks in bth_init; no device refuses such a number.
_CARRIED = "{}={:#x}: packets carry the low 24 bits, {:#x}."


def _ended_lists(wrs: object) -> Iterator[str]:
    """`next=NULL` before the last request: a driver reads no further."""
    listed_wrs = wrs if isinstance(wrs, list) else []
    for index, wr in enumerate(listed_wrs[:-1]):
        if wr.get("next", 0) is None:
            count = len(listed_wrs) - index - 1
            what = "the request after it is" if count == 1 else f"{count} requests after it are"
            yield f"next=NULL in wr {index} ends the list: {what} not posted."
            return


# --------------------------------------------------------------------------- work requests
def _send_posted(moment: WarningContext) -> Iterator[str]:
    wqe = send_wqe_of(moment.record)
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
        yield f"max_rd_atomic is 0: {name} never starts a READ or atomic."
    if qp.state_row.flushes_sends:
        name = moment.name(Noun.QP, qp.number)
        yield f"{name} is in {qp.state.name}: this is flushed with IBV_WC_WR_FLUSH_ERR."
    yield from _fills_up(moment, qp)


def _bound(moment: WarningContext, wqe: SendWqe) -> Iterator[str]:
    """A bind to a region that was not registered with MW_BIND."""
    mr = moment.hca.mrs.items.get(wqe.wr.bind_mr or 0)
    if mr is None or wqe.wr.opcode != WROpcode.BIND_MW or mr.access & Access.MW_BIND:
        return
    name = moment.name(Noun.MR, mr.number)
    rights = fmt.flags(Access(mr.access) | Access.MW_BIND, Access)
    yield f"{name} lacks MW_BIND. {LATER.format(WCStatus.MW_BIND_ERR.name)}"
    yield f"rereg_mr {name} flags=CHANGE_ACCESS access={rights} allows it."


def _unaddressed(moment: WarningContext, wqe: SendWqe) -> Iterator[str]:
    """A message over XRC says which SRQ of the peer it is for, a datagram which QP."""
    transport = moment.qp.transport
    if wqe.op is None or moment.qp.state_row.flushes_sends:
        return
    if transport.addressed and not wqe.wr.remote_qpn:
        yield "remote_qpn is 0, and no QP has that number: the peer drops it without an answer."
    elif transport.addressed and wqe.wr.remote_qpn > MASK:
        yield _CARRIED.format("remote_qpn", wqe.wr.remote_qpn, wqe.wr.remote_qpn & MASK)
    if transport.names_srq and not wqe.wr.remote_srqn:
        later = LATER.format(WCStatus.REM_INV_REQ_ERR.name)
        yield f"remote_srqn is 0, and no SRQ has that number. {later}"


def _odd_atomic(moment: WarningContext, wqe: SendWqe) -> Iterator[str]:
    """An atomic that the device, or the responder, will refuse for its length or its address."""
    if wqe.op not in WORD_OPS or moment.qp.state_row.flushes_sends:
        return
    odd = moment.hca.profile.odd_atomic_status
    if wqe.length != ATOMIC_BYTES and odd is not WCStatus.SUCCESS:
        yield f"an atomic moves 8 bytes, sg has {wqe.length}. {LATER.format(odd.name)}"
    elif wqe.wr.remote_addr % ATOMIC_BYTES:
        later = LATER.format(WCStatus.REM_INV_REQ_ERR.name)
        yield f"remote_addr {wqe.wr.remote_addr:#x} is no multiple of 8. {later}"


def _recv_posted(moment: WarningContext) -> Iterator[str]:
    wqe = recv_wqe_of(moment.record)
    yield from _buffers(moment, listed(wqe.wr), moment.qp.pd, scatters=True)
    yield from recv_departs(moment)
    yield from _overlaps(wqe.sg)
    if moment.qp.transport.addressed and wqe.length <= GRH.LENGTH:
        yield f"{GRH.LENGTH} bytes are for the header of a packet: no room for a datagram's data."


def _shared_posted(moment: WarningContext) -> Iterator[str]:
    wqe = recv_wqe_of(moment.record)
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
        yield "pieces of sg overlap: what their bytes hold in the end is undefined."


def _buffers(moment: WarningContext, sg: list[SGE], *pds: int, scatters: bool) -> Iterator[str]:
    later = LATER.format(WCStatus.LOC_PROT_ERR.name)
    for sge in sg:
        mr = moment.hca.lkeys.get(sge.lkey)
        if sge.length == 0:
            continue
        if mr is None:
            yield f"no memory region of {moment.hca.node} has lkey {sge.lkey:#x}. {later}"
        elif not mr.iova <= sge.addr <= sge.addr + sge.length <= mr.iova + mr.length:
            name = moment.name(Noun.MR, mr.number)
            yield f"sg reaches beyond {name} ({mr.length} bytes). {later}"
        elif pds and mr.pd not in pds:
            name = moment.name(Noun.MR, mr.number)
            yield f"{name} is in another protection domain than the queue. {later}"
        elif scatters and not mr.access & Access.LOCAL_WRITE:
            yield f"{moment.name(Noun.MR, mr.number)} lacks LOCAL_WRITE. {later}"


def _fills_up(moment: WarningContext, qp: QueuePair) -> Iterator[str]:
    """A send queue of unsignaled work: no completion will free its slots."""
    sq = qp.sq
    used = sq.used
    silent = used > 1 and not any(wqe.signaled for wqe in sq.wqes.values())
    name = moment.name(Noun.QP, qp.number)
    if silent and used == sq.capacity:
        yield (
            f"all {used} slots of {name} hold unsignaled work: no completion will free them, "
            "post_send will return ENOMEM."
        )
    elif silent and used == sq.capacity - 1:
        yield f"{used} of {sq.capacity} slots of {name} hold unsignaled work: signal the next one."


# --------------------------------------------------------------------------- the extended post API
def _spoiled(moment: WarningContext) -> Iterator[str]:
    yield (
        f"{batch_error_of(moment.record)}. wr_complete will return the error and discard "
        "the whole batch."
    )


def _next_set(moment: WarningContext) -> Iterator[str]:
    if send_flags_of(moment.record) & SendFlags.INLINE:
        yield "INLINE in wr_flags does nothing: wr_set_inline_data makes a request inline."


def _filled(moment: WarningContext) -> Iterator[str]:
    """Inline data for a request that brings data here; libmlx5 and librxe look at no opcode."""
    wr, verb, profile = send_wr_of(moment.record), setter_of(moment.record), moment.hca.profile
    row = WORK.get(wr.opcode)
    if verb not in INLINE_SETTERS or row is None or row.inline:
        return
    later = "wr_complete will refuse the whole batch."
    if not profile.refuses_inline_read:
        later = "This device accepts it, and the request fails later."
    yield f"{verb}: {WROpcode(wr.opcode).name} takes no inline data. {later}"


def _closed(moment: WarningContext) -> Iterator[str]:
    ending = ending_of(moment.record)
    name = moment.name(Noun.QP, object_of(moment.record))
    if ending == extended.OVERWRITTEN:
        yield f"{name} has no lock: two threads write over each other's work requests."
    elif ending == extended.UNOPENED:
        yield f"{name} was not between wr_start and wr_complete: in C an open lock is unlocked."


# --------------------------------------------------------------------------- attributes, objects
def _attributes(moment: WarningContext) -> Iterator[str]:
    mask, attr = attr_mask_of(moment.record), moment.qp.attr
    if mask & Attr.TIMEOUT and attr.timeout == 0:
        yield "timeout=0 disables the ack timer: a lost packet is not retransmitted."
    if mask & Attr.MAX_DEST_RD_ATOMIC and not attr.max_dest_rd_atomic:
        yield "max_dest_rd_atomic=0: every READ and atomic of the peer is refused."
    if mask & Attr.RETRY_CNT and attr.retry_cnt == 0:
        yield "retry_cnt=0: the first lost packet ends the QP with IBV_WC_RETRY_EXC_ERR."
    yield from _paths(moment, mask)


def _paths(moment: WarningContext, mask: int) -> Iterator[str]:
    """A LID on RoCE, and REARM without an alternate path."""
    attr, lids = moment.qp.attr, moment.hca.lids
    if mask & Attr.AV and attr.ah_attr is not None and attr.ah_attr.dlid and not lids:
        yield "dlid has no effect on RoCE: set dgid."
    rearmed = mask & Attr.PATH_MIG_STATE and attr.path_mig_state == MigState.REARM
    is_loaded = attr.alt_ah_attr is not None and attr.alt_ah_attr.dlid
    if lids and rearmed and not is_loaded:
        yield "no alternate path is loaded: after a migration no packet arrives. Give alt_ah_attr."


def _created(moment: WarningContext) -> Iterator[str]:
    if noun_of(moment.record) != Noun.QP:
        return
    qp = moment.qp
    cq = moment.hca.cqs.items.get(qp.send_cq)
    if cq is None:
        return
    room = cq.capacity
    work = qp.cap.max_send_wr + (qp.cap.max_recv_wr if qp.send_cq == qp.recv_cq else 0)
    if room < work:
        name = moment.name(Noun.CQ, qp.send_cq)
        yield f"{name} holds {room} completions, the queues {work} work requests: it can overrun."


def _destroyed(moment: WarningContext) -> Iterator[str]:
    if noun_of(moment.record) != Noun.MR:
        return
    lkey_index = 2 * object_of(moment.record)
    users = [
        moment.name(noun, number)
        for noun, number, sg in _all_pending(moment.hca)
        if any(sge.lkey >> 8 == lkey_index for sge in sg)
    ]
    if users:
        name = moment.name(Noun.MR, object_of(moment.record))
        yield f"posted work of {', '.join(users)} still uses {name}; it will fail when executed."


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
    addr, length = address_of(moment.record), length_of(moment.record)
    yield from _under_receives(moment, addr, length)
    if _is_counter(moment, addr, length):
        yield "atomics are atomic through the HCA only: one under way may miss what the CPU writes."
    for qp in moment.hca.qps.items.values():
        for serial, wqe in qp.sq.wqes.items():
            if serial < qp.comp.serial or wqe.inline is not None:
                continue
            if any(_meet(sge, addr, length) for sge in wqe.sg):
                name = moment.name(Noun.QP, qp.number)
                yield f"these bytes belong to the HCA until wr{wqe.wr.wr_id} of {name} completes."


def _armed(moment: WarningContext) -> Iterator[str]:
    """Arming a CQ that already holds completions: they raise no event."""
    cq = moment.hca.cqs.items[object_of(moment.record)]
    name = moment.name(Noun.CQ, cq.number)
    if not cq.channel:
        yield f"{name} has no channel: get_cq_event cannot return its event."
    waiting = len(cq.cqes) - cq.reading
    if waiting and cq.armed is not Arm.NONE:
        yield (
            f"{waiting} completion{'s are' if waiting > 1 else ' is'} already in {name} and "
            f"will raise no event: poll {name} until it is empty before you wait."
        )


def _under_receives(moment: WarningContext, addr: int, length: int) -> Iterator[str]:
    hca = moment.hca
    queues = [(Noun.QP, qp.number, qp.rq.wqes) for qp in hca.qps.items.values()]
    queues += [(Noun.SRQ, srq.number, srq.wqes) for srq in hca.srqs.items.values()]
    for noun, number, receives in queues:
        if any(_meet(sge, addr, length) for recv in receives for sge in recv.sg):
            name = moment.name(noun, number)
            yield f"these bytes belong to the HCA: a receive of {name} is posted on them."


def _meet(sge: SGE, addr: int, length: int) -> bool:
    return sge.addr < addr + length and addr < sge.addr + sge.length


def _is_counter(moment: WarningContext, addr: int, length: int) -> bool:
    """Whether the last atomics that this HCA served were on these bytes."""
    latest = islice(reversed(moment.session.world.trace.records), _LOOK_BACK)
    return any(
        kind_of(record) is Kind.PACKET_RECEIVED
        and node_of(record) == moment.hca.node
        and (atomic := packet_of(record).atomiceth) is not None
        and addr < atomic.va + ATOMIC_BYTES
        and atomic.va < addr + length
        for record in latest
    )


_LOOKS: WarningChecks = {
    Kind.SEND_POSTED: _send_posted,
    Kind.RECV_POSTED: _recv_posted,
    Kind.SRQ_POSTED: _shared_posted,
    Kind.BATCH_FAILED: _spoiled,
    Kind.WR_FILLED: _filled,
    Kind.NEXT_WR_SET: _next_set,
    Kind.REGION_CLOSED: _closed,
    Kind.ATTRIBUTES_SET: _attributes,
    Kind.CREATED: _created,
    Kind.DESTROYED: _destroyed,
    Kind.HOST_WROTE: _host_wrote,
    Kind.CQ_ARMED: _armed,
}
