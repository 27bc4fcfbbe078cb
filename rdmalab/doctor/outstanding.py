"""The work of queue pairs: the oldest and the newest that is not done, what was posted last."""

from collections.abc import Callable

from rdmalab.command import Noun, Thing
from rdmalab.doctor.log import Log
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.hca.qp import QueuePair
from rdmalab.session.session import Session
from rdmalab.spec.records import A, Kind

MOST = 16
"""Complaints that are looked into at once."""


Wanted = Callable[[Thing], bool]


def qps_of(session: Session, wanted: Wanted) -> list[tuple[Thing, QueuePair]]:
    """The queue pairs that live and are wanted, each with its Thing."""
    return [
        (thing, qp)
        for node, hca in session.world.nodes.items()
        for number, qp in hca.qps.items.items()
        if wanted(thing := Thing(Noun.QP, node, number))
    ]


def undone(qp: QueuePair) -> list[Subject]:
    """The oldest send that is not done."""
    thing = Thing(Noun.QP, qp.node, qp.number)
    wqe = qp.sq.wqes.get(qp.comp.serial)
    if wqe is not None:
        return [Subject(Sort.SEND, thing, wqe.serial, wqe.wr.wr_id)]
    return [Subject(Sort.SEND, thing, qp.sq.posted, wr.wr_id) for wr in qp.sq.early[:1]]


def under_way(qp: QueuePair) -> list[Subject]:
    """Its oldest and its newest send that are not done."""
    thing = Thing(Noun.QP, qp.node, qp.number)
    wqes = [wqe for serial, wqe in qp.sq.wqes.items() if serial >= qp.comp.serial]
    ends = {wqe.serial: wqe for wqe in (*wqes[:1], *wqes[-1:])}
    return [Subject(Sort.SEND, thing, wqe.serial, wqe.wr.wr_id) for wqe in ends.values()]


def unmet(qp: QueuePair) -> list[Subject]:
    """The oldest receive that no message has taken."""
    thing = Thing(Noun.QP, qp.node, qp.number)
    return [Subject(Sort.RECV, thing, w.serial, w.wr.wr_id) for w in list(qp.rq.wqes)[:1]]


def latest(session: Session, log: Log, node: str = "") -> list[Subject]:
    """The newest work of each queue pair, and the completion queues."""
    found: list[Subject] = []
    for thing, _ in qps_of(session, lambda thing: node in ("", thing.node)):
        found += newest_work(log, thing)
    cqs = ((name, hca.cqs.items) for name, hca in session.world.nodes.items() if node in ("", name))
    found += [Subject(Sort.CQ, Thing(Noun.CQ, name, n)) for name, items in cqs for n in items]
    return found[:MOST]


def newest_work(log: Log, thing: Thing) -> list[Subject]:
    """What was posted last, on either queue."""
    sent, received = (
        [record[A] for _, record in log.about(kind, thing)[-1:]]
        for kind in (Kind.SEND_POSTED, Kind.RECV_POSTED)
    )
    sends = [Subject(Sort.SEND, thing, wqe.serial, wqe.wr.wr_id) for wqe in sent]
    return sends + [Subject(Sort.RECV, thing, wqe.serial, wqe.wr.wr_id) for wqe in received]
