"""Shared receive queues, as those see them who send to them."""

from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.srq import SharedReceiveQueue
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.statuses import WCStatus


class Refused(NamedTuple):
    """A send that found no receive on an SRQ. events: of the RNR NAKs, or of the drops."""

    target: QueuePair
    srq: SharedReceiveQueue
    events: list[int]

    @property
    def thing(self) -> Thing:
        """The SRQ."""
        return Thing(Noun.SRQ, self.srq.node, self.srq.number)


def refused(case: Case) -> Refused | None:
    """Of a send that was given up, or is lost, for want of a receive of an SRQ."""
    send, qp = case.send, case.qp
    target = partners.target(case)
    if send is None or qp is None or target is None or not target.shares_receives:
        return None
    srq = shared_by(case, target)
    if srq is None:
        return None
    if not qp.transport.acknowledged:
        misses = case.unheard.because("no-receive") if case.unheard is not None else []
        return Refused(target, srq, [miss.event for miss in misses]) if misses else None
    if not is_in_vain(case, srq):
        return None
    naks = [row.event for row in send.answers if row.syndrome is Syndrome.RNR_NAK]
    return Refused(target, srq, naks) if naks else None


def shared_by(case: Case, target: QueuePair) -> SharedReceiveQueue | None:
    """The SRQ of the target; of an XRC message the one that it names."""
    number = target.srq
    if not number and case.send is not None and case.send.wqe is not None:
        number = case.send.wqe.wr.remote_srqn
    return case.world.nodes[target.node].srqs.items.get(number)


def is_in_vain(case: Case, srq: SharedReceiveQueue) -> bool:
    """Given up, or told to wait by a queue that will never have a receive."""
    send = case.send
    if send is None:
        return False
    if send.ending is not None:
        return send.ending.status is WCStatus.RNR_RETRY_EXC_ERR
    return srq.dead
