"""buffer-reused-early: the program wrote into a buffer from which the adapter was still to send."""

from typing import NamedTuple

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import messages, past
from rdmalab.doctor.facts.messages import Message, Piece, meet
from rdmalab.doctor.facts.send import Send
from rdmalab.doctor.facts.taken import posted_again
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said, warn
from rdmalab.hca.wqe import SendWqe
from rdmalab.spec.records import A, B, Kind, event_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import Local
from rdmalab.world.relations import find_qp

_ADVICE = "wait for the completion before you write into the buffer again, or post it INLINE"


class Write(NamedTuple):
    """The program writes. piece: which bytes of the buffer."""

    event: int
    piece: Piece


def examine(case: Case) -> Finding:
    """Whether bytes were changed between the post and the moment in which they left."""
    if case.content is not None:
        for touch, message in case.content.brought:
            source = _source(case, message)
            cut = messages.part(source, message.offset + touch.at, touch.piece[1])
            found = _writes(case, message.thing.node, cut, message.posted, message.sent)
            if found:
                return _fail(case, message, source, found[-1])
        return ok("no message was changed on its way here") if case.content.brought else NA
    return _asked(case, case.send) if case.send is not None and case.asked else NA


def _source(case: Case, message: Message) -> list[Piece]:
    """The buffers of a message that is sent from them."""
    return _buffers(case, message.thing.node, message.wqe)


def _buffers(case: Case, node: str, wqe: SendWqe) -> list[Piece]:
    gathers = wqe.work is not None and wqe.work.local is Local.GATHER and wqe.inline is None
    return messages.pieces(case.world.nodes[node], wqe.sg) if gathers else []


def _writes(case: Case, node: str, pieces: list[Piece], after: int, before: int) -> list[Write]:
    """The program's writes into these bytes between two events."""
    found = []
    for _, record in case.log.of(Kind.HOST_WROTE, node) if pieces else []:
        if after < event_of(record) < before:
            both = meet(pieces, [(record[A], record[B])])
            found += [Write(event_of(record), piece) for piece in both]
    return found


def _fail(case: Case, message: Message, source: list[Piece], write: Write) -> Finding:
    node, wr_id = message.thing.node, message.wqe.wr.wr_id
    name = f"{case.names.of(message.thing)}.wr[{wr_id}]"
    return fail(
        said(f"{name} was posted", message.posted),
        _told(case, node, write),
        said("the packet that brought these bytes left only then", message.sent),
        cure=_cure(case, message, source), since=write.event,
    )  # fmt: skip


def _told(case: Case, node: str, write: Write) -> Evidence:
    where = past.words_for(case.session, node, write.piece) or f"{write.piece[0]:#x}"
    return said(f"the program wrote {where}, which it sends from", write.event)


def _cure(case: Case, message: Message, source: list[Piece]) -> Fix:
    """The bytes as they were when it was posted, and the message once more."""
    node, now = message.thing.node, case.world.event + 1
    changed = {w.piece for w in _writes(case, node, source, message.posted, now)}
    lines = [past.written_back(case.session, message.posted, node, p) for p in sorted(changed)]
    qp = find_qp(case.world, *message.thing[1:])
    if qp is None or None in lines:
        return Fix(program=_ADVICE)
    return Fix([*(line for line in lines if line), *posted_again(case, qp, message)])


def _asked(case: Case, send: Send) -> Finding:
    """Of a send: it may be that nothing has come of it."""
    if send.wqe is None or send.posted is None:
        return NA
    if send.ending is not None and send.ending.status is not WCStatus.SUCCESS:
        return NA
    buffers = _buffers(case, case.node, send.wqe)
    found = _writes(case, case.node, buffers, send.posted, case.ended)
    if not found:
        return ok("nobody wrote into its buffers before it was done")
    posted = said("it was posted, and had no completion yet", send.posted)
    return warn(_told(case, case.node, found[0]), posted, cure=Fix(program=_ADVICE))


CHECK = Check(
    78, "buffer-reused-early", Section.WRONG,
    question="Did the program write into the buffer before the send was done?",
    rule="from the post to the completion a buffer belongs to the adapter, which reads it when a "
    "packet leaves, and again when it leaves again",
    source="ibv_post_send(3)", examine=examine,
)  # fmt: skip
