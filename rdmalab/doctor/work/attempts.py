"""Calls that hand over work requests and are refused: what was in them, how much was posted."""

from dataclasses import dataclass
from typing import Any

from rdmalab.command import CallArguments, Invocation, NotUnderstood, Noun, Refused
from rdmalab.doctor.call import Call
from rdmalab.doctor.log import Log
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.grammar.format import render
from rdmalab.hca.qp import QueuePair, SharedReceiveQueue
from rdmalab.session.session import Session
from rdmalab.spec.records import Kind, kind_of, node_of, object_of
from rdmalab.views import fmt
from rdmalab.world.world import World

_POSTED = {
    "post_send": Kind.SEND_POSTED,
    "post_recv": Kind.RECV_POSTED,
    "post_srq_recv": Kind.SRQ_POSTED,
}
SENDING = ("post_send", "bind_mw", "wr_complete")
RECEIVING = ("post_recv", "post_srq_recv")
# Not for a value in the request: each one after the bad_wr would have been refused, too.
OF_THE_QUEUE = ("send-state", "recv-state", "queue-full", "recv-shared", "srq-error")


@dataclass(slots=True)
class Attempt:
    """A refused call that hands over work requests.

    wrs: each as it was given, key → value. posted: how many of them are on the queue all the same;
    the one after them is the bad_wr.
    """

    call: Call
    wrs: list[CallArguments]
    posted: int

    @property
    def left(self) -> list[CallArguments]:
        """The bad_wr, and all after it."""
        return self.wrs[self.posted :]

    def holds(self, wr_id: int) -> bool:
        """Whether this one was handed over, and not posted."""
        return any(id_of(wr) == wr_id for wr in self.left)

    def is_bad(self, wr_id: int) -> bool:
        """Whether this one is what the call was refused for."""
        return id_of(self.left[0]) == wr_id if self.left else False


def id_of(wr: CallArguments) -> int:
    """The given wr_id; 0 if none was given."""
    return int(wr.get("wr_id", 0))


def attempt(log: Log, call: Call) -> Attempt | None:
    """The work requests of a refused post; None for other calls, or without its arguments."""
    kind = _POSTED.get(call.verb)
    if kind is None or call.invocation is None or not call.refusal:
        return None
    said = call.invocation.arguments.get("wr")
    posted = [
        r
        for r in log.within(call.event)
        if kind_of(r) is kind and (node_of(r), object_of(r)) == call.thing
    ]
    return Attempt(call, list(said or []), len(posted))


def latest(log: Log, subject: Subject) -> Attempt | None:
    """The newest refused call that a work request, which is on no queue, was handed over in."""
    if subject.serial >= 0 or subject.sort not in (Sort.SEND, Sort.RECV):
        return None
    verbs = SENDING if subject.sort is Sort.SEND else RECEIVING
    for call in reversed(log.refused()):
        if call.thing == subject.thing[1:] and call.verb in verbs and _is_queue(call, subject):
            found = attempt(log, call)
            if found is not None and found.holds(subject.wr_id):
                return found
    return None


def _is_queue(call: Call, subject: Subject) -> bool:
    """A queue pair and a shared receive queue may have the same number."""
    return (call.verb == "post_srq_recv") is (subject.thing.noun is Noun.SRQ)


def of_call(log: Log, call: Call | None) -> Attempt | None:
    """What a call handed over."""
    return attempt(log, call) if call is not None else None


def queue_of(world: World, call: Call | None) -> QueuePair | SharedReceiveQueue | None:
    """The queue pair, or the SRQ, that a call wanted to post to."""
    if call is None or call.verb not in (*SENDING, *RECEIVING):
        return None
    node, number = call.thing
    if node not in world.nodes:  # post_send NULL
        return None
    noun = Noun.SRQ if call.verb == "post_srq_recv" else Noun.QP
    found: QueuePair | SharedReceiveQueue | None
    found = world.nodes[node].tables[noun].items.get(number)
    return found


def said_again(session: Session, attempt_: Attempt, wrs: list[CallArguments]) -> str:
    """The call once more, with these work requests."""
    call = attempt_.call
    assert call.invocation is not None
    arguments = {**call.invocation.arguments, "wr": wrs}
    arguments.pop("bad_wr", None)
    return render(Invocation(call.verb, arguments), session.vocabulary[call.verb])


def posted_text(attempt_: Attempt) -> str:
    """`1 of 3 work requests was posted; wr 22 was not`."""
    many, left = len(attempt_.wrs), attempt_.left
    was = "was" if attempt_.posted == 1 else "were"
    names = " ".join(fmt.wr(id_of(wr)) for wr in left)
    if many == 1:
        return f"{names} was not posted"
    return f"{attempt_.posted} of {many} {was} posted, not {names}"


def bound(session: Session, attempt_: Attempt, wrs: list[CallArguments]) -> list[Any]:
    """What the device would be handed; nothing where a name in them means nothing any more."""
    command = session.vocabulary[attempt_.call.verb]
    kind = next(p.kind for p in command.parameters if p.name == "wr")
    try:
        return list(session.binder.value(kind, wrs))
    except (NotUnderstood, Refused):
        return []
