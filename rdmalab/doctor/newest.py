"""From a wr_id to the work request that is meant: the newest one with it."""

from dataclasses import replace

from rdmalab.command import Noun, Thing
from rdmalab.doctor.log import Log
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.doctor.work.send import post_kind
from rdmalab.hca.qp import QueuePair, SharedReceiveQueue
from rdmalab.session.session import Session
from rdmalab.spec.records import Kind, cqe_of, recv_wqe_of, send_wqe_of
from rdmalab.world.relations import exists


def newest_send(session: Session, log: Log, thing: Thing, wr_id: int) -> Subject:
    """The newest send of a queue pair with this wr_id; with serial -1 where there is none."""
    for record in reversed(log.about(Kind.SEND_POSTED, thing)):
        if send_wqe_of(record).wr.wr_id == wr_id:
            return Subject(Sort.SEND, thing, send_wqe_of(record).serial, wr_id)
    if exists(session.world, thing):
        sq = session.world.find(thing, QueuePair).sq
        early = [n for n, wr in enumerate(sq.early, sq.posted) if wr.wr_id == wr_id]
        kept = [serial for serial, wqe in sq.wqes.items() if wqe.wr.wr_id == wr_id]
        for serial in (early + kept)[-1:]:
            return Subject(Sort.SEND, thing, serial, wr_id)
    for record in reversed(
        log.about(Kind.WQE_COMPLETED, thing)
    ):  # its post is no longer in the log
        if send_wqe_of(record).wr.wr_id == wr_id:
            return Subject(Sort.SEND, thing, send_wqe_of(record).serial, wr_id)
    return Subject(Sort.SEND, thing, -1, wr_id)


def newest_receive(session: Session, log: Log, thing: Thing, wr_id: int) -> Subject:
    """The newest receive of a queue pair, or of an SRQ, with this wr_id."""
    for record in reversed(log.about(post_kind(thing), thing)):
        if recv_wqe_of(record).wr.wr_id == wr_id:
            return Subject(Sort.RECV, thing, recv_wqe_of(record).serial, wr_id)
    if exists(session.world, thing):
        world = session.world
        waiting = (world.find(thing, SharedReceiveQueue).wqes if thing.noun is Noun.SRQ
                   else world.find(thing, QueuePair).rq.wqes)  # fmt: skip
        for wqe in reversed(waiting):
            if wqe.wr.wr_id == wr_id:
                return Subject(Sort.RECV, thing, wqe.serial, wr_id)
    for record in reversed(log.of(Kind.CQE_ADDED, thing.node)):  # its post is no longer in the log
        cqe = cqe_of(record)
        queue = (Noun.SRQ, cqe.srq) if cqe.srq else (Noun.QP, cqe.qp_num)
        if not cqe.is_send and cqe.wr_id == wr_id and queue == (thing.noun, thing.number):
            return Subject(Sort.RECV, thing, cqe.serial, wr_id)
    return Subject(Sort.RECV, thing, -1, wr_id)


def renewed(session: Session, subject: Subject, log: Log) -> Subject:
    """The same work posted once more, if it was; on a queue created again, if that has its name."""
    name = session.names.of(subject.thing)
    subject = replace(subject, thing=session.names.find(name) or subject.thing)
    find = {Sort.SEND: newest_send, Sort.RECV: newest_receive}.get(subject.sort)
    if find is None:
        return replace(subject)
    return find(session, log, subject.thing, subject.wr_id)
