"""Work requests of a queue pair that failed, and the first of them."""

from bisect import bisect_left
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.log import Log
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.hca.wr import Cqe, RecvWqe
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus


class _Failed(NamedTuple):
    """Work that failed: rank 0; 1 is a flushed send, 2 a flushed receive."""

    rank: int
    event: int
    subject: Subject


def _failures(log: Log, thing: Thing, born: int | None = None) -> list[_Failed]:
    """All work of a queue pair that failed since an event; without one, in its present life.

    The first is what failed first, a flush only if all were.
    """
    born = _born(log, thing) if born is None else born
    found = [
        _Failed(rec.status_of(r) is WCStatus.WR_FLUSH_ERR, rec.event_of(r),
                Subject.of_send(thing, rec.send_wqe_of(r)))
        for r in log.failed_sends
        if (rec.node_of(r), rec.object_of(r)) == thing[1:] and rec.event_of(r) > born
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
    """The same, where that was no flush itself: what a flush came from."""
    return [each.subject for each in _failures(log, thing)[:1] if not each.rank]


def work_of(node: str, cqe: Cqe) -> Subject:
    """The work request that a completion is of."""
    thing = Thing(Noun.QP, node, cqe.qp_num)
    if cqe.is_send:
        return Subject(Sort.SEND, thing, cqe.serial, cqe.wr_id)
    return _received(thing, cqe)


def _received(thing: Thing, cqe: Cqe) -> Subject:
    queue = Thing(Noun.SRQ, thing.node, cqe.srq) if cqe.srq else thing
    return Subject(Sort.RECV, queue, cqe.serial, cqe.wr_id)


def _born(log: Log, thing: Thing) -> int:
    """The event since which a queue pair lives: its last RESET."""
    return max(log.entered(thing, QPState.RESET), default=-1)


def flushed_receives(log: Log, qp: Thing) -> list[RecvWqe]:
    """Of a queue pair's own queue, since its last RESET: what ERR took from it."""
    since = _born(log, qp)
    flushed = {
        rec.cqe_of(r).serial
        for r in log.failed_receives
        if (rec.node_of(r), rec.cqe_of(r).qp_num, rec.cqe_of(r).srq) == (qp.node, qp.number, 0)
        and rec.cqe_of(r).status == WCStatus.WR_FLUSH_ERR and rec.event_of(r) > since
    }  # fmt: skip
    posted = [rec.recv_wqe_of(record) for record in log.about(Kind.RECV_POSTED, qp)]
    return [wqe for wqe in posted if wqe.serial in flushed]
