"""A receive that waits, and a message that does not use it."""

from rdmalab.doctor.evidence.content import Posted, without
from rdmalab.doctor.evidence.messages import arrived_with
from rdmalab.doctor.facts.lines_to_run import is_to_post, skipped_send
from rdmalab.doctor.facts.undelivered import Done
from rdmalab.doctor.kit import *

_SHOWN = 2


@check("no-remote-send")
def no_remote_send(case: Case, receive: Receive) -> Finding:
    """Evidence: the requests of the peer instead, once it does nothing more."""
    qp = next(iter(undelivered.waiters(case)), None)
    if receive.shared or qp is None or receive.wqe is None:
        return NA
    peer = peer_of(case.world, qp)
    if peer is None:
        return _taken_beside(case, qp, receive)
    if not undelivered.is_quiet(case, qp):
        return ok("its peer may still send")
    done = undelivered.done_by_peer(case, qp)
    if any(each.takes_receive or _is_write(each) for each in done):
        return ok("its peer has sent something")
    name, watching = case.qp_name(peer), undelivered.watcher(case, qp)
    lines = [some_message(case, peer, receive.wqe.length)]
    cure = Fix(lines) if peer.state is QPState.RTS else None
    if not done:
        took, text = case.log.last(Kind.RECV_TAKEN, qp.thing), f"{name} has sent nothing yet"
        if took is not None:
            text = f"earlier receives took what {name} sent, and it has sent nothing since"
        return warn(fact(text, receive.posted if took is None else took), cure=cure)
    facts = [
        fact(f"{watching or case.qp_name(qp)} waits for a message", receive.posted),
        *[fact(f"{name} did {fmt.send_wqe(each.wqe)}, which consumes no receive", each.event)
          for each in done[-_SHOWN:]],
        fact(f"{name} has posted no SEND"),
    ]  # fmt: skip
    return fail(*facts, cure=cure) if watching else warn(*facts, cure=cure)


def _taken_beside(case: Case, qp: QueuePair, receive: Receive) -> Finding:
    """Of a datagram queue pair to which nothing came: the newest that its neighbour got instead."""
    if qp.transport.connected or case.log.about(Kind.RECV_TAKEN, qp.thing):
        return NA
    took = [r for r in case.log.of(Kind.RECV_TAKEN, qp.node) if event_of(r) > (receive.posted or 0)]
    for record in reversed(took):
        other, came = find_qp(case.world, *rec.place_of(record)), arrived_with(case.log, record)
        if came is None or other is None or other.qp_type is not qp.qp_type:
            continue
        sent = name_of(case.names, came.subject)
        return warn(fact(f"{sent} was posted to {case.qp_name(other)}", came.posted),
                    fact(f"{case.qp_name(other)} took it", event_of(record)),
                    fact(f"nothing came to {case.qp_name(qp)}", receive.posted))  # fmt: skip
    return NA


def _is_write(done: Done) -> bool:
    return done.wqe.wr.opcode == WROpcode.RDMA_WRITE


_EARLY = (QPState.RESET, QPState.INIT)


@check("recv-state")
def recv_state(case: Case, qp: QueuePair, unanswered: Unanswered) -> Finding:
    """Check whether a message arrived while its queue pair was not yet in RTR."""
    if qp.transport.acknowledged:
        return NA
    misses, target = unanswered.because("not-ready"), receivers.target(case)
    if not misses or target is None:
        return ok("its target was ready to receive")
    state, since = receivers.state_at(case, target, misses[-1].event)
    name = case.qp_name(target)
    return fail(
        fact(f"{name} was in {state.name}", since),
        fact(f"{target.node} dropped it for that", misses[-1].event),
        cure=_recv_state_cure(case, qp, target, unanswered.wqe.wr), since=since,
    )  # fmt: skip


@recv_state.instead
def _of_receive(case: Case, receive: Receive) -> Finding:
    """Receives may be posted in INIT; reported is only that no message can arrive yet."""
    not_ready = [qp for qp in undelivered.waiting_qps(case) if qp.state in _EARLY]
    if not not_ready or not case.asked:
        return ok("its queue pair receives")
    qp = not_ready[0]
    since = case.log.last_entered(qp.thing, qp.state)
    return warn(fact(f"{case.qp_name(qp)} is in {qp.state.name}: it accepts no message", since))


def _recv_state_cure(case: Case, qp: QueuePair, target: QueuePair, wr: SendWR) -> Fix | None:
    """Bring it up, and say the message once more."""
    if target.state_row.receives:
        return Fix(commands.again(case, qp, wr, target))
    if target.state is QPState.INIT and not target.transport.connected:
        up = commands.move(case, target, QPState.INIT, QPState.RTR, {})
        return Fix([up, *commands.again(case, qp, wr, target)])
    if target.transport.connected:
        return Fix(recovery.reconnected_to(case, qp, target, wr))
    lines = commands.bring_up_again(case, target)
    return Fix(lines + commands.again(case, qp, wr, target, after_reset=True))


@check("write-no-signal")
def write_no_signal(case: Case) -> Finding:
    """Check whether the last request of the peer was one-sided while a program waits for it."""
    listening = undelivered.waiters(case)
    for qp in listening:
        done, peer = undelivered.done_by_peer(case, qp), peer_of(case.world, qp)
        writes = [each for each in done if _is_write(each) or _reaches_idle(case, qp, each)]
        sent = [each for each in done if each.takes_receive]
        if sent or not writes or peer is None or not undelivered.is_quiet(case, qp):
            continue
        found_none = undelivered.found_no_receive(case, peer, writes[-1].event)
        if found_none or _has_failed_message(case, peer, writes[-1].event):
            continue  # that message would have been the signal
        if not _is_followed(case, peer, writes[-1]):
            return _waits_for_completion(case, qp, peer, writes[-1])
    return ok("no program waits for a plain WRITE of the peer") if listening else NA


def _has_failed_message(case: Case, peer: QueuePair, event: int) -> bool:
    """Whether a message of the peer that takes a receive has failed since an event."""
    works = (rec.send_wqe_of(r).work for r in case.log.failed_sends
             if rec.place_of(r) == peer.thing[1:] and event_of(r) > event)  # fmt: skip
    return any(work is not None and work.consumes_receive for work in works)


def _is_followed(case: Case, peer: QueuePair, done: Done) -> bool:
    """Whether a thread that did not post a request has still to post on its queue pair."""
    who = case.log.asked(messages.post_of(case.log, peer.thing, done.wqe.serial))[1]
    return any(is_to_post(case, each, [peer.thing]) and case.names.of(each.thing) != who
               for each in programs_of(case.world))  # fmt: skip


def _reaches_idle(case: Case, qp: QueuePair, done: Done) -> bool:
    """Whether a READ or atomic went to a queue pair on which nothing else could complete."""
    idle = not qp.source.wqes and qp.comp.serial == qp.sq.posted
    return case.program is not None and idle and not done.takes_receive


def _waits_for_completion(case: Case, qp: QueuePair, peer: QueuePair, last: Done) -> Finding:
    name = case.qp_name(peer)
    there = f": the bytes are in the memory of {qp.node}" if _is_write(last) else ""
    facts = [
        fact(f"{name} did {fmt.send_wqe(last.wqe)}, which consumes no receive of "
             f"{case.qp_name(qp)}", last.event),
        fact(f"this request completes at {name} only{there}"),
    ]  # fmt: skip
    cure, watching = _write_no_signal_cure(case, qp, peer, last), undelivered.watcher(case, qp)
    skipped, advice = skipped_send(case, peer.thing)
    facts, cure = [*skipped, *facts], Fix(program=advice) if advice else cure
    threads = undelivered.watchers(case, qp)
    if threads and all(each.serves for each in threads):  # no message was due to them
        return (wait if case.program is not None else warn)(*facts)
    if not watching:  # a message may follow
        return warn(*facts, cure=cure)
    return fail(*facts, fact(f"{watching} waits for a completion"), cure=cure)


def _write_no_signal_cure(case: Case, qp: QueuePair, peer: QueuePair, last: Done) -> Fix:
    """The last WRITE once more, with immediate data, and a receive for it."""
    wr = last.wqe.wr
    if not _is_write(last):
        program = "let the peer send a message when it is done: SEND, or WRITE with immediate"
        return Fix(program=program)
    again = commands.post_send(case, peer, wr, wr_id=peer.sq.posted + 1,
                            opcode=WROpcode.RDMA_WRITE_WITH_IMM.name)  # fmt: skip
    if qp.source.wqes:
        return Fix([again])
    return Fix([commands.post_recv(case, qp, RecvWR(wr.wr_id)), again])


_ADVICE = "take byte_len bytes of the buffer, and no more"


@check("byte-len")
def byte_len(case: Case, content: Content) -> Finding:
    """Check whether the newest message filled only a part of these bytes."""
    if not content.receives:
        return NA
    newest = content.receives[0]
    message = messages.taking(case.log, case.node, newest.qp, newest.wqe)
    if message is None or not _covers(content, newest) or message.wqe.length >= newest.wqe.length:
        return ok("the newest message filled its buffer")
    own = [touch for touch, other in content.brought if other.subject == message.subject]
    left = [content.piece]
    for touch in own:
        left = without(left, touch.piece)
    if not own or not left:
        return ok("these bytes are of one message")
    older = [touch.event for touch in content.written if meet(left, [touch.piece])]
    rest = words_for(case.session, case.node, left[0])
    return warn(
        fact(f"the message had {message.wqe.length} bytes, and its receive has room for "
             f"{newest.wqe.length}", own[0].event),
        fact(f"{rest} is as it was before", *older[:1]),
        fact(f"{name_of(case.names, message.subject)} is the message", message.posted),
        cure=Fix(program=_ADVICE),
    )  # fmt: skip


def _covers(content: Content, newest: Posted) -> bool:
    """Whether the receive has all bytes that are asked about."""
    left = [content.piece]
    for piece in messages.pieces(content.hca, newest.wqe.sg):
        left = without(left, piece)
    return not left
