"""Work requests of a queue pair that failed, and the first of them."""

from bisect import bisect_left
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.log import Log
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.hca.wqe import Cqe, RecvWqe
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus


class _Failed(NamedTuple):
    """How work ended, in which record, in which event."""

    status: WCStatus
    number: int
    event: int


def _failures(log: Log, thing: Thing, born: int | None = None) -> list[tuple[_Failed, Subject]]:
    """All work of a queue pair that failed since an event; without one, in its present life."""
    born = _born(log, thing) if born is None else born
    return [
        (
            _Failed(rec.status_of(r), number, rec.event_of(r)),
            Subject.of_send(thing, rec.send_wqe_of(r)),
        )
        for number, r in log.failed_sends
        if (rec.node_of(r), rec.object_of(r)) == thing[1:] and rec.event_of(r) > born
    ] + [
        (
            _Failed(WCStatus(rec.cqe_of(r).status), number, rec.event_of(r)),
            _received(thing, rec.cqe_of(r)),
        )
        for number, r in log.failed_receives
        if (rec.node_of(r), rec.cqe_of(r).qp_num) == thing[1:] and rec.event_of(r) > born
    ]


def failed_lives(log: Log, thing: Thing) -> list[tuple[int, Subject]]:
    """The first work that failed in each life of a queue pair, from one RESET to the next.

    A flushed send before a flushed receive; each with its event.
    """
    resets = log.entered(thing, QPState.RESET)
    lives: dict[int, list[tuple[int, int, int, Subject]]] = {}
    for failed, subject in _failures(log, thing, -1):
        rank = 1 + (subject.sort is Sort.RECV) if failed.status is WCStatus.WR_FLUSH_ERR else 0
        each = (rank, failed.number, failed.event, subject)
        lives.setdefault(bisect_left(resets, failed.event), []).append(each)
    firsts = [min(life, key=lambda each: each[:2]) for _, life in sorted(lives.items())]
    return [(event, subject) for _, _, event, subject in firsts]


def first_failed(log: Log, thing: Thing) -> list[Subject]:
    """The first work of a queue pair that failed in its present life, a flush only if all were."""
    found = [
        (failed.status is WCStatus.WR_FLUSH_ERR, failed.number, subject)
        for failed, subject in _failures(log, thing)
    ]
    return [min(found, key=lambda each: each[:2])[2]] if found else []


def failed_before_flush(log: Log, thing: Thing) -> list[Subject]:
    """The same, where that was no flush itself: what a flush came from."""
    failures = _failures(log, thing)
    real = [(f.number, s) for f, s in failures if f.status is not WCStatus.WR_FLUSH_ERR]
    return [min(real, key=lambda each: each[0])[1]] if real else []


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
        for _, r in log.failed_receives
        if (rec.node_of(r), rec.cqe_of(r).qp_num, rec.cqe_of(r).srq) == (qp.node, qp.number, 0)
        and rec.cqe_of(r).status == WCStatus.WR_FLUSH_ERR and rec.event_of(r) > since
    }  # fmt: skip
    posted = [rec.recv_wqe_of(record) for _, record in log.about(Kind.RECV_POSTED, qp)]
    return [wqe for wqe in posted if wqe.serial in flushed]
