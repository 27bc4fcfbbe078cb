"""`ibv_wr_*`: builders and setters make work requests, `wr_complete` posts all of them or none.

The functions between return nothing: only `wr_complete` returns their error, and discards the whole
batch. `post_send` instead keeps the requests before the bad one.
"""

from dataclasses import replace
from typing import Any

from rdmalab.command import Refused
from rdmalab.hca import extended, invalid_pointers, posting, send_checks
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.errors import say_queue_too_small
from rdmalab.hca.qp import Built, Complaint, QueuePair, Region
from rdmalab.hca.wr import SGE, SendWR
from rdmalab.spec import builders
from rdmalab.spec.records import Kind
from rdmalab.spec.work import BUILDERS, SendFlags, WROpcode

_INLINE = int(SendFlags.INLINE)


def set_next(hca: Adapter, qp: QueuePair, wr_id: int | None, wr_flags: int | None) -> None:
    """`qpx->wr_id`, `qpx->wr_flags`: they stay until they are set again."""
    ex = extended.of(hca, qp)
    if wr_id is None and wr_flags is None:
        return
    ex.wr_id = ex.wr_id if wr_id is None else wr_id
    ex.wr_flags = ex.wr_flags if wr_flags is None else int(wr_flags)
    hca.trace.record(Kind.NEXT_WR_SET, hca.node, qp.number, ex.wr_id, ex.wr_flags)


# --------------------------------------------------------------------------- in the region
def build(hca: Adapter, qp: QueuePair, opcode: WROpcode, **operands: Any) -> None:
    """Build one work request, not posted yet.

    Its setter decides whether the bytes are inline; on some devices wr_flags does.
    """
    verb = BUILDERS[opcode]
    region, ex = extended.open_region(hca, qp, verb), extended.of(hca, qp)
    kept = ~_INLINE if hca.profile.setter_makes_inline else ~0
    wr = SendWR(opcode, ex.wr_id, flags=SendFlags(ex.wr_flags & kept), **operands)
    region.built.append(Built(wr))
    hca.trace.record(Kind.WR_BUILT, hca.node, qp.number, wr)
    flag = builders.flag_of(opcode)
    if not ex.ops & flag:
        extended.fail_batch(hca, qp, region, "crash-builder", verb, flag.name)


def build_inline(hca: Adapter, qp: QueuePair, opcode: WROpcode, sge: SGE, **operands: Any) -> None:
    """Build one work request whose builder copies its bytes at once and needs no DATA setter."""
    build(hca, qp, opcode, sg=[sge], **operands)
    region = extended.open_region(hca, qp, BUILDERS[opcode])
    if hca.memory.is_mapped(sge.addr, sge.length):
        region.built[-1].inline = hca.memory.read(sge.addr, sge.length)
    else:
        extended.fail_batch(hca, qp, region, "crash-inline", hex(sge.addr))


def fill(hca: Adapter, qp: QueuePair, verb: str, sg: list[SGE]) -> None:
    """A DATA setter that takes references: the bytes are read when the WR is executed."""
    built = _to_fill(hca, qp, verb)
    if built is not None:
        built.inline = None
        flags = SendFlags(int(built.wr.flags) & ~_INLINE)
        _change(hca, qp, built, verb, sg=_as_listed(hca, sg), flags=flags)


def fill_list(
    hca: Adapter, qp: QueuePair, verb: str, sg: list[SGE], num_sge: int | None = None
) -> None:
    """A DATA setter that takes an array; num_sge: its length as given, None for the real one."""
    if num_sge is None or 0 <= num_sge <= len(sg):
        fill(hca, qp, verb, sg[:num_sge])
    else:
        where = invalid_pointers.beyond("num_sge", num_sge, "sg_list", len(sg))
        extended.fail_batch(hca, qp, extended.open_region(hca, qp, verb), "crash-sg", where)


def _as_listed(hca: Adapter, sg: list[SGE]) -> list[SGE]:
    """The list as the device reads it.

    librxe counts n times the first length: the list ends too early, or continues in unmapped
    memory.
    """
    if hca.profile.list_setters_add or not sg:
        return sg
    found, left = [], len(sg) * sg[0].length
    for sge in sg:
        found.append(replace(sge, length=min(sge.length, left)))
        left -= found[-1].length
    if left:
        found[-1] = SGE(sg[-1].addr, found[-1].length + left)
    return found


def fill_inline(
    hca: Adapter, qp: QueuePair, verb: str, sg: list[SGE], num_buf: int | None = None
) -> None:
    """A DATA setter that copies at once num_buf of the buffers, or all."""
    built = _to_fill(hca, qp, verb)
    if built is None:
        return
    if num_buf is not None and not 0 <= num_buf <= len(sg):
        where = invalid_pointers.beyond("num_buf", num_buf, "buf_list", len(sg))
        extended.fail_batch(hca, qp, extended.open_region(hca, qp, verb), "crash-sg", where)
        return
    sg = sg[:num_buf]
    for sge in sg:
        if sge.length and not hca.memory.is_mapped(sge.addr, sge.length):
            region = extended.open_region(hca, qp, verb)
            extended.fail_batch(hca, qp, region, "crash-inline", hex(sge.addr))
            return
    _copy(hca, qp, built, verb, sg)


def _copy(hca: Adapter, qp: QueuePair, built: Built, verb: str, sg: list[SGE]) -> None:
    """Copy inline data into the built request.

    librxe does not set the length of a list. Without INLINE in wr_flags the device takes the bytes
    for a list, whose keys are invalid.
    """
    if verb in builders.INLINE_LISTS and not hca.profile.list_setters_add:
        sg = []
    flags = int(built.wr.flags)
    if hca.profile.setter_makes_inline:
        flags |= _INLINE
    if flags & _INLINE:
        built.inline = b"".join(hca.memory.read(sge.addr, sge.length) for sge in sg)
    elif sum(sge.length for sge in sg) > qp.cap.max_inline_data:  # no check of the flag finds it
        region = extended.open_region(hca, qp, verb)
        extended.fail_batch(hca, qp, region, "inline-length", qp.cap.max_inline_data)
    _change(hca, qp, built, verb, sg=sg, flags=SendFlags(flags))


def address(hca: Adapter, qp: QueuePair, verb: str, **operands: Any) -> None:
    """A QP setter: the destination of one work request."""
    region = extended.open_region(hca, qp, verb)
    if builders.qp_setter(qp.qp_type) != verb:
        extended.fail_batch(hca, qp, region, "crash-setter", verb, qp.qp_type.name)
    elif not region.built:
        extended.fail_batch(hca, qp, region, "setter-place", verb)
    elif (crash := _crash(hca, operands)) is not None:
        extended.fail_batch(hca, qp, region, *crash)
    else:
        built = region.built[-1]
        built.addressed = True
        _change(hca, qp, built, verb, **operands)


def _crash(hca: Adapter, operands: dict[str, Any]) -> tuple[str, ...] | None:
    """The setter copies the address from the handle: the rule of a bad pointer, and its value."""
    if "ah" not in operands:
        return None
    ah = operands["ah"]
    refusal = invalid_pointers.check_handle(hca, ah, "")
    if refusal is None:
        return None
    return (refusal.rule, hex(ah)) if ah else (refusal.rule,)


def _to_fill(hca: Adapter, qp: QueuePair, verb: str) -> Built | None:
    """The work request that a DATA setter is for, if there is one it may fill."""
    region = extended.open_region(hca, qp, verb)
    careful = "setter-place" not in hca.profile.batch_unchecked
    if not region.built or (region.built[-1].filled and careful):
        if careful:
            extended.fail_batch(hca, qp, region, "setter-place", verb)
        return None
    built = region.built[-1]
    if not builders.moves_data(built.wr.opcode):
        builder = BUILDERS[built.wr.opcode]
        extended.fail_batch(hca, qp, region, "setter-data", builder, verb)
        return None
    built.filled = True
    return built


def _change(hca: Adapter, qp: QueuePair, built: Built, verb: str, **fields: Any) -> None:
    """Replace a built work request; what is in the trace is immutable."""
    built.wr = replace(built.wr, **fields)
    hca.trace.record(Kind.WR_FILLED, hca.node, qp.number, built.wr, verb)


# --------------------------------------------------------------------------- leaving it
def abort(hca: Adapter, qp: QueuePair) -> None:
    """`ibv_wr_abort`: discard all that was built."""
    is_open = extended.of(hca, qp).region is not None
    extended.close(hca, qp, extended.ABORTED if is_open else extended.UNOPENED)


def complete(hca: Adapter, qp: QueuePair) -> None:
    """`ibv_wr_complete`: posts all that was built, or Refused and nothing of it."""
    region = extended.of(hca, qp).region
    if region is None:
        extended.close(hca, qp, extended.UNOPENED)
        return
    refusal = _judge(hca, qp, region)
    extended.close(hca, qp, extended.DROPPED if refusal else extended.POSTED)
    if refusal is not None:
        refusal.left = "the batch is discarded"
        if refusal.rule == "send-state":
            posting.keep_early(hca, qp, [built.wr for built in region.built])
        raise refusal
    posting.queue_early(hca, qp)
    for built in region.built:
        posting.queue_send(hca, qp, built.wr, posting.as_sent(hca, built.wr), built.inline)
    posting.ring(hca, qp)


def _judge(hca: Adapter, qp: QueuePair, region: Region) -> Refused | None:
    """The first mistake: one made on the way, or one of the checks of `post_send`."""
    complaint = region.complaint
    if complaint is not None:
        refusal_here = extended.refusal_of(hca, complaint)
        refusal_here.message = f"{_ordinal(region, complaint.index)}{refusal_here.message}"
        refusal_here.errno = hca.profile.batch_errnos.get(refusal_here.rule, refusal_here.errno)
        return refusal_here
    try:
        for index, built in enumerate(region.built):
            qp.sq.promised = index
            if (refusal := _judge_one(hca, qp, built)) is not None:
                errnos = hca.profile.batch_errnos
                refusal.errno = errnos.get(refusal.rule, refusal.errno)
                refusal.message = f"{_ordinal(region, index)}{refusal.message}"
                refusal.argument = "qp"
                say_queue_too_small(refusal, len(region.built), qp.sq.capacity)
                return refusal
    finally:
        qp.sq.promised = 0
    return None


def _ordinal(region: Region, index: int) -> str:
    """Number and wr_id of the work request in the batch; nothing if it is the only one."""
    several = len(region.built) > 1
    return f"wr {index} (wr_id {region.built[index].wr.wr_id}): " if several else ""


def _judge_one(hca: Adapter, qp: QueuePair, built: Built) -> Refused | None:
    unchecked, wr = hca.profile.batch_unchecked, built.wr
    setter = builders.qp_setter(qp.qp_type, wr.opcode)
    if setter and not built.addressed and "setter-missing" not in unchecked:
        details = BUILDERS[wr.opcode], setter
        return extended.refusal_of(hca, Complaint("setter-missing", details, 0))
    length = posting.as_sent(hca, wr)[1]
    return send_checks.judge_send(hca, qp, wr, length, unchecked=unchecked)
