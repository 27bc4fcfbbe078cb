"""What a call took before it had ended: sends, receives, threads that were stopped."""

from collections.abc import Iterator
from itertools import islice

from rdmalab.command import Noun, Thing
from rdmalab.doctor.log import Log
from rdmalab.doctor.moments import MOST_OLDER, teardowns, visit
from rdmalab.doctor.outstanding import MOST, Wanted, qps_of
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.doctor.work.receive import Receive
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState
from rdmalab.world.programs import Program
from rdmalab.world.relations import exists, peer_thing


def abandoned_sends(log: Log, thing: Thing, event: int) -> list[Subject]:
    """The sends that a queue pair had outstanding in the event that took it, oldest first."""
    done = {rec.send_wqe_of(r).serial for r in log.about(Kind.WQE_COMPLETED, thing)}
    posted = [rec.send_wqe_of(r) for r in log.about(Kind.SEND_POSTED, thing)
              if rec.event_of(r) < event]  # fmt: skip
    return [Subject.of_send(thing, wqe) for wqe in posted if wqe.serial not in done]


def taken_queue_pairs(log: Log) -> dict[Thing, list[int]]:
    """The queue pairs that a call destroyed or moved to RESET or ERR, and those events."""
    found: dict[Thing, list[int]] = {}
    for act in (act for row in teardowns(log) for act in row if act.thing.noun is Noun.QP):
        found.setdefault(act.thing, []).append(act.event)
    return found


def lost_receives(
    session: Session, log: Log, wanted: Wanted, *, spare: bool = False
) -> Iterator[Subject]:
    """Of each queue pair the oldest receive that a destroy or a RESET took, if it was missed.

    It was missed if a poll found nothing since, or no work at all was ever done: a message that was
    meant for it and failed is a fact of its sender. Else it was a spare one. spare: of these those
    of queue pairs to which their peer can still send.
    """
    begun = log.of(Kind.WQE_COMPLETED) or log.of(Kind.RECV_TAKEN)
    reachable = _reachable(session) if spare else set()
    for thing, events in taken_queue_pairs(log).items():
        posted = log.about(Kind.RECV_POSTED, thing) if wanted(thing) else []
        newest = (Subject.of_receive(thing, rec.recv_wqe_of(r)) for r in reversed(posted))
        used = {rec.recv_wqe_of(r).serial for r in log.about(Kind.RECV_TAKEN, thing)}
        lost = [
            s for s in islice(newest, MOST) if s.serial not in used and _is_lost(session, log, s)
        ]
        if not lost:
            continue
        cq = cq_of(session, log, thing, "recv_cq")
        missed = not begun or _polled_in_vain(log, cq, events[0])
        if (thing in reachable and not missed) if spare else missed:
            yield lost[-1]


def _reachable(session: Session) -> set[Thing | None]:
    """The queue pairs that a living one can send to, whether they exist or not."""
    qps = (qp for _, qp in qps_of(session, lambda _: True) if qp.state is QPState.RTS)
    return {peer_thing(session.world, qp) for qp in qps}


def _is_lost(session: Session, log: Log, subject: Subject) -> bool:
    """Whether a receive that no message took ended without a completion."""
    work = Receive(session, subject, log)
    gone = work.discarded is not None or not exists(session.world, subject.thing)
    return gone and work.ending is None


def cq_of(session: Session, log: Log, qp: Thing, queue: str) -> Thing | None:
    """The CQ that the call which made a queue pair named as `queue`; None if it is not kept."""
    made = log.created(qp)
    call, _ = log.asked(made) if made is not None else (None, "")
    attr = call.arguments.get("init_attr") if call is not None else None
    return session.names.find(str((attr or {}).get(queue)))


def _polled_in_vain(log: Log, cq: Thing | None, event: int) -> bool:
    """Whether the last poll of a completion queue came after an event and returned nothing."""
    calls = log.about(Kind.CALLED, cq) if cq is not None else []
    polls = [rec.event_of(r) for r in calls if rec.verb_of(r) == "poll_cq"]
    found = polls and all(rec.kind_of(r) is not Kind.CQE_POLLED for r in log.within(polls[-1]))
    return bool(found) and polls[-1] > event


def stopped_threads(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """The threads that were stopped while they hung, and were not started again."""
    stopped = [r for r in log.of(Kind.DESTROYED) if rec.noun_of(r) == Noun.PROGRAM]
    for record in stopped[-MOST_OLDER:]:
        thing = Thing(Noun.PROGRAM, rec.node_of(record), rec.object_of(record))
        same = session.names.find(session.names.of(thing)) == thing
        over = log.about(Kind.PROGRAM_DONE, thing) or log.about(Kind.PROGRAM_FAILED, thing)
        if not same or over or not wanted(thing):
            continue
        with visit(log, rec.event_of(record) - 1) as then:
            serves = 0 in session.world.find(thing, Program).loops  # its last line never comes
            hangs = then.rests(thing) and not serves
        if hangs:
            yield Subject(Sort.PROGRAM, thing)
