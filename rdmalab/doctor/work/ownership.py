"""Which bytes the adapter owns: what a request fills or sends, from its post to its end."""

from collections.abc import Iterator
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.log import Log, once_a_log, work_of
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.doctor.work.messages import Message, Piece, meet, offset_in, part, piece_of, pieces
from rdmalab.hca.device import Hca
from rdmalab.hca.wr import RecvWqe, SendWqe
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.work import Local, SendFlags
from rdmalab.wire.packet import Packet

MOST_WRITES = 16
"""Of the program's writes so many are looked at, the newest first."""

MOST_POSTS = 128
"""Of each kind of post so many are looked at, the newest."""

_FENCE = int(SendFlags.FENCE)
_POSTS = {
    Kind.SEND_POSTED: (Sort.SEND, Noun.QP), Kind.RECV_POSTED: (Sort.RECV, Noun.QP),
    Kind.SRQ_POSTED: (Sort.RECV, Noun.SRQ),
}  # fmt: skip


class Request(NamedTuple):
    """A work request.

    ended, polled: the events of its end and in which its completion was polled; None if not yet.
    filled: it ended with success. cq: the number of the queue on which its completion came, or 0.
    pieces: the bytes that it fills.
    """

    subject: Subject
    posted: int
    ended: int | None
    polled: int | None
    filled: bool
    wqe: SendWqe | RecvWqe
    cq: int
    pieces: list[Piece]


class Overwrite(NamedTuple):
    """The program wrote bytes that a request under way was to fill."""

    sink: Request
    event: int
    piece: Piece


class Refill(NamedTuple):
    """The program wrote bytes of a send under way, and a packet left with them afterwards.

    message: that packet; event: of the write.
    """

    message: Message
    event: int
    piece: Piece


class Overtake(NamedTuple):
    """A send of bytes that a READ or atomic, posted before, is to fill.

    message: the packet that left before the READ had ended; None: nothing has left yet.
    """

    read: Request
    send: Request
    message: Message | None
    piece: Piece


class Twice(NamedTuple):
    """Two requests filled the same bytes, and the first was not polled in between."""

    first: Request
    second: Request
    piece: Piece


def sinks(log: Log, node: str) -> list[Request]:
    """The newest READs, atomics and receives of a node: between which events they own bytes."""
    return [each for each in requests(log, node) if each.pieces]


@once_a_log
def requests(log: Log, node: str) -> Iterator[Request]:
    """The newest work requests of a node, of each kind of post in their order."""
    hca = log.session.world.nodes.get(node)
    if hca is None:  # of a call without an object
        return
    posts = {kind: log.of(kind, node)[-MOST_POSTS:] for kind in _POSTS}
    first = min((rec.event_of(found[0]) for found in posts.values() if found), default=0)
    ended, polled, cqs, failed = _ends(log, node, first)
    for kind, (sort, noun) in _POSTS.items():
        for record in posts[kind]:
            wqe = rec.wqe_of(record)
            thing = Thing(noun, node, rec.object_of(record))
            key = (sort is Sort.SEND, thing.number, wqe.serial)
            subject = Subject(sort, thing, wqe.serial, wqe.wr.wr_id)
            ends = ended.get(key), polled.get(key), key in ended and key not in failed
            filled = pieces(hca, wqe.sg) if fills(wqe) else []
            yield Request(subject, rec.event_of(record), *ends, wqe, cqs.get(key, 0), filled)


_Key = tuple[bool, int, int]  # is a send, number of its queue, serial


class _Ends(NamedTuple):
    """When work ended and was polled, on which queue it completed, and which of it failed."""

    ended: dict[_Key, int]
    polled: dict[_Key, int]
    cqs: dict[_Key, int]
    failed: set[_Key]


def _ends(log: Log, node: str, first: int) -> _Ends:
    """The ends of the work of a node from an event on."""
    ended: dict[_Key, int] = {}
    polled: dict[_Key, int] = {}
    cqs: dict[_Key, int] = {}
    failed: set[_Key] = set()
    for kind, events in (
        (Kind.WQE_COMPLETED, ended), (Kind.CQE_ADDED, ended), (Kind.CQE_POLLED, polled),
    ):  # fmt: skip
        for record in log.since(first, kind):
            if rec.node_of(record) == node:
                key, status = _ended(kind, record)
                events.setdefault(key, rec.event_of(record))
                failed |= {key} if status else set()
                if kind is Kind.CQE_ADDED:
                    cqs[key] = rec.object_of(record)
    return _Ends(ended, polled, cqs, failed)


def _ended(kind: Kind, record: Record) -> tuple[_Key, int]:
    """Whose end or completion a record is, and its status."""
    if kind is Kind.WQE_COMPLETED:
        return (True, rec.object_of(record), rec.send_wqe_of(record).serial), int(
            rec.status_of(record)
        )
    work = work_of(rec.node_of(record), rec.cqe_of(record))
    return (work.is_send, work.srq or work.qpn, work.serial), int(rec.cqe_of(record).status)


def fills(wqe: SendWqe | RecvWqe) -> bool:
    """Whether what comes for a work request is written into its own buffers."""
    if isinstance(wqe, RecvWqe):
        return True
    return wqe.work is not None and wqe.work.local is Local.SCATTER


@once_a_log
def overwrites(log: Log, node: str) -> list[Overwrite]:
    """Where the program wrote into bytes that the adapter owned, oldest first."""
    wrote = log.of(Kind.HOST_WROTE, node)[-MOST_WRITES:]
    found = [
        Overwrite(sink, rec.event_of(record), piece)
        for sink in (sinks(log, node) if wrote else ())
        for record in wrote
        if sink.posted < rec.event_of(record)
        and (sink.ended is None or rec.event_of(record) < sink.ended)
        for piece in meet(sink.pieces, [piece_of(record)])[:1]
    ]
    return sorted(found, key=lambda each: each.event)


@once_a_log
def refills(log: Log, node: str) -> list[Refill]:
    """Where the program wrote into bytes that a send had still to read, oldest first."""
    wrote = log.of(Kind.HOST_WROTE, node)[-MOST_WRITES:]
    posts = log.of(Kind.SEND_POSTED, node)[-MOST_POSTS:] if wrote else []
    ended = _ends(log, node, rec.event_of(posts[0])).ended if posts else {}
    found = [
        refill
        for post in posts
        for record in wrote
        if rec.event_of(post)
        < rec.event_of(record)
        <= ended.get(
            (True, rec.object_of(post), rec.send_wqe_of(post).serial), rec.event_of(record)
        )
        for refill in _sent_after(log, post, record)[:1]
    ]
    return sorted(found, key=lambda each: each.event)


def gathered(hca: Hca, wqe: SendWqe) -> list[Piece]:
    """The bytes that a send reads while it is under way: what is INLINE was read at its post."""
    gathers = wqe.work is not None and wqe.work.local is Local.GATHER and wqe.inline is None
    return pieces(hca, wqe.sg) if gathers else []


def _sent_after(log: Log, post: Record, wrote: Record) -> list[Refill]:
    """Of a send the packets that carry bytes which the program wrote before they left."""
    thing, wqe = Thing(Noun.QP, rec.node_of(post), rec.object_of(post)), rec.send_wqe_of(post)
    source = gathered(log.session.world.nodes[thing.node], wqe)
    if not meet(source, [piece_of(wrote)]):
        return []
    own = Subject.of_send(thing, wqe), rec.event_of(post), wqe
    sent = _carrying(log, own, source, piece_of(wrote), rec.event_of(wrote))
    return [Refill(message, rec.event_of(wrote), piece) for message, piece in sent]


def _carrying(
    log: Log, send: tuple[Subject, int, SendWqe], source: list[Piece], piece: Piece, after: int
) -> Iterator[tuple[Message, Piece]]:
    """The packets of a send that left after an event and carry some of these bytes."""
    subject, posted, wqe = send
    for record in log.about(Kind.PACKET_SENT, subject.thing):
        packet, left = rec.packet_of(record), rec.event_of(record)
        if left <= after or not isinstance(packet, Packet):
            continue
        if wqe.has_psn(packet.psn) and packet.opcode_row.request:
            offset = offset_in(wqe, packet)
            for cut in meet(part(source, offset, len(packet.payload)), [piece])[:1]:
                yield Message(subject.thing, wqe, posted, packet, left, offset), cut


@once_a_log
def overtakes(log: Log, node: str) -> list[Overtake]:
    """Sends of a node that do not wait for a READ which fills what they send, oldest first."""
    reads = [sink for sink in sinks(log, node) if sink.subject.sort is Sort.SEND]
    found = [
        overtake
        for each in (requests(log, node) if reads else ())
        if isinstance(each.wqe, SendWqe)
        and (source := gathered(log.session.world.nodes[node], each.wqe))
        for read in reads
        if _is_not_awaited(read, each, each.wqe)
        for piece in meet(source, read.pieces)[:1]
        for overtake in _overtaking(log, read, each, each.wqe, piece)
    ]
    return sorted(found, key=lambda overtake: overtake.send.posted)


def _is_not_awaited(read: Request, send: Request, wqe: SendWqe) -> bool:
    """Whether a READ was posted before a send that waits neither for its answer nor its end."""
    order = (send.posted, send.subject.serial) > (read.posted, read.subject.serial)
    same = read.subject.thing == send.subject.thing
    before = order if same else send.posted > read.posted
    under_way = read.ended is None or (read.filled and read.ended > send.posted)
    return before and under_way and not (same and wqe.flags & _FENCE)


def _overtaking(
    log: Log, read: Request, send: Request, wqe: SendWqe, piece: Piece
) -> Iterator[Overtake]:
    source = gathered(log.session.world.nodes[send.subject.thing.node], wqe)
    sent = _carrying(log, (send.subject, send.posted, wqe), source, piece, send.posted)
    early = [(m, cut) for m, cut in sent if read.ended is None or m.sent < read.ended]
    yield from (Overtake(read, send, message, cut) for message, cut in early)
    if not early and not send.ended:
        yield Overtake(read, send, None, piece)


@once_a_log
def filled_twice(log: Log, node: str) -> list[Twice]:
    """Where one request filled the bytes of another before the program had polled that one."""
    filled = sorted((s for s in sinks(log, node) if s.filled), key=lambda sink: sink.ended or 0)
    newest = filled[-MOST_WRITES:]
    return [
        Twice(first, second, piece)
        for place, first in enumerate(newest)
        for second in newest[place + 1 :]
        if first.polled is None or first.polled > (second.ended or 0)
        for piece in meet(first.pieces, second.pieces)[:1]
    ]
