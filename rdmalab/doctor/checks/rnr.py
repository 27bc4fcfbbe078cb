"""Receiver not ready, and receive queues: empty, full, or filled in the wrong place."""

from dataclasses import replace

from rdmalab.doctor.evidence.work_requests import MOST_PACKETS, post_kind
from rdmalab.doctor.facts.bring_up import not_given
from rdmalab.doctor.facts.full_queues import Backlog, answer, backlog
from rdmalab.doctor.kit import *
from rdmalab.spec.states import usual_word
from rdmalab.spec.timers import INFINITE_RETRIES, RNR_NS, on_ticks_ns
from rdmalab.world.faults import Duplicate


@check("rnr-infinite")
def rnr_infinite(case: Case, qp: QueuePair) -> Finding:
    """Check whether RNR NAKs keep coming, and rnr_retry=7 sets no limit."""
    if qp.attr.rnr_retry != INFINITE_RETRIES:
        return ok(f"rnr_retry is {qp.attr.rnr_retry}: the retries are limited")
    found = _unready(case, qp, _no_limit(case, qp))
    srq = receivers.ran_empty(case)
    limit = receivers.limit_reached(case, srq) if srq is not None else None
    told_by = "no-rr" if limit is None else "srq-empty-limit"
    return found if srq is None else replace(found, told_by=told_by)


def _no_limit(case: Case, qp: QueuePair) -> Evidence:
    """Evidence that a request is retried until the peer has a receive."""
    text = f"{case.qp_name(qp)} was given rnr_retry=7: it retries without limit"
    return fact(text, set_at(case, qp, Attr.RNR_RETRY))


@check("rnr-wait")
def rnr_wait(case: Case, qp: QueuePair) -> Finding:
    """Check whether the request waits for a receive of the peer, with a limited rnr_retry."""
    if qp.attr.rnr_retry == INFINITE_RETRIES:
        return NA  # see rnr-infinite
    used, most = qp.comp.rnr_retried, qp.attr.rnr_retry
    return _unready(case, qp, fact(f"no receive is posted for it: RNR retry {used} of {most}"))


def _unready(case: Case, qp: QueuePair, *first: Evidence) -> Finding:
    """The evidence of a send that RNR NAKs answer, while the peer has no receive."""
    send, wqe, peer = waiting(case), case.wqe, case.peer
    if send is None or wqe is None or acknowledged(case) is None:
        return NA
    naks = send.rnr_naks
    if not naks:
        return ok("no RNR NAK has come for it")
    if peer is None or receivers.source(case, peer).wqes:
        return ok("a receive waits for it now")
    srq, name = case.shared_by(peer), case.qp_name(peer)
    empty = f"{name} had no receive for it"
    if srq is not None:
        own = case.name(Noun.SRQ, srq.node, srq.number)
        empty = f"{own} was empty; {name} takes its receives from {own}"
    # of very many NAKs the first is not known, and only the newest are counted
    kept, many = " (the first NAK that is still kept)", "and more"
    if len(naks) < MOST_PACKETS:
        kept, many = "", "so far"
    return blocking(
        case, *first,
        fact(f"{empty}{kept}", naks[0].event),
        fact(f"{fmt.count(len(naks), 'RNR NAK')} {many}, the last one here", naks[-1].event),
        *_beside(case, peer), *_next(qp), cure=Fix(commands.rooms(case, peer, wqe.length)),
        since=naks[0].event,
    )  # fmt: skip


def _beside(case: Case, target: QueuePair) -> list[Evidence]:
    """A receive on another queue pair than the one without, to which its peer has sent nothing."""
    for other in case.world.nodes[target.node].qps.items.values():
        peer = peer_of(case.world, other)
        unused = peer is not None and peer.node == case.node and not peer.sq.posted
        if other is target or other.shares_receives or not other.rq.wqes or not unused:
            continue
        text = (f"the receive was posted on {case.qp_name(other)}, which gets no message: "
                f"this one goes to {case.qp_name(target)}")  # fmt: skip
        return [fact(text, case.log.last(Kind.RECV_POSTED, other.thing))]
    return []


def _next(qp: QueuePair) -> list[Evidence]:
    """The time at which it will be sent again."""
    until_ns = qp.comp.rnr_until_ns
    return [] if until_ns is None else [fact(f"the next try is at {fmt.clock(until_ns)}")]


LONG_NS = 100_000_000
"""A single wait that a person notices."""

_USUAL = usual_word("min_rnr_timer")


@check("rnr-slow", send=waiting)
def rnr_slow(case: Case, send: Send, qp: QueuePair, peer: QueuePair) -> Finding:
    """Check whether the request waits for a long min_rnr_timer with a receive posted by now."""
    if not send.begun:
        return NA
    naks = send.rnr_naks
    until_ns = qp.comp.rnr_until_ns
    if until_ns is None or not naks or naks[-1].timer is None:
        return ok("it does not wait for the receiver")
    code, wait_ns = naks[-1].timer, RNR_NS[naks[-1].timer]
    if wait_ns < LONG_NS or not receivers.source(case, peer).wqes:
        return ok(f"the receiver asked for {fmt.duration(wait_ns)} only")
    rows = set_at(case, peer, Attr.MIN_RNR_TIMER)
    return blocking(
        case, fact(f"{case.qp_name(peer)} was given min_rnr_timer={code}: "
                   f"{fmt.duration(wait_ns)}{', not none' if code == 0 else ''}", rows),
        fact(f"{case.qp_name(peer)} had no receive, and asked for that wait", naks[-1].event),
        fact(f"a receive is posted, and the wait ends at {fmt.clock(until_ns)}"),
        cure=_rnr_slow_cure(case, peer), since=rows,
    )  # fmt: skip


def _rnr_slow_cure(case: Case, peer: QueuePair) -> Fix | None:
    """For the next time; the wait that runs goes on."""
    if peer.state is not QPState.RTS:
        return None
    return Fix([f"modify_qp {case.qp_name(peer)} state=RTS min_rnr_timer={_USUAL}"])


@check("rnr-retry-exc")
def rnr_retry_exc(send: Send, ending: Ending, qp: QueuePair) -> Finding:
    """Number of RNR NAKs that came, and number that the requester accepts."""
    if ending.status is not WCStatus.RNR_RETRY_EXC_ERR:
        return ok("it did not fail for want of a receive")
    naks = send.rnr_naks
    many = f"{fmt.count(len(naks), 'RNR NAK')} came"
    evidence = [fact(f"{many}, this was the last", row.event) for row in naks[-1:]]
    count = f"rnr_retry={qp.attr.rnr_retry} is used up: RNR_RETRY_EXC_ERR"
    return fail(*evidence, fact(count, ending.event), since=ending.event)


@check("no-rr")
def no_rr(case: Case, send: Send, qp: QueuePair) -> Finding:
    """Check whether the request met an empty receive queue, and was dropped or ended in error."""
    target = receivers.target(case) if send.wqe is not None else case.peer
    if target is None or target.shares_receives:
        return NA
    lost = _rnr_retries_exhausted if qp.transport.acknowledged else _dropped
    found = lost(case, target)
    if not found:
        return _still_unready(case, qp)
    # Why no other receive was posted can have begun only after the last one was consumed.
    since = found[0].event
    found = [*_last_taken(case, target, since), *found]
    if send.wqe is None:
        return fail(*found, since=since)
    meant = None if qp.transport.connected else receivers.addressee(
        case, qp.thing, target, send.wqe.wr.remote_qkey)  # fmt: skip
    if meant is not None:
        return _misdirected(case, send, send.wqe, target, meant)
    wanted = not_given(case, qp, "rnr_retry", since or 0) if qp.transport.acknowledged else None
    found = [*([wanted.evidence] if wanted is not None else []), *found]
    ours = {"rnr_retry": str(wanted.value)} if wanted is not None else None
    cure = _no_rr_cure(case, send.wqe, qp, target, ours)
    return fail(*found, *_beside(case, target), cure=cure, since=since)


@no_rr.instead
def _of_shared(case: Case, qp: QueuePair) -> Finding | None:
    """The cause of a send that has met an empty SRQ whose limit was never armed."""
    found = receivers.ran_empty(case)
    if found is None or receivers.limit_reached(case, found) is not None:
        return None
    facts, cure = receivers.found_empty(case, found), Fix(recovery.refilled(case, found, 0))
    waits = [_no_limit(case, qp)] if waiting(case) is not None else []
    return blocking(case, *facts, *waits, cure=cure, since=facts[0].event)


def _still_unready(case: Case, qp: QueuePair) -> Finding:
    """Of a request that RNR NAKs answer, what rnr-infinite or rnr-wait reports; else no cause."""
    found = _unready(case, qp)
    if found.verdict in (Verdict.OK, Verdict.NA):
        return ok("it found a receive, or needed none")
    told_by = "rnr-infinite" if qp.attr.rnr_retry == INFINITE_RETRIES else "rnr-wait"
    return replace(found, evidence=[*found.evidence, fact(f"see {told_by}")], told_by=told_by)


def _misdirected(
    case: Case, send: Send, wqe: SendWqe, target: QueuePair, meant: QueuePair
) -> Finding:
    """Finding on a datagram that came to another queue pair than the one with a receive for it."""
    qp, came = case.qp, case.unanswered.because("no-receive") if case.unanswered else []
    name, right, lines = case.qp_name(target), case.qp_name(meant), list[str]()
    if qp is not None and meant.node != target.node:
        lines = recovery.through_new_handle(case, qp, wqe.wr, meant.node, meant)
    elif qp is not None:
        lines = commands.again(case, qp, wqe.wr, meant, remote_qpn=right)
    return fail(
        fact(f"it was sent to {name}, which has no receive; {right} has one", send.posted),
        *(fact(f"{target.node} dropped it", row.event) for row in came[-1:]),
        fact(f"{name} has number {target.number:#x} on {target.node}, "
             f"{right} {meant.number:#x} on {meant.node}"),
        cure=Fix(lines), since=send.posted,
    )  # fmt: skip


def _rnr_retries_exhausted(case: Case, target: QueuePair) -> list[Evidence]:
    """RC: the RNR NAKs up to the end."""
    send = case.send
    if send is None or send.ending is None:
        return []
    naks = send.rnr_naks
    if send.ending.status is not WCStatus.RNR_RETRY_EXC_ERR:
        return []
    if not naks:  # the log no longer has them
        text = f"each try of it got an RNR NAK: {case.qp_name(target)} had no receive"
        return [fact(text, send.ending.event)]
    many = fmt.count(len(naks), "RNR NAK")
    return [
        fact(f"it came, and {case.qp_name(target)} had no receive", naks[0].event),
        fact(f"{many}, the last one here, and none was posted meanwhile", naks[-1].event),
        *_between(case, send, target, naks[0]),
    ]


def _between(case: Case, send: Send, target: QueuePair, nak: PacketRow) -> list[Evidence]:
    """The wait before each further try; [] where there was none, or the log lacks it."""
    later = [row.at_ns for row in send.transmissions if row.at_ns > nak.at_ns]
    if nak.timer is None or not later:
        return []
    tick_ns, asked_ns = case.profile.timer_tick_ns, RNR_NS[nak.timer]
    waited_ns, timer = on_ticks_ns(asked_ns, tick_ns), f"min_rnr_timer={nak.timer}"
    text = (
        f"each further try came {fmt.duration(waited_ns)} later: {timer} of {case.qp_name(target)}"
    )
    if waited_ns != asked_ns:
        text += f" asks for {fmt.duration(asked_ns)}, and timers tick every {fmt.duration(tick_ns)}"
    return [fact(text, set_at(case, target, Attr.MIN_RNR_TIMER))]


def _dropped(case: Case, target: QueuePair) -> list[Evidence]:
    """UC and UD: the message was dropped, without a NAK."""
    misses = case.unanswered.because("no-receive") if case.unanswered is not None else []
    if not misses:
        return []
    posts = case.log.about(Kind.RECV_POSTED, target.thing)
    later = [r for r in posts if event_of(r) > misses[0].event]
    name = case.qp_name(target)
    return [
        fact(f"it came to {name}, which had no receive, and was dropped", misses[0].event),
        *([fact(f"{name} got its next receive only then", event_of(later[0]))] if later else []),
    ]


def _last_taken(case: Case, target: QueuePair, event: int | None) -> list[Evidence]:
    """The event in which its receive queue became empty."""
    taken = case.log.about(Kind.RECV_TAKEN, target.thing)
    earlier = [r for r in taken if event is not None and event_of(r) < event][-1:]
    return [fact(f"{case.qp_name(target)} consumed its last receive{_for_no_one(case, r)}",
                 event_of(r)) for r in earlier]  # fmt: skip


def _for_no_one(case: Case, taken: Record) -> str:
    """The reason a receive was taken by what its program does not expect; empty for a message."""
    came = messages.arrived_with(case.log, taken)
    if came is None:
        return ""
    name = name_of(case.names, came.subject)
    if came.thing == Thing(Noun.QP, *rec.place_of(taken)):
        return f" for its own datagram {name}: it is in the group"
    copies = [r for r in case.log.of(Kind.PACKET_COPIED) if packet_of(r) == came.packet]
    if not copies or event_of(copies[0]) > event_of(taken) or _is_first(case, taken, came):
        return ""
    faults = [f for f in case.world.network.cable.faults if isinstance(f, Duplicate)]
    by = f"fault {faults[0].number}" if faults else "the cable"
    return f" for a copy of {name}, which {by} made"


def _is_first(case: Case, taken: Record, came: Message) -> bool:
    """Whether no receive of a queue pair before this one was taken by the same message."""
    own = case.log.about(Kind.RECV_TAKEN, Thing(Noun.QP, *rec.place_of(taken)))
    before = (messages.arrived_with(case.log, r) for r in own
              if came.sent <= event_of(r) < event_of(taken))  # fmt: skip
    return all(it is None or it.subject != came.subject for it in before)


def _no_rr_cure(
    case: Case, wqe: SendWqe, qp: QueuePair, target: QueuePair, ours: CallArguments | None
) -> Fix:
    if not qp.transport.acknowledged:
        return Fix(commands.again(case, qp, wqe.wr, target))
    if refused := _own_receives(case, target, wqe.length):
        again = [*refused, commands.post_send(case, qp, wqe.wr)]
        return Fix([*reconnect(case, qp, target, ours), *again])
    return Fix(recovery.reconnected_to(case, qp, target, wqe.wr, ours))


def _own_receives(case: Case, target: QueuePair, length: int) -> list[str]:
    """The receives of the call that was refused for the state of a queue pair, if they have room
    for a message.
    """
    calls = undelivered.unposted(case, target, ("post_recv",))
    attempt = posting_calls.of_call(case.log, calls[-1]) if calls else None
    if attempt is None or calls[-1].refusal != "recv-state":
        return []
    wrs = posting_calls.bound(case.session, attempt, attempt.left)
    fits = wrs and sum(sge.length for sge in wrs[0].sg) >= length
    return [commands.post_recv(case, target, wr) for wr in wrs] if fits else []


@check("srq-vs-rq")
def srq_vs_rq(case: Case, wqe: SendWqe, peer: QueuePair) -> Finding:
    """Of a refused post_recv, whether its queue pair has an SRQ; of a send that finds no receive,
    whether receives were posted to an SRQ that the peer does not take them from."""
    if not case.asked or not receivers.lacks_receive(case, peer):
        return NA
    misplaced = receivers.misplaced_receive(case, peer)
    if not misplaced:
        return ok("no receive for the peer was posted to another queue")
    cure = _where_it_is_taken(case, peer, wqe)
    return fail(*misplaced, _no_receive(case, peer), cure=cure, since=misplaced[0].event)


def _where_it_is_taken(case: Case, peer: QueuePair, wqe: SendWqe) -> Fix:
    """A receive on the right queue; where the send has ended, a new connection and the send."""
    srq = case.shared_by(peer)
    lines = commands.rooms(case, peer, wqe.length)
    if srq is not None:
        pd = Thing(Noun.PD, srq.node, srq.pd)
        name = case.name(Noun.SRQ, srq.node, srq.number)
        lines = commands.receive_at(case, name, pd, wqe.length, srq.posted + 1)
    qp = case.qp
    if qp is None or case.send is None or case.send.ending is None:
        return Fix(lines)
    again = commands.post_send(case, qp, wqe.wr)
    connect = reconnect(case, qp, peer)
    return Fix([*lines, *connect, again] if srq is not None else [*connect, *lines, again])


@srq_vs_rq.instead
def _of_call(case: Case, call: Call, qp: QueuePair) -> Finding:
    if call.verb != "post_recv":
        return NA
    if call.refusal != receivers.RULE:
        return ok("it was posted to the right queue")
    attempt, srq = posting_calls.of_call(case.log, case.call), case.name(Noun.SRQ, qp.node, qp.srq)
    wrs = posting_calls.bound(case.session, attempt, attempt.left) if attempt is not None else []
    lines, made = [commands.post_recv(case, qp, wr) for wr in wrs], case.log.created(qp.thing)
    return fail(fact(f"{case.qp_name(qp)} was made with srq={srq}", made),
                fact(call.answer, call.event),
                cure=Fix(lines) if lines else None, since=call.event)  # fmt: skip


def _no_receive(case: Case, peer: QueuePair) -> Evidence:
    """The message that found none."""
    found = case.log.about(Kind.REQUEST_REFUSED, peer.thing)
    return fact("a message found no receive", event_of(found[0]) if found else None)


@check("recv-before-send", asked=True, found=backlog)
def recv_before_send(case: Case, found: Backlog, call: Call) -> Finding:
    """Of a post that found no slot, whether it followed the peer's answer and not a completion."""
    if not found.all_under_way:
        return ok("some of what held its slots was done")
    message = answer(case, found)
    if message is None:
        return ok("no message was taken for their completion")
    last, cqe = found.sends[-1], cqe_of(message)
    lines = reposting.after_polling(case, found)
    return fail(
        _state(last, call.event),
        fact(f"the peer's message was polled ({fmt.wr(cqe.wr_id)} of the receives), "
             "which frees no slot", event_of(message)),
        fact(f"{call.verb} followed at once", call.event),
        cure=Fix(lines) if lines else None, since=last.posted,
    )  # fmt: skip


def _state(send: Send, event: int) -> Evidence:
    """The newest request, and where its acknowledgement was then."""
    name = fmt.wr(send.subject.wr_id)
    acks = [row for row in send.answers if row.event <= event]
    if not acks:
        return fact(f"{name} was posted, and not yet acknowledged", send.posted)
    return fact(f"{name} was posted, and its {acks[-1].label}, which left at "
                f"{fmt.ev(acks[-1].event)}, had not come", send.posted)  # fmt: skip


Queue = QueuePair | SharedReceiveQueue


def _posted_on(case: Case) -> Queue | None:
    return posting_calls.queue_of(case.world, case.call)


@check("rq-full", asked=True, verbs=posting_calls.RECEIVING, queue=_posted_on)
def rq_full(case: Case, call: Call, queue: Queue) -> Finding:
    """Of a receive that found no slot, whether all slots held receives that no message took."""
    thing, own = queue.thing, queue.rq if isinstance(queue, QueuePair) else queue
    if call.refusal != "queue-full" or not own.capacity:
        return ok("the receive queue was not full, or it has no slot at all")
    name, many = case.names.of(thing), own.capacity
    if _waiting(case, thing, len(own.wqes), call.event) < many:
        return ok("messages had taken some of its receives")
    posted = [event_of(r) for r in case.log.about(post_kind(thing), thing)
              if event_of(r) <= call.event]  # fmt: skip
    return fail(
        fact(f"{fmt.count(many, 'receive')} are all that {name} holds, and no message had taken "
             "one of them", posted[-many] if len(posted) >= many else None),
        fact(f"{call.verb} returned {errno_name(call.errno)}, and did not set errno", call.event),
        cure=_cure(case, queue), since=call.event,
    )  # fmt: skip


def _waiting(case: Case, thing: Thing, now: int, event: int) -> int:
    """Number of receives that waited in that event: now, less what came and went since."""
    shared = thing.number if thing.noun is Noun.SRQ else 0
    taken = sum(event_of(r) > event and rec.recv_wqe_of(r).srq == shared
                and (shared > 0 or object_of(r) == thing.number)
                for r in case.log.of(Kind.RECV_TAKEN, thing.node))  # fmt: skip
    posted = sum(event_of(r) > event for r in case.log.about(post_kind(thing), thing))
    return int(now + taken - posted)


# --------------------------------------------------------------------------- the cure
def _cure(case: Case, queue: Queue) -> Fix:
    """A message takes the oldest of them, and its polled completion gives the slot back."""
    attempt = posting_calls.of_call(case.log, case.call)
    own = [queue] if isinstance(queue, QueuePair) else undelivered.users_of(case, queue.thing)
    for qp in own:
        message = _message(case, qp)
        if message and attempt is not None and qp.recv_cq:
            cq = case.name(Noun.CQ, qp.node, qp.recv_cq)
            again = posting_calls.corrected_call(case.session, attempt, attempt.left)
            return Fix([message, "run", f"poll_cq {cq}", again])
    return Fix(program="count the receives that are posted, or ask for a longer queue when it is "
                        "made")  # fmt: skip


def _message(case: Case, qp: QueuePair) -> str:
    """An empty message to this queue pair, from its peer or from a datagram's sender."""
    wr = SendWR(opcode=WROpcode.SEND, flags=SendFlags.SIGNALED)
    peer = peer_of(case.world, qp)
    if peer is not None and peer.state is QPState.RTS:
        return commands.post_send(case, peer, wr, wr_id=None)
    for hca in case.world.nodes.values():
        for other in hca.qps.items.values():
            ah = _handle(case, other, qp)
            if ah and other.state is QPState.RTS and qp.qp_type is QPType.UD:
                wr.ah, wr.remote_qpn, wr.remote_qkey = ah, qp.number, qp.attr.qkey or 0
                return commands.post_send(case, other, wr, wr_id=None, remote_qpn=case.qp_name(qp))
    return ""


def _handle(case: Case, sender: QueuePair, receiver: QueuePair) -> int:
    """The number of an address handle of a UD queue pair that leads there; 0: it has none."""
    handles = case.world.nodes[sender.node].ahs.items.values()
    if sender.qp_type is not QPType.UD or sender is receiver:
        return 0
    own = (ah for ah in handles if ah.pd == sender.pd)
    leads = (ah for ah in own if node_at(case.world, sender.node, ah.attr) == receiver.node)
    return next((ah.number for ah in leads), 0)
