"""Memory that was deregistered or written while a request or a peer still used it."""

from typing import NamedTuple

from rdmalab.doctor.evidence.content import Touch
from rdmalab.doctor.evidence.ownership import torn_reads
from rdmalab.doctor.kit import *
from rdmalab.grammar.format import render
from rdmalab.hca.dma import Denied
from rdmalab.views.key_denials import Denial
from rdmalab.views.memory import scatters


@check("dereg-early")
def dereg_early(case: Case, work: Send | Receive, entry: SendWqe | RecvWqe) -> Finding:
    """Check whether an lkey or rkey of the request is that of a deregistered region."""
    status = work.ending.status if work.ending is not None else None
    if _is_inline(entry) or status not in (None, *_DENIED):
        return NA
    gone = key_lookup.lost(case, case.hca, entry.wr)
    if not gone:
        return ok("the regions of its buffers are still there")
    if work.posted is not None and all(each.event < work.posted for _, each in gone if each.dead):
        return ok("its region was deregistered before it was posted")
    if work.ending is None:
        return _waits(case, work, gone)
    return fail(
        *_gone(case, gone),
        *_held_up(case),
        fact("it was posted", work.posted),
        fact(f"it ended with {work.ending.status.name}", work.ending.event),
        cure=_order(case, gone[0][1]) or _dereg_early_cure(case), since=gone[0][1].event,
    )  # fmt: skip


def _waits(case: Case, work: Send | Receive, gone: list[tuple[int, key_lookup.Gone]]) -> Finding:
    """Warning that a queued request will fail because its region is deregistered."""
    if not case.asked or not work.on_queue:
        return NA
    return warn(
        *_gone(case, gone), fact("it was posted", work.posted), cure=_dereg_early_cure(case)
    )


_DENIED = (WCStatus.LOC_PROT_ERR, WCStatus.LOC_QP_OP_ERR)


def _held_up(case: Case) -> list[Evidence]:
    """Evidence of a send that was still under way because its peer had no receive for it."""
    naks = case.send.rnr_naks if case.send is not None else []
    if not naks or case.peer is None:
        return []
    many = fmt.count(len(naks), "RNR NAK")
    text = f"it was still under way: {case.qp_name(case.peer)} had no receive for it, {many} came"
    return [fact(text, naks[0].event)]


def _is_inline(wqe: SendWqe | RecvWqe) -> bool:
    return isinstance(wqe, SendWqe) and wqe.inline is not None


def _gone(case: Case, lost: list[tuple[int, key_lookup.Gone]]) -> list[Evidence]:
    return [_fact_of(case, gone, f", and sge[{index}] names it") for index, gone in lost[:2]]


def _fact_of(case: Case, gone: key_lookup.Gone, rest: str) -> Evidence:
    how = "deregistered {}" if gone.dead else "registered {} again, which has other keys now"
    text = how.format(case.names.of(gone.thing))
    return fact(f"{case.log.who(gone.event)} {text}{rest}", gone.event)


@dereg_early.instead
def _lent(case: Case, send: Send, wqe: SendWqe, ending: Ending) -> Finding | None:
    """The memory of the peer."""
    if ending.status is not WCStatus.REM_ACCESS_ERR or _is_inline(wqe):
        return None
    qp, peer = case.qp, case.peer
    gone = key_lookup.former(case, peer.node, wqe.wr.rkey) if peer is not None else None
    if gone is None or peer is None or qp is None:
        return ok("the peer has not deregistered the region")
    rights, length = key_lookup.asked_of_peer(wqe)
    denial = Denial(peer.node, Denied.KEY, wqe.wr.rkey, wqe.wr.remote_addr, length, rights)
    correction = memory_fixes.target(case, peer, wqe.wr, denial)
    cure = None
    if correction is not None:
        named = memory_fixes.at(correction.sg)
        again = memory_fixes.sent_when_ready(case, qp, wqe.wr, **named)
        cure = Fix([*correction.lines, *again])
    return fail(
        _fact_of(case, gone, ""),
        fact(f"the request names its rkey, {wqe.wr.rkey:#x}", send.posted),
        fact("it ended with REM_ACCESS_ERR", case.ended),
        cure=_order(case, gone) or cure, since=gone.event,
    )  # fmt: skip


def _order(case: Case, gone: key_lookup.Gone) -> Fix | None:
    """The order of two threads, of which one posted the work and the other took the region."""
    posted = case.work.posted if case.work is not None else None
    return ordered(case.log, gone.event, posted, case.names.of(gone.thing))


_ADVICE = "keep memory registered until all work that names it has completed"


def _dereg_early_cure(case: Case) -> Fix:
    """Register the bytes once more, and post the work again."""
    qp, work, entry = case.qp, case.work, case.entry
    found = None
    if qp is not None and entry is not None and work is not None and not work.shared:
        rights = int(Access.LOCAL_WRITE) if scatters(entry) else 0
        found = memory_fixes.posted_with(case, qp, entry.wr, rights, qp)
    return found or Fix(program=_ADVICE)


class _Loan(NamedTuple):
    """Bytes of the owner that a READ fetched, since when they were on offer, when they left."""

    read: Send
    wr: SendWR
    owner: QueuePair
    piece: Piece
    offered: int
    by_message: bool
    left: int


@check("lent-buffer-reused")
def lent_buffer_reused(case: Case, content: Content) -> Finding:
    """Of bytes that a READ fetched, whether their owner changed them between offer and answer.

    Without a question about them only where one READ brought old and new ones: a value that is read
    again and again is meant to change.
    """
    loans = [loan for each in content.brought if (loan := _loan(case, *each)) is not None]
    found = next(((loan, _writes(case, loan)) for loan in loans if _writes(case, loan)), None)
    halves = [each.read.subject for each in torn_reads(case.log, case.node)]
    if found is None or not (case.asked or found[0].read.subject in halves):
        return _written_later(case, content)
    loan, (first, *_) = found
    _, who = case.log.asked(event_of(first))
    node, wr_id = loan.owner.node, loan.wr.wr_id
    name = fmt.thing_at(case.world, case.names, node, rec.address_of(first))
    by = "with a message" if loan.by_message else f"at the latest when {fmt.wr(wr_id)} was posted"
    return fail(
        fact(f"{node} had offered them to {case.qp_name(loan.read.qp or loan.owner)}, {by}",
             loan.offered),
        fact(f"{who or 'the program of ' + node} wrote {rec.length_of(first)} bytes at {name}",
             event_of(first)),
        fact(f"the answer to READ {fmt.wr(wr_id)} read them after that", loan.left),
        cure=_lent_buffer_reused_cure(case, loan), since=event_of(first),
    )  # fmt: skip


def _loan(case: Case, touch: Touch, message: Message) -> _Loan | None:
    """The bytes of the owner that a READ fetched to this place; None if it was no READ."""
    wr = message.wqe.wr
    if (source := ownership.fetched(case.world, message.thing, wr)) is None:
        return None
    owner, start = source[0], source[1] + message.offset + touch.at
    read = Send(case.session, message.subject, case.log)
    by_message_at = _offered_at(case, read, message.posted)
    offered = message.posted if by_message_at is None else by_message_at
    piece, by_message = (start, touch.piece[1]), by_message_at is not None
    return _Loan(read, wr, owner, piece, offered, by_message, message.sent)


def _offered_at(case: Case, read: Send, posted: int) -> int | None:
    """The post of the last message of the owner that the reader had got before it began."""
    taken = [r for r in case.log.of(Kind.RECV_TAKEN, read.node, read.number)
             if event_of(r) < posted]  # fmt: skip
    message = messages.arrived_with(case.log, taken[-1]) if taken else None
    return message.posted if message is not None else None


def _writes(case: Case, loan: _Loan) -> list[Record]:
    """The writes of the owner's program there while it was lent."""
    return [
        r
        for r in case.log.of(Kind.HOST_WROTE, loan.owner.node)
        if loan.offered < event_of(r) < loan.left and meet([loan.piece], [piece_of(r)])
    ]


def _written_later(case: Case, content: Content) -> Finding:
    """A warning of bytes that their owner's program wrote when the READ of them was over."""
    for touch, message in content.brought if case.asked else ():
        for late in ownership.later_writes(case.log, message, touch.at, touch.piece[1]):
            sinks = ownership.sinks(case.log, message.thing.node)
            ended = next((e.ended for e in sinks if e.subject == message.subject), None)
            if late.came is None and ended is not None and late.event > ended:
                where = words_for(case.session, late.node, late.piece)
                return warn(
                    fact(f"{case.log.who(late.event)} wrote {where}", late.event),
                    fact(f"{name_of(case.names, message.subject)} had read them before",
                         message.sent),
                    cure=Fix(program=f"read them when {late.node} has sent that they are written"),
                )  # fmt: skip
    return ok("no READ fetched bytes that their owner changed meanwhile, or later")


# --------------------------------------------------------------------------- the cure
def _lent_buffer_reused_cure(case: Case, loan: _Loan) -> Fix:
    """Write them as they were when they were offered, and read once more."""
    before, qp = _restored(case, loan), loan.read.qp
    if not before or qp is None:
        return Fix(program="keep the buffer until the peer says that it has read it")
    return Fix([before, *commands.again(case, qp, loan.wr)])


def _restored(case: Case, loan: _Loan) -> str:
    """The line that wrote what was offered."""
    for record in reversed(case.log.of(Kind.HOST_WROTE, loan.owner.node)):
        if event_of(record) <= loan.offered and meet([loan.piece], [piece_of(record)]):
            invocation, _ = case.log.asked(event_of(record))
            if invocation is not None:
                return render(invocation, case.session.vocabulary[invocation.name])
    return ""
