"""Packets: the work request and bytes that each belongs to, and the dropped ones of a send."""

from collections.abc import Iterator
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.evidence.finding import Evidence, Finding, Fix, fail, warn
from rdmalab.doctor.evidence.log import Log, once_a_log
from rdmalab.doctor.evidence.subject import Subject
from rdmalab.doctor.evidence.work_requests import Send
from rdmalab.hca.device import Hca
from rdmalab.hca.psn import MASK
from rdmalab.hca.wr import SGE, Cqe, RecvWqe, SendWqe
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.opcodes import OPCODES, Op, Service
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
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


def arrived(log: Log, event: int, node: str, number: int) -> Message | None:
    """The message that a queue pair received in this event; None if it received none."""
    for record in log.within(event):
        if rec.kind_of(record) is Kind.PACKET_RECEIVED and rec.place_of(record) == (node, number):
            return _message(log, record)
    return None


def arrived_with(log: Log, record: Record) -> Message | None:
    """The message that wrote bytes, or took a receive, as a record of its queue pair says."""
    return arrived(log, rec.event_of(record), *rec.place_of(record))


def piece_of(record: Record) -> Piece:
    """The bytes that a record says were written."""
    return rec.address_of(record), rec.length_of(record)


def _message(log: Log, received: Record) -> Message | None:
    packet = rec.packet_of(received)
    row = OPCODES.get(packet.opcode) if isinstance(packet, Packet) else None
    if row is None or not isinstance(packet, Packet):
        return None
    left = _leaving(log, received)
    thing = Thing(Noun.QP, *rec.place_of(left if row.request and left is not None else received))
    sent = rec.event_of(left if left is not None else received)
    posting = posting_of(log, thing, packet.psn, sent)
    if posting is None or (row.request and left is None):
        return None
    wqe = rec.send_wqe_of(posting)
    offset = offset_in(wqe, packet) - _before_payload(log, received, packet)
    return Message(thing, wqe, rec.event_of(posting), packet, sent, offset)


def _before_payload(log: Log, received: Record, packet: Packet) -> int:
    """Number of bytes that a packet wrote before its payload: those of a datagram's address."""
    if packet.opcode_row.service is not Service.UD:
        return 0
    wrote = [r for r in log.within(rec.event_of(received)) if rec.kind_of(r) is Kind.MEMORY_WRITTEN
             and rec.place_of(r) == rec.place_of(received)]  # fmt: skip
    return max(sum(map(rec.length_of, wrote)) - len(packet.payload), 0)


def offset_in(wqe: SendWqe, packet: Packet) -> int:
    """At which byte of its message the payload of a packet begins; the queue pair may be gone."""
    if packet.psn == wqe.last_psn:
        return wqe.length - len(packet.payload)
    return ((packet.psn - wqe.first_psn) & MASK) * len(packet.payload)  # all but the last are full


def _leaving(log: Log, received: Record) -> Record | None:
    """The record of the same packet leaving."""
    packet = rec.roce_packet_of(received)
    origin = log.session.world.network.origin_of(packet.flow)
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


def executed(log: Log, send: Send, until: int) -> Record | None:
    """The arrival, up to an event, with which a queue pair executed an atomic, or completed a
    receive for a send: a repetition would do so once more. None if none has."""
    wqe, since = send.wqe, send.since
    if wqe is None or wqe.work is None or since is None:
        return None
    for record in log.since(since, Kind.PACKET_RECEIVED):
        event, packet = rec.event_of(record), rec.packet_of(record)
        if event > until or not is_request(packet) or packet.psn != wqe.last_psn:
            continue
        came = _message(log, record)
        own = came is not None and (came.thing, came.wqe) == (send.subject.thing, wqe)
        if own and any(_is_execution(each, wqe) for each in log.within(event)):
            return record
    return None


def _is_execution(record: Record, wqe: SendWqe) -> bool:
    """Whether a record says that a receive completed, or that an atomic wrote its value."""
    if rec.kind_of(record) is Kind.CQE_ADDED:
        return not rec.cqe_of(record).is_send and rec.cqe_of(record).status is WCStatus.SUCCESS
    return bool(wqe.work and wqe.work.outstanding) and rec.kind_of(record) is Kind.MEMORY_WRITTEN


def brought_back(log: Log, thing: Thing, wqe: SendWqe) -> tuple[int, int] | None:
    """The old value that came back to an atomic, and the event; None if none has, or it is none."""
    for record in reversed(log.about(Kind.PACKET_RECEIVED, thing)):
        packet = rec.packet_of(record)
        if packet.atomicacketh is not None and packet.psn == wqe.first_psn:
            return packet.atomicacketh.original, rec.event_of(record)
    return None


class Release(NamedTuple):
    """A compare-and-swap that was to take back the one before it, and did not: event of its end."""

    thing: Thing
    taken: SendWqe
    wqe: SendWqe
    event: int


@once_a_log
def failed_releases(log: Log, node: str) -> list[Release]:
    """Of each word the release that compared with another value than its queue pair had put there.

    None where that queue pair has swapped the word since.
    """
    taken: dict[tuple[Thing, int, int], SendWqe] = {}
    failed: dict[tuple[Thing, int, int], Release] = {}
    done: dict[int, list[Record]] = {}
    for record in log.of(Kind.WQE_COMPLETED, node):
        if rec.send_wqe_of(record).op is Op.COMPARE_SWAP and not rec.status_of(record):
            done.setdefault(rec.object_of(record), []).append(record)
    for record in (r for own in done.values() for r in own[-_MOST_SWAPS:]):
        thing, wqe = Thing(Noun.QP, *rec.place_of(record)), rec.send_wqe_of(record)
        wr, answer = wqe.wr, brought_back(log, thing, wqe)
        key, found = (thing, wr.remote_addr, wr.rkey), answer[0] if answer is not None else None
        held = taken.get(key)
        if found == wr.compare_add:
            taken[key] = wqe
            failed.pop(key, None)
        elif held is not None and (found, wr.swap) == (held.wr.swap, held.wr.compare_add):
            failed[key] = Release(thing, held, wqe, rec.event_of(record))
    return list(failed.values())


_MOST_SWAPS = 32  # the newest of a queue pair


def is_reversed(original: int, compare: int) -> bool:
    """Whether a word of 64 bits and the value to compare with differ in their byte order alone."""
    return original != compare and original.to_bytes(8, "little") == compare.to_bytes(8, "big")


def swapped(original: int, compare: int) -> str:
    """Says whether a compare-and-swap did swap, by what came back to it."""
    if original == compare:
        return f"{original} came back, which is the value to compare with"
    why = ", its bytes in reverse order" if is_reversed(original, compare) else ""
    return f"{original} came back, not {compare}{why}: nothing was swapped"


class Stale(NamedTuple):
    """A packet of an earlier connection that the next one, of the same two queue pairs, took.

    reset: the last RESET of its receiver; event: it arrived; shadowed: the request of the next
    connection with the same PSN, whose own packet is a duplicate for the receiver.
    """

    message: Message
    receiver: Thing
    reset: int
    event: int
    shadowed: SendWqe | None

    @property
    def victim(self) -> Subject | None:
        """The later request as the subject of a question."""
        found = self.shadowed
        return Subject.of_send(self.message.thing, found) if found is not None else None


@once_a_log
def stale(log: Log, node: str) -> Iterator[Stale]:
    """Such packets, by what they did at a node: both ends were reset while they were under way."""
    all_resets: dict[tuple[str, int], list[int]] = {}  # of most queue pairs none: looked up once
    for record in (
        r for kind in (Kind.MEMORY_WRITTEN, Kind.RECV_TAKEN) for r in log.of(kind, node)
    ):
        place = rec.place_of(record)
        if place not in all_resets:
            all_resets[place] = [*log.entered(Thing(Noun.QP, *place), QPState.RESET)]
        if not all_resets[place]:
            continue
        event, end = rec.event_of(record), Thing(Noun.QP, *place)
        resets = [each for each in all_resets[place] if each < event]
        came = arrived_with(log, record) if resets else None
        if came is None or came.packet.deth is not None or came.sent > resets[-1]:
            continue
        if any(each < event for each in log.entered(came.thing, QPState.RESET, after=came.sent)):
            posts = (rec.send_wqe_of(r) for r in log.about(Kind.SEND_POSTED, came.thing)
                     if rec.event_of(r) > resets[-1])  # fmt: skip
            shadowed = next((wqe for wqe in posts if wqe.has_psn(came.packet.psn)), None)
            yield Stale(came, end, resets[-1], event, shadowed)


# --------------------------------------------------------------------------- receives
def taking(log: Log, node: str, number: int, work: RecvWqe | Cqe) -> Message | None:
    """The message that took a receive, or that completed it. number: of its QP, 0 of an SRQ."""
    for record in reversed(log.of(Kind.RECV_TAKEN, node)):
        taken, of_queue = rec.recv_wqe_of(record), number in (0, rec.object_of(record))
        if of_queue and (taken.serial, taken.srq) == (work.serial, work.srq):
            return arrived_with(log, record)
    return None


# --------------------------------------------------------------------------- bytes
def pieces(hca: Hca, sg: list[SGE]) -> list[Piece]:
    """Pieces of memory of a list's elements; by their addresses where a key is unknown."""
    found = []
    for sge in sg:
        mr = hca.lkeys.get(sge.lkey)
        start = sge.addr if mr is None else mr.addr + sge.addr - mr.iova
        found.append((start, sge.length))
    return found


def target(hca: Hca, wqe: SendWqe) -> Piece:
    """Piece of memory of a node that a WRITE fills; by its address where its key is unknown."""
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
        return Thing(Noun.QP, *rec.place_of(record))
    if rec.cause_of(record) >= world.trace.first:  # what scheduled an arrival put it on the cable
        return Thing(Noun.QP, *rec.place_of(world.trace.records[rec.cause_of(record)]))
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
