"""A case: the world at one moment, its log, and the one thing that is asked about.

Checks read it; it decides nothing. It is used for one consultation. Who reads a case imports the
types of what it hands over from here.
"""

from functools import cached_property

from rdmalab.command import Noun, Thing
from rdmalab.doctor.evidence.content import Content as Content
from rdmalab.doctor.evidence.log import Call as Call
from rdmalab.doctor.evidence.log import Log as Log
from rdmalab.doctor.evidence.messages import Message as Message
from rdmalab.doctor.evidence.messages import Unanswered as Unanswered
from rdmalab.doctor.evidence.messages import arrived_with, unanswered
from rdmalab.doctor.evidence.subject import Sort as Sort
from rdmalab.doctor.evidence.subject import Subject as Subject
from rdmalab.doctor.evidence.work_requests import Ending as Ending
from rdmalab.doctor.evidence.work_requests import Receive as Receive
from rdmalab.doctor.evidence.work_requests import Send as Send
from rdmalab.doctor.moments.future import Future, look_ahead
from rdmalab.hca.cq import CompletionQueue as CompletionQueue
from rdmalab.hca.device import Hca
from rdmalab.hca.qp import Path as Path
from rdmalab.hca.qp import QueuePair as QueuePair
from rdmalab.hca.qp import SharedReceiveQueue as SharedReceiveQueue
from rdmalab.hca.wr import RecvWqe as RecvWqe
from rdmalab.hca.wr import SendWqe as SendWqe
from rdmalab.session.names import Names
from rdmalab.session.session import Session as Session
from rdmalab.spec.profiles import Profile
from rdmalab.spec.timers import INFINITE_RETRIES
from rdmalab.views import fmt
from rdmalab.world.programs import Program as Program
from rdmalab.world.relations import exists, find_qp, peer_of
from rdmalab.world.world import World


class Case:
    """One subject in one world.

    asked: the user named the subject. Otherwise the doctor examines everything, and work that can
    still complete, or that the next command can complete, is not reported.
    arrival: the question is about the arrival of the message at the peer, not about the completion.
    """

    def __init__(
        self, session: Session, subject: Subject, log: Log, *, asked: bool, arrival: bool = False
    ) -> None:
        self.session = session
        self.subject = subject
        self.log = log
        self.asked = asked
        self.arrival = arrival

    # ------------------------------------------------------------------ the world
    @property
    def world(self) -> World:
        return self.session.world

    @property
    def names(self) -> Names:
        return self.session.names

    @property
    def node(self) -> str:
        """Whose trouble it is."""
        return self.subject.thing.node

    @property
    def hca(self) -> Hca:
        return self.world.nodes[self.node]

    @property
    def profile(self) -> Profile:
        return self.hca.profile

    @property
    def at_rest(self) -> bool:
        """Whether nothing changes without another call: threads that poll in vain do not count."""
        return self.log.rests(self.queue_of_subject)

    @property
    def queue_of_subject(self) -> Thing:
        """The thing of the subject; of a call its queue pair, if it has one."""
        is_call = self.subject.sort is Sort.CALL and self.qp is not None
        return Thing(Noun.QP, *self.subject.thing[1:]) if is_call else self.subject.thing

    @property
    def has_ended(self) -> bool:
        """Whether it is a work request that has ended, with or without an error."""
        return self.ending is not None

    @property
    def needs_new_call(self) -> bool:
        """Whether a run on a branch has shown already that it needs a new call to complete."""
        return self.has_future and not self.future.settled

    @property
    def has_future(self) -> bool:
        """Whether a run on a branch has been made already."""
        return "future" in vars(self)

    @cached_property
    def will_succeed(self) -> bool:
        """Whether it succeeds without a new call. Runs a branch, so ask this last."""
        return not self.at_rest and self.future.settled and self.future.outcome.good

    def exists(self, thing: Thing) -> bool:
        """Whether a thing exists, and has not been destroyed."""
        return exists(self.world, thing)

    def name(self, noun: Noun, node: str, number: int) -> str:
        """`A.qp0`, or node, kind and number of a thing without a name."""
        return self.names.of(Thing(noun, node, number))

    def qp_name(self, qp: QueuePair) -> str:
        """The name of a queue pair, `A.qp0`."""
        return self.name(Noun.QP, qp.node, qp.number)

    def qp_name_at(self, node: str, number: int) -> str:
        """A queue pair by node and number, whether it exists or not."""
        return fmt.qp_name(self.names, node, number)

    def shared_by(self, target: QueuePair) -> SharedReceiveQueue | None:
        """The SRQ of a queue pair; of XRC that of the receive, or that the message names."""
        number, thing = target.srq, self.subject.thing
        if not number and thing.noun is Noun.SRQ and thing.node == target.node:
            number = thing.number
        if not number and self.send is not None and self.send.wqe is not None:
            number = self.send.wqe.wr.remote_srqn
        return self.world.nodes[target.node].srqs.items.get(number)

    @property
    def ended(self) -> int:
        """The event in which the work ended; of what has not, the present one."""
        return self.ending.event if self.ending is not None else self.world.event

    # ------------------------------------------------------------------ the subject
    @property
    def case(self) -> "Case":
        """Itself, for checks that ask it for more."""
        return self

    @property
    def work(self) -> Send | Receive | None:
        """The facts of a send or a receive; None if something else is asked about."""
        return self.send or self.receive

    @property
    def ending(self) -> Ending | None:
        """The end of the work; None where it has not ended."""
        return self.work.ending if self.work is not None else None

    @property
    def wqe(self) -> SendWqe | None:
        """The entry of a send on its queue; None if it is not known."""
        return self.send.wqe if self.send is not None else None

    @cached_property
    def send(self) -> Send | None:
        """The facts of a send; None if something else is asked about."""
        return Send(self.session, self.subject, self.log) if self._is(Sort.SEND) else None

    @cached_property
    def unanswered(self) -> Unanswered | None:
        """The fate of the packets of a send that is not known to have arrived."""
        if self.send is None:
            return None
        found = unanswered(self.session, self.send, asked=self.asked)
        if found is not None and found.misses and not found.final and self._retries_forever:
            found.final = self.future.repeats
        return found

    @property
    def _retries_forever(self) -> bool:
        """Whether the device sets no limit to the retransmissions of its queue pair."""
        retry_cnt = self.qp.attr.retry_cnt if self.qp is not None else None
        return self.profile.retry_cnt_7_is_infinite and retry_cnt == INFINITE_RETRIES

    @cached_property
    def receive(self) -> Receive | None:
        """The facts of a receive."""
        return Receive(self.session, self.subject, self.log) if self._is(Sort.RECV) else None

    @cached_property
    def call(self) -> Call | None:
        """The call that is asked about."""
        if not self._is(Sort.CALL):
            return None
        thing, event = self.subject.thing, self.subject.event
        found = [c for c in self.log.refused() if c.event == event and c.thing[0] == thing.node]
        return found[-1] if found else None

    @cached_property
    def program(self) -> Program | None:
        """The program that is asked about."""
        living = self._is(Sort.PROGRAM) and exists(self.world, self.subject.thing)
        return self.world.find(self.subject.thing, Program) if living else None

    @cached_property
    def cq(self) -> CompletionQueue | None:
        """The CQ that is asked about."""
        living = self._is(Sort.CQ) and exists(self.world, self.subject.thing)
        return self.world.find(self.subject.thing, CompletionQueue) if living else None

    @cached_property
    def content(self) -> Content | None:
        """The bytes that are asked about."""
        living = self._is(Sort.BYTES) and exists(self.world, self.subject.thing)
        return Content(self.session, self.subject, self.log) if living else None

    @cached_property
    def qp(self) -> QueuePair | None:
        """The queue pair it is about: that of the send, of the receive, or of the call."""
        if self._is(Sort.SEND, Sort.RECV, Sort.QP) and self.subject.thing.noun is Noun.QP:
            return find_qp(self.world, self.subject.thing.node, self.subject.thing.number)
        if self.receive is not None:
            return self.receive.qp
        if self.call is not None:
            return find_qp(self.world, *self.call.thing)
        return None

    @property
    def path(self) -> Path | None:
        """The path of that queue pair; None while it has none."""
        return self.qp.path if self.qp is not None else None

    @property
    def entry(self) -> SendWqe | RecvWqe | None:
        """The entry of a send or a receive on its queue; None if it is not known."""
        return self.work.wqe if self.work is not None else None

    @cached_property
    def message(self) -> Message | None:
        """The message that took the receive which is asked about."""
        taking = self.receive.taking if self.receive is not None else None
        return arrived_with(self.log, taking) if taking is not None else None

    @cached_property
    def peer(self) -> QueuePair | None:
        """The queue pair at the other end of a connection, as `qp` believes it to be."""
        return peer_of(self.world, self.qp) if self.qp is not None else None

    @cached_property
    def future(self) -> Future:
        """The outcome of the subject without a new call, from a run on a branch of the session."""
        return look_ahead(self.session, self.subject, log=self.log)

    def _is(self, *sorts: Sort) -> bool:
        return self.subject.sort in sorts
