"""Shared receive queues at the peer of a send."""

from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case, QueuePair, SharedReceiveQueue
from rdmalab.doctor.facts import partners
from rdmalab.doctor.finding import Evidence, fact
from rdmalab.hca.qp import RecvQueue
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
        return self.srq.thing


def refused(case: Case) -> Refused | None:
    """A send that failed or was dropped because an SRQ had no receive."""
    send, qp = case.send, case.qp
    target = partners.target(case)
    if send is None or qp is None or target is None or not target.shares_receives:
        return None
    srq = case.shared_by(target)
    if srq is None:
        return None
    if not qp.transport.acknowledged:
        misses = case.unanswered.because("no-receive") if case.unanswered is not None else []
        return Refused(target, srq, [miss.event for miss in misses]) if misses else None
    if not stays_without_receive(case, srq):
        return None
    naks = [row.event for row in send.answers if row.syndrome is Syndrome.RNR_NAK]
    return Refused(target, srq, naks) if naks else None


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
    return send.on_queue and not source(case, peer).wqes


def source(case: Case, peer: QueuePair) -> RecvQueue | SharedReceiveQueue:
    """Where a message of the send takes its receive from."""
    return case.shared_by(peer) or peer.source


def misplaced_receive(case: Case, peer: QueuePair) -> list[Evidence]:
    """The receive that was posted, or was to be posted, to another queue than the one it is of."""
    srq = case.shared_by(peer)
    own = (srq or peer).thing
    name = case.names.of(own) if srq else "its own receive queue"
    filled = [event_of(r) for r in case.log.about(
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
        first = next((event_of(r) for r in posts if event_of(r) > max(filled, default=-1)), None)
        if other is not source(case, peer) and other.wqes and other.pd == pd and first:
            got = f"{case.name(Noun.SRQ, peer.node, number)} got a receive"
            return [fact(got, first), fact(f"{takes}, which is empty")]
    return []
