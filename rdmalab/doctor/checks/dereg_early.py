"""dereg-early: memory was given back while work requests, or the peer, still meant to use it."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import key_lookup
from rdmalab.doctor.facts.key_lookup import Denial, Gone
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said, warn
from rdmalab.doctor.fixes import memory_fixes, simple_fixes
from rdmalab.hca.dma import Denied
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wqe import RecvWqe, SendWqe
from rdmalab.spec.access import Access
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import Local


def examine(case: Case) -> Finding:
    """Whether a key of it, here or at the peer, was that of a region which is gone."""
    work = case.send or case.receive
    if work is None or work.wqe is None or _is_inline(work.wqe):
        return NA
    status = work.ending.status if work.ending is not None else None
    if status is WCStatus.REM_ACCESS_ERR and isinstance(work.wqe, SendWqe):
        return _lent(case, work.wqe)
    if status not in (None, *_DENIED):
        return NA
    gone = key_lookup.lost(case, case.hca, work.wqe.wr)
    if not gone:
        return ok("the regions of its buffers are still there")
    return _failed(case, gone) if status is not None else _waits(case, gone)


def _failed(case: Case, gone: list[tuple[int, Gone]]) -> Finding:
    work = case.send or case.receive
    assert work is not None
    assert work.ending is not None
    return fail(
        said("it was posted", work.posted),
        *_gone(case, gone),
        said(f"so it ended with {work.ending.status.name}", work.ending.event),
        cure=_cure(case), since=gone[0][1].event,
    )  # fmt: skip


def _waits(case: Case, gone: list[tuple[int, Gone]]) -> Finding:
    """It is still to be done, and will fail."""
    work = case.send or case.receive
    if work is None or not case.asked or not work.on_queue:
        return NA
    return warn(*_gone(case, gone), said("it was posted", work.posted), cure=_cure(case))


_DENIED = (WCStatus.LOC_PROT_ERR, WCStatus.LOC_QP_OP_ERR)


def _is_inline(wqe: SendWqe | RecvWqe) -> bool:
    return isinstance(wqe, SendWqe) and wqe.inline is not None


def _gone(case: Case, lost: list[tuple[int, Gone]]) -> list[Evidence]:
    return [_said(case, gone, f", and sge[{index}] names it") for index, gone in lost[:2]]


def _said(case: Case, gone: Gone, rest: str) -> Evidence:
    how = "was deregistered" if gone.dead else "was registered anew and has other keys"
    return said(f"{case.names.of(gone.thing)} {how}{rest}", gone.event)


def _lent(case: Case, wqe: SendWqe) -> Finding:
    """The memory of the peer."""
    send, qp, peer = case.send, case.qp, case.peer
    gone = key_lookup.former(case, peer.node, wqe.wr.rkey) if peer is not None else None
    if gone is None or peer is None or qp is None or send is None:
        return ok("the peer has not taken back what it lent")
    rights, length = key_lookup.asked_of_peer(wqe)
    denial = Denial(peer.node, Denied.KEY, wqe.wr.rkey, wqe.wr.remote_addr, length, rights)
    mend = memory_fixes.target(case, peer, wqe.wr, denial)
    cure = None
    if mend is not None:
        named = {"remote": mend.said, "remote_addr": None, "rkey": None}
        again = simple_fixes.again(case, qp, wqe.wr, revived=True, **named)
        cure = Fix([*mend.lines, *memory_fixes.revived(case, qp), *again])
    return fail(
        _said(case, gone, ""),
        said(f"the request names its rkey, {wqe.wr.rkey:#x}", send.posted),
        said("so it ended with REM_ACCESS_ERR", case.ended),
        cure=cure, since=gone.event,
    )  # fmt: skip


_ADVICE = "keep memory registered until all work that names it has completed"


def _cure(case: Case) -> Fix:
    """Register the bytes once more, and post the work again."""
    send, receive, qp = case.send, case.receive, case.qp
    lines: list[str] = []
    if send is not None and send.wqe is not None and qp is not None:
        lines = _send_again(case, send.wqe, qp)
    elif receive is not None and receive.wqe is not None and qp is not None and not receive.shared:
        lines = _receive_again(case, receive.wqe, qp)
    return Fix(lines) if lines else Fix(program=_ADVICE)


def _send_again(case: Case, wqe: SendWqe, qp: QueuePair) -> list[str]:
    scatters = wqe.work is not None and wqe.work.local is Local.SCATTER
    mend = memory_fixes.mended(
        case, qp, case.hca, wqe.wr, int(Access.LOCAL_WRITE) if scatters else 0
    )
    if mend is None:
        return []
    again = simple_fixes.again(case, qp, wqe.wr, revived=True, sg=mend.said)
    return [*mend.lines, *memory_fixes.revived(case, qp), *again]


def _receive_again(case: Case, wqe: RecvWqe, qp: QueuePair) -> list[str]:
    """And a message for it, so that it shows."""
    mend = memory_fixes.mended(case, qp, case.hca, wqe.wr, int(Access.LOCAL_WRITE))
    if mend is None:
        return []
    post = simple_fixes.post_recv(case, qp, wqe.wr, sg=mend.said)
    sends = memory_fixes.a_message(case, case.peer, mend.length) if case.peer is not None else []
    return [*mend.lines, *simple_fixes.revive(case, qp), post, *sends]


CHECK = Check(
    90, "dereg-early", Section.WRONG,
    question="Was a region given back before all work that names it was done?",
    rule="memory stays registered until every work request that names it has completed",
    source="ibv_post_send(3)", examine=examine,
)  # fmt: skip
