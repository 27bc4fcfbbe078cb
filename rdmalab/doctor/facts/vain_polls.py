"""Polls, by calls, of a completion queue on which nothing can come any more."""

from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case, CompletionQueue, QueuePair, Subject
from rdmalab.doctor.evidence.log import Call
from rdmalab.doctor.evidence.work_of_queues import has_work_for
from rdmalab.doctor.facts import thread_waits
from rdmalab.hca.wr import Cqe
from rdmalab.spec.records import Kind, event_of, kind_of, node_of, object_of, send_wqe_of, status_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.world.programs import programs_of


class VainPoll(NamedTuple):
    """The last poll of a queue. feeding: the queue pairs that complete on it."""

    cq: CompletionQueue
    event: int
    feeding: list[QueuePair]


def found_nothing(case: Case, call: Call) -> bool:
    """Whether a poll_cq found its queue empty."""
    return all(kind_of(record) is not Kind.CQE_POLLED for record in case.log.within(call.event))


def vain_poll(case: Case) -> VainPoll | None:
    """Of the queue that is asked about, if its queue pairs have no work left.

    None where a thread of the lab looks at the queue: it has checks of its own.
    """
    cq, thing = case.cq, case.subject.thing
    if cq is None or cq.cqes or not case.at_rest:
        return None
    polls = [call for call in case.log.calls("poll_cq", cq.node) if call.thing[1] == cq.number]
    if not polls or not found_nothing(case, polls[-1]):
        return None
    waiting = (thread_waits.of_program(case, program) for program in programs_of(case.world))
    if any(waits is not None and thing in waits.cqs for waits in waiting):
        return None
    qps = case.world.nodes[cq.node].qps.items.values()
    feeding = [qp for qp in qps if cq.number in (qp.send_cq, qp.recv_cq)]
    if not feeding or any(has_work_for(qp, [thing]) for qp in feeding):
        return None
    return VainPoll(cq, polls[-1].event, feeding)


def left_elsewhere(case: Case, vain: VainPoll) -> tuple[CompletionQueue, Cqe] | None:
    """The oldest success that is left on another queue of these queue pairs, while a program hangs.

    Until then it may still be polled: this one was perhaps only looked at before the other.
    """
    cqs = case.world.nodes[vain.cq.node].cqs.items
    numbers = {number for qp in vain.feeding for number in (qp.send_cq, qp.recv_cq)}
    left = ((cqs[number], cqe) for number in numbers - {vain.cq.number} if number in cqs
            for cqe in cqs[number].cqes if cqe.status is WCStatus.SUCCESS)  # fmt: skip
    found = min(left, key=lambda each: each[1].at_ns, default=None)
    return found if case.session.unanswered else None


def newest_silent(case: Case, vain: VainPoll) -> Subject | None:
    """The newest send that was to complete on the queue, and asked for no completion."""
    ends = [record for qp in vain.feeding if qp.send_cq == vain.cq.number
            for record in case.log.about(Kind.WQE_COMPLETED, qp.thing)
            if not status_of(record) and not send_wqe_of(record).signaled]  # fmt: skip
    last = max(ends, key=event_of, default=None)
    if last is None:
        return None
    return Subject.of_send(Thing(Noun.QP, node_of(last), object_of(last)), send_wqe_of(last))
