"""Requests of a node with the times in which they own bytes, and completions taken for others."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.evidence.log import Log, once_a_log, work_of
from rdmalab.doctor.evidence.messages import (
    Message,
    Piece,
    arrived_with,
    is_request,
    meet,
    offset_in,
    part,
    piece_of,
    pieces,
)
from rdmalab.doctor.evidence.posting_calls import differences
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.doctor.evidence.work_of_queues import subject_of_cqe
from rdmalab.hca.device import Hca
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import RecvWqe, RecvWR, SendWqe, SendWR
from rdmalab.spec import records as rec
from rdmalab.spec.opcodes import Op
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.states import QPState
from rdmalab.spec.work import Local, SendFlags, WROpcode
from rdmalab.views.memory import scatters
from rdmalab.wire.packet import Packet
from rdmalab.world.relations import find_qp, peer_of
from rdmalab.world.world import World

MOST_WRITES = 16
"""Of the program's writes so many are looked at, the newest first."""

MOST_POSTS = 128
"""Of each kind of post so many are looked at, the newest."""

_FENCE = int(SendFlags.FENCE)
_POSTS = {
    Kind.SEND_POSTED: (Sort.SEND, Noun.QP), Kind.RECV_POSTED: (Sort.RECV, Noun.QP),
    Kind.SRQ_POSTED: (Sort.RECV, Noun.SRQ),
}  # fmt: skip


class TrackedRequest(NamedTuple):
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

    sink: TrackedRequest
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

    read: TrackedRequest
    send: TrackedRequest
    message: Message | None
    piece: Piece


class Twice(NamedTuple):
    """Two requests filled the same bytes, and the first was not polled in between."""

    first: TrackedRequest
    second: TrackedRequest
    piece: Piece


class Torn(NamedTuple):
    """A READ brought old and new bytes of one write of their owner. piece: new ones, as read."""

    read: TrackedRequest
    event: int
    piece: Piece


class Late(NamedTuple):
    """Bytes that were written when a READ had fetched them, at the node of their owner.

    came: the message that wrote them, posted before the READ; None: the owner's program did.
    """

    node: str
    piece: Piece
    event: int
    came: Message | None


def sinks(log: Log, node: str) -> list[TrackedRequest]:
    """The newest READs, atomics and receives of a node: between which events they own bytes."""
    return [each for each in requests(log, node) if each.pieces]


@once_a_log
def requests(log: Log, node: str) -> Iterator[TrackedRequest]:
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
            filled = pieces(hca, wqe.sg) if scatters(wqe) else []
            yield TrackedRequest(subject, rec.event_of(record), *ends, wqe, cqs.get(key, 0), filled)


_Key = tuple[bool, int, int]  # is a send, number of its queue, serial


class _Ends(NamedTuple):
    """Events in which work ended and was polled, its queue, and what of it failed."""

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
        key = True, rec.object_of(record), rec.send_wqe_of(record).serial
        return key, int(rec.status_of(record))
    work = work_of(rec.node_of(record), rec.cqe_of(record))
    return (work.is_send, work.srq or work.qpn, work.serial), int(rec.cqe_of(record).status)


class Swallowed(NamedTuple):
    """A send of a queue pair that was reset, which its peer acknowledged as a duplicate.

    event: in which the peer got its last packet, and did nothing.
    """

    subject: Subject
    peer: Thing
    reset: int
    event: int


@once_a_log
def swallowed(log: Log, node: str) -> Iterator[Swallowed]:
    """Sends that ended with success, and of which the peer wrote nothing and took no receive."""
    over: set[tuple[Thing, int]] = set()  # once one was carried out, later ones are no duplicates
    resets = {
        t: log.entered(t, QPState.RESET) for t in {e.subject.thing for e in requests(log, node)}
    }
    for each in requests(log, node):
        thing, wqe = each.subject.thing, each.wqe
        reset = max((e for e in resets[thing] if e < each.posted), default=-1)
        if reset < 0 or (thing, reset) in over:
            continue
        if not (each.filled and isinstance(wqe, SendWqe)):
            continue
        qp = find_qp(log.session.world, node, thing.number)
        peer = peer_of(log.session.world, qp) if qp is not None else None
        # A peer carries out a duplicate READ once more.
        if qp is None or peer is None or wqe.op is Op.RDMA_READ_REQUEST:
            continue
        lived = [e for e in log.entered(thing, QPState.RTS) if e < reset] or [-1]
        if log.entered(peer.thing, QPState.RESET, after=lived[-1]):
            over.add((thing, reset))
            continue
        came = [rec.event_of(r) for r in log.about(Kind.PACKET_RECEIVED, peer.thing)
                if rec.event_of(r) > each.posted and isinstance(p := rec.packet_of(r), Packet)
                and is_request(p) and wqe.has_psn(p.psn)]  # fmt: skip
        done = any(rec.kind_of(r) in _DONE and rec.place_of(r) == peer.thing[1:]
                   for event in came for r in log.within(event))  # fmt: skip
        if done:
            over.add((thing, reset))
        elif came and wqe.length and qp.transport.acknowledged:
            yield Swallowed(each.subject, peer.thing, reset, came[-1])


_DONE = (Kind.MEMORY_WRITTEN, Kind.MEMORY_READ, Kind.RECV_TAKEN)


@once_a_log
def overwrites(log: Log, node: str) -> list[Overwrite]:
    """Writes of the program into bytes that the adapter owned, oldest first."""
    wrote = log.of(Kind.HOST_WROTE, node)[-MOST_WRITES:]
    found = [Overwrite(sink, rec.event_of(record), piece)
             for sink in (sinks(log, node) if wrote else ()) for record in wrote
             if sink.posted < rec.event_of(record)
             and (sink.ended is None or rec.event_of(record) < sink.ended)
             for piece in meet(sink.pieces, [piece_of(record)])[:1]]  # fmt: skip
    return sorted(found, key=lambda each: each.event)


@once_a_log
def refills(log: Log, node: str) -> list[Refill]:
    """Writes of the program into bytes that a send had still to read, oldest first."""
    wrote = log.of(Kind.HOST_WROTE, node)[-MOST_WRITES:]
    posts = log.of(Kind.SEND_POSTED, node)[-MOST_POSTS:] if wrote else []
    ended = _ends(log, node, rec.event_of(posts[0])).ended if posts else {}
    found: list[Refill] = []
    for post in posts:
        end = ended.get((True, rec.object_of(post), rec.send_wqe_of(post).serial))
        for record in wrote:
            event = rec.event_of(record)
            if rec.event_of(post) < event and (end is None or event <= end):
                found += _sent_after(log, post, record)[:1]
    return sorted(found, key=lambda each: each.event)


def gathered(hca: Hca, wqe: SendWqe) -> list[Piece]:
    """The bytes that a send reads while it is under way: what is INLINE was read at its post."""
    return _sent_from(hca, wqe) if wqe.inline is None else []


def _sent_from(hca: Hca, wqe: SendWqe) -> list[Piece]:
    """The bytes that a send reads, at its post or later."""
    return pieces(hca, wqe.sg) if wqe.work and wqe.work.local is Local.GATHER else []


def _sent_after(log: Log, post: Record, wrote: Record) -> list[Refill]:
    """Of a send the packets that carry bytes which the program wrote before they left."""
    thing, wqe = Thing(Noun.QP, *rec.place_of(post)), rec.send_wqe_of(post)
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
    found = [overtake for each in (requests(log, node) if reads else ())
             if isinstance(each.wqe, SendWqe)
             and (source := _sent_from(log.session.world.nodes[node], each.wqe)) for read in reads
             if _is_not_awaited(read, each, each.wqe) for piece in meet(source, read.pieces)[:1]
             for overtake in _overtaking(log, read, each, each.wqe, piece)]  # fmt: skip
    return sorted(found, key=lambda overtake: overtake.send.posted)


def _is_not_awaited(read: TrackedRequest, send: TrackedRequest, wqe: SendWqe) -> bool:
    """Whether a READ was posted before a send that waits neither for its answer nor its end."""
    order = (send.posted, send.subject.serial) > (read.posted, read.subject.serial)
    same = read.subject.thing == send.subject.thing
    before = order if same else send.posted > read.posted
    under_way = read.ended is None or (read.filled and read.ended > send.posted)
    return before and under_way and not (same and wqe.flags & _FENCE and wqe.inline is None)


def _overtaking(
    log: Log, read: TrackedRequest, send: TrackedRequest, wqe: SendWqe, piece: Piece
) -> Iterator[Overtake]:
    source = _sent_from(log.session.world.nodes[send.subject.thing.node], wqe)
    sent = _carrying(log, (send.subject, send.posted, wqe), source, piece, send.posted)
    early = [(m, cut) for m, cut in sent
             if wqe.inline is not None or read.ended is None or m.sent < read.ended]  # fmt: skip
    yield from (Overtake(read, send, message, cut) for message, cut in early)
    if not early and not send.ended:
        yield Overtake(read, send, None, piece)


def fetched(world: World, reader: Thing, wr: SendWR | RecvWR) -> tuple[QueuePair, int] | None:
    """The owner of what a READ fetches, and the address of its first byte there; None of others."""
    qp = find_qp(world, reader.node, reader.number) if isinstance(wr, SendWR) else None
    owner = peer_of(world, qp) if qp is not None else None
    if owner is None or not isinstance(wr, SendWR) or wr.opcode != WROpcode.RDMA_READ:
        return None
    opened = world.nodes[owner.node].rkeys.get(wr.rkey)
    return (owner, wr.remote_addr - opened.iova + opened.addr) if opened is not None else None


def later_writes(log: Log, read: Message, at: int, length: int) -> Iterator[Late]:
    """The writes to some bytes of the packet of a READ after it left, oldest first."""
    if (source := fetched(log.session.world, read.thing, read.wqe.wr)) is None:
        return
    node, span = source[0].node, [(source[1] + read.offset + at, length)]
    wrote = log.of(Kind.HOST_WROTE, node) + log.of(Kind.MEMORY_WRITTEN, node)
    for record in sorted(wrote, key=rec.event_of):
        both = meet(span, [piece_of(record)]) if rec.event_of(record) > read.sent else []
        by_program = rec.kind_of(record) is Kind.HOST_WROTE
        came = arrived_with(log, record) if both and not by_program else None
        if both and (by_program or (came is not None and came.posted < read.posted)):
            yield Late(node, both[0], rec.event_of(record), came)


@once_a_log
def torn_reads(log: Log, node: str) -> Iterator[Torn]:
    """READs of a node that brought old and new bytes of one write of their owner."""
    for read in sinks(log, node):
        source = fetched(log.session.world, read.subject.thing, read.wqe.wr)
        if source is not None and read.filled:
            yield from _torn(log, read, source[0].thing, source[1])


def _torn(log: Log, read: TrackedRequest, owner: Thing, start: int) -> Iterator[Torn]:
    """start: of the bytes that it fetched, in the memory of their owner."""
    wqe = read.wqe
    assert isinstance(wqe, SendWqe)
    left = [(rec.event_of(r), offset_in(wqe, packet), len(packet.payload))
            for r in log.about(Kind.PACKET_SENT, owner) if rec.event_of(r) > read.posted
            if isinstance(packet := rec.packet_of(r), Packet) and packet.payload
            and not packet.opcode_row.request and wqe.has_psn(packet.psn)]  # fmt: skip
    for record in log.of(Kind.HOST_WROTE, owner.node)[-MOST_WRITES:] if len(left) > 1 else ():
        event = rec.event_of(record)
        carried = [(sent, cut[0] - start, cut[1]) for sent, offset, length in left
                   for cut in meet([(start + offset, length)], [piece_of(record)])]  # fmt: skip
        new = [(at, length) for sent, at, length in carried if sent > event]
        if new and len(new) < len(carried):
            yield from (Torn(read, event, cut) for cut in part(read.pieces, *new[0])[:1])


@once_a_log
def filled_twice(log: Log, node: str) -> list[Twice]:
    """Requests that filled the bytes of another before the program had polled that one."""
    filled = sorted((s for s in sinks(log, node) if s.filled), key=lambda sink: sink.ended or 0)
    newest = filled[-MOST_WRITES:]
    return [Twice(first, second, piece) for place, first in enumerate(newest)
            for second in newest[place + 1 :]
            if first.polled is None or first.polled > (second.ended or 0)
            for piece in meet(first.pieces, second.pieces)[:1]]  # fmt: skip


class Pair(NamedTuple):
    """Two requests of a node, in the order of their posts."""

    first: TrackedRequest
    second: TrackedRequest

    @property
    def subject(self) -> Subject:
        return self.first.subject

    def concerns(self, asked: Subject) -> bool:
        """Whether one of them, or the queue of their completions, is asked about."""
        cq = Thing(Noun.CQ, self.first.subject.thing.node, self.first.cq)
        return asked in (self.first.subject, self.second.subject) or asked.thing == cq


class Orphan(NamedTuple):
    """A completion that was polled after its queue pair was destroyed."""

    subject: Subject
    cq: Thing
    qp: Thing
    destroyed: int
    polled: int

    def concerns(self, asked: Subject) -> bool:
        """Whether it, its queue or its queue pair is asked about."""
        return asked == self.subject or asked.thing in (self.cq, self.qp)


@once_a_log
def alike(log: Log, node: str) -> list[Pair]:
    """Requests of one queue with one wr_id; the first was not polled when the second was posted.

    A request that is posted again after its error differs from it in the status. Equal requests do
    for each other as long as no two of their completions wait for a poll: `ibv_rc_pingpong` posts
    all its receives with one buffer and one wr_id.
    """
    same: dict[tuple[Sort, Thing, int], list[TrackedRequest]] = {}
    for each in requests(log, node):
        silent = isinstance(each.wqe, SendWqe) and not each.wqe.signaled
        if not silent or (each.ended is not None and not each.filled):
            subject = each.subject
            same.setdefault((subject.sort, subject.thing, subject.wr_id), []).append(each)
    pairs = (Pair(*two) for group in same.values() for two in pairwise(group))
    return [p for p in pairs
            if (p.first.polled is None or p.first.polled > p.second.posted)
            and not (_has_failed(p.first) and (p.first.ended or 0) < p.second.posted)
            and (differences(p.first.wqe.wr, p.second.wqe.wr) or _wait_at_once(p))]  # fmt: skip


def _wait_at_once(pair: Pair) -> bool:
    """Whether the second of two requests succeeded before the first, which did too, was polled."""
    polled, ended = pair.first.polled, pair.second.ended
    filled = pair.first.filled and pair.second.filled
    return filled and ended is not None and (polled is None or ended < polled)


def _has_failed(request: TrackedRequest) -> bool:
    return request.ended is not None and not request.filled


@once_a_log
def crossed(log: Log, node: str) -> Iterator[Pair]:
    """Sends of two queue pairs that completed on one queue against the order of their posts."""
    sends = (r for r in requests(log, node) if r.subject.sort is Sort.SEND and r.cq and r.filled)
    last: dict[int, TrackedRequest] = {}  # of each CQ, of those before, what completed last
    for each in sorted(sends, key=lambda request: request.posted):
        other = last.setdefault(each.cq, each)
        if (other.ended or 0) > (each.ended or 0) and other.subject.thing != each.subject.thing:
            yield Pair(other, each)
        else:
            last[each.cq] = each


@once_a_log
def orphans(log: Log, node: str) -> Iterator[Orphan]:
    """Completions of a node that were polled after the destroy of their queue pairs."""
    gone = {rec.object_of(r): rec.event_of(r) for r in log.of(Kind.DESTROYED, node)
            if rec.noun_of(r) == Noun.QP}  # fmt: skip
    for record in log.of(Kind.CQE_POLLED, node)[-MOST_POSTS:] if gone else []:
        cqe, polled = rec.cqe_of(record), rec.event_of(record)
        if (destroyed := gone.get(cqe.qp_num, polled)) < polled:
            cq = Thing(Noun.CQ, node, rec.object_of(record))
            qp = Thing(Noun.QP, node, cqe.qp_num)
            yield Orphan(subject_of_cqe(node, cqe), cq, qp, destroyed, polled)
