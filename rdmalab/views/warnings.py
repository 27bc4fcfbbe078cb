"""Warnings after a verb that succeeded: what will fail or surprise later."""

from collections.abc import Iterator

from rdmalab.command import Noun
from rdmalab.hca.psn import MASK
from rdmalab.session.lines import Reply
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.causes import warning
from rdmalab.spec.completions import Arm
from rdmalab.spec.records import Kind, Record, object_of
from rdmalab.spec.states import Attr, MigState
from rdmalab.views import memory
from rdmalab.views.device_warnings import (
    DEVICE_WARNINGS,
    WarningChecks,
    WarningContext,
    looked_at,
    records_of,
)
from rdmalab.views.ownership_warnings import OWNERSHIP_WARNINGS
from rdmalab.views.post_warnings import POST_WARNINGS


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
