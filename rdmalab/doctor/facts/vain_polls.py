"""Polls of a completion queue on which nothing can come any more, and of sends for messages."""

import re
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case, CompletionQueue, Program, QueuePair, Subject
from rdmalab.doctor.evidence.finding import Evidence, fact
from rdmalab.doctor.evidence.log import Call
from rdmalab.doctor.evidence.work_of_queues import has_work_for
from rdmalab.doctor.evidence.work_requests import unpolled
from rdmalab.doctor.facts import thread_waits
from rdmalab.grammar.trees import render
from rdmalab.hca.wr import Cqe
from rdmalab.spec import records as rec
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import Kind, event_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt
from rdmalab.world.programs import programs_of
from rdmalab.world.relations import peer_of

_TELLS_APART = re.compile(r"\b(?:opcode|wr_id|imm_data|byte_len)\b")


class VainPoll(NamedTuple):
    """The last poll of a queue. feeding: the queue pairs that complete on it."""

    cq: CompletionQueue
    event: int
    feeding: list[QueuePair]


def found_nothing(case: Case, call: Call) -> bool:
    """Whether a poll_cq found its queue empty."""
    return all(rec.kind_of(record) is not Kind.CQE_POLLED for record in case.log.within(call.event))


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


def spent_event(case: Case, vain: VainPoll) -> list[Evidence]:
    """The event of the queue that was read last, if a poll had taken its completion before that.

    Each arming raises an event for one completion, and a poll before the event is read takes it.
    """
    raised = case.log.last(Kind.CQ_EVENT_RAISED, vain.cq.thing)
    taken = case.log.last(Kind.CQ_EVENT_TAKEN, vain.cq.thing)
    polled = case.log.about(Kind.CQE_POLLED, vain.cq.thing)[-1:]
    if raised is None or taken is None or not polled:
        return []
    event = event_of(polled[0])
    if not raised < event < taken < vain.event:
        return []
    what = fmt.wr(rec.cqe_of(polled[0]).wr_id)
    return [
        fact(f"the event that was read here had been raised for {what}", taken),
        fact(f"the completion of {what} was polled before that", event),
    ]


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
            if not rec.status_of(record) and not rec.send_wqe_of(record).signaled]  # fmt: skip
    last = max(ends, key=event_of, default=None)
    if last is None:
        return None
    return Subject.of_send(
        Thing(Noun.QP, rec.node_of(last), rec.object_of(last)), rec.send_wqe_of(last)
    )


def left_unread(case: Case, waits: thread_waits.ThreadWait) -> list[tuple[Program, Evidence]]:
    """The threads that have ended at a peer of a thread that waits, with messages unread there."""
    found = []
    for qp in waits.feeding:
        end = peer_of(case.world, qp)
        many = len(unpolled(case.session, end.thing, is_send=False)) if end is not None else 0
        if end is not None and many:
            where = case.name(Noun.CQ, end.node, end.recv_cq)
            text = fact(f"{fmt.count(many, 'message')} for {case.qp_name(end)} unread on {where}")
            found += [(each, text) for each in programs_of(case.world)
                      if each.node == end.node and each.state is ProgramState.DONE]  # fmt: skip
    return found


def own_for_messages(case: Case, waits: thread_waits.ThreadWait) -> list[Evidence]:
    """Evidence that a thread which waits for a message polled its own sends in a line that polls
    messages; or one at its peer did, which has ended and left messages unread.
    """
    ends = [each for qp in waits.feeding if (each := peer_of(case.world, qp)) is not None]
    busy = any(qp.comp.serial < qp.sq.posted for qp in (*waits.feeding, *ends))
    if busy or waits.coming or waits.providers or not waits.outstanding:
        return []
    for program in (waits.program, *(program for program, _ in left_unread(case, waits))):
        ran = {event_of(r): rec.line_number_of(r)
               for r in case.log.about(Kind.PROGRAM_RAN, program.thing)}  # fmt: skip
        took = [(rec.cqe_of(r), event_of(r)) for r in case.log.of(Kind.CQE_POLLED, program.node)
                if event_of(r) in ran]  # fmt: skip
        lines = {ran[event] for cqe, event in took if not cqe.is_send}
        own = [(cqe, event) for cqe, event in took if cqe.is_send and ran[event] in lines]
        asks = " ".join(render(line.question) for line in program.lines if line.question)
        if own and not _TELLS_APART.search(asks):
            (cqe, event), name = own[0], case.names.of(program.thing)
            more = f", and {len(own) - 1} more" if own[1:] else ""
            text = f"{name} polled {fmt.wr(cqe.wr_id)}, a send of its own, in line {ran[event]}"
            return [fact(f"{text}, which polls messages, too{more}", event)]
    return []
