"""one-sided-connect: the peer takes somebody else for its peer."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.facts.unanswered_sends import Unheard
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, ok, said
from rdmalab.doctor.fixes.reconnecting import once_more, reconnect
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.records import A, Kind, event_of
from rdmalab.wire.packet import Packet
from rdmalab.world.relations import peer_node


def examine(case: Case) -> Finding:
    """Whether the requests arrive, and the answers go elsewhere."""
    unheard, qp, peer = case.unheard, case.qp, case.peer
    if unheard is None or qp is None or not qp.transport.acknowledged:
        return NA
    if peer is None or peer.path is None:
        return ok("there is no peer that could answer elsewhere")
    if partners.is_for(case.world, peer, qp):
        return ok(f"{case.qp_name(peer)} answers to {case.qp_name(qp)}")
    if partners.mistaken(case.world, qp) is not None or (
        unheard.misses and not unheard.because("wrong-source")
    ):
        return ok("its requests did not arrive")
    node = peer_node(case.world, peer)
    if not node:
        return ok(f"{case.qp_name(peer)} was told an address that nobody has")
    other = case.qp_name_at(node, peer.path.dest_qpn)
    told = partners.told(case, peer)
    return unheard.finding(
        said(f"{case.qp_name(qp)} sends to {case.qp_name(peer)}", partners.told(case, qp)),
        said(f"{case.qp_name(peer)} was told that its peer is {other}", told),
        *_answers(case, unheard, peer, other),
        cure=_cure(case, unheard, qp, peer), since=told,
    )  # fmt: skip


def _answers(case: Case, unheard: Unheard, peer: QueuePair, other: str) -> list[Evidence]:
    """Where what it said went."""
    dropped = unheard.because("wrong-source")
    if dropped:
        return [said(f"so {peer.node} drops what comes from anybody else", dropped[0].event)]
    posted = unheard.send.posted or 0
    sent = [
        event_of(r)
        for _, r in case.log.about(Kind.PACKET_SENT, partners.thing_of(peer))
        if event_of(r) > posted and isinstance(r[A], Packet) and r[A].aeth is not None
    ]
    return [said(f"its acknowledgements go to {other}", sent[0])] if sent else []


def _cure(case: Case, unheard: Unheard, qp: QueuePair, peer: QueuePair) -> Fix | None:
    if unheard.send.wqe is None:
        return None
    lines = reconnect(case, qp, peer)
    return Fix(lines + once_more(case, qp, unheard.send.wqe.wr, peer, revived=True))


CHECK = Check(
    52, "one-sided-connect", Section.PEER,
    question="Does the peer take another queue pair for its peer, and answer to that?",
    rule="an acknowledgement goes to the dest_qp_num of who sends it, whoever asked",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
