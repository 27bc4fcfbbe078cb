"""Datagrams and unreliable connections: what does not fit or is lost is not reported."""

from functools import partial
from itertools import pairwise

from rdmalab.doctor.evidence.content import header_room, is_of_header, is_within
from rdmalab.doctor.kit import *
from rdmalab.hca import steering
from rdmalab.hca.groups import groups_of
from rdmalab.hca.objects import Flow
from rdmalab.hca.psn import diff
from rdmalab.session.history import read_only_visit
from rdmalab.spec.flows import FlowFlags
from rdmalab.wire.frame import Frame
from rdmalab.wire.headers import GRH
from rdmalab.wire.packet import is_multicast
from rdmalab.world.faults import Corrupt, Drop, Reorder


def _datagrams(case: Case) -> QueuePair | None:
    return case.qp if case.qp is not None and not case.qp.transport.connected else None


@check("ud-qkey", qp=_datagrams)
def ud_qkey(case: Case, qp: QueuePair, unanswered: Unanswered) -> Finding:
    """Check whether the datagram was dropped for its Q_Key."""
    misses = unanswered.because("qkey")
    target = _met(case, misses[-1]) if misses else None
    if target is None:
        return ok("no packet was dropped for its Q_Key")
    said_key, wanted = _key(misses[-1]), target.attr.qkey or 0
    return unanswered.finding(
        fact(f"{case.qp_name(target)} has Q_Key {wanted:#x}, the datagram {said_key:#x}: dropped, "
             "and counted in qkey_viol_cntr", misses[-1].event),
        *_changed(case, target, misses[-1].event),
        fact(f"it was sent with Q_Key {said_key:#x}", unanswered.send.posted),
        cure=_ud_qkey_cure(case, qp, unanswered.wqe.wr, target),
    )  # fmt: skip


def _ud_qkey_cure(case: Case, qp: QueuePair, wr: SendWR, target: QueuePair) -> Fix:
    """The datagram once more with the right key, unless the next receive has no room for it."""
    key, receives = hex(target.attr.qkey or 0), list(target.source.wqes)
    needed = sum(sge.length for sge in wr.sg) + GRH.LENGTH
    if not receives or receives[0].length >= needed:
        return Fix(commands.again(case, qp, wr, target, remote_qkey=key))
    name, has = fmt.wr(receives[0].wr.wr_id), receives[0].length
    srq = case.shared_by(target)
    queue = case.names.of(srq.thing) if srq is not None else case.qp_name(target)
    room = f"receives of {needed} bytes on {queue} ({name} has {has}; GRH takes"
    return Fix(program=f"send with remote_qkey={key}, and post {room} {GRH.LENGTH})")


def _met(case: Case, miss: messages.Miss) -> QueuePair | None:
    """Queue pair that dropped the packet; None if it no longer exists."""
    return case.world.nodes[miss.node].qps.items.get(miss.number)


def _key(miss: messages.Miss) -> int:
    return miss.packet.deth.qkey if miss.packet.deth is not None else 0


def _changed(case: Case, target: QueuePair, event: int) -> list[Evidence]:
    """The event in which the target got the key that it has."""
    set_ = (r for r in case.log.about(Kind.ATTRIBUTES_SET, target.thing) if event_of(r) < event)
    found = [event_of(r) for r in set_ if int(rec.attr_mask_of(r)) & Attr.QKEY]
    return [fact(f"{case.qp_name(target)} was given its Q_Key", found[-1])] if found else []


_READ_LATER = f"read the datagram {GRH.LENGTH} bytes after the beginning"


@check("ud-40-bytes", qp=_datagrams)
def ud_40_bytes(case: Case, receive: Receive, qp: QueuePair) -> Finding:
    """Check whether a datagram and the 40 bytes before it did not fit into a receive."""
    wqe = receive.wqe
    if wqe is None:
        return NA
    refused = _refusal(case, receive, wqe, qp)
    if refused is None:
        return ok("no datagram was too long for it")
    text = f"it has {wqe.length} bytes"
    return _no_room(case, qp, wqe, refused, fact(text, receive.posted))


@ud_40_bytes.instead
def _dropped_for_room(case: Case, qp: QueuePair, unanswered: Unanswered) -> Finding:
    """Of a datagram, whether the oldest receive of its target was too short for it."""
    misses = unanswered.because("receive-short")
    target = _met(case, misses[-1]) if misses else None
    refused = _short(case, target, misses[-1].event) if target is not None else None
    if target is None or refused is None or not target.source.wqes:
        return ok("no receive was too short for it")
    wqe, name = target.source.wqes[0], case.qp_name(target)
    text = f"{fmt.wr(wqe.wr.wr_id)}, the oldest receive of {name}, has {wqe.length} bytes"
    if wqe.length >= len(misses[-1].packet.payload) + GRH.LENGTH:  # it was another one then
        text = f"the receive of {name} that it came to was shorter"
    return _no_room(case, target, wqe, refused, fact(text, misses[-1].event))


def _no_room(
    case: Case, qp: QueuePair, wqe: RecvWqe, refused: Record, receive: Evidence
) -> Finding:
    """The finding about a receive, and the record of the datagram that did not fit into it."""
    length, event = len(packet_of(refused).payload), event_of(refused)
    drops = kind_of(refused) is Kind.PACKET_DROPPED
    rest = [fact("this device drops such a datagram, and the receive waits on; another one "
                 "completes the receive with LOC_LEN_ERR")]  # fmt: skip
    return fail(
        fact(f"{receive.text}; the datagram needs {length + GRH.LENGTH}: {GRH.LENGTH} of GRH and "
             f"{length} of data", event), *(rest if drops else []),
        cure=_ud_40_bytes_cure(case, qp, wqe, refused), since=receive.event or event,
    )  # fmt: skip


@ud_40_bytes.instead
def _sent_with_header(case: Case, content: Content) -> Finding | None:
    """FAIL of bytes that a program waits for, if they were sent with the 40 before a datagram."""
    late = (memory_waits.sent_with_header(case, piece, wanted)
            for _, piece, wanted in conditions.awaited(case, content.piece))  # fmt: skip
    if (found := next(filter(None, late), None)) is None:
        return None
    name = name_of(case.names, found.message.subject)
    sent = f"{name} was posted with {found.sent}; the datagram there is {found.meant}"
    place = f"what is awaited came to {found.place}, {GRH.LENGTH} bytes too far"
    return fail(fact(sent, found.message.posted), fact(place, found.event),
                cure=Fix(program=f"send from {found.meant} in {name}"))  # fmt: skip


@ud_40_bytes.instead
def _in_header(case: Case, content: Content) -> Finding:
    """Finding if these bytes are the 40 bytes before the datagram that took their receive.

    A warning where they are the header itself, and no program waits for something else there.
    """
    found = header_room(content) if case.asked else None
    if found is None or not is_within(content.piece, found.room):
        return NA
    waiting = list(conditions.awaited(case, content.piece))
    is_header = is_within(content.piece, found.written) and not waiting
    name = partial(fmt.thing_at, case.world, case.names, case.node)
    begins, cure = fact(f"the datagram begins at {name(found.begins)}"), _READ_LATER
    what = "are the header before a datagram" if is_header else "are room for the routing header"
    if any(is_of_header(content, found, *each[1:]) for each in waiting):
        start = name(found.written[0][0])
        begins, cure = (
            fact(f"over IPv4 the header begins at {start}"),
            f"read the header at {start}",
        )
    evidence = [fact(f"these bytes {what}", found.posted), begins]
    return (warn if is_header else fail)(*evidence, cure=Fix(program=cure))


def _refusal(case: Case, receive: Receive, wqe: RecvWqe, qp: QueuePair) -> Record | None:
    """The record of the newest datagram that was too long for a receive."""
    oldest = qp.source.wqes[0] if qp.source.wqes else None
    if receive.ending is not None:
        return _short(case, qp, receive.ending.event)
    if oldest is None or oldest.serial != wqe.serial:
        return None
    taken = case.log.about(Kind.RECV_TAKEN, qp.thing)[-1:]
    since = max(receive.posted or 0, *(event_of(r) for r in taken), 0)
    return _short(case, qp, since, case.log.event)


def _short(case: Case, qp: QueuePair, first: int, last: int | None = None) -> Record | None:
    """The newest record between two events of a datagram that had no room; None without one."""
    found = (
        r for kind in (Kind.REQUEST_REFUSED, Kind.PACKET_DROPPED)
        for r in reversed(case.log.about(kind, qp.thing))
        if reason_of(r) == "receive-short"
        and first <= event_of(r) <= (first if last is None else last)
    )  # fmt: skip
    return next(found, None)


def _ud_40_bytes_cure(case: Case, qp: QueuePair, wqe: RecvWqe, refused: Record) -> Fix:
    """The QP reset, the same receive with room for both, and the datagram once more."""
    needed = len(packet_of(refused).payload) + GRH.LENGTH
    wider = commands.longer(case, qp, wqe.sg, needed)
    lines = commands.bring_up_again(case, qp)
    lines.append(commands.post_recv(case, qp, RecvWR(wqe.wr.wr_id, wider)))
    rest = [] if qp.shares_receives else [w.wr for w in qp.rq.wqes if w.serial != wqe.serial]
    lines += [commands.post_recv(case, qp, wr) for wr in rest]
    return Fix(lines + _again(case, refused))


def _again(case: Case, refused: Record) -> list[str]:
    sent = messages.sent_as(case.log, refused)
    if sent is None or not case.exists(sent[0]):
        return []
    return [commands.post_send(case, case.world.find(sent[0], QueuePair), sent[1].wr)]


@check("ud-too-long")
def ud_too_long(case: Case, send: Send, wqe: SendWqe, ending: Ending, qp: QueuePair) -> Finding:
    """Check whether a datagram never left because it is longer than the port's MTU."""
    if qp.qp_type is not QPType.UD or wqe.header is not None or not case.asked:
        return NA
    mtu, length = case.profile.caps.active_mtu, wqe.length
    if length <= mtu:
        return ok(f"it has {length} bytes, the MTU is {mtu}")
    if send.transmissions:
        return ok("it left in a packet")
    return fail(fact(f"it has {length} bytes, and the port's MTU is {mtu}", send.posted),
                fact(f"it ended with {ending.status.name}, and no packet left", ending.event),
                cure=_ud_too_long_cure(case, qp, wqe, mtu), since=send.posted)  # fmt: skip


def _ud_too_long_cure(case: Case, qp: QueuePair, wqe: SendWqe, mtu: int) -> Fix:
    """Datagrams that fit, over consecutive bytes, and a receive for each."""
    spans = [(start, min(start + mtu, wqe.length)) for start in range(0, wqe.length, mtu)]
    lines = _ready(case, qp)
    target = receivers.target(case)
    if target is not None:
        missing = len(spans) - len(target.source.wqes)
        lines += commands.rooms(case, target, *[mtu] * missing, wr_id=wqe.wr.wr_id)
    for span in spans:
        pieces = ",".join(commands.sge_words(case, qp.node, sge) for sge in _cut(wqe.sg, *span))
        lines.append(commands.post_send(case, qp, wqe.wr, sg=pieces))
    return Fix(lines)


def _ready(case: Case, qp: QueuePair) -> list[str]:
    """mlx5 stops the send queue for it."""
    if qp.state is QPState.SQE:
        return [f"modify_qp {case.qp_name(qp)} state=RTS"]
    return commands.bring_up_again(case, qp) if qp.state is QPState.ERR else []


def _cut(sg: list[SGE], start: int, stop: int) -> list[SGE]:
    """The bytes from start to stop of a list of pieces."""
    found, at = [], 0
    for sge in sg:
        first, last = max(start - at, 0), min(stop - at, sge.length)
        if first < last:
            found.append(SGE(sge.addr + first, last - first, sge.lkey))
        at += sge.length
    return found


_GAP = "rest-of-message"
_OF_CABLE = ("fault", "the link is down", "malformed")


@check("uc-loss")
def uc_loss(case: Case, unanswered: Unanswered, qp: QueuePair) -> Finding:
    """Packets of it that the cable lost or reordered, and what the responder dropped for that."""
    if qp.transport.acknowledged:
        return NA
    lost = [miss for miss in unanswered.misses if miss.reason.startswith(_OF_CABLE)]
    late = [(a, b) for a, b in pairwise(unanswered.misses)
            if a.reason == b.reason == _GAP and diff(b.packet.psn, a.packet.psn) < 0]  # fmt: skip
    if not lost and not late:
        return ok("the cable lost and reordered nothing of it")
    target = receivers.target(case)
    order = [fact(f"packet psn={b.packet.psn} came after psn={a.packet.psn}", b.event)
             for a, b in late[:1] if not lost]  # fmt: skip
    lost = lost or [late[0][0]]
    return unanswered.finding(
        *(order or [fact(f"packet psn={miss.packet.psn} was lost: {miss.reason}", miss.event)
                    for miss in lost[:2]]),
        fact(f"it ended with SUCCESS when its last packet had left: {qp.qp_type.name} waits for "
             "no answer", unanswered.send.ending.event if unanswered.send.ending else None),
        *_dropped(case, unanswered, target),
        cure=Fix([*_faults(case, lost), *commands.again(case, qp, unanswered.wqe.wr, target)]),
        since=lost[0].event,
    )  # fmt: skip


def _dropped(case: Case, unanswered: Unanswered, target: QueuePair | None) -> list[Evidence]:
    """The rest of the message, which does not follow without a gap any more."""
    rest = [miss for miss in unanswered.misses if miss.reason == _GAP]
    if not rest or target is None:
        return []
    many = fmt.count(len(rest), "packet")
    return [fact(f"{case.qp_name(target)} dropped the {many} after the gap", rest[0].event)]


def _faults(case: Case, lost: list[messages.Miss]) -> list[str]:
    """The faults that would lose or reorder it once more."""
    named = {miss.reason.split(":")[0] for miss in lost}
    there = (fault for fault in case.world.network.cable.faults if isinstance(fault, _FAULTS))
    return [f"fault clear {fault.number}" for fault in there
            if _name(fault) in named and not _is_over(fault)]  # fmt: skip


_FAULTS = Drop | Corrupt | Reorder


def _name(fault: Drop | Corrupt | Reorder) -> str:
    """The reason in the log for the loss of a packet; it does not say which fault spoiled it."""
    others = {Corrupt: "malformed", Reorder: _GAP}
    return others.get(type(fault), f"fault {fault.number}")


def _is_over(fault: Drop | Corrupt | Reorder) -> bool:
    """Whether the fault has applied to its last packet."""
    match = fault.match
    counted = match.count is not None and match.met >= match.count
    return counted or (match.every is None and match.nth is not None and match.seen >= match.nth)


@check("no-flow-rule")
def no_flow_rule(case: Case, receive: Receive, qp: QueuePair) -> Finding:
    """Check whether a frame was dropped, for no flow rule matched it, while this receive waited."""
    if qp.qp_type is not QPType.RAW_PACKET or not receive.on_queue:
        return NA
    dropped = [r for r in case.log.of(Kind.PACKET_DROPPED, qp.node)
               if reason_of(r) == "no-flow" and event_of(r) > (receive.posted or 0)]  # fmt: skip
    frame = packet_of(dropped[-1]) if dropped else None
    if not isinstance(frame, Frame):
        taken = _taken_by_another(case, receive, qp)
        return taken or ok("no frame was dropped for lack of a flow rule")
    rules = [_mismatch(case, rule, frame) for rule in _rules_then(case, qp, event_of(dropped[-1]))]
    name = case.qp_name(qp)
    return fail(
        fact(f"{qp.node} dropped a frame: no flow rule matches it", event_of(dropped[-1])),
        *(rules or [fact(f"{name} had no flow rule")]),
        cure=Fix(program=f"create_flow for {name} with the fields that the frames have"),
    )


def _taken_by_another(case: Case, receive: Receive, qp: QueuePair) -> Finding | None:
    """FAIL of the newest frame that a rule of this queue pair takes, too, and another one took."""
    kinds, node = (Kind.PACKET_RECEIVED, Kind.PACKET_DROPPED), qp.node
    came = [(event_of(r), packet_of(r)) for kind in kinds for r in case.log.of(kind, node)
            if object_of(r) != qp.number and event_of(r) > (receive.posted or 0)]  # fmt: skip
    event, frame = max(came, key=lambda each: each[0], default=(0, None))
    if not isinstance(frame, Frame):
        return None
    fitting = [rule for rule in _rules_then(case, None, event)
               if rule.spec.items() <= steering.facts(frame).items()]  # fmt: skip
    own = [rule for rule in fitting if rule.qp == qp.number]
    first = min(fitting, key=lambda rule: rule.attr.priority, default=None)
    if first is None or not own or first.attr.priority == own[0].attr.priority:
        return None
    if int(first.attr.flags) & FlowFlags.DONT_TRAP:
        return None  # both got it
    mine, others = (case.name(Noun.FLOW, node, rule.number) for rule in (own[0], first))
    to = case.qp_name_at(node, first.qp)
    return fail(
        fact(f"{others} of {to} has priority={first.attr.priority}, {mine} of {case.qp_name(qp)} "
             f"priority={own[0].attr.priority}: the lowest number takes the frame",
             case.log.created(Thing(Noun.FLOW, node, first.number))),
        fact(f"{to} got a frame that {mine} takes, too", event),
        cure=Fix(program=f"create {mine} with a lower priority than {others}, "
                 f"or {others} with flags=DONT_TRAP"),
    )  # fmt: skip


def _rules_then(case: Case, qp: QueuePair | None, event: int) -> list[Flow]:
    """The flow rules before an event, of a queue pair or all; a tidy-up destroys them first."""
    history = case.session.history
    with read_only_visit(history):
        history.seek(history.place_after(event - 1))
        return [flow for flow in case.hca.flows.items.values()
                if qp is None or flow.qp == qp.number]  # fmt: skip


def _mismatch(case: Case, rule: Flow, frame: Frame) -> Evidence:
    """The fields that a rule asks for and a frame has otherwise."""
    has, thing = steering.facts(frame), Thing(Noun.FLOW, case.node, rule.number)
    wrong = [key for key, value in rule.spec.items() if has.get(key) != value]
    takes, came = (" ".join(f"{key}={steering.spelled_field(key, fields[key])}" for key in wrong
                            if key in fields) or "none" for fields in (rule.spec, has))  # fmt: skip
    text = f"{case.names.of(thing)} takes frames of {takes}; the frame has {came}"
    return fact(text, case.log.created(thing))


@check("mcast")
def mcast(call: Call) -> Finding:
    """A send to a group without an attached QP, a receive that it misses, a refused attach."""
    if call.verb != "attach_mcast":
        return NA
    if call.refusal != "mcast-gid":
        return ok("the address is one of a group")
    return fail(fact(f"attach_mcast was refused: {call.message}", call.event),
                cure=Fix(program="attach to an address of 224.0.0.0/4 or ff00::/8"))  # fmt: skip


@check("mcast-type", verbs=("attach_mcast",))
def mcast_type(case: Case, call: Call, qp: QueuePair) -> Finding:
    """Of a refused attach_mcast, whether it named a queue pair of another service."""
    if call.refusal != "mcast-type":
        return ok("it is a UD queue pair")
    made = case.log.created(qp.thing)
    return fail(
        fact(f"{case.qp_name(qp)} was made with qp_type={qp.qp_type.name}", made),
        fact(call.answer, call.event),
        cure=Fix(program="make a UD queue pair for the group, and attach that"), since=call.event,
    )  # fmt: skip


# --------------------------------------------------------------------------- of a send
@mcast.instead
def _of_send(
    case: Case, send: Send, wqe: SendWqe, qp: QueuePair, unanswered: Unanswered
) -> Finding:
    group = receivers.group_of(case, send)
    if not group:
        return NA
    misses = unanswered.because("no-group")
    if not misses:
        return ok("a QP is attached to the group")
    unattached = _meant(case, wqe)
    return unanswered.finding(
        fact(f"it was sent to the group {receivers.gid_words(group)}", send.posted),
        fact(f"no queue pair of {misses[-1].node} is attached to that: dropped", misses[-1].event),
        *_elsewhere(case, unattached, misses[-1].event),
        cure=_cure(case, qp, wqe, unattached, group),
    )


def _meant(case: Case, wqe: SendWqe) -> QueuePair | None:
    """Queue pair that may have been meant: the Q_Key fits; preferably in another group."""
    found = [qp for node in case.world.nodes if node != case.node
             for qp in receivers.listeners(case.world, node, wqe.wr.remote_qkey)]  # fmt: skip
    nodes = case.world.nodes
    return min(found, key=lambda qp: (not groups_of(nodes[qp.node], qp), not qp.source.wqes),
               default=None)  # fmt: skip


def _elsewhere(case: Case, qp: QueuePair | None, event: int) -> list[Evidence]:
    """In which groups a queue pair was instead when the datagram was dropped."""
    if qp is None:
        return []
    groups = dict.fromkeys(groups_of(case.world.nodes[qp.node], qp))
    moves = case.log.in_order([Kind.GROUP_JOINED, Kind.GROUP_LEFT], qp.thing)
    for record in reversed([each for each in moves if event_of(each) > event]):
        gid = rec.gid_of(record)
        groups = {each: None for each in groups if each != gid} | (
            {gid: None} if kind_of(record) is Kind.GROUP_LEFT else {})  # fmt: skip
    joined = [event_of(r) for r in case.log.about(Kind.GROUP_JOINED, qp.thing)
              if event_of(r) <= event][-1:]  # fmt: skip
    if not groups:
        return [fact(f"{case.qp_name(qp)} was in no group")]
    names = " ".join(receivers.gid_words(gid) for gid in groups)
    return [fact(f"{case.qp_name(qp)} was in {names}", *joined)]


def _cure(
    case: Case, qp: QueuePair, wqe: SendWqe, unattached: QueuePair | None, group: int
) -> Fix | None:
    if unattached is None:
        return None
    join = f"attach_mcast {case.qp_name(unattached)} gid={receivers.gid_words(group)}"
    return Fix([join, *commands.again(case, qp, wqe.wr, unattached)])


# --------------------------------------------------------------------------- of a receive
@mcast.instead
def _of_receive(case: Case, receive: Receive, qp: QueuePair) -> Finding:
    if qp.qp_type is not QPType.UD or not case.asked:
        return NA
    if not receive.on_queue or receive.posted is None:
        return ok("a message has taken it")
    record = _passed_by(case, qp, receive.posted)
    if record is None:
        return ok("it missed no datagram for a group")
    group, hearer = roce_packet_of(record).flow.dst, case.world.nodes[qp.node]
    others = " ".join(case.qp_name(hearer.qps.items[n]) for n in hearer.groups.get(group, []))
    return fail(
        fact(f"a datagram for the group {receivers.gid_words(group)} came to {others}",
             event_of(record)),
        _not_attached(case, qp, event_of(record)),
        cure=_joined(case, qp, record, group),
    )  # fmt: skip


def _not_attached(case: Case, qp: QueuePair, before: int) -> Evidence:
    """Evidence on a queue pair that is not in the group, and the refused call that was to do it."""
    text = f"{case.qp_name(qp)} has the same Q_Key, and is not attached to that group"
    refused = left_refused(case.log, "attach_mcast", qp.node, before)
    call = next((each for each in refused if each.thing == qp.thing[1:]), None)
    return fact(text) if call is None else fact(f"{text}: {call.answer}", call.event)


def _passed_by(case: Case, qp: QueuePair, since: int) -> Record | None:
    """The last datagram with its Q_Key for a group that only other QPs here are attached to."""
    hca = case.world.nodes[qp.node]
    for record in reversed(case.log.of(Kind.PACKET_RECEIVED, qp.node)):
        packet = roce_packet_of(record)
        if event_of(record) < since:
            return None
        if not (messages.is_request(packet) and packet.deth and is_multicast(packet.flow.dst)):
            continue
        member = qp.number in hca.groups.get(packet.flow.dst, [])
        if packet.deth.qkey == qp.attr.qkey and not member:
            return record
    return None


def _joined(case: Case, qp: QueuePair, record: Record, group: int) -> Fix | None:
    sent = messages.sent_as(case.log, record)
    if sent is None or not case.exists(sent[0]):
        return None
    return _cure(case, case.world.find(sent[0], QueuePair), sent[1], qp, group)
