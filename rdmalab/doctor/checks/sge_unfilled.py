"""sge-unfilled: a message came, and it was empty: num_sge or a length was never set."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import messages
from rdmalab.doctor.facts.content import Content
from rdmalab.doctor.facts.messages import Message
from rdmalab.doctor.facts.taken import posted_again
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said, warn
from rdmalab.hca.wqe import SendWqe
from rdmalab.spec.opcodes import OPCODES, Op
from rdmalab.spec.records import A, Kind, event_of, node_of, object_of
from rdmalab.views import fmt
from rdmalab.world.relations import find_qp

_ADVICE = "set num_sge, and addr, length and lkey of as many elements, before you post"


def examine(case: Case) -> Finding:
    """Whether the message for these bytes had a list, and nothing of it counted."""
    if case.content is None:
        return _asked(case)
    meant = _for(case, case.content)
    if not meant:
        return NA
    newest = max(meant, key=lambda message: message.sent)
    later = [t for t in case.content.touches(Kind.MEMORY_WRITTEN) if t.event > newest.sent]
    if later or not _is_unfilled(newest.wqe):
        return ok("no message for these bytes was empty by mistake")
    packet = f"its packet, psn={newest.packet.psn}, left without a byte"
    return fail(
        said(_told(newest.wqe, case.names.of(newest.thing)), newest.posted),
        said(packet, newest.sent),
        cure=_cure(case, newest),
    )


def _is_unfilled(wqe: SendWqe) -> bool:
    return bool(wqe.wr.sg) and not wqe.length


def _told(wqe: SendWqe, name: str) -> str:
    elements = fmt.count(len(wqe.wr.sg), "element")
    what = "each of length 0" if wqe.wr.num_sge is None else f"and num_sge={wqe.wr.num_sge}"
    return f"{name}.wr[{wqe.wr.wr_id}] was posted with {elements}, {what}"


def _for(case: Case, content: Content) -> list[Message]:
    """Messages that took a receive over these bytes, and WRITEs that name them."""
    taken = [messages.taking(case.world, case.log, case.node, each.qp, each.wqe)
             for each in content.receives[:1]]  # fmt: skip
    return [message for message in taken if message is not None] + _empty_writes(case, content)


def _empty_writes(case: Case, content: Content) -> list[Message]:
    found = []
    for _, record in case.log.of(Kind.PACKET_RECEIVED, case.node):
        packet = record[A]
        reth = getattr(packet, "reth", None)
        if reth is None or reth.dma_length or OPCODES[packet.opcode].op is not Op.RDMA_WRITE:
            continue
        mr = content.hca.rkeys.get(reth.rkey)
        place = reth.va if mr is None else mr.addr + reth.va - mr.iova
        start, length = content.piece
        if start <= place < start + length:
            found.append(messages.arrived(case.world, case.log, event_of(record), node_of(record),
                                          object_of(record)))  # fmt: skip
    return [message for message in found if message is not None]


def _cure(case: Case, message: Message) -> Fix:
    qp = find_qp(case.world, *message.thing[1:])
    if qp is None or not any(sge.length for sge in message.wqe.wr.sg):
        return Fix(program=_ADVICE)
    return Fix(posted_again(case, qp, message))


def _asked(case: Case) -> Finding:
    """Of a send: it may be meant so."""
    send = case.send
    if send is None or send.wqe is None or not case.asked:
        return NA
    if send.wqe.work is None or not send.wqe.work.message or not _is_unfilled(send.wqe):
        return ok("what it moves is as long as its list")
    told = _told(send.wqe, case.names.of(case.subject.thing))
    return warn(said(f"{told}: it moves no byte", send.posted), cure=Fix(program=_ADVICE))


CHECK = Check(
    82, "sge-unfilled", Section.WRONG,
    question="Was the message empty although it had a list of elements?",
    rule="num_sge says how many elements of sg_list count, length how many bytes of each",
    source="ibv_post_send(3)", examine=examine,
)  # fmt: skip
