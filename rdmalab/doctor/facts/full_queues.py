"""Queues that are full: which requests hold the slots, and what would give them back."""

from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.grammar.trees import paths
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wqe import SendWqe
from rdmalab.spec.profiles import SlotsFreed
from rdmalab.spec.records import Kind, event_of, send_wqe_of
from rdmalab.world.relations import find_qp

RULE = "queue-full"


class Slots(NamedTuple):
    """Of a send queue: the requests that hold a slot, oldest first; how many are carried out."""

    wqes: list[SendWqe]
    done: int

    @property
    def wasted(self) -> bool:
        """All are carried out, and none of them will ever have a completion to poll."""
        return self.done == len(self.wqes) and not any(wqe.signaled for wqe in self.wqes)


def refused_as_full(case: Case) -> bool:
    """Whether the call that is asked about found no slot, on a device where polling frees them."""
    call = case.call
    late = case.profile.slots_freed is SlotsFreed.POLLED
    return call is not None and call.refusal == RULE and late and case.qp is not None


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
    """Who holds the slots of its send queue."""
    held = list(qp.sq.wqes.values())
    return Slots(held, sum(wqe.serial < qp.comp.serial for wqe in held))


def posted(case: Case, qp: QueuePair, wqe: SendWqe) -> int | None:
    """The event in which it was posted, if that is kept."""
    thing = Thing(Noun.QP, qp.node, qp.number)
    found = case.log.about(Kind.SEND_POSTED, thing)
    return next((event_of(r) for _, r in found if send_wqe_of(r).serial == wqe.serial), None)


def unpolled(
    case: Case, qp: QueuePair, *, is_send: bool
) -> tuple[CompletionQueue | None, int, int]:
    """The CQ of a queue, the count of its completions on it, and the index of the last one + 1."""
    cq = case.world.nodes[qp.node].cqs.items.get(qp.send_cq if is_send else qp.recv_cq)
    places = [
        place
        for place, cqe in enumerate(cq.cqes if cq is not None else (), 1)
        if cqe.qp_num == qp.number and cqe.is_send is is_send
    ]
    return cq, len(places), places[-1] if places else 0
