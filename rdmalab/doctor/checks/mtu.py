"""Path MTUs that differ between the ends, or exceed a link."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import obstacles
from rdmalab.doctor.facts.bring_up import Ends, ends, set_at
from rdmalab.doctor.facts.obstacles import Obstacle
from rdmalab.doctor.finding import NA, Evidence, Finding, Fix, check, fact, fail, ok
from rdmalab.doctor.fixes import recovery, simple_fixes
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.records import Kind, event_of, packet_of, reason_of, roce_packet_of
from rdmalab.spec.states import MTU, Attr, QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt
from rdmalab.wire.packet import Packet, wire_length

# ------------------------------------------------------------ peer-mtu
# peer-mtu: the ends cut messages differently.
_REFUSED = {WCStatus.REM_INV_REQ_ERR, WCStatus.BAD_RESP_ERR}


@check("peer-mtu")
def peer_mtu(case: Case) -> Finding:
    """Whether packets had a length that the other end's path_mtu does not allow."""
    both = ends(case)
    if both is None or both.sender.path is None or both.receiver.path is None:
        return NA
    if both.sender.path.mtu == both.receiver.path.mtu:
        return ok(f"both ends segment by {both.sender.path.mtu}")
    seen = _refused(case, both)
    if not seen or not _concerns(case):
        return ok("its message fits into one packet at either path_mtu")
    since = [_peer_mtu_evidence(case, both, at) for at in (0, 1)]
    return fail(
        *since, *seen, cure=_peer_mtu_cure(case, both),
        since=max((e.event for e in since if e.event is not None), default=None),
    )  # fmt: skip


def _concerns(case: Case) -> bool:
    """A send that was refused or dropped so; a receive that waits for what vanished."""
    if case.send is not None:
        dropped = case.unanswered is not None and bool(case.unanswered.because("length"))
        ending = case.send.ending
        return dropped or (ending is not None and ending.status in _REFUSED)
    return case.receive is not None and case.receive.on_queue and case.asked


def _peer_mtu_evidence(case: Case, both: Ends, at: int) -> Evidence:
    qp = both[at]
    mtu = qp.path.mtu if qp.path is not None else 0
    return fact(f"{case.qp_name(qp)} segments by path_mtu={mtu}", set_at(case, qp, Attr.PATH_MTU))


def _refused(case: Case, both: Ends) -> list[Evidence]:
    """The newest packet that was no good because of its length."""
    send, (sender, receiver) = case.send, both
    if send is not None and send.ending is not None and _is_bad_response(case):
        return [fact(f"{case.qp_name(receiver)} answers with packets of another size",
                     send.ending.event)]  # fmt: skip
    for kind in (Kind.REQUEST_REFUSED, Kind.PACKET_DROPPED):
        for _, r in reversed(case.log.of(kind, receiver.node, receiver.number)):
            own = sender.path is not None and roce_packet_of(r).flow.src == sender.path.flow.src
            if own and reason_of(r) == "length":
                text = f"{case.qp_name(receiver)} refused {fmt.packet_words(packet_of(r))}"
                return [fact(text, event_of(r))]
    return []


def _is_bad_response(case: Case) -> bool:
    ending = case.send.ending if case.send is not None else None
    return ending is not None and ending.status is WCStatus.BAD_RESP_ERR


def _peer_mtu_cure(case: Case, both: Ends) -> Fix | None:
    """Both as small as the smaller one."""
    sender, receiver = both
    mtu = min(end.path.mtu for end in both if end.path is not None)
    same = {"path_mtu": str(mtu)}
    if case.send is not None and case.send.wqe is not None:
        return Fix(recovery.reconnected(case, sender, case.send.wqe.wr, same, same))
    return Fix(recovery.receives_reposted(case, receiver, same))


# ------------------------------------------------------------ link-mtu
# link-mtu: between the ports there is a link that does not let packets of path_mtu by.
@check("link-mtu")
def link_mtu(case: Case) -> Finding:
    """Of a send, whether its long packets are lost, each of them, and short ones are not."""
    send, qp = case.send, case.qp
    if send is None or qp is None or send.wqe is None:
        return NA
    found = obstacles.narrow_link(case)
    if found is None or qp.path is None:
        return ok("no link on the way drops its long packets only")
    set_at, short = _link_mtu_set_at(case, qp), _longest_that_came(case)
    frame = wire_length(found.packet(case))
    came = f"; the longest that came had {short:,}" if short else ""
    mtu = MTU(qp.attr.path_mtu).octets if qp.transport.connected and qp.attr.path_mtu else 0
    how = f"path_mtu={mtu} was given to {case.qp_name(qp)}" if mtu else f"{case.qp_name(qp)} is up"
    return obstacles.finding(
        case,
        fact(how, set_at),
        fact(f"{fmt.count(len(found.lost), 'time')} a frame of {frame:,} bytes was lost on the "
             f"way{came}", found.lost[0].event),
        fact(f"the last one: {found.lost[-1].label} with {found.lost[-1].length:,} bytes, "
             f"{found.lost[-1].reason}", found.lost[-1].event),
        cure=_link_mtu_cure(case, qp, found), since=set_at,
    )  # fmt: skip


def _link_mtu_set_at(case: Case, qp: QueuePair) -> int | None:
    """The event of its last step to RTR, which gave it the MTU."""
    moves = case.log.entered(Thing(Noun.QP, qp.node, qp.number), QPState.RTR)
    return max(moves, default=None)


def _longest_that_came(case: Case) -> int:
    """Bytes of the longest frame that any queue pair of these nodes received."""
    assert case.send is not None
    nodes = (case.node, *(row.target for row in case.send.transmissions[:1]))
    records = [r for node in nodes if node for _, r in case.log.of(Kind.PACKET_RECEIVED, node)]
    came = map(packet_of, records)
    return max((wire_length(packet) for packet in came if isinstance(packet, Packet)), default=0)


def _link_mtu_cure(case: Case, qp: QueuePair, found: Obstacle) -> Fix:
    """The largest path_mtu whose packets get through, on both ends."""
    room = obstacles.longest_payload(case, found)
    fitting = [mtu.octets for mtu in MTU if mtu.octets <= room]
    wqe = case.send.wqe if case.send is not None else None
    if not fitting or wqe is None or not qp.transport.connected:
        return Fix(program=f"send no more than {room:,} bytes at once, or widen the link")
    mtu = {"path_mtu": str(max(fitting))}
    lines = simple_fixes.bring_up_again(case, qp, mtu, mtu)
    return Fix([*lines, *simple_fixes.again(case, qp, wqe.wr, after_reset=True)])
