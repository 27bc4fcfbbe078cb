"""inline-opcode: INLINE goes with what is sent from the buffer, not with what is written to it."""

from typing import Any

from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import memory_fixes, simple_fixes
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WORK, SendFlags, WROpcode
from rdmalab.views import fmt

_RULE = "inline-opcode"


def examine(case: Case) -> Finding:
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
        return ok("the device does not mind INLINE")
    name = fmt.member(wr.opcode, WROpcode)
    flags = fmt.flags(int(wr.flags) & ~SendFlags.INLINE, SendFlags)
    again = simple_fixes.again(case, qp, wr, revived=True, flags=flags)
    return fail(
        said(f"{name} was posted INLINE, and this device let it pass", send.posted),
        said("where its answer goes lies the copied data instead of keys: it ended with "
             f"{send.ending.status.name}", send.ending.event),
        cure=Fix([*memory_fixes.revived(case, qp), *again]), since=send.posted,
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
    return fail(said(text, call.event), cure=_cure(case, lists))


def _is_bad(wr: dict[str, Any]) -> bool:
    inline = int(wr.get("flags", 0)) & SendFlags.INLINE
    return bool(inline) and _cannot(wr.get("opcode", 0))


def _cure(case: Case, lists: list[dict[str, Any]]) -> Fix:
    """The bad one and those behind it, which were not posted, without INLINE."""
    call = case.call
    first = next((n for n, wr in enumerate(lists) if _is_bad(wr)), None)
    if call is None or call.invocation is None or first is None:
        return Fix(program="leave INLINE out of what is written to the own buffer")
    posted = [
        {**wr, "flags": int(wr["flags"]) & ~int(SendFlags.INLINE)} if _is_bad(wr) else wr
        for wr in lists[first:]
    ]
    return Fix([memory_fixes.rephrased(case, call.invocation, wr=posted)])


CHECK = Check(
    86, "inline-opcode", Section.WRONG,
    question="Was a READ or an atomic posted INLINE?",
    rule="INLINE copies what is sent when it is posted: it goes with SEND and RDMA WRITE only",
    source="ibv_post_send(3)", examine=examine,
)  # fmt: skip
