"""Which bytes the adapter owns: what a request fills or sends, from its post to its end."""

from collections.abc import Iterator
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.log import Log, work_of
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.doctor.work.messages import Message, Piece, meet, offset_in, part, piece_of, pieces
from rdmalab.hca.device import Hca
from rdmalab.hca.wqe import RecvWqe, SendWqe
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.work import Local
from rdmalab.wire.packet import Packet

MOST_WRITES = 16
"""Of the program's writes so many are looked at, the newest first."""

MOST_POSTS = 128
"""Of each kind of post so many are looked at, the newest."""

_POSTS = {
    Kind.SEND_POSTED: (Sort.SEND, Noun.QP), Kind.RECV_POSTED: (Sort.RECV, Noun.QP),
    Kind.SRQ_POSTED: (Sort.RECV, Noun.SRQ),
}  # fmt: skip


class Sink(NamedTuple):
    """A request that fills memory.

    ended, polled: the events of its end and in which its completion was polled; None if not yet.
    filled: it ended with success.
    """

    subject: Subject
    posted: int
    ended: int | None
    polled: int | None
    filled: bool
    pieces: list[Piece]


class Overwrite(NamedTuple):
    """The program wrote bytes that a request under way was to fill."""

    sink: Sink
    event: int
    piece: Piece


class Refill(NamedTuple):
    """The program wrote bytes of a send under way, and a packet left with them afterwards.

    message: that packet; event: of the write.
    """

    message: Message
    event: int
    piece: Piece


class Twice(NamedTuple):
    """Two requests filled the same bytes, and the first was not polled in between."""

    first: Sink
    second: Sink
    piece: Piece


def sinks(log: Log, node: str) -> Iterator[Sink]:
    """The newest READs, atomics and receives of a node: between which events they own bytes."""
    hca = log.session.world.nodes[node]
    posts = {kind: log.of(kind, node)[-MOST_POSTS:] for kind in _POSTS}
    first = min((rec.event_of(found[0].record) for found in posts.values() if found), default=0)
    ended, polled, failed = _ends(log, node, first)
    for kind, (sort, noun) in _POSTS.items():
        for _, record in posts[kind]:
            wqe = rec.wqe_of(record)
            if _fills(wqe):
                thing = Thing(noun, node, rec.object_of(record))
                key = (sort is Sort.SEND, thing.number, wqe.serial)
                subject = Subject(sort, thing, wqe.serial, wqe.wr.wr_id)
                ends = ended.get(key), polled.get(key), key in ended and key not in failed
                yield Sink(subject, rec.event_of(record), *ends, pieces(hca, wqe.sg))


_Key = tuple[bool, int, int]  # is a send, number of its queue, serial


def _ends(log: Log, node: str, first: int) -> tuple[dict[_Key, int], dict[_Key, int], set[_Key]]:
    """From an event on, when work of a node ended and was polled, and which of it failed."""
    ended: dict[_Key, int] = {}
    polled: dict[_Key, int] = {}
    failed: set[_Key] = set()
    for kind, events in (
        (Kind.WQE_COMPLETED, ended), (Kind.CQE_ADDED, ended), (Kind.CQE_POLLED, polled),
    ):  # fmt: skip
        for _, record in log.since(first, kind):
            if rec.node_of(record) == node:
                key, status = _ended(kind, record)
                events.setdefault(key, rec.event_of(record))
                failed |= {key} if status else set()
    return ended, polled, failed


def _ended(kind: Kind, record: Record) -> tuple[_Key, int]:
    """Whose end or completion a record is, and its status."""
    if kind is Kind.WQE_COMPLETED:
        return (True, rec.object_of(record), rec.send_wqe_of(record).serial), int(
            rec.status_of(record)
        )
    work = work_of(rec.node_of(record), rec.cqe_of(record))
    return (work.is_send, work.srq or work.qpn, work.serial), int(rec.cqe_of(record).status)


def _fills(wqe: SendWqe | RecvWqe) -> bool:
    if isinstance(wqe, RecvWqe):
        return True
    return wqe.work is not None and wqe.work.local is Local.SCATTER


def overwrites(log: Log, node: str) -> list[Overwrite]:
    """Where the program wrote into bytes that the adapter owned, oldest first."""
    wrote = [r for _, r in log.of(Kind.HOST_WROTE, node)[-MOST_WRITES:]]
    found = [
        Overwrite(sink, rec.event_of(record), piece)
        for sink in (sinks(log, node) if wrote else ())
        for record in wrote
        if sink.posted < rec.event_of(record)
        and (sink.ended is None or rec.event_of(record) < sink.ended)
        for piece in meet(sink.pieces, [piece_of(record)])[:1]
    ]
    return sorted(found, key=lambda each: each.event)


def refills(log: Log, node: str) -> list[Refill]:
    """Where the program wrote into bytes that a send had still to read, oldest first."""
    wrote = [r for _, r in log.of(Kind.HOST_WROTE, node)[-MOST_WRITES:]]
    posts = [r for _, r in log.of(Kind.SEND_POSTED, node)[-MOST_POSTS:]] if wrote else []
    ended, _, _ = _ends(log, node, rec.event_of(posts[0])) if posts else ({}, {}, set())
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
    sent = [
        r for _, r in log.about(Kind.PACKET_SENT, thing) if rec.event_of(r) > rec.event_of(wrote)
    ]
    found = []
    for record in sent:
        packet = rec.packet_of(record)
        if isinstance(packet, Packet) and wqe.has_psn(packet.psn) and packet.opcode_row.request:
            offset = offset_in(wqe, packet)
            cut = meet(part(source, offset, len(packet.payload)), [piece_of(wrote)])
            message = Message(thing, wqe, rec.event_of(post), packet, rec.event_of(record), offset)
            found += [Refill(message, rec.event_of(wrote), piece) for piece in cut[:1]]
    return found


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
