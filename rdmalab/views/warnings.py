"""Warnings after a verb that succeeded: what will fail or surprise later."""

from collections.abc import Iterator
from itertools import islice

from rdmalab.command import Noun
from rdmalab.hca.device import Hca
from rdmalab.hca.psn import MASK
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import SGE
from rdmalab.session.lines import Reply
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.causes import warning
from rdmalab.spec.completions import Arm
from rdmalab.spec.opcodes import ATOMIC_BYTES
from rdmalab.spec.records import Kind, kind_of, node_of, object_of
from rdmalab.spec.states import Attr, MigState
from rdmalab.views import memory
from rdmalab.views.device_warnings import (
    WarningChecks,
    WarningContext,
    looked_at,
    records_of,
)
from rdmalab.views.post_warnings import POST_WARNINGS, meet

_LOOK_BACK = 2_000  # records


def warnings(session: Session, reply: Reply) -> list[str]:
    """Sentences about what the verb of this reply has done, each once."""
    if reply.event is None:
        return list(dict.fromkeys(_looked(session, reply)))
    if reply.refusal is not None:
        return []
    return [*_typed(reply), *looked_at(session, records_of(session, reply.event), _LOOKS)]


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
            work = f"wr{row.wr_id} of {row.qp}"
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
                yield warning("buffer-reused-early", work=f"wr{wqe.wr.wr_id} of {name}")


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
    latest = islice(reversed(moment.session.world.trace.records), _LOOK_BACK)
    return any(
        kind_of(record) is Kind.PACKET_RECEIVED
        and node_of(record) == moment.hca.node
        and (atomic := rec.packet_of(record).atomiceth) is not None
        and addr < atomic.va + ATOMIC_BYTES
        and atomic.va < addr + length
        for record in latest
    )


_LOOKS: WarningChecks = {
    **POST_WARNINGS,
    Kind.ATTRIBUTES_SET: _attributes,
    Kind.CREATED: _created,
    Kind.DESTROYED: _destroyed,
    Kind.HOST_WROTE: _host_wrote,
    Kind.CQ_ARMED: _armed,
}
