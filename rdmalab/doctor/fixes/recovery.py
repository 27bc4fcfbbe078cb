"""Longer fixes: a reconnection with the work that was lost, the rest of a bring-up, an order."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rdmalab.command import CallArguments, Noun, Thing
from rdmalab.doctor.case import Case, QueuePair, SharedReceiveQueue
from rdmalab.doctor.evidence.finding import Fix
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.made_good import is_repaired
from rdmalab.doctor.evidence.work_of_queues import flushed_receives
from rdmalab.doctor.facts.receivers import Refused
from rdmalab.doctor.fixes.reposting import repost_flushed
from rdmalab.hca.wr import RecvWR, SendWqe, SendWR
from rdmalab.repair import commands
from rdmalab.repair.commands import Attributes
from rdmalab.spec.records import Kind, event_of, packet_of, send_wqe_of, status_of
from rdmalab.spec.states import BRING_UP_MOVES, QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WROpcode
from rdmalab.views import fmt
from rdmalab.wire.packet import Packet
from rdmalab.world.relations import find_qp, partner_of, peer_of

_FEW = 8  # bytes of a message that is sent only so that one arrives


class Lost(NamedTuple):
    """Work that a fix discards, or that was flushed. post: the line that posts it again."""

    post: str
    name: str
    needs_receive: bool = False


def is_well(case: Case, qp: QueuePair) -> bool:
    """Whether the QP can send, and its peer, where it has one, can receive."""
    peer = peer_of(case.world, qp)
    if peer is None:
        return qp.state is QPState.RTS and not qp.transport.connected
    return qp.state is QPState.RTS and peer.state_row.receives


# --------------------------------------------------------------------------- a send
def resend(case: Case, qp: QueuePair, wr: SendWR) -> list[str]:
    """Lines that send the message again, after a reconnection if the connection is in error."""
    if is_well(case, qp):
        return commands.again(case, qp, wr)
    return reconnected(case, qp, wr)


def reconnected(
    case: Case, qp: QueuePair, wr: SendWR,
    ours: Attributes | None = None, theirs: Attributes | None = None,
) -> list[str]:  # fmt: skip
    """Both ends reset and brought up again with changed attributes, then the message."""
    peer = partner_of(case.world, qp)
    lines = commands.bring_up_again(case, qp, ours, theirs) + restock(case, qp)
    if peer is not None:
        lines += restock(case, peer)
    if peer is not None and commands.needs_receive(wr) and not _is_met(case, peer):
        lines += commands.rooms(case, peer, sum(sge.length for sge in wr.sg))
    return [*lines, commands.post_send(case, qp, wr)]


def reconnected_to(
    case: Case, qp: QueuePair, peer: QueuePair, wr: SendWR,
    ours: Attributes | None = None, theirs: Attributes | None = None,
) -> list[str]:  # fmt: skip
    """These two reset and connected with each other, then the message, with a receive for it."""
    lines = commands.reconnect(case, qp, peer, ours, theirs)
    return lines + commands.again(case, qp, wr, peer, after_reset=True)


def refilled(case: Case, found: Refused, limit: int) -> list[str]:
    """Receives on an SRQ that was empty, its limit armed again, and the message once more.

    Of receives one for the message, and as many as stay for the limit, if there are slots.
    """
    send, qp, srq = case.send, case.qp, found.srq
    if send is None or send.wqe is None or qp is None:
        return []
    many = max(1, min(limit + 1, srq.capacity - srq.used))
    domain, name = Thing(Noun.PD, srq.node, srq.pd), case.names.of(srq.thing)
    lines, lists = commands.room_for(case, domain, [send.wqe.length] * many)
    wrs = [f"wr={{wr_id={n} sg={sg}}}" for n, sg in enumerate(lists, srq.posted + 1)]
    lines.append(" ".join(["post_srq_recv", name, *wrs]))
    lines += [f"modify_srq {name} srq_limit={limit}"] if limit else []
    if send.on_queue:  # it is retried until a receive is posted
        return lines
    if qp.transport.acknowledged:
        lines += commands.reconnect(case, qp, found.target)
    return [*lines, commands.post_send(case, qp, send.wqe.wr)]


def through_new_handle(
    case: Case, qp: QueuePair, wr: SendWR, node: str, to: QueuePair | None = None
) -> list[str]:
    """An address handle that leads to a node, and the datagram once more through it.

    to: the queue pair that is to take it; None: the one that it names.
    """
    name, pd = commands.free_name(case, Noun.AH, qp.node), case.name(Noun.PD, qp.node, qp.pd)
    target: CallArguments = {"remote_qpn": case.qp_name(to)} if to is not None else {}
    again = commands.again(case, qp, wr, to, **target, ah=name)
    back = commands.addresses(case.world, qp.node, node)
    return [*back, f"create_ah {name} pd={pd} to={node}", *again]


def on_new_srq(
    case: Case, qp: QueuePair, target: QueuePair, srq: SharedReceiveQueue, wrs: Sequence[RecvWR]
) -> list[str]:
    """A new SRQ with these receives, and a new queue pair on it, connected with this one.

    target, srq: the queue pair and the SRQ whose sizes and parts these get.
    """
    queue, name = (commands.free_name(case, noun, target.node) for noun in (Noun.SRQ, Noun.QP))
    pd = case.name(Noun.PD, target.node, srq.pd)
    lists = ((wr.wr_id, ",".join(commands.sge_words(case, target.node, sge) for sge in wr.sg))
             for wr in wrs)  # fmt: skip
    receives = (f"wr={{wr_id={wr_id} sg={sg}}}" for wr_id, sg in lists)
    return [
        f"create_srq {queue} pd={pd} max_wr={srq.capacity} max_sge={srq.max_sge}",
        commands.create_like(case, target, name, srq=queue),
        *commands.join(case, qp, name),
        " ".join(["post_srq_recv", queue, *receives]),
    ]


def rejoined(case: Case, qp: QueuePair, other: QueuePair, wr: SendWR) -> list[str]:
    """One end alone reset and brought up with the PSNs of the other end, then the message."""
    return [*joined_to(case, qp, other), *restock(case, qp), commands.post_send(case, qp, wr)]


def joined_to(case: Case, qp: QueuePair, other: QueuePair) -> list[str]:
    """One end alone reset and connected to one that is up, with the PSNs that this one has.

    The first that it sends is the oldest without an answer, or the next one, if it has them all.
    """
    if other.resp.psn == other.comp.psn == 0:
        up = commands.join(case, qp, case.qp_name(other))
        return [each.replace("connect ", "to_rts ", 1) for each in up]
    agreed = {
        "sq_psn": str(other.resp.psn), "rq_psn": str(other.comp.psn),
        "dest_qp_num": case.qp_name(other), "ah_attr": other.node,
    }  # fmt: skip
    moves = [commands.move(case, qp, now, to, agreed) for now, to in BRING_UP_MOVES]
    return [f"modify_qp {case.qp_name(qp)} state=RESET", *moves]


def _is_met(case: Case, peer: QueuePair) -> bool:
    """Whether a receive is posted for the next message."""
    return bool(peer.source.wqes if peer.shares_receives else lost_receives(case, peer))


def reposted(case: Case) -> list[str]:
    """Work that was flushed posted again, where its queue pair was brought up and works since."""
    qp, work = case.qp, case.work
    if qp is None or work is None or not work.flushed or not _works(case, qp):
        return []
    return repost_flushed(case, after_reset=False)


def sends_taken(case: Case) -> list[Lost]:
    """The other sends flushed in the life of a queue pair in which this one was posted, in order.

    Then those that the RESET after it discarded, if its program repaired nothing since, and those
    that are not done, which a RESET would take.
    """
    qp, send = case.qp, case.send
    if send is None or qp is None:
        return []
    resets, posted = case.log.entered(qp.thing, QPState.RESET), send.posted
    before = [at for at in resets if posted is None or at < posted]
    born, over = (before or [-1])[-1], next(iter(resets[len(before) :]), None)
    ended = {send_wqe_of(r).serial: r for r in case.log.about(Kind.WQE_COMPLETED, qp.thing)
             if event_of(r) > born and event_of(r) < (over or event_of(r) + 1)}  # fmt: skip
    found = [send_wqe_of(r) for r in ended.values() if status_of(r) == WCStatus.WR_FLUSH_ERR]
    if over is not None:
        found += [send_wqe_of(r) for r in case.log.about(Kind.SEND_POSTED, qp.thing)
                  if born < event_of(r) < over and send_wqe_of(r).serial not in ended]  # fmt: skip
        found = [] if is_repaired(case.session, case.log, case.subject, over) else found
    found += _not_done(qp)
    return [Lost(commands.post_send(case, qp, wqe.wr), fmt.wr(wqe.wr.wr_id),
                 commands.needs_receive(wqe.wr))
            for wqe in found if wqe.serial != case.subject.serial]  # fmt: skip


def _not_done(qp: QueuePair) -> list[SendWqe]:
    return [wqe for serial, wqe in qp.sq.wqes.items() if serial >= qp.comp.serial]


def _works(case: Case, qp: QueuePair) -> bool:
    peer = peer_of(case.world, qp)
    if case.send is not None:
        return is_well(case, qp)
    return qp.state_row.receives and (peer is None or is_well(case, peer))


# --------------------------------------------------------------------------- receives
def restock(case: Case, qp: QueuePair) -> list[str]:
    """Post the receives again that a reset takes, or that were flushed, in their order."""
    return [commands.post_recv(case, qp, wr) for wr in lost_receives(case, qp)]


def lost_receives(case: Case, qp: QueuePair) -> list[RecvWR]:
    """The receives on the queue of a QP, and those flushed from it."""
    if qp.shares_receives:
        return []
    flushed = flushed_receives(case.log, qp.thing)
    using = [qp.resp.recv] if qp.resp.recv is not None else []
    return [wqe.wr for wqe in (*flushed, *using, *qp.rq.wqes)]


def receives_lost(case: Case, lines: Sequence[str]) -> list[Lost]:
    """The receives that these lines discard, and do not post again."""
    found: list[Lost] = []
    for qp in _reset_by(case, lines):
        using = [qp.resp.recv] if qp.resp.recv is not None else []
        for wqe in () if qp.shares_receives else (*using, *qp.rq.wqes):
            name = fmt.work_name(case.qp_name(qp), wqe.wr.wr_id, is_send=False)
            found.append(Lost(commands.post_recv(case, qp, wqe.wr), name))
    return not_among(lines, found)


def sends_lost(case: Case, lines: Sequence[str]) -> list[Lost]:
    """The sends of other queue pairs that these lines discard, and do not post again."""
    others = (qp for qp in _reset_by(case, lines) if qp is not case.qp)
    return not_among(lines, (_lost(case, qp, wqe) for qp in others for wqe in _not_done(qp)))


def sends_flushed(case: Case, lines: Sequence[str]) -> list[Lost]:
    """The flushed sends of other queue pairs in ERR that these lines bring up again."""
    found: list[Lost] = []
    for qp in _reset_by(case, lines):
        if qp is case.qp or qp.state is not QPState.ERR:
            continue
        born = max(case.log.entered(qp.thing, QPState.RESET), default=-1)
        ended = [r for r in case.log.about(Kind.WQE_COMPLETED, qp.thing) if event_of(r) > born]
        flushed = [send_wqe_of(r) for r in ended if status_of(r) == WCStatus.WR_FLUSH_ERR]
        found += [_lost(case, qp, wqe) for wqe in flushed]
    return not_among(lines, found)


def _lost(case: Case, qp: QueuePair, wqe: SendWqe) -> Lost:
    name = fmt.work_name(case.qp_name(qp), wqe.wr.wr_id, is_send=True)
    return Lost(commands.post_send(case, qp, wqe.wr), name, commands.needs_receive(wqe.wr))


def _reset_by(case: Case, lines: Sequence[str]) -> list[QueuePair]:
    """The queue pairs that these lines move to RESET, or destroy and make again."""
    words = [line.split() for line in lines]
    made = {word[1] for word in words if word[0] == "create_qp"}
    names = [word[1] for word in words if (word[0] == "modify_qp" and word[2:] == ["state=RESET"])
             or (word[0] == "destroy_qp" and word[1] in made)]  # fmt: skip
    things = map(case.names.find, dict.fromkeys(names))
    found = (find_qp(case.world, *thing[1:]) for thing in things if thing is not None)
    return [qp for qp in found if qp is not None]


def not_among(lines: Iterable[str], work: Iterable[Lost]) -> list[Lost]:
    """The work whose queue and wr_id none of these lines has, each line counted once."""
    known, left = Counter(map(_queue_and_id, lines)), list[Lost]()
    for each in work:
        key = _queue_and_id(each.post)
        left += [] if known[key] > 0 else [each]
        known[key] -= 1
    return left


def _queue_and_id(line: str) -> tuple[str, ...]:
    """`post_send`, `A.qp0`, `wr_id=1`."""
    return tuple(line.split()[:3])


def receive_again(case: Case, qp: QueuePair, wr: RecvWR) -> list[str]:
    """Lines that post the receive again, on a new connection if needed, and send its message."""
    lines = [] if _works(case, qp) else commands.bring_up_again(case, qp)
    return [*lines, commands.post_recv(case, qp, wr), *dropped_message(case, qp)]


def receives_reposted(case: Case, qp: QueuePair, both: Attributes) -> list[str]:
    """Both ends brought up again with changed attributes, all receives, and a message for them."""
    lines = commands.bring_up_again(case, qp, both, both) + restock(case, qp)
    return [*lines, *message_for(case, qp)]


def message_for(case: Case, qp: QueuePair) -> list[str]:
    """The last message that a queue pair could not take, once more; else a small one."""
    if dropped := dropped_message(case, qp):
        return dropped
    peer = partner_of(case.world, qp)
    if peer is None or not peer.transport.sends:
        return []
    piece = commands.some_bytes(case, peer, _FEW)
    return [commands.post_send(case, peer, SendWR(opcode=WROpcode.SEND, sg=piece), wr_id=None)]


def dropped_message(case: Case, qp: QueuePair) -> list[str]:
    """The last message that a queue pair dropped, once more; nothing if it dropped none.

    A fix is of now: what was dropped after the visited moment counts as well.
    """
    log = case.log.whole or case.log
    dropped = [packet_of(r) for r in log.of(Kind.PACKET_DROPPED, qp.node, qp.number)]
    for packet in reversed(dropped):
        if isinstance(packet, Packet) and (found := _posted(case, qp, packet)) is not None:
            return [commands.post_send(case, *found)]
    return []


def drain(name: str, call: str, waiter: str = "") -> Fix:
    """Advice for receives that a call throws away: only ERR gives them back.

    waiter: the thread that polls for them, if that is another one than the thread of the call.
    """
    polls = f"{f'let {waiter} ' if waiter else ''}poll the WR_FLUSH_ERR completion of each request"
    return Fix(program=f"modify_qp {name} state=ERR, {polls}, only then {call}")


def _posted(case: Case, qp: QueuePair, packet: Packet) -> tuple[QueuePair, SendWR] | None:
    """The send that a packet belongs to, and whose it was."""
    node = case.world.network.origin_of(packet.flow)
    peer = partner_of(case.world, qp)
    number = packet.deth.src_qp if packet.deth is not None else (peer.number if peer else 0)
    sender = find_qp(case.world, node, number)
    if sender is None:
        return None
    thing = Thing(Noun.QP, node, number)
    for record in reversed((case.log.whole or case.log).about(Kind.SEND_POSTED, thing)):
        if send_wqe_of(record).first_psn == packet.psn:
            return sender, send_wqe_of(record).wr
    return None


def ring_doorbell(case: Case, qp: QueuePair, wr: SendWR) -> str:
    """Post a request without data, to ring the doorbell."""
    if qp.transport.connected:
        return f"post_send {case.qp_name(qp)} opcode=RDMA_WRITE"
    return commands.post_send(case, qp, wr, wr_id=None, sg=None)


def ordered(log: Log, taken: int | None, used: int | None, name: str) -> Fix | None:
    """Advice that the thread of one event ends its use before the thread of another one acts.

    taken, used: the events in which an object was taken away, and used or posted. None where not
    two different threads made these calls.
    """
    if taken is None or used is None:
        return None
    owner, user = log.asked(taken)[1], log.asked(used)[1]
    if not owner or not user or owner == user:
        return None
    call = log.asked(taken)[0]
    act = call.line if call is not None else f"takes {name}"
    return Fix(program=f"let {user} end its use of {name} first: in {owner}, wait {user}.state == "
                       f"DONE before {act}")  # fmt: skip
