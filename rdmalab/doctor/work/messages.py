"""From a packet that arrived to the work request it belongs to, and which bytes that one names."""

from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.log import Log
from rdmalab.doctor.subject import Subject
from rdmalab.hca.device import Hca
from rdmalab.hca.psn import MASK
from rdmalab.hca.wr import SGE, RecvWqe, SendWqe
from rdmalab.spec import records as rec
from rdmalab.spec.opcodes import OPCODES, Service
from rdmalab.spec.records import Kind, Record
from rdmalab.wire.packet import Packet
from rdmalab.world.world import World

Piece = tuple[int, int]  # address in the host's memory, bytes


class Message(NamedTuple):
    """A packet that arrived, and the send it belongs to.

    packet: as it left; sent: the event in which it did; offset: of the first byte that it wrote in
    the message, negative of a datagram: its address comes first.
    """

    thing: Thing
    wqe: SendWqe
    posted: int
    packet: Packet
    sent: int
    offset: int

    @property
    def subject(self) -> Subject:
        """The send as the subject of a question."""
        return Subject.of_send(self.thing, self.wqe)


def arrived(world: World, log: Log, event: int, node: str, number: int) -> Message | None:
    """What the queue pair of this number received in this event."""
    for record in log.within(event):
        came = rec.kind_of(record) is Kind.PACKET_RECEIVED
        if came and (rec.node_of(record), rec.object_of(record)) == (node, number):
            return _message(world, log, record)
    return None


def piece_of(record: Record) -> Piece:
    """The bytes that a record says were written."""
    return rec.address_of(record), rec.length_of(record)


def _message(world: World, log: Log, received: Record) -> Message | None:
    packet = rec.packet_of(received)
    row = OPCODES.get(packet.opcode) if isinstance(packet, Packet) else None
    if row is None or not isinstance(packet, Packet):
        return None
    left = _leaving(world, log, received)
    if row.request and left is not None:
        thing = Thing(Noun.QP, rec.node_of(left), rec.object_of(left))
    else:
        thing = Thing(Noun.QP, rec.node_of(received), rec.object_of(received))
    sent = rec.event_of(left) if left is not None else rec.event_of(received)
    posting = posting_of(log, thing, packet.psn, sent)
    if posting is None or (row.request and left is None):
        return None
    wqe = rec.send_wqe_of(posting)
    offset = offset_in(wqe, packet) - _before_payload(log, received, packet)
    return Message(thing, wqe, rec.event_of(posting), packet, sent, offset)


def _before_payload(log: Log, received: Record, packet: Packet) -> int:
    """How many bytes a packet wrote before its payload: those of a datagram's address."""
    if packet.opcode_row.service is not Service.UD:
        return 0
    wrote = [r for r in log.within(rec.event_of(received))
             if rec.kind_of(r) is Kind.MEMORY_WRITTEN
             and rec.node_of(r) == rec.node_of(received)
             and rec.object_of(r) == rec.object_of(received)]  # fmt: skip
    return max(sum(map(rec.length_of, wrote)) - len(packet.payload), 0)


def offset_in(wqe: SendWqe, packet: Packet) -> int:
    """At which byte of its message the payload of a packet begins; the queue pair may be gone."""
    if packet.psn == wqe.last_psn:
        return wqe.length - len(packet.payload)
    return ((packet.psn - wqe.first_psn) & MASK) * len(packet.payload)  # all but the last are full


def _leaving(world: World, log: Log, received: Record) -> Record | None:
    """The record of the same packet leaving."""
    packet = rec.roce_packet_of(received)
    origin = world.network.origin_of(packet.flow)
    for record in reversed(log.of(Kind.PACKET_SENT, origin) if origin else []):
        if rec.event_of(record) < rec.event_of(received) and rec.packet_of(record) == packet:
            return record
    return None


def posting_of(log: Log, thing: Thing, psn: int, event: int) -> Record | None:
    """The post of the newest send of a queue pair that has this PSN, as it was in an event."""
    for record in reversed(log.about(Kind.SEND_POSTED, thing)):
        wqe = rec.send_wqe_of(record)
        if rec.event_of(record) <= event and wqe.has_psn(psn):
            return record
    return None


# --------------------------------------------------------------------------- receives
def taking(world: World, log: Log, node: str, number: int, wqe: RecvWqe) -> Message | None:
    """The message that took a receive. number: of its queue pair, 0 of a shared one."""
    for record in reversed(log.of(Kind.RECV_TAKEN, node)):
        taken = rec.recv_wqe_of(record)
        if (taken.serial, taken.srq) == (wqe.serial, wqe.srq) and number in (
            0,
            rec.object_of(record),
        ):
            return arrived(world, log, rec.event_of(record), node, rec.object_of(record))
    return None


# --------------------------------------------------------------------------- bytes
def pieces(hca: Hca, sg: list[SGE]) -> list[Piece]:
    """Where the elements of a list lie in memory; by their addresses where a key is unknown."""
    found = []
    for sge in sg:
        mr = hca.lkeys.get(sge.lkey)
        start = sge.addr if mr is None else mr.addr + sge.addr - mr.iova
        found.append((start, sge.length))
    return found


def target(hca: Hca, wqe: SendWqe) -> Piece:
    """Where a WRITE goes in the memory of a node; by its address where its key is unknown."""
    mr = hca.rkeys.get(wqe.wr.rkey)
    start = wqe.wr.remote_addr
    return (start if mr is None else mr.addr + start - mr.iova), wqe.length


def part(found: list[Piece], offset: int, length: int) -> list[Piece]:
    """The pieces in which bytes [offset, offset+length) of a message lie."""
    cut = []
    for start, count in found:
        first, last = max(offset, 0), min(offset + length, count)
        if first < last:
            cut.append((start + first, last - first))
        offset -= count
    return cut


def meet(one: list[Piece], other: list[Piece]) -> list[Piece]:
    """The bytes that both have."""
    both = []
    for start, count in one:
        for begin, size in other:
            first, last = max(start, begin), min(start + count, begin + size)
            if first < last:
                both.append((first, last - first))
    return both


def post_of(log: Log, thing: Thing, serial: int) -> int | None:
    """The event in which a send was posted."""
    return log.event_of(Kind.SEND_POSTED, thing, serial)
