"""Scatter/gather lists: elements that overlap, are empty, or are not counted."""

from typing import NamedTuple

from rdmalab.doctor.kit import *
from rdmalab.hca.invalid_pointers import listed
from rdmalab.spec.opcodes import Op
from rdmalab.spec.work import BUILDERS
from rdmalab.views.memory import scatters


class Scattered(NamedTuple):
    """A work request that writes into local buffers. message: what a receive took."""

    posted: int | None
    wqe: SendWqe | RecvWqe
    qp: QueuePair | None
    message: Message | None


@check("overlap-sges", asked=True)
def overlap_sges(case: Case) -> Finding:
    """Check whether two SGEs of a receive or READ name the same bytes."""
    found = _of_bytes(case, case.content) if case.content is not None else _of_work(case)
    for each in found:
        sg = listed(each.wqe.wr)
        pieces = messages.pieces(case.hca, sg)
        for second in range(1, len(sg)):
            for first in range(second):
                if twice := meet(pieces[first : first + 1], pieces[second : second + 1]):
                    text = f"sge[{first}] and sge[{second}] both name {twice[0][1]} bytes"
                    where = f"from {commands.sge_words(case, case.node, sg[second])} on"
                    cure = _overlap_sges_cure(case, each)
                    return warn(fact(f"{text}, {where}", each.posted), cure=cure)
    return ok("no two elements of its list name the same bytes") if found else NA


def _of_work(case: Case) -> list[Scattered]:
    work, entry = case.work, case.entry
    if work is None or entry is None or not scatters(entry):
        return []
    return [Scattered(work.posted, entry, case.qp, case.message)]


def _of_bytes(case: Case, content: Content) -> list[Scattered]:
    """The list of the last message that brought these bytes."""
    found = []
    for touch, message in content.brought[:1]:
        if message.thing[1:] == (case.node, touch.qp):
            qp = find_qp(case.world, case.node, touch.qp)
            found.append(Scattered(message.posted, message.wqe, qp, None))
    for each in content.receives[:1]:
        took = messages.taking(case.log, case.node, each.qp, each.wqe)
        qp = find_qp(case.world, case.node, each.qp)
        found.append(Scattered(each.event, each.wqe, qp, took))
    return found


def _overlap_sges_cure(case: Case, each: Scattered) -> Fix | None:
    """Fix: the SGEs, each up to where the next begins; and the message once more."""
    wr, qp = each.wqe.wr, each.qp
    if qp is None:
        return None
    words_ = ",".join(commands.sge_words(case, case.node, sge) for sge in _apart(listed(wr)))
    if isinstance(wr, SendWR):
        return Fix([commands.post_send(case, qp, wr, sg=words_)])
    lines, message = [commands.post_recv(case, qp, RecvWR(wr.wr_id), sg=words_)], each.message
    sender = find_qp(case.world, *message.thing[1:]) if message is not None else None
    if message is not None and sender is not None:
        lines.append(commands.post_send(case, sender, message.wqe.wr))
    return Fix(lines)


def _apart(sg: list[SGE]) -> list[SGE]:
    """Each element cut where another one begins inside it."""
    cut = []
    for sge in sg:
        starts = [other.addr for other in sg if sge.addr < other.addr < sge.addr + sge.length]
        cut.append(SGE(sge.addr, min(starts, default=sge.addr + sge.length) - sge.addr, sge.lkey))
    return cut


@check("sge-zero")
def sge_zero(case: Case, work: Send | Receive, entry: SendWqe | RecvWqe) -> Finding:
    """Check whether an SGE has length 0, and how many bytes this device takes that for."""
    failed = work.ending if work.ending and work.ending.status is not WCStatus.SUCCESS else None
    inline = isinstance(entry, SendWqe) and entry.inline is not None
    if inline or not (failed or case.asked):
        return NA
    empty = [n for n, sge in enumerate(listed(entry.wr)) if not sge.length]
    if not empty:
        return ok("no element of its list has length 0")
    means = fmt.count(case.profile.zero_sge_bytes, "byte")
    ended = [fact(f"it ended with {failed.status.name}", failed.event)] if failed else []
    text = f"sge[{empty[0]}] has length 0, which stands for {means} here"
    cure = _sge_zero_cure(case, entry.wr)
    if failed and failed.status is WCStatus.LOC_PROT_ERR and case.profile.zero_sge_bytes:
        return fail(fact(text, work.posted), *ended, cure=cure, since=work.posted)
    return warn(fact(text, work.posted), *ended, cure=cure)


def _sge_zero_cure(case: Case, wr: SendWR | RecvWR) -> Fix | None:
    """Fix: the request without its empty SGEs."""
    qp = case.qp
    if qp is None:
        return None
    full = ",".join(commands.sge_words(case, case.node, s) for s in listed(wr) if s.length)
    ready = memory_fixes.ready_to_send(case, qp)
    if isinstance(wr, SendWR):
        return Fix([*ready, *commands.again(case, qp, wr, after_reset=bool(ready), sg=full)])
    return Fix([*ready, commands.post_recv(case, qp, wr, sg=full)])


_DATA_ONLY = (WROpcode.SEND, WROpcode.RDMA_WRITE)  # what carries neither a number nor a key besides
_ADVICE = "set num_sge, and addr, length and lkey of as many elements, before you post"
_NO_LIST = "name the bytes to be sent: sg_list and num_sge, or wr_set_sge after the builder"


@check("sge-unfilled")
def sge_unfilled(case: Case, content: Content) -> Finding:
    """Check whether the message for these bytes left empty: no SGE, or SGEs of length 0."""
    meant = _for(case, content)
    if not meant:
        return NA
    newest = max(meant, key=lambda message: message.sent)
    later = [t for t in content.touches(Kind.MEMORY_WRITTEN) if t.event > newest.sent]
    text = _unfilled(case, newest.thing, newest.wqe, newest.posted)
    if later or not text:
        return ok("no message for these bytes was empty by mistake")
    packet = fact(f"its packet, psn={newest.packet.psn}, left without a byte", newest.sent)
    return fail(fact(text, newest.posted), packet, cure=_sge_unfilled_cure(case, newest))


def _unfilled(case: Case, thing: Thing, wqe: SendWqe, posted: int | None) -> str:
    """The reason an empty message has no byte; nothing if it has some, or may be a mere notice."""
    wr = wqe.wr
    if wqe.length:
        return ""
    if wr.sg:
        return _length_text(wqe, case.names.of(thing))
    built = posting_calls.posted_at(case.log, thing, posted, wr.wr_id)
    if wr.opcode not in _DATA_ONLY or (built is not None and built.data_setter is not None):
        return ""
    if built is None:
        name = fmt.work_name(case.names.of(thing), wr.wr_id, is_send=True)
        return f"{name} was posted without an element"
    return f"{BUILDERS[wr.opcode]} made {fmt.wr(wr.wr_id)}, and no wr_set_sge followed"


def _advice(wqe: SendWqe) -> str:
    """The fix in the program, so that the message has its bytes."""
    return _ADVICE if wqe.wr.sg else _NO_LIST


def _length_text(wqe: SendWqe, name: str) -> str:
    elements = fmt.count(len(wqe.wr.sg), "element")
    what = "each of length 0" if wqe.wr.num_sge is None else f"and num_sge={wqe.wr.num_sge}"
    work = fmt.work_name(name, wqe.wr.wr_id, is_send=True)
    return f"{work} was posted with {elements}, {what}"


def _for(case: Case, content: Content) -> list[Message]:
    """Messages that took a receive over these bytes, and WRITEs that name them."""
    taken = [messages.taking(case.log, case.node, each.qp, each.wqe)
             for each in content.receives[:1]]  # fmt: skip
    return [message for message in taken if message is not None] + _empty_writes(case, content)


def _empty_writes(case: Case, content: Content) -> list[Message]:
    found = []
    for record in case.log.of(Kind.PACKET_RECEIVED, case.node):
        packet = packet_of(record)
        write = isinstance(packet, Packet) and packet.opcode_row.op is Op.RDMA_WRITE
        reth = packet.reth if isinstance(packet, Packet) and write else None
        if reth is None or reth.dma_length:
            continue
        mr = content.hca.rkeys.get(reth.rkey)
        place = reth.va if mr is None else mr.addr + reth.va - mr.iova
        if meet([content.piece], [(place, 1)]):
            found.append(messages.arrived_with(case.log, record))
    return [message for message in found if message is not None]


def _sge_unfilled_cure(case: Case, message: Message) -> Fix:
    qp = find_qp(case.world, *message.thing[1:])
    if qp is None or not any(sge.length for sge in message.wqe.wr.sg):
        return Fix(program=_advice(message.wqe))
    return Fix(posted_again(case, qp, message))


@sge_unfilled.instead
def _of_receive(case: Case, receive: Receive, message: Message) -> Finding:
    room = receive.wqe is not None and bool(receive.wqe.length)
    return _asked(case, message.thing, message.wqe, message.posted, room=room)


@sge_unfilled.instead
def _of_send(case: Case, send: Send, wqe: SendWqe) -> Finding:
    came = messages.executed(case.log, send, case.world.event) if not wqe.length else None
    taken = (rec.recv_wqe_of(r) for r in case.log.within(event_of(came) if came else -1)
             if kind_of(r) is Kind.RECV_TAKEN)  # fmt: skip
    room = wqe.wr.opcode == WROpcode.RDMA_WRITE or any(each.length for each in taken)
    return _asked(case, case.subject.thing, wqe, send.posted, room=room)


def _asked(case: Case, thing: Thing, wqe: SendWqe, posted: int | None, *, room: bool) -> Finding:
    """Of a send, or of the receive that took it: it may be meant so, without room for bytes."""
    if not case.asked:
        return NA
    text = _unfilled(case, thing, wqe, posted) if room or wqe.wr.sg else ""
    if wqe.work is None or not wqe.work.message or not text:
        return ok("what it moves is as long as its list")
    return warn(fact(f"{text}: it moves no byte", posted), cure=Fix(program=_advice(wqe)))
