"""lent-buffer-reused: the owner wrote into memory that the peer was still to read."""

from typing import NamedTuple

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.content import Touch
from rdmalab.doctor.facts.messages import Message, Piece, arrived, meet
from rdmalab.doctor.facts.send import Send
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.grammar.format import render
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.records import A, B, Kind, Record, event_of
from rdmalab.spec.work import WROpcode
from rdmalab.views import fmt
from rdmalab.world.relations import peer_of


class _Loan(NamedTuple):
    """Bytes of the owner that a READ fetched, since when they were on offer, when they left."""

    read: Send
    owner: QueuePair
    piece: Piece
    offered: int
    by_message: bool
    left: int


def examine(case: Case) -> Finding:
    """Of bytes that a READ fetched, whether their owner changed them between offer and answer."""
    content = case.content
    if content is None or not case.asked:
        return NA
    loans = [loan for each in content.brought if (loan := _loan(case, *each)) is not None]
    found = next(((loan, _writes(case, loan)) for loan in loans if _writes(case, loan)), None)
    if found is None:
        return ok("no READ fetched bytes that their owner had changed meanwhile")
    loan, (first, *_) = found
    assert loan.read.wqe is not None
    _, who = case.log.asked(event_of(first))
    node, wr_id = loan.owner.node, loan.read.wqe.wr.wr_id
    name = fmt.thing_at(case.world, case.names, node, first[A])
    by = "with a message" if loan.by_message else f"at the latest when {fmt.wr(wr_id)} was posted"
    return fail(
        said(f"{node} had offered them to {case.qp_name(loan.read.qp or loan.owner)}, {by}",
             loan.offered),
        said(f"{who or 'the program of ' + node} wrote {first[B]} bytes at {name}",
             event_of(first)),
        said(f"the answer to READ {fmt.wr(wr_id)} took them from there afterwards", loan.left),
        cure=_cure(case, loan), since=event_of(first),
    )  # fmt: skip


def _loan(case: Case, touch: Touch, message: Message) -> _Loan | None:
    """What a READ fetched to where these bytes lie."""
    wr = message.wqe.wr
    read = Send(case.session, message.subject, case.log)
    owner = peer_of(case.world, read.qp) if read.qp is not None else None
    if wr.opcode != WROpcode.RDMA_READ or owner is None:
        return None
    opened = case.world.nodes[owner.node].rkeys.get(wr.rkey)
    if opened is None:
        return None
    start = wr.remote_addr - opened.iova + opened.addr + message.offset + touch.at
    told = _told(case, read, message.posted)
    offered = message.posted if told is None else told
    return _Loan(read, owner, (start, touch.piece[1]), offered, told is not None, message.sent)


def _told(case: Case, read: Send, posted: int) -> int | None:
    """The post of the last message of the owner that the reader had got before it began."""
    taken = [r for _, r in case.log.of(Kind.RECV_TAKEN, read.node, read.number)
             if event_of(r) < posted]  # fmt: skip
    if not taken:
        return None
    message = arrived(case.world, case.log, event_of(taken[-1]), read.node, read.number)
    return message.posted if message is not None else None


def _writes(case: Case, loan: _Loan) -> list[Record]:
    """What the owner's program wrote there while it was lent."""
    return [
        record
        for _, record in case.log.of(Kind.HOST_WROTE, loan.owner.node)
        if loan.offered < event_of(record) < loan.left
        and meet([loan.piece], [(record[A], record[B])])
    ]


# --------------------------------------------------------------------------- the cure
def _cure(case: Case, loan: _Loan) -> Fix:
    """Write them as they were when they were offered, and read once more."""
    before, read = _restored(case, loan), loan.read
    if not before or read.qp is None or read.wqe is None:
        return Fix(program="keep the buffer until the peer says that it has read it")
    return Fix([before, *simple_fixes.again(case, read.qp, read.wqe.wr)])


def _restored(case: Case, loan: _Loan) -> str:
    """The line that wrote what was offered."""
    for _, record in reversed(case.log.of(Kind.HOST_WROTE, loan.owner.node)):
        if event_of(record) <= loan.offered and meet([loan.piece], [(record[A], record[B])]):
            invocation, _ = case.log.asked(event_of(record))
            if invocation is not None:
                return render(invocation, case.session.vocabulary[invocation.name])
    return ""


CHECK = Check(
    107, "lent-buffer-reused", Section.WRONG,
    question="Did the owner write into memory that the peer was still to read?",
    rule="a READ takes bytes as they are when it is answered, and the owner is not told when: keep "
         "them until the peer says that it has them",
    source="nbs-6290", examine=examine,
)  # fmt: skip
