"""What lies in some bytes, and how it came there: the adapter's writes, the program's, receives."""

from functools import cached_property
from typing import NamedTuple

from rdmalab.doctor.log import Log
from rdmalab.doctor.subject import Subject
from rdmalab.doctor.work import messages
from rdmalab.doctor.work.messages import Message, Piece, meet, piece_of
from rdmalab.hca.device import Hca
from rdmalab.hca.objects import MemoryRegion
from rdmalab.hca.wr import RecvWqe
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record

GRH = 40  # bytes that lie before a datagram


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
        """What brought, or fetched, these bytes."""
        if not touch.qp:
            return None
        return messages.arrived(self.session.world, self.log, touch.event, self.node, touch.qp)

    @cached_property
    def brought(self) -> list[tuple[Touch, Message]]:
        """The messages that wrote the present bytes, the newest first."""
        found = [(touch, self.message(touch)) for touch in self.written]
        return [(touch, message) for touch, message in found if message is not None]

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


def _writer(record: Record) -> tuple[Kind, str, int]:
    return rec.kind_of(record), rec.node_of(record), rec.object_of(record)


def without(pieces: list[Piece], gone: Piece) -> list[Piece]:
    """What is left of them when the bytes of one are taken out."""
    left = []
    for start, length in pieces:
        before = min(start + length, gone[0]) - start
        after = start + length - max(start, gone[0] + gone[1])
        if before > 0:
            left.append((start, before))
        if after > 0:
            left.append((start + length - after, after))
    return left
