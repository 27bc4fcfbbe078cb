"""peer-type: the two ends of a connection are of different types."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, ok, said
from rdmalab.doctor.fixes.reconnecting import create_like, join, once_more
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import SendWR
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Whether the peer dropped it because its opcode is of another type."""
    unheard, qp = case.unheard, case.qp
    if unheard is None or qp is None or unheard.send.wqe is None:
        return NA
    peer, misses = partners.target(case), unheard.because("wrong-type")
    if not misses or peer is None or partners.mistaken(case.world, qp) is not None:
        return ok("the other end speaks the same transport")
    since = partners.told(case, qp) if qp.transport.connected else unheard.send.posted
    label = misses[-1].packet.opcode_row.label
    return unheard.finding(
        said(f"{case.qp_name(qp)} is {qp.qp_type.name}, {case.qp_name(peer)} is "
             f"{peer.qp_type.name}", since),
        said(f"{peer.node} dropped {label} of {qp.qp_type.name}: "
             f"{fmt.count(len(misses), 'packet')}", misses[-1].event),
        cure=_cure(case, qp, peer, unheard.send.wqe.wr), since=since,
    )  # fmt: skip


def _cure(case: Case, qp: QueuePair, peer: QueuePair, wr: SendWR) -> Fix | None:
    """In the place of the peer one of the right type."""
    if not qp.transport.connected or qp.transport.names_srq:
        return Fix(program="make both queue pairs with the same qp_type")
    name = case.qp_name(peer)
    lines = [
        f"destroy_qp {name}",
        create_like(case, peer, name, qp_type=qp.qp_type.name),
        *join(case, qp, name),
        *once_more(case, qp, wr, peer, revived=True),
    ]
    return Fix(lines)


CHECK = Check(
    48, "peer-type", Section.PEER,
    question="Are the two ends of different types, RC and UC for example?",
    rule="the first bits of an opcode are the transport: a queue pair of another type drops it",
    source="ibv_create_qp(3)", examine=examine,
)  # fmt: skip
