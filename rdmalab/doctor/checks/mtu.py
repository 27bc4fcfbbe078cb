"""Attributes in which two ends differ: path MTU, PSN."""

from collections.abc import Callable

from rdmalab.doctor.facts.bring_up import Ends, began_alone, ends, psn_gap, unequal
from rdmalab.doctor.kit import *
from rdmalab.hca import requester
from rdmalab.hca.psn import diff
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.states import MTU
from rdmalab.wire.packet import wire_length

_REFUSED = {WCStatus.REM_INV_REQ_ERR, WCStatus.BAD_RESP_ERR}


@check("peer-mtu", both=ends)
def peer_mtu(case: Case, both: Ends) -> Finding:
    """Check whether packets had a length that the other end's path_mtu does not allow."""
    if both.sender.path is None or both.receiver.path is None:
        return NA
    if both.sender.path.mtu == both.receiver.path.mtu:
        return ok(f"both ends segment by {both.sender.path.mtu}")
    seen = _refused(case, both)
    if not seen or not _concerns(case):
        return ok("its message fits into one packet at either path_mtu")
    given = [(Attr.PATH_MTU, f"path_mtu={end.path.mtu}") for end in both if end.path is not None]
    since = unequal(case, both, given)
    return fail(*since, *seen, cure=_peer_mtu_cure(case, both), since=since[0].event)


def _concerns(case: Case) -> bool:
    """Whether the send failed for its length, or the receive waits for such a message."""
    if case.send is not None:
        dropped = case.unanswered is not None and bool(case.unanswered.because("length"))
        return dropped or (case.ending is not None and case.ending.status in _REFUSED)
    return case.receive is not None and case.receive.on_queue and case.asked


def _refused(case: Case, both: Ends) -> list[Evidence]:
    """The newest packet that was no good because of its length."""
    sender, receiver = both
    if case.ending is not None and case.ending.status is WCStatus.BAD_RESP_ERR:
        text = f"{case.qp_name(receiver)} answers with packets of another size"
        return [fact(text, case.ending.event)]
    for kind in (Kind.REQUEST_REFUSED, Kind.PACKET_DROPPED):
        for r in reversed(case.log.of(kind, receiver.node, receiver.number)):
            own = sender.path is not None and roce_packet_of(r).flow.src == sender.path.flow.src
            if own and reason_of(r) == "length":
                text = f"{case.qp_name(receiver)} refused {fmt.packet_words(packet_of(r))}"
                return [fact(text, event_of(r))]
    return []


def _peer_mtu_cure(case: Case, both: Ends) -> Fix | None:
    """Both as small as the smaller one."""
    sender, receiver = both
    mtu = min(end.path.mtu for end in both if end.path is not None)
    same = {"path_mtu": str(mtu)}
    if case.wqe is not None:
        return Fix(recovery.reconnected(case, sender, case.wqe.wr, same, same))
    return Fix(recovery.receives_reposted(case, receiver, same))


@check("link-mtu")
def link_mtu(case: Case, send: Send, qp: QueuePair, wqe: SendWqe) -> Finding:
    """Check whether only the long packets of a send do not leave, or are lost."""
    if send.on_queue and qp.path is not None and _is_stuck(case, qp, wqe):
        set_at, limit = receivers.peer_set_at(case, qp), case.profile.caps.active_mtu
        return blocking(
            case,
            fact(f"path_mtu={qp.path.mtu} of {case.qp_name(qp)} is above active_mtu={limit} of the "
                 "port", set_at),
            fact("this device sends no packet that is longer"),
            cure=_fitting(case, qp, wqe, limit), since=set_at,
        )  # fmt: skip
    found = delivery.narrow_link(case)
    if found is None or qp.path is None:
        return ok("no link on the way drops its long packets only")
    set_at, short = receivers.peer_set_at(case, qp), _longest_that_came(case, send)
    frame = wire_length(found.packet(case))
    came = f"; the longest that came had {short:,}" if short else ""
    mtu = MTU.in_bytes(qp.attr.path_mtu or 0) if qp.transport.connected else 0
    given = fact(f"path_mtu={mtu} was given to {case.qp_name(qp)}", set_at)
    return delivery.finding(
        case,
        *([given] if mtu else []),
        fact(f"{fmt.count(len(found.lost), 'time')} a frame of {frame:,} bytes was lost on the "
             f"way{came}", found.lost[0].event),
        fact(f"the last one: {found.lost[-1].label} with {found.lost[-1].length:,} bytes, "
             f"{found.lost[-1].reason}", found.lost[-1].event),
        cure=_fitting(case, qp, wqe, delivery.longest_payload(case, found)), since=set_at,
    )  # fmt: skip


def _longest_that_came(case: Case, send: Send) -> int:
    """Bytes of the longest frame that any queue pair of these nodes received."""
    nodes = (case.node, *(row.target for row in send.transmissions[:1]))
    records = [r for node in nodes if node for r in case.log.of(Kind.PACKET_RECEIVED, node)]
    came = map(packet_of, records)
    return max((wire_length(packet) for packet in came if isinstance(packet, Packet)), default=0)


def _is_stuck(case: Case, qp: QueuePair, wqe: SendWqe) -> bool:
    stalls = case.profile.stalls_above_port_mtu and wqe.serial == qp.req.serial
    return stalls and requester.is_stuck(case.hca, qp, wqe)


def _fitting(case: Case, qp: QueuePair, wqe: SendWqe, room: int) -> Fix:
    """The largest path_mtu that is not above `room`, on both ends, and the work once more."""
    fitting = [mtu.octets for mtu in MTU if mtu.octets <= room]
    if not fitting or not qp.transport.connected:
        return Fix(program=f"send no more than {room:,} bytes at once, or widen the link")
    mtu = {"path_mtu": str(max(fitting))}
    lines = commands.bring_up_again(case, qp, mtu, mtu)
    return Fix([*lines, *commands.again(case, qp, wqe.wr, after_reset=True)])


_FAR = 8  # times; the usual 512 on a port of 4096 is not far below it
_MANY = 16  # packets


@check("mtu-small")
def mtu_small(case: Case, wqe: SendWqe, qp: QueuePair, path: Path, peer: QueuePair) -> Finding:
    """A warning if path_mtu is less than an eighth of what the ports of both ends carry."""
    most = min(case.world.nodes[end.node].profile.caps.active_mtu for end in (qp, peer))
    mtu, length = path.mtu, wqe.length
    if not qp.transport.connected or mtu * _FAR >= most or length < mtu * _MANY:
        return ok(f"path_mtu is {mtu}, active_mtu {most}")
    packets, fewer = -(-length // mtu), -(-length // most)
    return warn(
        fact(f"path_mtu={mtu} was given to {case.qp_name(qp)}: {length:,} bytes take {packets:,} "
             "packets", receivers.peer_set_at(case, qp)),
        fact(f"active_mtu is {most} on both ports: {fmt.count(fewer, 'packet')} would do"),
        cure=Fix(program=f"connect with path_mtu={most}"),
    )  # fmt: skip


@check("psn-mismatch-ahead", both=ends)
def psn_mismatch_ahead(case: Case, wqe: SendWqe, both: Ends) -> Finding:
    """Check whether the peer waits for packets that were never sent."""
    return _mismatch(case, wqe, both, 1, _missing)


def _missing(case: Case, both: Ends) -> list[Evidence]:
    """The NAK that names a PSN which was never sent."""
    for record in reversed(case.log.about(Kind.PACKET_SENT, both.receiver.thing)):
        packet = packet_of(record)
        if fmt.syndrome(packet) is Syndrome.NAK_SEQUENCE:
            text = f"{fmt.packet_words(packet)} came back: that packet was never sent"
            return [fact(text, event_of(record))]
    return []


@check("psn-mismatch-behind", both=ends)
def psn_mismatch_behind(case: Case, wqe: SendWqe, both: Ends) -> Finding:
    """Check whether the peer acknowledges the message as a duplicate, and delivers nothing."""
    return _mismatch(case, wqe, both, -1, _duplicates)


def _duplicates(case: Case, both: Ends) -> list[Evidence]:
    """Number of packets that the peer took for duplicates."""
    expected = both.receiver.resp.psn
    old = [r for r in case.log.about(Kind.PACKET_RECEIVED, both.receiver.thing)
           if (packet := roce_packet_of(r)).opcode_row.request
           and diff(packet.psn, expected) < 0]  # fmt: skip
    if not old:
        return []
    many = fmt.count(len(old), "packet")
    text = f"{case.qp_name(both.receiver)} treated {many} as duplicates and delivered nothing"
    return [fact(text, event_of(old[-1]))]


_SAID_AS = {"rq_psn": "0", "sq_psn": "0"}


def _mismatch(
    case: Case, wqe: SendWqe, both: Ends, sign: int, seen: Callable[[Case, Ends], list[Evidence]]
) -> Finding:
    """Finding if sq_psn and rq_psn differ in this direction, and the send has no reply for it.

    sign: 1 if the sender is ahead of the expected PSN, -1 if it is lower. seen: the evidence.
    """
    if not both.sender.transport.acknowledged or both.receiver.path is None:
        return NA  # without a path it was reset: its attributes are gone
    if receivers.mistaken(case.world, both.sender) is not None:
        return ok("they were not connected to each other")
    gap = psn_gap(both) * sign
    if gap <= 0 or began_alone(case, both) is not None:
        return ok(f"the first PSN is {_number(both.sender.attr.sq_psn)} on both ends")
    if not stays_unanswered(case):
        return ok("the PSNs match now")
    sent, expected = _number(both.sender.attr.sq_psn), _number(both.receiver.attr.rq_psn)
    values = [(Attr.SQ_PSN, f"sq_psn={sent}"), (Attr.RQ_PSN, f"rq_psn={expected}")]
    given = unequal(case, both, values)
    return blocking(
        case, *given, *seen(case, both)[:1],
        cure=Fix(recovery.reconnected(case, both.sender, wqe.wr, _SAID_AS, _SAID_AS)),
        since=given[0].event,
    )  # fmt: skip


def _number(psn: int | None) -> str:
    return fmt.number(psn or 0)
