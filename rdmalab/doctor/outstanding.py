"""The work of queue pairs: the oldest and the newest that is not done, what was posted last."""

from collections.abc import Callable, Sequence

from rdmalab.command import Noun, Thing
from rdmalab.doctor.log import Log
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.hca.qp import QueuePair
from rdmalab.session.session import Session
from rdmalab.spec.records import Kind, recv_wqe_of, send_wqe_of

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
    wqe = qp.sq.wqes.get(qp.comp.serial)
    if wqe is not None:
        return [Subject.of_send(qp.thing, wqe)]
    return [Subject(Sort.SEND, qp.thing, qp.sq.posted, wr.wr_id) for wr in qp.sq.early[:1]]


def has_work_for(qp: QueuePair, cqs: Sequence[Thing]) -> bool:
    """Whether a send or a receive of it is not over, and is to complete on one of these queues."""
    numbers = [cq.number for cq in cqs if cq.node == qp.node]
    sends = qp.send_cq in numbers and (qp.comp.serial < qp.sq.posted or bool(qp.sq.early))
    return sends or (qp.recv_cq in numbers and bool(qp.source.wqes))


def under_way(qp: QueuePair) -> list[Subject]:
    """Its oldest and its newest send that are not done."""
    wqes = [wqe for serial, wqe in qp.sq.wqes.items() if serial >= qp.comp.serial]
    ends = {wqe.serial: wqe for wqe in (*wqes[:1], *wqes[-1:])}
    return [Subject.of_send(qp.thing, wqe) for wqe in ends.values()]


def unmet(qp: QueuePair) -> list[Subject]:
    """The oldest receive that no message has taken, its own or of its SRQ."""
    thing = Thing(Noun.SRQ, qp.node, qp.srq) if qp.srq else qp.thing
    return [Subject.of_receive(thing, wqe) for wqe in list(qp.source.wqes)[:1]]


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
    sent, received = log.about(Kind.SEND_POSTED, thing), log.about(Kind.RECV_POSTED, thing)
    sends = [Subject.of_send(thing, send_wqe_of(record)) for record in sent[-1:]]
    return sends + [Subject.of_receive(thing, recv_wqe_of(r)) for r in received[-1:]]
