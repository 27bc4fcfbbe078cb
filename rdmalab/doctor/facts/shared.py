"""Shared receive queues at the peer of a send."""

from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.facts.partners import thing_of
from rdmalab.doctor.finding import Evidence, fact
from rdmalab.hca.qp import QueuePair, RecvQueue
from rdmalab.hca.srq import SharedReceiveQueue
from rdmalab.spec.records import Kind, event_of
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.statuses import WCStatus

RULE = "recv-shared"


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
    """A send that failed or was dropped because an SRQ had no receive."""
    send, qp = case.send, case.qp
    target = partners.target(case)
    if send is None or qp is None or target is None or not target.shares_receives:
        return None
    srq = shared_by(case, target)
    if srq is None:
        return None
    if not qp.transport.acknowledged:
        misses = case.unanswered.because("no-receive") if case.unanswered is not None else []
        return Refused(target, srq, [miss.event for miss in misses]) if misses else None
    if not stays_without_receive(case, srq):
        return None
    naks = [row.event for row in send.answers if row.syndrome is Syndrome.RNR_NAK]
    return Refused(target, srq, naks) if naks else None


def shared_by(case: Case, target: QueuePair) -> SharedReceiveQueue | None:
    """The SRQ of the target; of an XRC message the one that it names."""
    number = target.srq
    if not number and case.send is not None and case.send.wqe is not None:
        number = case.send.wqe.wr.remote_srqn
    return case.world.nodes[target.node].srqs.items.get(number)


def stays_without_receive(case: Case, srq: SharedReceiveQueue) -> bool:
    """Whether it ended with RNR_RETRY_EXC_ERR, or waits for an SRQ that is in error."""
    send = case.send
    if send is None:
        return False
    if send.ending is not None:
        return send.ending.status is WCStatus.RNR_RETRY_EXC_ERR
    return srq.dead


def lacks_receive(case: Case, peer: QueuePair) -> bool:
    """Whether a send got an RNR NAK, and the peer still has no receive for it."""
    send = case.send
    if send is None or not any(row.syndrome is Syndrome.RNR_NAK for row in send.answers):
        return False
    if send.ending is not None:
        return send.ending.status is WCStatus.RNR_RETRY_EXC_ERR
    return send.on_queue and not _source(case, peer).wqes


def _source(case: Case, peer: QueuePair) -> RecvQueue | SharedReceiveQueue:
    """Where a message of the send takes its receive from."""
    return shared_by(case, peer) or peer.source


def misplaced_receive(case: Case, peer: QueuePair) -> list[Evidence]:
    """The receive that was posted, or was to be posted, to another queue than the one it is of."""
    srq = shared_by(case, peer)
    own = Thing(Noun.SRQ, peer.node, srq.number) if srq else thing_of(peer)
    name = case.names.of(own) if srq else "its own receive queue"
    filled = [event_of(r) for _, r in case.log.about(
        Kind.SRQ_POSTED if srq else Kind.RECV_POSTED, own)]  # fmt: skip
    refused_ = [call for call in case.log.refused()
                if call.refusal == RULE and call.thing == (peer.node, peer.number)]  # fmt: skip
    takes = f"{case.qp_name(peer)} takes its receives from {name}"
    if refused_ and not filled:
        said_ = f"{refused_[0].verb} to {case.qp_name(peer)} was refused"
        return [fact(said_, refused_[0].event), fact(takes)]
    pd = srq.pd if srq else peer.pd
    for number, other in case.world.nodes[peer.node].srqs.items.items():
        posts = case.log.about(Kind.SRQ_POSTED, Thing(Noun.SRQ, peer.node, number))
        first = next((event_of(r) for _, r in posts if event_of(r) > max(filled, default=-1)), None)
        if other is not _source(case, peer) and other.wqes and other.pd == pd and first:
            got = f"{case.name(Noun.SRQ, peer.node, number)} got a receive"
            return [fact(got, first), fact(f"{takes}, which is empty")]
    return []
