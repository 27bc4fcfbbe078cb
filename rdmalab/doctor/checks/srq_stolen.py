"""srq-stolen: a shared receive went to another queue pair than the one it was posted for."""

from rdmalab.command import Noun
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.facts.receive import Receive
from rdmalab.doctor.facts.undelivered import users_of
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.records import B, Kind, event_of
from rdmalab.world.relations import peer_of


def examine(case: Case) -> Finding:
    """Whether one queue pair took it, and then another one of the SRQ found none."""
    receive, taker = case.receive, case.qp
    if receive is None or not receive.shared or not case.asked or receive.taking is None:
        return NA
    event = event_of(receive.taking)
    left_out = [
        (qp, since)
        for qp in users_of(case, case.subject.thing)
        if qp is not taker and (since := _refused(case, qp, event)) is not None
    ]
    if taker is None or not left_out or receive.queue is None or receive.queue.wqes:
        return ok("no other queue pair went without")
    qp, since = left_out[0]
    name = case.name(Noun.SRQ, qp.node, case.subject.thing.number)
    return fail(
        said(f"it was posted to {name}, for whoever comes first", receive.posted),
        said(f"{case.qp_name(taker)} took it", event),
        said(f"then a message came to {case.qp_name(qp)}, and {name} was empty", since),
        cure=_cure(case, receive, qp), since=event,
    )  # fmt: skip


def _refused(case: Case, qp: QueuePair, since: int) -> int | None:
    """The event in which it had no receive for a message that still waits."""
    found = [
        event_of(r)
        for kind in (Kind.REQUEST_REFUSED, Kind.PACKET_DROPPED)
        for _, r in case.log.about(kind, partners.thing_of(qp))
        if r[B] == "no-receive" and event_of(r) > since
    ]
    taken = case.log.about(Kind.RECV_TAKEN, partners.thing_of(qp))
    return found[0] if found and not any(event_of(r) > found[-1] for _, r in taken) else None


def _cure(case: Case, receive: Receive, qp: QueuePair) -> Fix | None:
    """As many receives as messages can come at once."""
    wqe, peer = receive.wqe, peer_of(case.world, qp)
    if wqe is None or (peer is not None and peer.comp.serial == peer.sq.posted):
        return None
    return Fix([simple_fixes.post_recv(case, qp, wqe.wr)])


CHECK = Check(
    60, "srq-stolen", Section.RECEIVE,
    question="Did another queue pair take the receive from the shared queue?",
    rule="a receive on an SRQ goes to the first message, whichever queue pair that comes to",
    source="ibv_post_srq_recv(3)", examine=examine,
)  # fmt: skip
