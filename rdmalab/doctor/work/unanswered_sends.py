"""Requests without an answer: which packets of a send were dropped, where, and why."""

from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.finding import Evidence, Finding, Fix, fail, warn
from rdmalab.doctor.log import Log
from rdmalab.doctor.work.messages import posting_of
from rdmalab.doctor.work.send import Send
from rdmalab.hca.wr import SendWqe
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.opcodes import OPCODES
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.statuses import WCStatus
from rdmalab.wire.packet import Packet
from rdmalab.world.world import World

_UNANSWERED = (WCStatus.RETRY_EXC_ERR, WCStatus.SUCCESS)


_CONSEQUENCE = ("rest-of-message",)


class Miss(NamedTuple):
    """A dropped packet. node: where it was dropped; number: of the queue pair there."""

    event: int
    reason: str
    packet: Packet
    node: str
    number: int


class Unanswered:
    """A send that is not known to have arrived.

    final: no retransmit follows, or nothing is pending; before that its obstacle may still be
    removed.
    """

    def __init__(self, send: Send, wqe: SendWqe, misses: list[Miss], *, final: bool) -> None:
        self.send = send
        self.wqe = wqe
        self.misses = misses
        self.final = final

    def because(self, *reasons: str) -> list[Miss]:
        """Its misses for these reasons, if the newest was one; else the reason is another: [].

        The packets that follow a refused one in its message are dropped for that one's reason.
        """
        own = [miss for miss in self.misses if miss.reason not in _CONSEQUENCE]
        if not own or own[-1].reason not in reasons:
            return []
        return [miss for miss in self.misses if miss.reason in reasons]

    def finding(
        self, *evidence: Evidence, cure: Fix | None = None, since: int | None = None
    ) -> Finding:
        """The cause; only a warning while it is still retried."""
        if self.final:
            return fail(*evidence, cure=cure, since=since)
        return warn(*evidence, cure=cure)


def unanswered(session: Session, send: Send, *, asked: bool) -> Unanswered | None:
    """The send and its drops; None if an answer came, or if there is no failure to explain.

    On UC and UD a send completes with SUCCESS even if its message is dropped: that is examined
    only if the user asks about it.
    """
    qp, wqe, ending = send.qp, send.wqe, send.ending
    if qp is None or wqe is None or send.since is None:
        return None
    acknowledged = qp.transport.acknowledged
    if ending is not None and ending.status not in _UNANSWERED:
        return None
    if acknowledged and ending is not None and ending.status is WCStatus.SUCCESS:
        return None
    if not acknowledged and (not asked or ending is None):
        return None
    final = ending is not None or session.world.agenda.next_ns() is None
    return Unanswered(send, wqe, _misses(session.world, send, wqe), final=final)


def _misses(world: World, send: Send, wqe: SendWqe) -> list[Miss]:
    """Oldest first."""
    return [
        Miss(rec.event_of(record), rec.reason_of(record), packet, *rec.place_of(record))
        for record, packet in ((r, rec.packet_of(r)) for r in send.log.missed)
        if isinstance(packet, Packet) and is_request(packet) and wqe.has_psn(packet.psn)
        and rec.event_of(record) >= (send.since or 0)
        and sender_of(world, record) == send.subject.thing
    ]  # fmt: skip


def sender_of(world: World, record: Record) -> Thing | None:
    """The queue pair that sent a dropped or lost packet; None if it is not known."""
    if rec.kind_of(record) is Kind.PACKET_LOST:
        return Thing(Noun.QP, rec.node_of(record), rec.object_of(record))
    if rec.cause_of(record) >= world.trace.first:  # what scheduled an arrival put it on the cable
        cause = world.trace.records[rec.cause_of(record)]
        return Thing(Noun.QP, rec.node_of(cause), rec.object_of(cause))
    packet = rec.packet_of(record)
    if not isinstance(packet, Packet):
        return None
    node = world.network.origin_of(packet.flow)
    return _of_flow(world, node, packet) if node else None


def _of_flow(world: World, node: str, packet: Packet) -> Thing | None:
    """The queue pair that sends such packets now."""
    if packet.deth is not None:
        return Thing(Noun.QP, node, packet.deth.src_qp)
    for qp in world.nodes[node].qps.items.values():
        path = qp.path
        if path is not None and path.flow == packet.flow and path.dest_qpn == packet.dest_qp:
            return Thing(Noun.QP, node, qp.number)
    return None


def is_request(packet: object) -> bool:
    """Whether a packet is a request, not a response."""
    row = OPCODES.get(packet.opcode) if isinstance(packet, Packet) else None
    return row is not None and row.request


def sent_as(log: Log, record: Record) -> tuple[Thing, SendWqe] | None:
    """The sender of a dropped or lost packet, and its request; None if not in the log."""
    sender = sender_of(log.session.world, record)
    wqe = posted_as(log, sender, record) if sender is not None else None
    return (sender, wqe) if sender is not None and wqe is not None else None


def posted_as(log: Log, sender: Thing, record: Record) -> SendWqe | None:
    """The work request that a packet belongs to, where its post is kept."""
    posting = posting_of(log, sender, rec.roce_packet_of(record).psn, rec.event_of(record))
    return rec.send_wqe_of(posting) if posting is not None else None
