"""The contents of some bytes: the writes and receives that brought them, earlier contents."""

from functools import cached_property
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.evidence import messages
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.messages import Message, Piece, meet, piece_of
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.grammar.text import in_quotes
from rdmalab.hca.device import Hca
from rdmalab.hca.objects import MemoryRegion
from rdmalab.hca.wr import RecvWqe
from rdmalab.session.history import read_only_visit
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.opcodes import ATOMIC_BYTES, FETCHING_OPS
from rdmalab.spec.records import Kind, Record
from rdmalab.wire.headers import GRH
from rdmalab.wire.links import before_datagram
from rdmalab.wire.packet import Packet


class Touch(NamedTuple):
    """Bytes written or read. qp: by the adapter for this queue pair; 0: by the program.

    at: where in its packet they stand.
    """

    event: int
    qp: int
    piece: Piece
    at: int = 0


class Posted(NamedTuple):
    """A receive that was posted over these bytes. qp: of its queue, 0 for a shared one."""

    event: int
    qp: int
    wqe: RecvWqe


class Content:
    """The bytes that are asked about."""

    def __init__(self, session: Session, subject: Subject, log: Log) -> None:
        mr = session.world.find(subject.thing, MemoryRegion)
        self.session = session
        self.log = log
        self.node = subject.thing.node
        self.start = mr.addr + subject.start
        self.piece: Piece = (self.start, subject.stop - subject.start)

    @property
    def hca(self) -> Hca:
        return self.session.world.nodes[self.node]

    def touches(self, kind: Kind) -> list[Touch]:
        """Records of access to these bytes, oldest first."""
        found = []
        for record in self.log.of(kind, self.node):
            if meet([self.piece], [piece_of(record)]):
                by_host = kind is Kind.HOST_WROTE
                at = 0 if by_host else self._place_in_packet(record)
                qp = 0 if by_host else rec.object_of(record)
                found.append(Touch(rec.event_of(record), qp, piece_of(record), at))
        return found

    def _place_in_packet(self, wanted: Record) -> int:
        """A packet may be scattered over several pieces."""
        at = 0
        for record in self.log.within(rec.event_of(wanted)):
            if record == wanted:
                break
            if _writer(record) == _writer(wanted):
                at += rec.length_of(record)
        return at

    @cached_property
    def written(self) -> list[Touch]:
        """The writes that these bytes come from, newest first, each with its remaining bytes."""
        found, left = [], [self.piece]
        touches = self.touches(Kind.MEMORY_WRITTEN) + self.touches(Kind.HOST_WROTE)
        for touch in sorted(touches, key=lambda t: t.event, reverse=True):
            for start, length in meet(left, [touch.piece]):
                at = touch.at + start - touch.piece[0]
                found.append(Touch(touch.event, touch.qp, (start, length), at))
            left = without(left, touch.piece)
        return found

    @property
    def filled_by_program(self) -> int | None:
        """The event in which the program wrote all of these bytes last, if it did no mere clear."""
        own = [touch for touch in self.written if not touch.qp]
        left = [self.piece]
        for touch in own:
            left = without(left, touch.piece)
        octets = self.hca.memory.read(*self.piece)
        return own[0].event if own and not left and len(set(octets)) > 1 else None

    def message(self, touch: Touch) -> Message | None:
        """The messages that brought, or fetched, these bytes."""
        return messages.arrived(self.log, touch.event, self.node, touch.qp) if touch.qp else None

    @cached_property
    def brought(self) -> list[tuple[Touch, Message]]:
        """The messages that wrote the present bytes, the newest first."""
        found = [(touch, self.message(touch)) for touch in self.written]
        return [(touch, message) for touch, message in found if message is not None]

    @property
    def requested(self) -> int | None:
        """The event of the first post of the requests that brought all of these bytes; else None.

        None if one of the bytes has another origin.
        """
        all_ = len(self.brought) == len(self.written)
        whole = all_ and sum(touch.piece[1] for touch in self.written) == self.piece[1]
        return min(message.posted for _, message in self.brought) if whole else None

    @cached_property
    def receives(self) -> list[Posted]:
        """Receives that were posted over these bytes, the newest first."""
        found = []
        for kind in (Kind.RECV_POSTED, Kind.SRQ_POSTED):
            for record in self.log.of(kind, self.node):
                if meet([self.piece], messages.pieces(self.hca, rec.recv_wqe_of(record).sg)):
                    qp = rec.object_of(record) if kind is Kind.RECV_POSTED else 0
                    found.append(Posted(rec.event_of(record), qp, rec.recv_wqe_of(record)))
        return sorted(found, key=lambda posted: posted.event, reverse=True)


class Atomic(NamedTuple):
    """One that was carried out. original: what it found; wrote: whether it changed the word."""

    touch: Touch
    message: Message
    original: int
    wrote: bool


def atomics(content: Content) -> list[Atomic]:
    """The newest on a word among the bytes that are asked about, oldest first."""
    found = []
    for touch in content.touches(Kind.MEMORY_READ)[-MOST_ATOMICS:]:
        message = content.message(touch) if touch.piece[1] == ATOMIC_BYTES else None
        if message is not None and message.wqe.op in FETCHING_OPS:
            kinds = map(rec.kind_of, content.log.within(touch.event))
            wrote = Kind.MEMORY_WRITTEN in kinds
            found.append(Atomic(touch, message, _original(content, touch, message), wrote))
    return found


def _original(content: Content, touch: Touch, message: Message) -> int:
    """The original value in the atomic response; 0 while none was sent."""
    for record in content.log.of(Kind.PACKET_SENT, content.node, touch.qp):
        packet = rec.packet_of(record)
        answer = packet.atomicacketh if isinstance(packet, Packet) else None
        later = rec.event_of(record) >= touch.event
        if answer is not None and later and packet.psn == message.packet.psn:
            return answer.original
    return 0


class HeaderRoom(NamedTuple):
    """The 40 bytes before a datagram. posted: event of their receive; begins: of the datagram.

    written: the bytes of them that the header was written to; over IPv4 the last 20.
    """

    posted: int
    room: list[Piece]
    written: list[Piece]
    begins: int


def header_room(content: Content, before: int | None = None) -> HeaderRoom | None:
    """The room in the newest receive over some bytes, if a datagram took it.

    before: the receive was posted before this event.
    """
    receives = (r for r in content.receives if before is None or r.event < before)
    if (receive := next(receives, None)) is None:
        return None
    message = messages.taking(content.log, content.node, receive.qp, receive.wqe)
    if message is None or message.packet.deth is None:
        return None
    places = messages.pieces(content.hca, receive.wqe.sg)
    length = len(before_datagram(message.packet))
    begins = messages.part(places, GRH.LENGTH, 1)
    return HeaderRoom(receive.event, messages.part(places, 0, GRH.LENGTH),
                      messages.part(places, GRH.LENGTH - length, length),
                      begins[0][0] if begins else 0)  # fmt: skip


def is_of_header(content: Content, room: HeaderRoom, piece: Piece, wanted: bytes) -> bool:
    """Whether octets awaited in the room are at that offset in the header, and not in the data.

    False where the header begins with the room.
    """
    (start, _), read = room.room[0], content.hca.memory.read
    places = [other + piece[0] - start for other, _ in (*room.written[:1], (room.begins, 0))]
    has = [read(place, len(wanted)) == wanted for place in places]
    return bool(wanted) and has == [True, False] and places[0] != piece[0]


def is_within(piece: Piece, pieces: list[Piece]) -> bool:
    """Whether all bytes of a piece are among those of others."""
    return sum(size for _, size in meet([piece], pieces)) == piece[1]


def _writer(record: Record) -> tuple[Kind, str, int]:
    return rec.kind_of(record), rec.node_of(record), rec.object_of(record)


def without(pieces: list[Piece], gone: Piece) -> list[Piece]:
    """The pieces without the bytes of one of them."""
    left = []
    for start, length in pieces:
        before = min(start + length, gone[0]) - start
        after = start + length - max(start, gone[0] + gone[1])
        if before > 0:
            left.append((start, before))
        if after > 0:
            left.append((start + length - after, after))
    return left


MOST_ATOMICS = 64  # of a word, the newest
MOST_BYTES = 1024  # that a cure writes back


def octets_then(session: Session, event: int, node: str, piece: Piece) -> bytes:
    """The bytes as they were after an event; everything stays as it is."""
    history = session.history
    with read_only_visit(history):
        history.seek(history.place_after(event))
        return session.world.nodes[node].memory.read(*piece)


def written_back(session: Session, event: int, node: str, piece: Piece) -> str | None:
    """A command that puts back what lay there after an event; None where it would be too long."""
    where = words_for(session, node, piece)
    if where is None or piece[1] > _MOST_AT_ALL:
        return None
    octets = octets_then(session, event, node, piece)
    if len(set(octets)) == 1:
        return f"fill {where} {octets[0]:#04x}"
    if piece[1] > MOST_BYTES:
        return None
    return f"write {where} {in_quotes(octets.decode('latin-1'))}"


_MOST_AT_ALL = 1 << 20  # bytes that are worth reading again


def words_for(session: Session, node: str, piece: Piece) -> str | None:
    """Bytes as a part of a region: `A.mr0[0:8]`."""
    found = bytes_at(session, node, piece)
    return f"{session.names.of(found.thing)}[{found.start}:{found.stop}]" if found else None


def bytes_at(session: Session, node: str, piece: Piece) -> Subject | None:
    """Bytes as what one asks about: of the newest region that has them; None where none has."""
    start, length = piece
    for number, mr in reversed(session.world.nodes[node].mrs.items.items()):
        if mr.addr <= start and start + length <= mr.addr + mr.length:
            first = start - mr.addr
            thing = Thing(Noun.MR, node, number)
            return Subject(Sort.BYTES, thing, start=first, stop=first + length)
    return None
