"""Queues that are full: which requests hold the slots, and what would give them back."""

from typing import NamedTuple

from rdmalab.doctor.case import Case, CompletionQueue, QueuePair, Send, SendWqe, Subject
from rdmalab.doctor.evidence import posting_calls
from rdmalab.grammar.trees import paths
from rdmalab.hca.slots import frees
from rdmalab.spec.profiles import SlotsFreed
from rdmalab.spec.records import Kind, Record, cqe_of, event_of, send_wqe_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.world.relations import find_qp

RULE = "queue-full"


class Slots(NamedTuple):
    """Of a send queue: the requests that hold a slot, oldest first; how many are carried out."""

    wqes: list[SendWqe]
    done: int

    @property
    def wasted(self) -> bool:
        """Whether all requests in it are executed and none of them is signaled."""
        return self.done == len(self.wqes) and not any(wqe.signaled for wqe in self.wqes)


def refused_as_full(case: Case) -> bool:
    """Whether the call that is asked about found no slot, on a device where polling frees them."""
    call = case.call
    if call is None or call.refusal != RULE or case.qp is None:
        return False
    return case.profile.slots_freed is SlotsFreed.POLLED


def waited_for(case: Case) -> QueuePair | None:
    """The full send queue for a slot of which the thread that is asked about waits."""
    if case.program is None or not case.at_rest:
        return None
    question = case.program.line.question
    asked = [path.steps for path in paths(question)] if question is not None else []
    for thing in (case.names.find(f"{s[0]}.{s[1]}") for s in asked if "sq" in s[2:3]):
        qp = find_qp(case.world, thing.node, thing.number) if thing is not None else None
        if qp is not None and len(slots(qp).wqes) >= qp.sq.capacity:
            return qp
    return None


def slots(qp: QueuePair) -> Slots:
    """Send requests that hold the slots of a send queue."""
    held = list(qp.sq.wqes.values())
    return Slots(held, sum(wqe.serial < qp.comp.serial for wqe in held))


def posted(case: Case, qp: QueuePair, wqe: SendWqe) -> int | None:
    """The event in which it was posted, if that is kept."""
    return case.log.event_of(Kind.SEND_POSTED, qp.thing, wqe.serial)


def unpolled(
    case: Case, qp: QueuePair, *, is_send: bool
) -> tuple[CompletionQueue | None, int, int]:
    """The CQ of a queue, the count of completions on it that free its slots, and the index of the
    last one + 1.
    """
    cq = case.world.nodes[qp.node].cqs.items.get(qp.send_cq if is_send else qp.recv_cq)
    places = [place for place, cqe in enumerate(cq.cqes if cq is not None else (), 1)
              if cqe.is_send is is_send and frees(qp, cqe)]  # fmt: skip
    return cq, len(places), places[-1] if places else 0


class Unread(NamedTuple):
    """A queue pair, and the one of its queues for the slots of which a thread waits."""

    qp: QueuePair
    is_send: bool


def unread(case: Case) -> Unread | None:
    """The queue whose slots a thread that is asked about waits for, if their completions are unread
    and none of its requests is left.
    """
    if case.program is None or not case.at_rest or case.program.line.question is None:
        return None
    for steps in (path.steps for path in paths(case.program.line.question)):
        thing = case.names.find(f"{steps[0]}.{steps[1]}") if len(steps) == 4 else None
        qp = find_qp(case.world, *thing[1:]) if thing is not None else None
        if qp is None or steps[2] not in ("sq", "rq") or steps[3] not in _COUNTERS:
            continue
        is_send = steps[2] == "sq"
        left = qp.comp.serial < qp.sq.posted if is_send else False
        if not left and unpolled(case, qp, is_send=is_send)[1]:
            return Unread(qp, is_send)
    return None


_COUNTERS = ("used", "free", "acked")


class Backlog(NamedTuple):
    """Those who held the slots of a send queue, oldest first, when a call found none free."""

    qp: QueuePair
    event: int
    sends: list[Send]

    @property
    def all_under_way(self) -> bool:
        """Whether no request had ended then, so that no completion could have been polled."""
        return all(s.ending is None or s.ending.event > self.event for s in self.sends)

    @property
    def own_list(self) -> bool:
        """Whether the list of the call itself took every slot: no poll before it could help."""
        return all(send.posted == self.event for send in self.sends)

    @property
    def signaled(self) -> int:
        """Number of them that will have a completion."""
        return sum(send.wqe is not None and send.wqe.signaled for send in self.sends)


def backlog(case: Case) -> Backlog | None:
    """Of the call that is asked about; None if it was not refused for a full send queue."""
    call, qp = case.call, case.qp
    if call is None or qp is None or call.refusal != RULE or call.verb not in posting_calls.SENDING:
        return None
    posted = [r for r in case.log.about(Kind.SEND_POSTED, qp.thing) if event_of(r) <= call.event]
    sends = [Send(case.session, Subject.of_send(qp.thing, send_wqe_of(r)), case.log)
             for r in posted[-qp.sq.capacity :]]  # fmt: skip
    return Backlog(qp, call.event, sends) if sends else None


def answer(case: Case, found: Backlog) -> Record | None:
    """The receive of the same queue pair that was polled between their posts and the call."""
    since = found.sends[-1].posted
    polled = [
        record
        for record in case.log.of(Kind.CQE_POLLED, found.qp.node)
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
    again = any(event_of(record) > (send.posted or 0) for record in back)
    return not case.at_rest and not again
