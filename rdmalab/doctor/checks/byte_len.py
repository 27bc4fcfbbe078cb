"""byte-len: a message was shorter than its buffer, and the rest of the buffer is older."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import past
from rdmalab.doctor.facts.content import Content, Posted, without
from rdmalab.doctor.facts.messages import Message, pieces, taking
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, ok, said, warn

_ADVICE = "take byte_len bytes of the buffer, and no more"


def examine(case: Case) -> Finding:
    """Whether the newest message filled only a part of these bytes."""
    content = case.content
    newest = content.receives[0] if content is not None and content.receives else None
    if content is None or newest is None:
        return NA
    message = taking(case.world, case.log, case.node, newest.qp, newest.wqe)
    if message is None or not _covers(content, newest) or message.wqe.length >= newest.wqe.length:
        return ok("the newest message filled its buffer")
    own = [touch for touch, other in content.brought if other.subject == message.subject]
    older = [touch for touch in content.written if touch not in own]
    if not own or not older:
        return ok("these bytes are of one message")
    rest = past.words_for(case.session, case.node, older[0].piece)
    return warn(
        said(f"the message had {message.wqe.length} bytes, and its receive has room for "
             f"{newest.wqe.length}", own[0].event),
        said(f"{rest} is older", older[0].event),
        said(_told(case, message), message.posted),
        cure=Fix(program=_ADVICE),
    )  # fmt: skip


def _told(case: Case, message: Message) -> str:
    return f"{case.names.of(message.thing)}.wr[{message.wqe.wr.wr_id}] is the message"


def _covers(content: Content, newest: Posted) -> bool:
    """The receive is for all bytes that are asked about."""
    left = [content.piece]
    for piece in pieces(content.hca, newest.wqe.sg):
        left = without(left, piece)
    return not left


CHECK = Check(
    85, "byte-len", Section.WRONG,
    question="Was the newest message shorter than the bytes that are looked at?",
    rule="a message fills byte_len bytes of its buffer; what lies behind them is as it was",
    source="ibv_poll_cq(3)", examine=examine,
)  # fmt: skip
