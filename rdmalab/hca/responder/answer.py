"""The answers of a responder: ACKs, NAKs, READ data, atomic results, in the order of requests."""

from rdmalab.hca import dma, flush, srq
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.dma import SrqUser
from rdmalab.hca.psn import MASK, diff
from rdmalab.hca.qp import Acknowledgement, QueuePair, ReadAnswer, Served
from rdmalab.spec.access import Access
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.opcodes import (
    FETCHING_OPS,
    OPCODES,
    WORD_OPS,
    Op,
    PacketPlace,
    code_of,
    message_codes,
)
from rdmalab.spec.records import Kind
from rdmalab.spec.refusals import NO_CREDITS, VALUE_MASK, Refusal, Syndrome
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.wire.headers import AETH, RETH, AtomicAckETH
from rdmalab.wire.packet import Packet

# A packet, and the fatal refusal that it tells, if it does.
Leaving = tuple[Packet, Refusal | None]

_PLAIN_ACK = int(Syndrome.ACK) | NO_CREDITS
_READING = int(Access.REMOTE_READ)
_PLAIN, _ATOMIC, _ONLY = Op.ACKNOWLEDGE, Op.ATOMIC_ACKNOWLEDGE, PacketPlace.ONLY


def keep(qp: QueuePair, served: Served) -> None:
    """The newest max_dest_rd_atomic results stay for duplicates."""
    kept = max(1, qp.attr.max_dest_rd_atomic or 0)
    qp.resp.served = (*qp.resp.served, served)[-kept:]


# --------------------------------------------------------------------------- saying it
def acknowledge(hca: Adapter, qp: QueuePair, psn: int) -> None:
    """Acknowledge everything up to `psn`; an ACK that has not left yet says it in one go."""
    # The standard allows one ACK for many requests; Soft-RoCE sends one for each that asks.
    answers, msn = qp.resp.answers, qp.resp.msn
    if answers and hca.profile.joins_acks:
        newest = answers[-1]
        if (
            type(newest) is Acknowledgement
            and newest.original is None
            and newest.syndrome == _PLAIN_ACK
        ):  # nothing but an ACK: a newer one says it too
            newest.psn, newest.msn = psn, msn
            return
    _say(hca, qp, Acknowledgement(psn, _PLAIN_ACK, msn))


def replay(hca: Adapter, qp: QueuePair, served: Served) -> None:
    """An atomic's answer, for the first time or again."""
    _say(hca, qp, Acknowledgement(served.psn, _PLAIN_ACK, qp.resp.msn, served.original))


def stream(hca: Adapter, qp: QueuePair, packet: Packet, reth: RETH, *, again: bool = False) -> None:
    """Queue the responses of a READ."""
    resp = qp.resp
    pd = qp.pd or srq.xrc_borrower(hca, qp, packet).pd
    _say(hca, qp, ReadAnswer(packet.psn, reth.va, reth.rkey, reth.dma_length, resp.msn, again, pd))


def respond(hca: Adapter, qp: QueuePair, psn: int) -> None:
    """Queue the answer of a FLUSH or ATOMIC WRITE: that of a READ of no bytes."""
    # rxe_resp.c, send_read_response_ack: RDMA_READ_RESPONSE_ONLY without a byte.
    _say(hca, qp, ReadAnswer(psn, 0, 0, 0, qp.resp.msn, again=False))


def refuse(hca: Adapter, qp: QueuePair, packet: Packet, name: str) -> None:
    """Refuse a request as its row of REFUSALS states: without answer, once per gap, or fatally."""
    refusal, resp = hca.profile.refusals[name], qp.resp
    resp.solicited = packet.solicited
    if refusal.syndrome is None and refusal.fatal:
        _die_silently(hca, qp, packet, refusal)
        return
    if refusal.syndrome is None or (refusal.once and resp.nak_sent):
        # One NAK for each gap: until the missing packet has come, a second one would only restart
        # the same retransmission (transport.md 10, 1.).
        hca.drop(qp, packet, name)
        return
    syndrome_here = refusal.syndrome
    syndrome = int(syndrome_here) if syndrome_here is not Syndrome.ACK else _PLAIN_ACK
    # A NAK sequence error names the PSN that is missing, each other NAK the packet it refuses.
    psn = resp.psn if refusal.once else packet.psn
    resp.nak_sent = resp.nak_sent or refusal.once
    if refusal.syndrome is Syndrome.RNR_NAK:
        resp.rnr_sent = True
        syndrome |= (qp.attr.min_rnr_timer or 0) & VALUE_MASK
    resp.dying = refusal.fatal
    hca.trace.record(Kind.REQUEST_REFUSED, hca.node, qp.number, packet, name)
    nak = Acknowledgement(psn, syndrome, resp.msn, dying=refusal if refusal.fatal else None)
    _say(hca, qp, nak)


def _die_silently(hca: Adapter, qp: QueuePair, packet: Packet, refusal: Refusal) -> None:
    """Send no answer: the requester retransmits until its retries are exhausted.

    Answers to the requests before still leave: Soft-RoCE gives each at once to the network stack.
    """
    hca.trace.record(Kind.REQUEST_REFUSED, hca.node, qp.number, packet, refusal.name)
    owed = qp.resp.answers
    flush.fail(hca, qp, refusal.status or WCStatus.WR_FLUSH_ERR)
    qp.resp.answers = owed
    hca.wake(qp)


def _say(hca: Adapter, qp: QueuePair, answer: Acknowledgement | ReadAnswer) -> None:
    qp.resp.answers += (answer,)
    hca.wake(qp)


# --------------------------------------------------------------------------- sending it
def next_answer(hca: Adapter, qp: QueuePair) -> Leaving | None:
    """The next packet of the oldest answer."""
    answers = qp.resp.answers
    if not answers:
        return None
    oldest = answers[0]
    if isinstance(oldest, ReadAnswer):
        return _next_response(hca, qp, oldest)
    qp.resp.answers = answers[1:]
    return _acknowledgement(qp, oldest), oldest.dying


def _acknowledgement(qp: QueuePair, answer: Acknowledgement) -> Packet:
    path = qp.path
    assert path is not None
    op = _PLAIN if answer.original is None else _ATOMIC
    code = code_of[qp.service, op, _ONLY, False, False]
    aeth = AETH(answer.syndrome, answer.msn)
    packet = Packet(
        path.flow, code, path.dest_qpn, answer.psn, b"", False, False, path.pkey, path.migrated,
        aeth=aeth,
    )  # fmt: skip
    if answer.original is not None:
        packet.atomicacketh = AtomicAckETH(answer.original)
    return packet


def after_sending(hca: Adapter, qp: QueuePair, refusal: Refusal) -> None:
    """After a fatal NAK: raise the event unless a receive WQE reports the error, then enter ERR."""
    # The NAK has left before the state changes: a QP in ERR sends nothing any more.
    carried = qp.resp.recv is not None and refusal.status is not None
    if refusal.event is not None and not carried and hca.profile.raises_responder_events:
        hca.raise_event(AsyncEvent(refusal.event), qp.number)
    if qp.state is not QPState.ERR:  # an overrun CQ may have killed it already
        flush.fail(hca, qp, refusal.status or WCStatus.WR_FLUSH_ERR)


def _next_response(hca: Adapter, qp: QueuePair, answer: ReadAnswer) -> Leaving | None:
    resp, path = qp.resp, qp.path
    assert path is not None
    ends = answer.length <= path.mtu
    count = answer.length if ends else path.mtu
    user = qp if qp.pd else SrqUser(qp.number, answer.pd)
    place: int | dma.Denied = 0
    if count:
        place = dma.locate(hca.rkeys, answer.rkey, user, _READING, answer.va, count)
    if isinstance(place, dma.Denied):
        # The key went away meanwhile: the NAK stands in for the response that cannot be made.
        resp.answers = ()
        asked = _acknowledgement(qp, Acknowledgement(answer.psn, _PLAIN_ACK, answer.msn))
        refuse(hca, qp, asked, "rkey")
        return next_answer(hca, qp)
    payload = dma.read(hca, qp, place, count) if count else b""
    code = message_codes[qp.service][Op.RDMA_READ_RESPONSE][answer.first, ends, False, False]
    # FIRST, LAST and ONLY carry an AETH, MIDDLE none (transport.md 2).
    aeth = AETH(_PLAIN_ACK, answer.msn) if answer.first or ends else None
    packet = Packet(
        path.flow, code, path.dest_qpn, answer.psn, payload, False, False, path.pkey,
        path.migrated, aeth=aeth,
    )  # fmt: skip
    if ends:
        resp.answers = resp.answers[1:]
    answer.psn = (answer.psn + 1) & MASK
    answer.va += count
    answer.length -= count
    answer.first = False
    return packet, None


# --------------------------------------------------------------------------- duplicates
def answer_again(hca: Adapter, qp: QueuePair, packet: Packet) -> None:
    """SEND and WRITE: the newest ACK. READ: read again. Atomic: the answer it had.

    A FLUSH done twice is a FLUSH done once.
    """
    op = OPCODES[packet.opcode].op
    if op is Op.RDMA_READ_REQUEST:
        _read_again(hca, qp, packet)
    elif op is Op.FLUSH:
        respond(hca, qp, packet.psn)
    elif op in WORD_OPS:
        served = _kept(qp, packet)
        if served is None or served.op is not op:
            hca.drop(qp, packet, "duplicate-gone")
        elif op in FETCHING_OPS:
            replay(hca, qp, served)
        else:
            respond(hca, qp, packet.psn)
    else:
        acknowledge(hca, qp, _newest_psn(hca, qp))


def _newest_psn(hca: Adapter, qp: QueuePair) -> int:
    """Of the newest request that was received; Soft-RoCE knows none before the first."""
    unheard = hca.profile.unheard_ack_psn
    if unheard is not None and qp.resp.psn == qp.attr.rq_psn:
        return unheard
    return (qp.resp.psn - 1) & MASK


def _kept(qp: QueuePair, packet: Packet) -> Served | None:
    """The kept result whose PSNs include this one."""
    for served in qp.resp.served:
        if 0 <= diff(packet.psn, served.psn) < served.packets:
            return served
    return None


def _read_again(hca: Adapter, qp: QueuePair, packet: Packet) -> None:
    """From memory as it is now; the request must lie inside the original one."""
    # Executed again, from memory as it is now: the bytes may differ from those of the first time.
    served, reth = _kept(qp, packet), packet.reth
    assert reth is not None
    inside = (
        served is not None
        and served.op is Op.RDMA_READ_REQUEST
        and served.va <= reth.va
        and reth.va + reth.dma_length <= served.va + served.length
    )
    if not inside:
        hca.drop(qp, packet, "duplicate-gone")
        return
    rights, length = int(Access.REMOTE_READ), reth.dma_length
    user = qp if qp.pd else srq.xrc_borrower(hca, qp, packet)
    if length:
        place = dma.locate(hca.rkeys, reth.rkey, user, rights, reth.va, length)
        if isinstance(place, dma.Denied):
            refuse(hca, qp, packet, "rkey")
            return
    stream(hca, qp, packet, reth, again=True)
