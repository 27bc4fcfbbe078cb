"""Bytes that a program read too early, that it never saw, or that a message wrote over its own."""

from collections.abc import Iterator
from typing import NamedTuple

from rdmalab.command import Lines, Noun, Thing
from rdmalab.doctor.evidence.content import octets_then
from rdmalab.doctor.evidence.log import Log, once_a_log
from rdmalab.doctor.evidence.messages import (
    Message,
    Piece,
    arrived_with,
    is_request,
    meet,
    offset_in,
    piece_of,
    posted_as,
)
from rdmalab.doctor.evidence.ownership import MOST_WRITES
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.grammar.nodes import Index, Node
from rdmalab.grammar.program import Line
from rdmalab.grammar.trees import paths
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.work import WROpcode
from rdmalab.wire.packet import Packet
from rdmalab.world.programs import programs_of

_WRITES = (WROpcode.RDMA_WRITE, WROpcode.RDMA_WRITE_WITH_IMM)
MOST_FETCHES = 64
"""Of the reads of the adapter so many are looked at, the newest."""


class Arrival(NamedTuple):
    """A packet that wrote bytes, and the event in which it did."""

    message: Message
    event: int


class EarlyRead(NamedTuple):
    """A line of a program that is over read bytes, and a message under way wrote them later."""

    program: Thing
    line: Line
    event: int
    piece: Piece
    came: Arrival

    @property
    def subjects(self) -> tuple[Subject, ...]:
        return Subject(Sort.PROGRAM, self.program), self.came.message.subject


class Unseen(NamedTuple):
    """Bytes of a message that another one replaced by others before anything read them."""

    first: Arrival
    second: Arrival
    piece: Piece

    @property
    def subjects(self) -> tuple[Subject, ...]:
        return self.first.message.subject, self.second.message.subject


class WrittenOver(NamedTuple):
    """Bytes that the program wrote while a WRITE to them was under way, which came after that."""

    event: int
    came: Arrival
    piece: Piece

    @property
    def subjects(self) -> tuple[Subject, ...]:
        return (self.came.message.subject,)


def watched(session: Session, question: Node | None) -> Piece | None:
    """The bytes of a region that a question looks at, by their address."""
    for path in paths(question) if question is not None else ():
        node, *rest = path.steps
        thing = session.names.find(f"{node}.{rest[0]}") if len(rest) == 2 else None
        index = rest[-1] if rest else None
        if thing is not None and thing.noun is Noun.MR and isinstance(index, Index):
            mr = session.world.nodes[thing.node].mrs.items.get(thing.number)
            stop = index.start + 1 if index.stop is None else index.stop
            return (mr.addr + index.start, stop - index.start) if mr is not None else None
    return None


class _Read(NamedTuple):
    program: Thing
    line: Line
    event: int
    piece: Piece
    over: bool
    sent: Message | None = None


def _looks(log: Log, lines: list[Line]) -> Iterator[tuple[Line, Piece]]:
    """The lines of a program that look at bytes, and at which."""
    for line in lines:
        if (piece := watched(log.session, line.question)) is not None:
            yield line, piece


def looks_of_programs(log: Log, node: str) -> Iterator[tuple[Line, Piece]]:
    """The lines of the programs of a node that look at bytes, and at which."""
    for program in programs_of(log.session.world):
        yield from _looks(log, program.lines) if program.node == node else ()


@once_a_log
def _reads(log: Log, node: str) -> list[_Read]:
    """Looks of lines of the programs of a node at bytes; over: the program does not go on.

    One that was stopped is not over: it might have read more.
    """
    threads = [(each.thing, each.lines, each.state.is_over)
               for each in programs_of(log.session.world) if each.node == node]  # fmt: skip
    threads += [(thing, lines, False) for thing, lines in _stopped(log, node)]
    found = []
    for thing, lines, is_over in threads:
        looks = {line.number: (line, piece) for line, piece in _looks(log, lines)}
        for kind in (Kind.PROGRAM_RAN, Kind.PROGRAM_WOKEN) if looks else ():
            for record in log.about(kind, thing):
                number = rec.line_number_of(record)
                if number in looks:
                    own = thing, looks[number][0], rec.event_of(record), looks[number][1]
                    found.append(_Read(*own, is_over))
    return found


def _stopped(log: Log, node: str) -> Iterator[tuple[Thing, list[Line]]]:
    """The programs of a node that a call has stopped or removed, with the lines that they had."""
    for record in log.of(Kind.DESTROYED, node):
        thing = Thing(Noun.PROGRAM, node, rec.object_of(record))
        made = log.created(thing) if rec.noun_of(record) == Noun.PROGRAM else None
        call = log.asked(made)[0] if made is not None else None
        lines = call.arguments.get("lines") if call is not None else None
        if isinstance(lines, Lines):
            yield thing, lines.parsed


def _fetches(log: Log, node: str) -> Iterator[_Read]:
    """Reads of bytes by the adapter, for sends that programs of a node posted after a wait.

    What the program itself had filled is its own data, whatever came over it later.
    """
    programs = {each.thing: each for each in programs_of(log.session.world)}
    filled = [(rec.event_of(r), piece_of(r)) for r in log.of(Kind.HOST_WROTE, node)]
    for record in log.of(Kind.MEMORY_READ, node)[-MOST_FETCHES:] if not log.begins else ():
        event, piece = rec.event_of(record), piece_of(record)
        if any(wrote < event and meet([piece], [own]) for wrote, own in filled):
            continue
        sent = _sent_with(log, record)
        for ran in log.within(sent.posted) if sent is not None else ():
            thing = Thing(Noun.PROGRAM, *rec.place_of(ran))
            if rec.kind_of(ran) is Kind.PROGRAM_RAN and (program := programs.get(thing)):
                at = rec.line_number_of(ran) - 1
                if any(line.word in ("wait", "poll") for line in program.lines[:at]):
                    over = program.state.is_over
                    yield _Read(thing, program.lines[at], event, piece, over, sent)


def _sent_with(log: Log, read: Record) -> Message | None:
    """The packet of a send that left with the bytes which the adapter read for it."""
    thing, event = Thing(Noun.QP, *rec.place_of(read)), rec.event_of(read)
    for record in log.within(event):
        packet = rec.packet_of(record) if rec.kind_of(record) is Kind.PACKET_SENT else None
        wqe = posted_as(log, thing, record) if is_request(packet) else None
        posted = log.event_of(Kind.SEND_POSTED, thing, wqe.serial) if wqe is not None else None
        if wqe is not None and posted is not None and isinstance(packet, Packet):
            return Message(thing, wqe, posted, packet, event, offset_in(wqe, packet))
    return None


def _arrived(log: Log, record: Record) -> Arrival | None:
    message = arrived_with(log, record)
    return Arrival(message, rec.event_of(record)) if message is not None else None


def last_arrival(log: Log, node: str, piece: Piece) -> Arrival | None:
    """The message that wrote into some bytes last; None if none did."""
    wrote = [r for r in log.of(Kind.MEMORY_WRITTEN, node) if meet([piece], [piece_of(r)])]
    return _arrived(log, wrote[-1]) if wrote else None


@once_a_log
def early_reads(log: Log, node: str) -> Iterator[EarlyRead]:
    """Reads by programs that are over, or by the adapter for their sends: of bytes that came later
    from another node and were not read again.
    """
    lines, fetches = _reads(log, node), list(_fetches(log, node))
    reads = [*lines, *fetches]
    for each in reads:
        again = any(other.event > each.event and meet([other.piece], [each.piece])
                    for other in reads)  # fmt: skip
        came = _under_way(log, node, each) if each.over and not again else None
        own = came is not None and each in fetches and came.message.thing.node == node
        if came is not None and not own:  # see overtakes
            yield EarlyRead(*each[:4], came)


def early_sends(log: Log, node: str) -> list[Message]:
    """The packets that left with bytes which a message of another node, under way, wrote later."""
    found = ((each.sent, _under_way(log, node, each)) for each in _fetches(log, node))
    return [sent for sent, came in found if sent and came and came.message.thing.node != node]


def early_fetch(log: Log, message: Message, sent: list[Piece]) -> EarlyRead | None:
    """The read with which the adapter sent these bytes of a message, if they came only later."""
    node = message.thing.node
    for each in _fetches(log, node):
        cut = meet([each.piece], sent)[:1] if each.event == message.sent else []
        found = each._replace(piece=cut[0]) if cut else each
        came = _under_way(log, node, found) if cut else None
        if came is not None and came.message.thing.node != node:
            return EarlyRead(*found[:4], came)
    return None


def _under_way(log: Log, node: str, read: _Read) -> Arrival | None:
    """The first message that wrote bytes after a read of them, if it was posted before that."""
    writes = (r for r in log.since(read.event + 1, Kind.MEMORY_WRITTEN)
              if rec.node_of(r) == node and meet([read.piece], [piece_of(r)]))  # fmt: skip
    first = next(writes, None)
    came = _arrived(log, first) if first is not None else None
    return came if came is not None and came.message.posted < read.event else None


def unseen(log: Log, node: str) -> list[Unseen]:
    """Places in which one WRITE replaced what another had brought unread, oldest first."""
    return [each for each in replaced(log, node)
            if all(came.message.wqe.wr.opcode in _WRITES for came in each[:2])]  # fmt: skip


@once_a_log
def replaced(log: Log, node: str) -> list[Unseen]:
    """Places in which a message replaced what another had brought unread, oldest first."""
    writes = log.of(Kind.MEMORY_WRITTEN, node)[-MOST_WRITES:]
    found = []
    for place, record in enumerate(writes):
        both = ((r, cut) for r in reversed(writes[:place])
                for cut in meet([piece_of(r)], [piece_of(record)])[:1])  # fmt: skip
        earlier, piece = next(both, (None, (0, 0)))
        span = (rec.event_of(earlier), rec.event_of(record)) if earlier is not None else (0, 0)
        if earlier is None or was_seen(log, node, piece, *span):
            continue
        first, second = _arrived(log, earlier), _arrived(log, record)
        if first is not None and second is not None and _differ(log, node, first, second, piece):
            found.append(Unseen(first, second, piece))
    return found


def was_seen(log: Log, node: str, piece: Piece, start: int, stop: int) -> bool:
    """Whether a call came between two events, or a program or a request read these bytes."""
    journal = log.session.journal
    called = journal.before(stop) > journal.before(start + 1)
    return called or was_read(log, node, piece, start, stop)


def was_read(log: Log, node: str, piece: Piece, start: int, stop: int) -> bool:
    """Whether a program or a request read these bytes between two events."""
    reads = [r for r in log.since(start, Kind.MEMORY_READ) if rec.event_of(r) <= stop]
    fetched = any(rec.node_of(r) == node and meet([piece], [piece_of(r)]) for r in reads)
    lines = _reads(log, node)
    return fetched or any(start <= r.event <= stop and meet([r.piece], [piece]) for r in lines)


def _differ(log: Log, node: str, first: Arrival, second: Arrival, piece: Piece) -> bool:
    """Whether two messages of other nodes brought other bytes to one place."""
    both = first.message, second.message
    came = all(m.thing.node != node and m.packet.deth is None for m in both)
    if both[0].subject == both[1].subject or not came:
        return False
    return _octets(log, node, first, piece) != _octets(log, node, second, piece)


def _octets(log: Log, node: str, came: Arrival, piece: Piece) -> bytes:
    """The octets that a packet brought to these bytes."""
    for record in log.within(came.event):
        if rec.kind_of(record) is Kind.MEMORY_WRITTEN and rec.node_of(record) == node:
            at = piece[0] - piece_of(record)[0]
            return came.message.packet.payload[at : at + piece[1]]
    return b""


@once_a_log
def written_over(log: Log, node: str) -> list[WrittenOver]:
    """Places in which a WRITE of another node came after what the program wrote there meanwhile."""
    found = []
    for record in log.of(Kind.HOST_WROTE, node)[-MOST_WRITES:]:
        event = rec.event_of(record)
        later = ((r, cut) for r in log.since(event + 1, Kind.MEMORY_WRITTEN)
                 if rec.node_of(r) == node
                 for cut in meet([piece_of(record)], [piece_of(r)])[:1])  # fmt: skip
        wrote, piece = next(later, (None, (0, 0)))
        came = _arrived(log, wrote) if wrote is not None else None
        if came is None or came.message.posted >= event or came.message.thing.node == node:
            continue
        if came.message.wqe.work is not None and not came.message.wqe.work.consumes_receive:
            found.append(WrittenOver(event, came, piece))
    return found


def is_lost(log: Log, node: str, late: WrittenOver) -> bool:
    """Whether nothing read what the program wrote, and no program reads what came after that.

    A program that waits for these bytes may want what the WRITE brings; an atomic used them.
    """
    write = late.came.message.wqe.wr.opcode == WROpcode.RDMA_WRITE
    if not write or was_seen(log, node, late.piece, late.event, late.came.event):
        return False
    later = (each.piece for each in _reads(log, node) if each.event > late.came.event)
    coming = (piece for program in programs_of(log.session.world)
              if program.node == node and not program.state.is_over
              for _, piece in _looks(log, program.lines))  # fmt: skip
    if any(meet([piece], [late.piece]) for piece in (*later, *coming)):
        return False
    mine = octets_then(log.session, late.event, node, late.piece)  # asked last: it is a replay
    return mine != _octets(log, node, late.came, late.piece)
