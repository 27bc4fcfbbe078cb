"""The work of queue pairs: outstanding, newest, failed, or the newest one with a wr_id."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.messages import Piece, meet, pieces
from rdmalab.doctor.evidence.subject import Sort, Subject, name_of
from rdmalab.doctor.evidence.work_requests import Receive, Send, post_kind, unpolled
from rdmalab.hca.qp import QueuePair, SharedReceiveQueue
from rdmalab.hca.wr import Cqe, RecvWqe
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, recv_wqe_of, send_wqe_of
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.world.relations import exists

MOST = 16
"""Complaints that are looked into at once."""


Wanted = Callable[[Thing], bool]


def qps_of(session: Session, wanted: Wanted) -> list[tuple[Thing, QueuePair]]:
    """The queue pairs that live and are wanted, each with its Thing."""
    return [(thing, qp) for node, hca in session.world.nodes.items()
            for number, qp in hca.qps.items.items()
            if wanted(thing := Thing(Noun.QP, node, number))]  # fmt: skip


def undone(qp: QueuePair) -> list[Subject]:
    """The oldest send that is not done."""
    wqe = qp.sq.wqes.get(qp.comp.serial)
    if wqe is not None:
        return [Subject.of_send(qp.thing, wqe)]
    return [Subject(Sort.SEND, qp.thing, qp.sq.posted, wr.wr_id) for wr in qp.sq.early[:1]]


def has_work_for(qp: QueuePair, cqs: Sequence[Thing]) -> bool:
    """Whether a send or a receive of it is not over, and is to complete on one of these queues."""
    numbers = [cq.number for cq in cqs if cq.node == qp.node]
    sends = qp.send_cq in numbers and (qp.comp.serial < qp.sq.posted or bool(qp.sq.early))
    receives = bool(qp.source.wqes) or qp.resp.recv is not None  # of its message the beginning came
    return sends or (qp.recv_cq in numbers and receives)


def is_one_sided(log: Log, qp: QueuePair) -> bool:
    """Whether a queue pair in RTS has done requests, and none that takes a receive of its peer."""
    done = [rec.send_wqe_of(r).work for r in log.about(Kind.WQE_COMPLETED, qp.thing)]
    messages = any(work is None or work.consumes_receive for work in done)
    return bool(done) and not messages and qp.state is QPState.RTS


def under_way(qp: QueuePair) -> list[Subject]:
    """Its oldest and its newest send that are not done."""
    wqes = [wqe for serial, wqe in qp.sq.wqes.items() if serial >= qp.comp.serial]
    ends = {wqe.serial: wqe for wqe in (*wqes[:1], *wqes[-1:])}
    return [Subject.of_send(qp.thing, wqe) for wqe in ends.values()]


def unmet(qp: QueuePair) -> list[Subject]:
    """The oldest receive that no message has filled, its own or of its SRQ."""
    thing = Thing(Noun.SRQ, qp.node, qp.srq) if qp.srq else qp.thing
    using = [qp.resp.recv] if qp.resp.recv is not None and not qp.transport.names_srq else []
    return [Subject.of_receive(thing, wqe) for wqe in [*using, *qp.source.wqes][:1]]


def oldest(srq: SharedReceiveQueue) -> list[Subject]:
    """The oldest receive of a shared queue that no message has taken."""
    return [Subject.of_receive(srq.thing, wqe) for wqe in list(srq.wqes)[:1]]


def latest(session: Session, log: Log, node: str = "") -> list[Subject]:
    """The newest work of each queue pair, and the completion queues."""
    found: list[Subject] = []
    for thing, _ in qps_of(session, lambda thing: node in ("", thing.node)):
        found += newest_work(log, thing)
    cqs = ((name, hca.cqs.items) for name, hca in session.world.nodes.items() if node in ("", name))
    found += [Subject(Sort.CQ, Thing(Noun.CQ, name, n)) for name, items in cqs for n in items]
    return found[:MOST]


def newest_work(log: Log, thing: Thing) -> list[Subject]:
    """The newest work request of either queue."""
    sent, received = log.about(Kind.SEND_POSTED, thing), log.about(Kind.RECV_POSTED, thing)
    sends = [Subject.of_send(thing, send_wqe_of(record)) for record in sent[-1:]]
    return sends + [Subject.of_receive(thing, recv_wqe_of(r)) for r in received[-1:]]


class _Failed(NamedTuple):
    """Work that failed: rank 0; 1 is a flushed send, 2 a flushed receive."""

    rank: int
    event: int
    subject: Subject


def _failures(log: Log, thing: Thing, born: int | None = None) -> list[_Failed]:
    """All work of a queue pair that failed since an event; without one, in its present life.

    The first is what failed first, a flush only if all were.
    """
    born = log.born(thing) if born is None else born
    found = [
        _Failed(rec.status_of(r) is WCStatus.WR_FLUSH_ERR, rec.event_of(r),
                Subject.of_send(thing, rec.send_wqe_of(r)))
        for r in log.failed_sends
        if rec.place_of(r) == thing[1:] and rec.event_of(r) > born
    ] + [
        _Failed(2 * (rec.cqe_of(r).status == WCStatus.WR_FLUSH_ERR), rec.event_of(r),
                _received(thing, rec.cqe_of(r)))
        for r in log.failed_receives
        if (rec.node_of(r), rec.cqe_of(r).qp_num) == thing[1:] and rec.event_of(r) > born
    ]  # fmt: skip
    return sorted(found, key=lambda each: each[:2])


def failed_lives(log: Log, thing: Thing) -> list[tuple[int, Subject]]:
    """The first work that failed in each life of a queue pair, from one RESET to the next.

    A flushed send before a flushed receive; each with its event.
    """
    resets = log.entered(thing, QPState.RESET)
    firsts: dict[int, tuple[int, Subject]] = {}
    for _, event, subject in _failures(log, thing, -1):
        firsts.setdefault(bisect_left(resets, event), (event, subject))
    return [first for _, first in sorted(firsts.items())]


def first_failed(log: Log, thing: Thing) -> list[Subject]:
    """The first work of a queue pair that failed in its present life, a flush only if all were."""
    return [each.subject for each in _failures(log, thing)[:1]]


def failed_before_flush(log: Log, thing: Thing) -> list[Subject]:
    """The first failed work of a queue pair, if it was no flush: the source of flushes."""
    return [each.subject for each in _failures(log, thing)[:1] if not each.rank]


def subject_of_cqe(node: str, cqe: Cqe) -> Subject:
    """The work request that a completion is of."""
    thing = Thing(Noun.QP, node, cqe.qp_num)
    if cqe.is_send:
        return Subject(Sort.SEND, thing, cqe.serial, cqe.wr_id)
    return _received(thing, cqe)


def _received(thing: Thing, cqe: Cqe) -> Subject:
    queue = Thing(Noun.SRQ, thing.node, cqe.srq) if cqe.srq else thing
    return Subject(Sort.RECV, queue, cqe.serial, cqe.wr_id)


def flushed_receives(log: Log, qp: Thing) -> list[RecvWqe]:
    """Of a queue pair's own queue, since its last RESET: what ERR took from it."""
    since = log.born(qp)
    flushed = {
        rec.cqe_of(r).serial
        for r in log.failed_receives
        if (rec.node_of(r), rec.cqe_of(r).qp_num, rec.cqe_of(r).srq) == (qp.node, qp.number, 0)
        and rec.cqe_of(r).status == WCStatus.WR_FLUSH_ERR and rec.event_of(r) > since
    }  # fmt: skip
    posted = [rec.recv_wqe_of(record) for record in log.about(Kind.RECV_POSTED, qp)]
    return [wqe for wqe in posted if wqe.serial in flushed]


def _newest(sort: Sort, session: Session, log: Log, thing: Thing, wr_id: int) -> Subject:
    """The newest work of a queue with this wr_id; with serial -1 where there is none."""
    is_send = sort is Sort.SEND
    posts = map(rec.wqe_of, reversed(log.about(post_kind(thing, is_send=is_send), thing)))
    posted = ((wqe.serial, wqe.wr.wr_id) for wqe in posts)
    known = chain(
        posted, _kept(session, thing, is_send=is_send), _ended(log, thing, is_send=is_send)
    )
    return Subject(sort, thing, next((serial for serial, own in known if own == wr_id), -1), wr_id)


newest_send = partial(_newest, Sort.SEND)
newest_receive = partial(_newest, Sort.RECV)


def _kept(session: Session, thing: Thing, *, is_send: bool) -> Iterator[tuple[int, int]]:
    """Serial and wr_id of what is on a queue, then of its completions; the newest first."""
    if not exists(session.world, thing):
        return
    if is_send:
        sq = session.world.find(thing, QueuePair).sq
        yield from reversed([(serial, wqe.wr.wr_id) for serial, wqe in sq.wqes.items()])
        yield from reversed([(n, wr.wr_id) for n, wr in enumerate(sq.early, sq.posted)])
    else:
        queue = (session.world.find(thing, SharedReceiveQueue) if thing.noun is Noun.SRQ
                 else session.world.find(thing, QueuePair).rq)  # fmt: skip
        yield from ((wqe.serial, wqe.wr.wr_id) for wqe in reversed(queue.wqes))
    waiting = unpolled(session, thing, is_send=is_send)
    yield from ((cqe.serial, cqe.wr_id) for cqe in reversed(waiting))


def _ended(log: Log, thing: Thing, *, is_send: bool) -> Iterator[tuple[int, int]]:
    """Serial and wr_id of what ended, the newest first: its post may be no longer in the log."""
    if is_send:
        ends = map(rec.send_wqe_of, reversed(log.about(Kind.WQE_COMPLETED, thing)))
        yield from ((wqe.serial, wqe.wr.wr_id) for wqe in ends)
    else:
        cqes = map(rec.cqe_of, reversed(log.of(Kind.CQE_ADDED, thing.node)))
        works = (subject_of_cqe(thing.node, cqe) for cqe in cqes if not cqe.is_send)
        yield from ((work.serial, work.wr_id) for work in works if work.thing == thing)


def renewed(session: Session, subject: Subject, log: Log, since: int = -1) -> Subject:
    """Newest post of the same work request; on a queue created again, if that has its name.

    since: what was posted on its queue up to that event with its wr_id is another request.
    """
    name = session.names.of(subject.thing)
    own = replace(subject, thing=session.names.find(name) or subject.thing)
    if own.sort not in (Sort.SEND, Sort.RECV):
        return own
    newest = _newest(own.sort, session, log, own.thing, own.wr_id)
    kind = post_kind(own.thing, is_send=own.sort is Sort.SEND)
    is_old = (log.event_of(kind, newest.thing, newest.serial) or 0) <= since
    return own if is_old and own.thing == subject.thing and own.serial >= 0 else newest


def shared_bytes(session: Session, event: int, log: Log) -> Iterator[str]:
    """Receives typed since an event on bytes of other work that is under way then.

    That is a receive which waits, or is taken and not polled, or a send which is not done. A
    receive that is posted once more shares what it shared before.
    """
    found = [(r, Thing(noun, rec.node_of(r), rec.object_of(r)))
             for kind, noun in ((Kind.RECV_POSTED, Noun.QP), (Kind.SRQ_POSTED, Noun.SRQ))
             for r in log.of(kind)]  # fmt: skip
    posts = sorted(((rec.event_of(r), thing, rec.recv_wqe_of(r)) for r, thing in found),
                   key=lambda each: each[0])  # fmt: skip
    for since, thing, wqe in [each for each in posts if each[0] > event]:
        sg, hca = wqe.wr.sg, session.world.nodes[thing.node]
        known = [whose for at, whose, other in posts if at <= event and other.wr.sg == sg]
        typed = thing not in known and not log.asked(since)[1]
        for send in _sends_from(session, log, thing.node, pieces(hca, sg), since) if typed else ():
            mine = name_of(session.names, Subject.of_receive(thing, wqe))
            yield f"{mine} has bytes of {name_of(session.names, send)}"
        for at, whose, other in posts if thing not in known else ():
            same = whose.node == thing.node and not (at > event and other.wr.sg == sg)
            receive = Subject.of_receive(whose, other)
            shared = same and meet(pieces(hca, sg), pieces(hca, other.wr.sg))
            if shared and _is_unread(session, receive, log):
                mine = name_of(session.names, Subject.of_receive(thing, wqe))
                yield f"{mine} has bytes of {name_of(session.names, receive)}"


def _sends_from(
    session: Session, log: Log, node: str, bytes_: list[Piece], event: int
) -> Iterator[Subject]:
    """The requests in send queues of a node that have some of these bytes and end after an event.

    The bytes of an INLINE send were copied at its post.
    """
    for record in log.of(Kind.SEND_POSTED, node):
        thing, wqe = Thing(Noun.QP, *rec.place_of(record)), rec.send_wqe_of(record)
        posted, hca = rec.event_of(record), session.world.nodes[node]
        shared = wqe.inline is None and meet(pieces(hca, wqe.sg), bytes_)
        if not shared or posted > event or not exists(session.world, thing):
            continue
        send = Send(session, Subject.of_send(thing, wqe), log)
        ended = send.ending.event if send.ending is not None else None
        reset = log.entered(thing, QPState.RESET, after=posted)
        if min((at for at in (ended, *reset) if at is not None), default=event + 1) > event:
            yield send.subject


def _is_unread(session: Session, subject: Subject, log: Log) -> bool:
    """Whether a receive waits for a message, or has one that no poll has returned."""
    receive = Receive(session, subject, log)
    if receive.on_queue or receive.ending is None:
        return receive.on_queue
    return receive.ending.status is WCStatus.SUCCESS and receive.polled is None
