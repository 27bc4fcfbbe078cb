"""Datagrams and unreliable connections: what does not fit or is lost is not reported."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.finding import NA, Evidence, Finding, Fix, check, fact, fail, ok
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.fixes.reconnecting import once_more, piece, room
from rdmalab.doctor.work import messages
from rdmalab.doctor.work.content import Content
from rdmalab.doctor.work.messages import meet
from rdmalab.doctor.work.unanswered_sends import Miss, Unanswered, sent_as
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wqe import RecvWqe, SendWqe
from rdmalab.hca.wr import SGE, RecvWR
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.states import Attr, QPState, QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt
from rdmalab.wire.headers import GRH
from rdmalab.world.faults import Corrupt, Drop


# ------------------------------------------------------------ ud-qkey
# ud-qkey: the datagram's Q_Key is not that of the queue pair it came to.
@check("ud-qkey")
def ud_qkey(case: Case) -> Finding:
    """Whether it was dropped for its Q_Key."""
    unanswered, qp = case.unanswered, case.qp
    if unanswered is None or qp is None or unanswered.send.wqe is None or qp.transport.connected:
        return NA
    misses = unanswered.because("qkey")
    target = _met(case, misses[-1]) if misses else None
    if target is None:
        return ok("no packet was dropped for its Q_Key")
    said_key, wanted = _key(misses[-1]), target.attr.qkey or 0
    return unanswered.finding(
        *_changed(case, target, misses[-1].event),
        fact(f"it was sent with Q_Key {said_key:#x}", unanswered.send.posted),
        fact(f"{case.qp_name(target)} has Q_Key {wanted:#x}: dropped, and counted in "
             "qkey_viol_cntr", misses[-1].event),
        cure=Fix(once_more(case, qp, unanswered.send.wqe.wr, target, remote_qkey=hex(wanted))),
    )  # fmt: skip


def _met(case: Case, miss: Miss) -> QueuePair | None:
    """Who dropped it."""
    return case.world.nodes[miss.node].qps.items.get(miss.number)


def _key(miss: Miss) -> int:
    return miss.packet.deth.qkey if miss.packet.deth is not None else 0


def _changed(case: Case, target: QueuePair, event: int) -> list[Evidence]:
    """When the target got the key that it has."""
    found = [
        rec.event_of(r)
        for _, r in case.log.about(Kind.ATTRIBUTES_SET, partners.thing_of(target))
        if int(rec.attr_mask_of(r)) & Attr.QKEY and rec.event_of(r) < event
    ]
    return [fact(f"{case.qp_name(target)} was given its Q_Key", found[-1])] if found else []


# ------------------------------------------------------------ ud-40-bytes
# ud-40-bytes: a receive of a datagram has no room for the 40 bytes before it.
@check("ud-40-bytes")
def ud_40_bytes(case: Case) -> Finding:
    """Of a receive that a datagram has broken, whether the header is what did not fit.

    Of bytes that one has filled, whether they are the room for that header.
    """
    if case.content is not None:
        return _in_header(case, case.content)
    receive, qp = case.receive, case.qp
    if receive is None or qp is None or qp.transport.connected or receive.wqe is None:
        return NA
    if receive.ending is None or receive.ending.status is WCStatus.SUCCESS:
        return ok("no datagram was too long for it")
    refused = _refusal(case, qp)
    if refused is None:
        return ok("its length is not the reason of the failure")
    length, wqe = len(rec.packet_of(refused).payload), receive.wqe
    return fail(
        fact(f"the receive has {wqe.length} bytes", receive.posted),
        fact(f"{length} bytes came, and {GRH.LENGTH} of routing header before them: "
             f"{length + GRH.LENGTH}", receive.ending.event),
        cure=_ud_40_bytes_cure(case, qp, wqe, refused), since=receive.posted,
    )  # fmt: skip


def _in_header(case: Case, content: Content) -> Finding:
    """Whether these bytes lie before the datagram that took their receive."""
    for receive in content.receives[:1] if case.asked else ():
        message = messages.taking(case.world, case.log, case.node, receive.qp, receive.wqe)
        if message is None or message.packet.deth is None:
            break
        places = messages.pieces(case.hca, receive.wqe.sg)
        header = messages.part(places, 0, GRH.LENGTH)
        if sum(size for _, size in meet([content.piece], header)) == content.piece[1]:
            begins = messages.part(places, GRH.LENGTH, 1)
            start = begins[0][0] if begins else 0
            where = fmt.thing_at(case.world, case.names, case.node, start)
            return fail(
                fact("these bytes are room for the routing header", receive.event),
                fact(f"the datagram begins at {where}"),
                cure=Fix(program=f"read the datagram {GRH.LENGTH} bytes after the beginning"),
                since=receive.event,
            )  # fmt: skip
    return NA


def _refusal(case: Case, qp: QueuePair) -> Record | None:
    """What is kept of the datagram that was too long."""
    receive = case.receive
    if receive is None or receive.ending is None:
        return None
    for record in case.log.within(receive.ending.event):
        refused = rec.kind_of(record) is Kind.REQUEST_REFUSED and rec.object_of(record) == qp.number
        if refused and rec.reason_of(record) == "receive-short":
            return record
    return None


def _ud_40_bytes_cure(case: Case, qp: QueuePair, wqe: RecvWqe, refused: Record) -> Fix:
    """The QP reset, the same receive with room for both, and the datagram once more."""
    needed = len(rec.packet_of(refused).payload) + GRH.LENGTH
    wider = _widened(case, qp, wqe, needed) or piece(case, qp.node, qp.pd, needed)
    lines = simple_fixes.bring_up_again(case, qp)
    lines.append(simple_fixes.post_recv(case, qp, RecvWR(wqe.wr.wr_id, wider)))
    return Fix(lines + _again(case, refused))


def _widened(case: Case, qp: QueuePair, wqe: RecvWqe, needed: int) -> list[SGE]:
    """Its last piece made longer, if its region goes on."""
    if not wqe.sg:
        return []
    *first, last = wqe.sg
    end = last.addr + last.length + needed - wqe.length
    region = next((mr for mr in case.world.nodes[qp.node].mrs.items.values()
                   if mr.lkey == last.lkey), None)  # fmt: skip
    if region is None or end > region.iova + region.length:
        return []
    return [*first, SGE(last.addr, end - last.addr, last.lkey)]


def _again(case: Case, refused: Record) -> list[str]:
    sent = sent_as(case.log, refused)
    if sent is None or not case.lives(sent[0]):
        return []
    return [simple_fixes.post_send(case, case.world.find(sent[0], QueuePair), sent[1].wr)]


# ------------------------------------------------------------ ud-too-long
# ud-too-long: a datagram is one packet, and this one is longer than the port takes.
@check("ud-too-long")
def ud_too_long(case: Case) -> Finding:
    """Whether a datagram never left because it is longer than the port's MTU."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None or qp.qp_type is not QPType.UD:
        return NA
    if send.ending is None or not case.asked or send.wqe.header is not None:
        return NA
    mtu, length = case.profile.caps.active_mtu, send.wqe.length
    if length <= mtu:
        return ok(f"it has {length} bytes, the MTU is {mtu}")
    if send.transmissions:
        return ok("it left in a packet")
    return fail(
        fact(f"it has {length} bytes, and the port's MTU is {mtu}", send.posted),
        fact(f"it ended with {send.ending.status.name}, and no packet left", send.ending.event),
        cure=_ud_too_long_cure(case, qp, send.wqe, mtu),
        since=send.posted,
    )


def _ud_too_long_cure(case: Case, qp: QueuePair, wqe: SendWqe, mtu: int) -> Fix:
    """Datagrams that fit, over consecutive bytes, and a receive for each."""
    spans = [(start, min(start + mtu, wqe.length)) for start in range(0, wqe.length, mtu)]
    lines = _ready(case, qp)
    target = partners.target(case)
    if target is not None:
        missing = len(spans) - len(target.source.wqes)
        lines += [room(case, target, wqe.wr, mtu)] * max(0, missing)
    for span in spans:
        pieces = ",".join(simple_fixes.sge_words(case, qp.node, sge) for sge in _cut(wqe.sg, *span))
        lines.append(simple_fixes.post_send(case, qp, wqe.wr, sg=pieces))
    return Fix(lines)


def _ready(case: Case, qp: QueuePair) -> list[str]:
    """mlx5 stops the send queue for it."""
    if qp.state is QPState.SQE:
        return [f"modify_qp {case.qp_name(qp)} state=RTS"]
    return simple_fixes.bring_up_again(case, qp) if qp.state is QPState.ERR else []


def _cut(sg: list[SGE], start: int, stop: int) -> list[SGE]:
    """The bytes from start to stop of a list of pieces."""
    found, at = [], 0
    for sge in sg:
        first, last = max(start - at, 0), min(stop - at, sge.length)
        if first < last:
            found.append(SGE(sge.addr + first, last - first, sge.lkey))
        at += sge.length
    return found


# ------------------------------------------------------------ uc-loss
# uc-loss: a packet of an unreliable message was lost, and it is not retransmitted.
_OF_CABLE = ("fault", "the link is down", "malformed")


@check("uc-loss")
def uc_loss(case: Case) -> Finding:
    """Which packets of it the cable lost, and what the responder dropped because of that."""
    unanswered, qp = case.unanswered, case.qp
    if unanswered is None or qp is None or qp.transport.acknowledged or unanswered.send.wqe is None:
        return NA
    lost = [miss for miss in unanswered.misses if miss.reason.startswith(_OF_CABLE)]
    if not lost:
        return ok("the cable lost nothing of it")
    target = partners.target(case)
    return unanswered.finding(
        fact(f"it ended with SUCCESS when its last packet had left: {qp.qp_type.name} waits for "
             "no answer", unanswered.send.ending.event if unanswered.send.ending else None),
        *[fact(f"packet psn={miss.packet.psn} was lost: {miss.reason}", miss.event)
          for miss in lost[:2]],
        *_dropped(case, unanswered, target),
        cure=Fix([*_faults(case, lost), *once_more(case, qp, unanswered.send.wqe.wr, target)]),
        since=lost[0].event,
    )  # fmt: skip


def _dropped(case: Case, unanswered: Unanswered, target: QueuePair | None) -> list[Evidence]:
    """The rest of the message, which does not follow without a gap any more."""
    rest = [miss for miss in unanswered.misses if miss.reason == "rest-of-message"]
    if not rest or target is None:
        return []
    many = fmt.count(len(rest), "packet")
    return [fact(f"{case.qp_name(target)} dropped the {many} after the gap", rest[0].event)]


def _faults(case: Case, lost: list[Miss]) -> list[str]:
    """The faults that would lose it once more."""
    named = {miss.reason.split(":")[0] for miss in lost}
    return [
        f"fault clear {fault.number}"
        for fault in case.world.network.cable.faults
        if isinstance(fault, Drop | Corrupt) and _name(fault) in named and not _is_over(fault)
    ]


def _name(fault: Drop | Corrupt) -> str:
    """The reason in the log for the loss of a packet; it does not say which fault corrupted it."""
    return f"fault {fault.number}" if isinstance(fault, Drop) else "malformed"


def _is_over(fault: Drop | Corrupt) -> bool:
    """It has met all the packets that it will ever meet."""
    match = fault.match
    counted = match.count is not None and match.met >= match.count
    return counted or (match.every is None and match.nth is not None and match.seen >= match.nth)
