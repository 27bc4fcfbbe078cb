"""A send queue at the moment when it had no slot for a call: who held them, what came of it."""

from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.fixes import reposting
from rdmalab.doctor.subject import Subject
from rdmalab.doctor.work import attempts
from rdmalab.doctor.work.send import Send
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.records import Kind, Record, cqe_of, event_of, send_wqe_of
from rdmalab.spec.statuses import WCStatus

RULE = "queue-full"


class Backlog(NamedTuple):
    """Those who held the slots of a send queue, oldest first, when a call found none free."""

    qp: QueuePair
    event: int
    sends: list[Send]

    @property
    def all_under_way(self) -> bool:
        """None of them was done: no completion could have been polled."""
        return all(s.ending is None or s.ending.event > self.event for s in self.sends)

    @property
    def signaled(self) -> int:
        """How many of them will have a completion."""
        return sum(send.wqe is not None and send.wqe.signaled for send in self.sends)


def backlog(case: Case) -> Backlog | None:
    """Of the call that is asked about; None if it was not refused for a full send queue."""
    call, qp = case.call, case.qp
    if call is None or qp is None or call.refusal != RULE or call.verb not in attempts.SENDING:
        return None
    thing = Thing(Noun.QP, qp.node, qp.number)
    posted = [r for _, r in case.log.about(Kind.SEND_POSTED, thing) if event_of(r) <= call.event]
    sends = [
        Send(case.session, Subject.of_send(thing, send_wqe_of(r)), case.log)
        for r in posted[-qp.sq.capacity :]
    ]
    return Backlog(qp, call.event, sends) if sends else None


def answer(case: Case, found: Backlog) -> Record | None:
    """The receive of the same queue pair that was polled between their posts and the call."""
    since = found.sends[-1].posted
    polled = [
        record
        for _, record in case.log.of(Kind.CQE_POLLED, found.qp.node)
        if since is not None and since < event_of(record) < found.event
        and (cqe_of(record).qp_num, cqe_of(record).is_send) == (found.qp.number, False)
        and cqe_of(record).status is WCStatus.SUCCESS
    ]  # fmt: skip
    return polled[-1] if polled else None


def gets_on(case: Case, send: Send) -> bool:
    """Whether it ended well, or nothing keeps it from ending."""
    if send.ending is not None:
        return send.ending.status is WCStatus.SUCCESS
    back = case.log.about(Kind.WENT_BACK, send.subject.thing)
    again = any(event_of(record) > (send.posted or 0) for _, record in back)
    return not case.at_rest and not again


def after_polling(case: Case, found: Backlog) -> list[str]:
    """Let them end, poll their completions, and say the call once more, from bad_wr on."""
    qp = found.qp
    cq, again = case.world.nodes[qp.node].cqs.items.get(qp.send_cq), reposting.once_more(case, qp)
    if cq is None or not again:
        return []
    undone = [send for send in found.sends if send.ending is None]
    many = len(cq.cqes) + sum(s.wqe is not None and s.wqe.signaled for s in undone)
    poll = f"poll_cq {case.name(Noun.CQ, qp.node, cq.number)} num_entries={max(many, 1)}"
    wait = ["run"] if undone else []
    return [*wait, poll, *again]
