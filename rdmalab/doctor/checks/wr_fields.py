"""Fields of a work request that ask for more than the queue has, or for something else."""

from rdmalab.command import CallArguments, Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Finding, Fix, check, fact, fail, ok
from rdmalab.doctor.fixes import memory_fixes, reposting, simple_fixes
from rdmalab.doctor.fixes.changed_calls import corrected
from rdmalab.doctor.work import attempts
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.rules import errno_name
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WORK, SendFlags, WROpcode
from rdmalab.views import fmt

# ------------------------------------------------------------ too-many-sges
# too-many-sges: more pieces than a request of this queue may have.
# Which number was too small, and who fixes it.
_LIMITS = {
    "send-sges": ("max_send_sge", "create_qp"),
    "recv-sges": ("max_recv_sge", "create_qp"),
    "srq-sges": ("max_sge", "create_srq"),
    "read-sges": ("max_sge_rd", ""),
}


@check("too-many-sges")
def too_many_sges(case: Case) -> Finding:
    """Of a refused post, whether it had more SGEs than its queue was made for."""
    call = case.call
    if call is None or call.verb not in (*attempts.SENDING, *attempts.RECEIVING):
        return NA
    if call.refusal not in _LIMITS:
        return ok("its SGEs were not too many")
    limit, maker = _LIMITS[call.refusal]
    attempt = attempts.of_call(case.log, case.call)
    name = f" for {fmt.wr(attempts.id_of(attempt.left[0]))}" if attempt and attempt.left else ""
    whose = f"{maker} fixed {limit}" if maker else f"{limit} is a number of the device"
    return fail(
        fact(f"{call.verb} was refused{name}: {call.message}", call.event),
        fact(whose),
        cure=_too_many_sges_cure(case, attempt, limit),
    )


def _too_many_sges_cure(case: Case, attempt: attempts.Attempt | None, limit: str) -> Fix:
    """Pieces that touch are one; who has none of these must ask for more, or copy."""
    rule = case.call.refusal if case.call is not None else ""
    better = corrected(attempt.left[0], rule) if attempt is not None and attempt.left else None
    if attempt is not None and better is not None and len(better["sg"]) <= _most(case, limit):
        wrs = [better, *attempt.left[1:]]
        return Fix([attempts.said_again(case.session, attempt, wrs)])
    return Fix(program=f"ask for a larger {limit} when the queue is made, or copy the pieces "
                        "together")  # fmt: skip


def _most(case: Case, limit: str) -> int:
    """How many pieces are taken."""
    queue = attempts.queue_of(case.world, case.call)
    holders = (getattr(queue, "cap", None), queue, case.profile.caps)
    return next((int(getattr(each, limit)) for each in holders if hasattr(each, limit)), 0)


# ------------------------------------------------------------ inline-too-long
# inline-too-long: more INLINE bytes than the queue pair was made for.
@check("inline-too-long")
def inline_too_long(case: Case) -> Finding:
    """Of a refused post, whether its INLINE bytes were what was too much."""
    call, qp = case.call, case.qp
    if call is None or qp is None or call.verb not in attempts.SENDING:
        return NA
    if call.refusal != "inline-length":
        return ok("its inline bytes were within the limit")
    made = case.log.created(Thing(Noun.QP, qp.node, qp.number))
    room, used = qp.cap.max_inline_data, len(qp.sq.wqes)
    return fail(
        fact(f"{case.qp_name(qp)} was made with max_inline_data={room}", made),
        fact(f"{call.verb} returned {errno_name(call.errno)} for {_asked(case, qp)}", call.event),
        fact(f"{used} of {fmt.count(qp.sq.capacity, 'slot')} of its send queue are in use: "
             "it was not full"),
        cure=_inline_too_long_cure(case, qp), since=call.event,
    )  # fmt: skip


def _asked(case: Case, qp: QueuePair) -> str:
    """`24 INLINE bytes of wr24`."""
    attempt = attempts.of_call(case.log, case.call)
    if attempt is None or not attempt.left:
        return "too many INLINE bytes"
    many = _length(case, qp, attempt)
    name = fmt.wr(attempts.id_of(attempt.left[0]))
    return f"{many} INLINE bytes of {name}" if many else f"the INLINE bytes of {name}"


def _length(case: Case, qp: QueuePair, attempt: attempts.Attempt) -> int:
    del qp
    found = attempts.bound(case.session, attempt, attempt.left[:1])
    return sum(sge.length for wr in found for sge in wr.sg)


def _inline_too_long_cure(case: Case, qp: QueuePair) -> Fix:
    """Without INLINE, where the adapter may read the bytes by DMA."""
    attempt = attempts.of_call(case.log, case.call)
    if attempt is not None and attempt.left and _registered(case, attempt):
        plain = corrected(attempt.left[0], "inline-length") or attempt.left[0]
        return Fix(reposting.repost(case, qp, attempt, [plain, *attempt.left[1:]]))
    many = _length(case, qp, attempt) if attempt is not None else 0
    enough = f"max_inline_data={many}" if many else "a larger max_inline_data"
    return Fix(program=f"make the queue pair with {enough}, or register the memory and leave "
                        "INLINE out")  # fmt: skip


def _registered(case: Case, attempt: attempts.Attempt) -> bool:
    """Every piece has the key of a region."""
    found = attempts.bound(case.session, attempt, attempt.left[:1])
    return bool(found) and all(sge.lkey in case.hca.lkeys for wr in found for sge in wr.sg)


# ------------------------------------------------------------ inline-opcode
# inline-opcode: INLINE goes with what is sent from the buffer, not with what is written to it.
_RULE = "inline-opcode"


@check("inline-opcode")
def inline_opcode(case: Case) -> Finding:
    """Whether a READ or an atomic was posted INLINE; some devices find that out late."""
    if case.call is not None:
        return _refused(case)
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or send.ending is None or qp is None:
        return NA
    wr = send.wqe.wr
    if send.wqe.inline is None or not _cannot(wr.opcode):
        return NA
    if send.ending.status in (WCStatus.SUCCESS, WCStatus.WR_FLUSH_ERR):
        return ok("the device accepts INLINE")
    name = fmt.member(wr.opcode, WROpcode)
    flags = fmt.flags(int(wr.flags) & ~SendFlags.INLINE, SendFlags)
    again = simple_fixes.again(case, qp, wr, after_reset=True, flags=flags)
    return fail(
        fact(f"{name} was posted INLINE, and this device accepted it", send.posted),
        fact("where its answer goes lies the copied data instead of keys: it ended with "
             f"{send.ending.status.name}", send.ending.event),
        cure=Fix([*memory_fixes.ready_to_send(case, qp), *again]), since=send.posted,
    )  # fmt: skip


def _cannot(opcode: int) -> bool:
    return opcode in tuple(WROpcode) and not WORK[WROpcode(opcode)].inline


def _refused(case: Case) -> Finding:
    call = case.call
    if call is None or call.refusal != _RULE:
        return NA
    lists = call.invocation.arguments.get("wr", []) if call.invocation is not None else []
    bad = [wr for wr in lists if isinstance(wr, dict) and _is_bad(wr)]
    names = " ".join(fmt.member(wr.get("opcode", 0), WROpcode) for wr in bad)
    text = f"{names} was posted with INLINE" if names else call.message
    return fail(fact(text, call.event), cure=_inline_opcode_cure(case, lists))


def _is_bad(wr: CallArguments) -> bool:
    inline = int(wr.get("flags", 0)) & SendFlags.INLINE
    return bool(inline) and _cannot(wr.get("opcode", 0))


def _inline_opcode_cure(case: Case, lists: list[CallArguments]) -> Fix:
    """The bad_wr and those after it, which were not posted, without INLINE."""
    call = case.call
    first = next((n for n, wr in enumerate(lists) if _is_bad(wr)), None)
    if call is None or call.invocation is None or first is None:
        return Fix(program="do not set INLINE on requests that write to the local buffer")
    posted = [
        {**wr, "flags": int(wr["flags"]) & ~int(SendFlags.INLINE)} if _is_bad(wr) else wr
        for wr in lists[first:]
    ]
    return Fix([memory_fixes.rephrased(case, call.invocation, wr=posted)])
