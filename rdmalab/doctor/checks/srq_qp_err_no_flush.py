"""srq-qp-err-no-flush: a queue pair died, and the receives of its SRQ are not flushed."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.facts.undelivered import users_of
from rdmalab.doctor.facts.waiting import watcher
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said, warn
from rdmalab.doctor.fixes.reconnecting import some_message
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.records import A, Kind, event_of
from rdmalab.spec.states import QPState
from rdmalab.views import fmt
from rdmalab.world.relations import peer_of

_PROGRAM = "count no flushes of an SRQ: wait for QP_LAST_WQE_REACHED, its receives serve others"


def examine(case: Case) -> Finding:
    """Of a receive that waits on an SRQ, whether a queue pair that used it is in ERR."""
    receive = case.receive
    if receive is None or not receive.shared or not case.asked or receive.queue is None:
        return NA
    if not receive.on_queue:
        return NA
    users = users_of(case, case.subject.thing)
    dead = [qp for qp in users if qp.state is QPState.ERR]
    if not dead:
        return ok("no queue pair of the SRQ is in ERR")
    qp, name = dead[0], case.names.of(case.subject.thing)
    facts = [
        said(f"{case.qp_name(qp)} went to ERR", partners.entered(case, qp, QPState.ERR)),
        said(f"{name} still has {fmt.count(len(receive.queue.wqes), 'receive')}: they are its "
             "own, and are not flushed"),
        _last(case, qp),
    ]  # fmt: skip
    cure = _cure(case, users, receive.wqe.length if receive.wqe is not None else 0)
    watching = watcher(case, qp)
    if not watching:  # others may use it up
        return warn(*facts, cure=cure)
    return fail(*facts, said(f"{watching} waits"), cure=cure)


def _last(case: Case, qp: QueuePair) -> Evidence:
    """The event that comes instead of flushes."""
    raised = [
        event_of(r)
        for _, r in case.log.about(Kind.ASYNC_RAISED, Thing(Noun.QP, qp.node, qp.number))
        if r[A] is AsyncEvent.QP_LAST_WQE_REACHED
    ]
    if raised:
        return said("QP_LAST_WQE_REACHED says that it takes none any more", raised[-1])
    return said("this device raises no QP_LAST_WQE_REACHED either")


def _cure(case: Case, users: list[QueuePair], length: int) -> Fix:
    """The next message through another queue pair takes it."""
    for qp in users:
        peer = peer_of(case.world, qp)
        if qp.state is QPState.RTS and peer is not None and peer.state is QPState.RTS:
            return Fix([some_message(case, peer, min(length, _BYTES))])
    return Fix(program=_PROGRAM)


_BYTES = 8


CHECK = Check(
    63, "srq-qp-err-no-flush", Section.RECEIVE,
    question="Is a flush waited for, of a receive that belongs to an SRQ?",
    rule="a queue pair that goes to ERR flushes its own receives, never those of its SRQ",
    source="ibv_post_srq_recv(3)", examine=examine,
)  # fmt: skip
