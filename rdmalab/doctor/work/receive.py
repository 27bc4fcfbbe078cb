"""The facts of a receive: when it was posted, which message took it, how it ended."""

from functools import cached_property

from rdmalab.command import Noun
from rdmalab.doctor.log import Log
from rdmalab.doctor.subject import Subject
from rdmalab.doctor.work.send import Ending, WorkRequest
from rdmalab.hca.qp import QueuePair, RecvQueue, SharedReceiveQueue
from rdmalab.hca.wr import RecvWqe
from rdmalab.session.session import Session
from rdmalab.spec.records import Kind, Record, object_of, recv_wqe_of


class Receive(WorkRequest):
    """One receive work request, on a queue pair's own queue or on a shared one.

    qp: the queue pair whose queue it is on, or that took it; queue: where it waits.
    """

    def __init__(self, session: Session, subject: Subject, log: Log) -> None:
        super().__init__(session, subject, log)
        self.shared = subject.thing.noun is Noun.SRQ

    @cached_property
    def queue(self) -> RecvQueue | SharedReceiveQueue | None:
        """Where it was posted, if that still is there."""
        thing = self.subject.thing
        table = self.session.world.nodes[thing.node].tables[thing.noun].items
        found = table.get(thing.number)
        return found if self.shared or found is None else found.rq

    @cached_property
    def qp(self) -> QueuePair | None:
        """Whose it is; of a shared one, who took it."""
        qps = self.session.world.nodes[self.subject.thing.node].qps.items
        if not self.shared:
            return qps.get(self.subject.thing.number)
        return qps.get(object_of(self.taking)) if self.taking is not None else None

    @cached_property
    def wqe(self) -> RecvWqe | None:
        """What it became on the queue."""
        waiting = self.queue.wqes if self.queue is not None else ()
        found = next((w for w in waiting if w.serial == self.subject.serial), None)
        return found or (recv_wqe_of(self.posting) if self.posting is not None else None)

    @property
    def on_queue(self) -> bool:
        """No message has taken it."""
        waiting = self.queue.wqes if self.queue is not None else ()
        return any(w.serial == self.subject.serial for w in waiting)

    @cached_property
    def taking(self) -> Record | None:
        """The record of the message that took it; its object is the queue pair."""
        thing, serial = self.subject.thing, self.subject.serial
        for record in reversed(self.log.of(Kind.RECV_TAKEN, thing.node)):
            wqe = recv_wqe_of(record)
            own = wqe.srq == thing.number if self.shared else object_of(record) == thing.number
            if own and wqe.serial == serial and bool(wqe.srq) is self.shared:
                return record
        return None

    @property
    def ending(self) -> Ending | None:
        """How it was completed."""
        place = self.added or self.overrun
        return Ending(place.cqe.status, place.event) if place is not None else None
