"""link-mtu: between the ports there is a link that does not let packets of path_mtu by."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import obstacles
from rdmalab.doctor.facts.obstacles import Obstacle
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, ok, said
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.records import A, B, Kind, event_of
from rdmalab.spec.states import MTU, QPState
from rdmalab.views import fmt
from rdmalab.wire.packet import Packet, wire_length


def examine(case: Case) -> Finding:
    """Of a send, whether its long packets are lost, each of them, and short ones are not."""
    send, qp = case.send, case.qp
    if send is None or qp is None or send.wqe is None:
        return NA
    found = obstacles.narrow_link(case)
    if found is None or qp.path is None:
        return ok("no link on the way takes its long packets")
    told, short = _told(case, qp), _longest_that_came(case)
    frame = wire_length(found.packet(case))
    came = f"; the longest that came had {short:,}" if short else ""
    mtu = MTU(qp.attr.path_mtu).octets if qp.transport.connected and qp.attr.path_mtu else 0
    how = f"path_mtu={mtu} was given to {case.qp_name(qp)}" if mtu else f"{case.qp_name(qp)} is up"
    return obstacles.finding(
        case,
        said(how, told),
        said(f"{fmt.count(len(found.lost), 'time')} a frame of {frame:,} bytes was lost on the "
             f"way{came}", found.lost[0].event),
        said(f"the last one: {found.lost[-1].label} with {found.lost[-1].length:,} bytes, "
             f"{found.lost[-1].reason}", found.lost[-1].event),
        cure=_cure(case, qp, found), since=told,
    )  # fmt: skip


def _told(case: Case, qp: QueuePair) -> int | None:
    """The event of its last step to RTR, which gave it the MTU."""
    moves = case.log.about(Kind.STATE_CHANGED, Thing(Noun.QP, qp.node, qp.number))
    return next((event_of(r) for _, r in reversed(moves) if r[B] is QPState.RTR), None)


def _longest_that_came(case: Case) -> int:
    """Bytes of the longest frame that any queue pair of these nodes received."""
    assert case.send is not None
    nodes = (case.node, *(row.target for row in case.send.transmissions[:1]))
    came = [r[A] for node in nodes if node for _, r in case.log.of(Kind.PACKET_RECEIVED, node)]
    return max((wire_length(packet) for packet in came if isinstance(packet, Packet)), default=0)


def _cure(case: Case, qp: QueuePair, found: Obstacle) -> Fix:
    """The largest path_mtu whose packets get through, on both ends."""
    room = obstacles.longest_payload(case, found)
    fitting = [mtu.octets for mtu in MTU if mtu.octets <= room]
    wqe = case.send.wqe if case.send is not None else None
    if not fitting or wqe is None or not qp.transport.connected:
        return Fix(program=f"send no more than {room:,} bytes at once, or widen the link")
    mtu = {"path_mtu": str(max(fitting))}
    lines = simple_fixes.revive(case, qp, mtu, mtu)
    return Fix([*lines, *simple_fixes.again(case, qp, wqe.wr, revived=True)])


CHECK = Check(
    98, "link-mtu", Section.PROGRESS,
    question="Is each long packet lost on the way, and no short one?",
    rule="path_mtu must fit every link on the way, not only both ports: 1024 for Ethernet of 1500",
    source="tf-9432", examine=examine,
)  # fmt: skip
