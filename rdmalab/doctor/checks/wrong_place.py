"""Messages that went to other bytes than those that are asked about, or came from other ones."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.taken import posted_again
from rdmalab.doctor.finding import NA, Finding, Fix, check, fact, ok, warn
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.subject import name_of
from rdmalab.doctor.work import messages, past
from rdmalab.doctor.work.content import Content
from rdmalab.doctor.work.messages import Message, Piece, meet, piece_of
from rdmalab.doctor.work.ownership import gathered
from rdmalab.hca.mr import MemoryRegion
from rdmalab.spec.records import Kind, Record, event_of, node_of, object_of
from rdmalab.spec.work import WROpcode
from rdmalab.world.relations import find_qp

_ADVICE = "name the intended bytes in the receive, or in remote_addr and sg"


@check("wrong-place")
def wrong_place(case: Case) -> Finding:
    """Whether bytes that never came, or came empty, have filled neighbors."""
    content = case.content
    if content is None or not case.asked or (content.receives and not content.brought):
        return NA
    return _left_beside(case, content) if content.brought else _landed_beside(case, content)


def _landed_beside(case: Case, content: Content) -> Finding:
    """Of bytes that no message wrote: where in their region the newest one went."""
    mr = case.world.find(case.subject.thing, MemoryRegion)
    written = case.log.of(Kind.MEMORY_WRITTEN, case.node)
    beside = [r for _, r in written if meet([(mr.addr, mr.length)], [piece_of(r)])]
    message = _message(case, beside[-1]) if beside else None
    if message is None or message.thing.node == case.node:
        return ok("no message of another node was written into its region")
    where = past.words_for(case.session, case.node, piece_of(beside[-1]))
    return warn(
        fact(f"{name_of(case.names, message.subject)} was posted", message.posted),
        fact(f"it wrote {where}, not these bytes", event_of(beside[-1])),
        cure=_moved(case, message) or Fix(program=_ADVICE),
    )  # fmt: skip


def _message(case: Case, record: Record) -> Message | None:
    where = node_of(record), object_of(record)
    return messages.arrived(case.world, case.log, event_of(record), *where)


def _moved(case: Case, message: Message) -> Fix | None:
    """The same WRITE to the bytes that are asked about."""
    sender = find_qp(case.world, *message.thing[1:])
    if sender is None or message.wqe.wr.opcode != WROpcode.RDMA_WRITE:
        return None
    place = f"{case.names.of(case.subject.thing)}[{case.subject.start}]"
    keys = {"remote": place, "remote_addr": None, "rkey": None}
    return Fix([simple_fixes.post_send(case, sender, message.wqe.wr, **keys)])


def _left_beside(case: Case, content: Content) -> Finding:
    """Of bytes that were never filled where they came from: what the program filled there."""
    touch, message = content.brought[0]
    node, source = message.thing.node, gathered(case.world.nodes[message.thing.node], message.wqe)
    cut = messages.part(source, message.offset + touch.at, touch.piece[1])
    filled = _filled(case, message)
    if not cut or case.log.begins or any(meet(cut, [piece_of(record)]) for record in filled):
        return ok("what was sent had been filled") if cut else NA
    other = [r for r in filled if _is_beside(case, node, source, r)]
    if not other:
        return ok("nothing beside it was filled")
    last, name = other[-1], name_of(case.names, message.subject)
    place, sent = (past.words_for(case.session, node, p) for p in (piece_of(last), source[0]))
    return warn(
        fact(f"the program filled {place}", event_of(last)),
        fact(f"{name} was posted with {sent}, which was never filled", message.posted),
        cure=_sent_from(case, message, f"{place}"),
    )  # fmt: skip


def _filled(case: Case, message: Message) -> list[Record]:
    """What was written at the sender before the packet left, oldest first."""
    node = message.thing.node
    wrote = sorted(case.log.of(Kind.HOST_WROTE, node) + case.log.of(Kind.MEMORY_WRITTEN, node))
    return [record for _, record in wrote if event_of(record) < message.sent]


def _is_beside(case: Case, node: str, source: list[Piece], record: Record) -> bool:
    """Whether something was written into the region of a message, and not into its bytes."""
    regions = case.world.nodes[node].mrs.items.values()
    spans = [(mr.addr, mr.length) for mr in regions if meet([(mr.addr, mr.length)], source)]
    return bool(meet(spans, [piece_of(record)])) and not meet(source, [piece_of(record)])


def _sent_from(case: Case, message: Message, place: str) -> Fix:
    qp = find_qp(case.world, *message.thing[1:])
    if qp is None:
        return Fix(program=_ADVICE)
    return Fix(posted_again(case, qp, message, sg=place))
