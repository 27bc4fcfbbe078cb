"""Threads that wait, or poll in vain, for what no other thread and no work request will bring."""

from rdmalab.command import New
from rdmalab.doctor.case import RecvWqe
from rdmalab.doctor.evidence.components import things_in, things_of
from rdmalab.doctor.evidence.host_reads import last_arrival, watched, written_over
from rdmalab.doctor.evidence.posting_calls import SENDING
from rdmalab.doctor.facts import vain_polls
from rdmalab.doctor.facts.lines_to_run import is_to_post, skipped_send
from rdmalab.doctor.facts.vain_polls import VainPoll, left_unread
from rdmalab.doctor.facts.vain_requests import VainRequest, vain_request
from rdmalab.doctor.kit import *
from rdmalab.grammar.nodes import Node
from rdmalab.grammar.trees import render
from rdmalab.hca.completer import waits_without_limit
from rdmalab.spec.opcodes import Op

_POSTS = (Kind.SEND_POSTED, Kind.RECV_POSTED)


@check("thread-stopped", waits=thread_wait)
def thread_stopped(case: Case, waits: ThreadWait) -> Finding:
    """Check whether a thread that was to provide the awaited data has failed or ended."""
    gone = [other for other in waits.providers if other.state is ProgramState.FAILED]
    gone += [other for other in waits.providers if other.state is ProgramState.DONE]
    unread = left_unread(case, waits) if waits.outstanding and not gone else []
    gone += [other for other, _ in unread]
    if not gone:
        return ok("no thread that it waits for has stopped")
    act = "answer each message" if unread else "signal its waiters"
    cure = f"let {case.names.of(gone[0].thing)} {act} before it stops, also after an error"
    return fail(_stopped(case, gone[0]), *(text for _, text in unread[:1]), waits.words(),
                cure=Fix(program=cure))  # fmt: skip


def _stopped(case: Case, other: Program) -> Evidence:
    failed = other.state is ProgramState.FAILED
    kind = Kind.PROGRAM_FAILED if failed else Kind.PROGRAM_DONE
    line = f"failed in line {other.line.number}: {other.line.text}: {other.why}"
    text = f"{case.names.of(other.thing)} {line if failed else 'has ended'}"
    return fact(text, case.log.last(kind, other.thing))


@check("no-such-object")
def no_such_object(case: Case, program: Program) -> Finding:
    """FAIL of a thread that stopped at a name: of nothing, or of an object to make that exists."""
    event = case.log.last(Kind.PROGRAM_FAILED, program.thing)
    called = {kind_of(r) for r in case.log.within(-1 if event is None else event)}
    if program.state is not ProgramState.FAILED or event is None or Kind.CALLED in called:
        return ok("each name in its lines named what it was to name")
    line, call = program.line, program.line.invocation
    where = f"line {line.number}: {line.text}"
    stopped = fact(f"{case.names.of(program.thing)} failed in {where}: {program.why}", event)
    makes = call is not None and any(isinstance(each, New) for each in call.arguments.values())
    if makes and (there := things_of(case.session, line)):
        name = case.names.of(there[0])
        return fail(fact(f"{name} was made", case.log.created(there[0])), stopped,
                    cure=Fix(program=f"give the new object another name than {name}, or none"),
                    since=event)  # fmt: skip
    return fail(stopped, cure=Fix(program="make the object before that line, or name another one"))


@check("mutual-wait", waits=thread_wait)
def mutual_wait(waits: ThreadWait) -> Finding:
    """Check whether threads wait for each other in a circle."""
    circle = _circle(waits, [])
    if len(circle) < 2:
        return ok("no other thread waits for it in a circle")
    if waits.thing != min(each.thing for each in circle):
        return ok("the circle is reported for another of its threads")
    names, now = ", ".join(each.name for each in circle), waits.case.world.event
    kept = [event for each in circle if (event := each.since()) < now]
    return fail(
        fact(
            f"{', '.join(each.name for each in circle[:-1])} and {circle[-1].name} wait for each "
            "other"
        ),
        *[each.words() for each in circle],
        cure=Fix(program=f"let one of {names} go on first: post, or signal, before it waits"),
        since=min(kept, default=waits.case.log.begins or now),  # before all that is kept
    )


def _circle(waits: ThreadWait, before: list[ThreadWait]) -> list[ThreadWait]:
    """The threads from this one back to it, each of which waits for the next."""
    path = [*before, waits]
    for other in waits.providers:
        if other is path[0].program:
            return path
        known = any(other is each.program for each in path)
        following = None if known else thread_waits.of_program(waits.case, other)
        if following is not None and (found := _circle(following, path)):
            return found
    return []


@mutual_wait.instead
def _of_host_programs(case: Case, cq: CompletionQueue) -> Finding | None:
    """FAIL of two queues that programs of the host wait for, each for a message of the other."""
    awaited = {t for each in case.session.unanswered for t in things_in(case.session, each)}
    for qp in case.hca.qps.items.values() if awaited and case.at_rest else ():
        peer = peer_of(case.world, qp)
        if qp.recv_cq != cq.number or peer is None:
            continue
        queues = [cq, case.world.nodes[peer.node].cqs.items[peer.recv_cq]]
        names = [case.names.of(each.thing) for each in queues
                 if awaited & {each.thing, Thing(Noun.CHANNEL, each.node, each.channel or 0)}
                 and not each.cqes]  # fmt: skip
        busy = any(end.comp.serial < end.sq.posted or not end.source.wqes for end in (qp, peer))
        if len(names) == len(queues) and not busy:
            ends = f"{case.qp_name(qp)} and {case.qp_name(peer)}"
            return fail(
                fact(f"programs wait for a completion on {' and on '.join(names)}"),
                fact(f"{ends} have receives, and no send is under way between them"),
                _last_post(case, qp), _last_post(case, peer),
                cure=Fix(program="let one of the programs send before it waits"),
            )  # fmt: skip
    return None


def _on_queues(case: Case) -> ThreadWait | None:
    """The wait of a thread for a completion; None where its condition is about bytes."""
    waits = thread_wait(case)
    if waits is None or watched(case.session, waits.line.question) is not None:
        return None
    return waits if waits.cqs else None


_SPENT = "a poll after an event may find nothing: wait for the next event then"


@check("nothing-outstanding", waits=_on_queues, vain=vain_polls.vain_poll)
def nothing_outstanding(case: Case, waits: ThreadWait) -> Finding:
    """Check whether no outstanding request could complete on the CQs of a thread."""
    cqs = [case.world.find(thing, CompletionQueue) for thing in waits.cqs]
    if any(cq.cqes for cq in cqs):
        return ok("a completion is on a queue that it looks at")
    if waits.unposted or waits.silent or waits.refuted or conditions.unmet(waits):
        return ok("its condition is false, or its request was not signaled or has failed")
    if waits.outstanding:
        return ok(f"{case.qp_name(waits.outstanding[0])} has work outstanding")
    if waits.shared:
        return ok(f"{case.names.of(waits.shared[0].thing)} holds a receive for it")
    evidence = [_last_post(case, qp) for qp in waits.feeding[:3]]
    names = " and ".join(case.names.of(thing) for thing in waits.cqs)
    advice = f"post a signaled send or a receive that completes on {names}, then poll"
    if waits.coming:
        sent = name_of(case.names, waits.coming[0])
        evidence = [fact(f"{sent} is under way, and no receive is left for it"), *evidence]
    elif waits.took_the_last and not waits.serves:
        evidence, advice = [*waits.own_poll(), *evidence], waits.one_poll_each()
    return (wait if waits.serves else fail)(
        *(evidence or [fact(f"no queue pair completes on {names}")]), waits.words(),
        *conditions.unread_events(case),
        cure=Fix(program=advice), since=waits.since(),
    )  # fmt: skip


@nothing_outstanding.instead
def _polled_once_more(case: Case, vain: VainPoll) -> Finding:
    """Of a queue that is polled in vain, whether all its work is over and was signaled.

    Who polls until a queue is empty has read all: it is a failure only of a program that hangs.
    """
    if vain_polls.newest_silent(case, vain) is not None:
        return ok("a send on it was not signaled")
    if vain_polls.left_elsewhere(case, vain) is not None:
        return ok("a completion is on another queue of its queue pairs")
    name = case.names.of(case.subject.thing)
    if spent := vain_polls.spent_event(case, vain):
        return warn(*spent, cure=Fix(program=_SPENT))
    return (fail if case.session.unanswered else warn)(
        *[_last_post(case, qp) for qp in vain.feeding[:3]],
        fact(f"{name} is polled, and no work is left for it", vain.event),
        cure=Fix(program=f"post a signaled send or a receive that completes on {name}, then poll"),
    )


def _last_post(case: Case, qp: QueuePair) -> Evidence:
    """The last post on its queues, and whether all of it is over."""
    name, own = case.qp_name(qp), qp.thing
    kept = [each for kind in _POSTS for each in case.log.about(kind, own)]
    if qp.srq:
        srq = Thing(Noun.SRQ, qp.node, qp.srq)
        name = f"{name} and {case.names.of(srq)}"
        kept += case.log.about(Kind.SRQ_POSTED, srq)
    posted = qp.sq.posted + qp.source.posted
    if not posted:
        return fact(f"nothing was posted on {name}")
    over = "" if qp.comp.serial < qp.sq.posted or qp.source.wqes else ", none outstanding"
    last = "; the last one here" if kept else ""
    many = fmt.count(posted, "work request")
    return fact(f"{many} posted on {name}{over}{last}", max(map(event_of, kept), default=None))


@check("silent-peer", waits=_on_queues)
def silent_peer(case: Case, waits: ThreadWait) -> Finding:
    """FAIL of receives that wait for messages of a peer that has nothing left to send."""
    listening = _listening(case, waits)
    if not listening or any(case.world.find(cq, CompletionQueue).cqes for cq in waits.cqs):
        return ok("no receive of it waits for a message")
    if conditions.unmet(waits):
        return ok("its condition is false for another reason than that no message comes")
    quiet = (each for each in listening if undelivered.is_quiet(case, each[0]))
    qp, wqes, srq = next(quiet, (None, [], ""))
    peer = peer_of(case.world, qp) if qp is not None else None
    ends = [peer.thing] if peer is not None else []
    senders = [each for each in waits.providers if is_to_post(case, each, ends, SENDING)]
    idle = [server for each in senders if (server := thread_waits.of_program(case, each))
            and server.serves and not waits.serves]  # fmt: skip
    later = len(idle) < len(senders)  # one that waits for requests sends nothing before the next
    later = later or (peer is not None and bool(undelivered.unsent(case, peer)))
    if qp is None or peer is None or later:
        return ok("its peer may still send")
    receives, where = fmt.count(len(wqes), "receive"), srq or case.qp_name(qp)
    message = some_message(case, peer, wqes[0].length, srq)
    lines = [message] if peer.state is QPState.RTS else []
    sends = peer.sq.posted or case.log.about(Kind.SEND_POSTED, peer.thing)
    sent = _last_post(case, peer) if sends else fact(f"{case.qp_name(peer)} has sent nothing")
    cure = Fix(lines) if lines else None
    if idle and (took := _last_taken(case, peer)) is not None:
        sent = fact(
            f"{case.log.who(took)} took a message on {case.qp_name(peer)}; {sent.text}", took
        )
    if (other := _answer_elsewhere(case, peer, qp.node)) is not None:
        sent = other
        cure = Fix(program=f"post the answer on {case.qp_name(peer)}, which got the request")
    skipped, advice = skipped_send(case, peer.thing)
    cure = Fix(program=advice) if advice else cure
    cure = None if waits.serves and not advice else cure
    return (wait if waits.serves else fail)(
        *skipped, fact(f"{receives} posted on {where}, and no message has come for it"),
        sent, *(each.words() for each in idle[:1]), waits.words(),
        *conditions.unread_events(case), cure=cure, since=waits.since(),
    )  # fmt: skip


def _listening(case: Case, waits: ThreadWait) -> list[tuple[QueuePair, list[RecvWqe], str]]:
    """The queue pairs whose receives complete on its queues, with these and, in XRC, their SRQ."""
    numbers = {cq[1:] for cq in waits.cqs}
    own = [(qp, [*qp.source.wqes], "") for qp in waits.qps if (qp.node, qp.recv_cq) in numbers]
    xrc = [(qp, [*srq.wqes], case.names.of(srq.thing)) for srq in waits.shared
           for qp in undelivered.users_of(case, srq.thing)]  # fmt: skip
    return [each for each in [*own, *xrc] if each[1] and each[0].state is not QPState.ERR]


def _last_taken(case: Case, qp: QueuePair) -> int | None:
    """The event in which the last message of a queue pair was polled."""
    polls = (r for r in reversed(case.log.of(Kind.CQE_POLLED, qp.node))
             if cqe_of(r).qp_num == qp.number and not cqe_of(r).is_send)  # fmt: skip
    return next(map(event_of, polls), None)


def _answer_elsewhere(case: Case, peer: QueuePair, node: str) -> Evidence | None:
    """The first message to a node that who took the last one of a QP then sent on another QP."""
    log, taken = case.log, _last_taken(case, peer)
    for record in log.of(Kind.SEND_POSTED, peer.node) if taken is not None else ():
        event, other = event_of(record), find_qp(case.world, peer.node, object_of(record))
        work = send_wqe_of(record).work
        if event < (taken or 0) or other is None or work is None or not work.consumes_receive:
            continue
        if log.asked(event)[1] == log.asked(taken)[1] and peer_node(case.world, other) == node:
            name, wr = case.qp_name(other), fmt.wr(send_wqe_of(record).wr.wr_id)
            text = f"{log.who(event)} took a message from {case.qp_name(peer)}, and then sent {wr}"
            return fact(f"{text} on {name}", event) if other is not peer else None
    return None


@check("condition-false", waits=thread_wait)
def condition_false(case: Case, waits: ThreadWait) -> Finding:
    """FAIL of a thread that waits at rest for a condition that is false; WAIT of an idle server."""
    question = waits.line.question
    if question is None:
        return NA
    unposted, other = waits.unposted, conditions.unmet(waits)
    asleep = waits.program.state is ProgramState.WAITING or waits.spin
    if not (asleep or unposted or other):
        return NA
    for thing in case.log.component_of(waits.thing):
        qp = find_qp(case.world, *thing[1:]) if thing.noun is Noun.QP else None
        if qp is not None and waits_without_limit(qp):
            return ok(f"{case.names.of(thing)} retries a request, and what follows it waits")
    if memory_waits.failed_writes(case, case.node, watched(case.session, question)):
        return ok("the request that was to write what it waits for has failed")
    values, unlike = conditions.values(case, question)
    values = values if other is None else other.evidence
    change = f"let a message, a call or a thread make {render(question)} true"
    change = "compare bytes with as many bytes, in the order that they have" if unlike else change
    if unposted:
        change = f"wait for the wr_id of a {waits.posts_named} that is posted"
    change = other.advice if other is not None else change
    written, place, atomic = _written_by(case, waits)
    idle = waits.serves and not (other is not None and other.for_good)
    change = (
        atomic
        or (place if not unlike else "")
        or f"{change}, or do not wait for it in {waits.name}"
    )
    cure = Fix(program=change)
    return (wait if idle else fail)(
        *unposted, *values, *written, *conditions.unread_events(case),
        waits.words(), cure=None if idle else cure, since=waits.since(),
    )  # fmt: skip


@condition_false.instead
def _read_in_vain(case: Case, program: Program) -> Finding | None:
    """FAIL of a thread that repeats a READ of bytes that nothing will change, for its condition."""
    vain = vain_request(case, program)
    if vain is None or vain.wqe.op is not Op.RDMA_READ_REQUEST:
        return None
    looks = [line.question for line in program.lines if line.question is not None]
    if not looks or _for_each_other(program, vain):
        return None
    others = [waits.words() for waits in vain.writers]
    others = others or [fact(f"no thread, no request and no receive is to write {vain.where}")]
    return fail(
        _repeats(case.names.of(program.thing), vain, f", until {render(looks[-1])}"),
        *conditions.values(case, looks[-1], vain.ended)[0],
        *_elsewhere(case, vain.node, vain.word, looks[-1], -1)[0],
        *others,
        cure=Fix(program=f"let a thread or a message write {vain.where}"), since=vain.posted,
    )  # fmt: skip


@mutual_wait.instead
def _with_one_that_reads(case: Case, program: Program) -> Finding | None:
    """FAIL of a thread that repeats a READ until another one writes, which waits for the first."""
    for each in programs_of(case.world):
        vain = vain_request(case, each)
        held = _for_each_other(each, vain)
        if vain is not None and held and program in (each, *(waits.program for waits in held)):
            name = case.names.of(each.thing)
            return fail(
                _repeats(name, vain),
                *[waits.words() for waits in held],
                cure=Fix(program=f"let {held[0].name} write {vain.where} before it waits, "
                                 f"or let {name} post before it READs"),
                since=min(waits.since() for waits in held),
            )  # fmt: skip
    return None


def _for_each_other(reader: Program, vain: VainRequest | None) -> list[ThreadWait]:
    """The threads that would write the bytes which a thread READs, and wait for that thread."""
    return [waits for waits in vain.writers if reader in waits.providers] if vain else []


def _repeats(name: str, vain: VainRequest, until: str = "") -> Evidence:
    return fact(f"{name} repeats {fmt.wr(vain.wqe.wr.wr_id)}, a READ of {vain.where}{until}",
                vain.posted)  # fmt: skip


def _written_by(case: Case, waits: ThreadWait) -> tuple[list[Evidence], str, str]:
    """Evidence on the bytes that a condition reads: the message, threads and calls that wrote.

    Where what it wants was written beside them, advice on the place, and where the answer to an
    atomic wrote them, advice on that; else these are empty.
    """
    question = waits.line.question
    piece = watched(case.session, question)
    node, log = case.node, case.log
    if piece is None or question is None:
        return [], "", ""
    came, where = last_arrival(log, node, piece), words_for(case.session, node, piece)
    since = came.event if came is not None else -1
    host = [event for r in log.of(Kind.HOST_WROTE, node)
            if (event := event_of(r)) > since and meet([piece], [piece_of(r)])][-1:]  # fmt: skip
    near, moved = _elsewhere(case, node, piece, question, max([since, *host]))
    if came is None:
        return (
            [*(fact(f"{log.who(event)} wrote {where}", event) for event in host), *near],
            moved,
            "",
        )
    if moved and near[0].event == came.event:
        return near, moved, ""
    own = [each.event for each in written_over(log, node) if each.came == came][-1:]
    under_way = "had written them while that was under way"
    by, (how, advice) = name_of(case.names, came.message.subject), _by_atomic(case, came.message)
    filled = messages.pieces(case.hca, came.message.wqe.sg)
    is_answer = came.message.thing.node == node and bool(meet([piece], filled))
    advice = advice if is_answer else ""
    return [fact(f"{by} wrote {where}{how}", came.event),
            *(fact(f"{log.who(event)} {under_way}", event) for event in own),
            *(fact(f"{log.who(event)} wrote them again", event) for event in host),
            *near], moved, advice  # fmt: skip


def _by_atomic(case: Case, message: messages.Message) -> tuple[str, str]:
    """The operation whose answer wrote bytes, in words, and advice; empty if none did."""
    wr, answer = message.wqe.wr, messages.brought_back(case.log, message.thing, message.wqe)
    if answer is None:
        return "", ""
    how, compare = f" by {wr.opcode.name}: ", wr.compare_add
    if message.wqe.op is Op.FETCH_ADD:
        advice = f"an atomic returns the value before it; add {compare} in"
        how += f"the value before it, {answer[0]}, to which it added {compare}"
        return how, f"{advice} {case.names.of(case.subject.thing)}"
    advice = f"let {name_of(case.names, message.subject)} compare with the value of the word"
    advice = f"{advice}, in the byte order of the host"
    wrong_order = messages.is_reversed(answer[0], compare)
    return f"{how}{messages.swapped(answer[0], compare)}", advice if wrong_order else ""


def _elsewhere(
    case: Case, node: str, piece: Piece, question: Node, since: int
) -> tuple[list[Evidence], str]:
    """The write that left elsewhere what a condition awaits, or the nearest one, in words; where
    it is the former, advice on the place.
    """
    wanted, where = conditions.wanted_octets(case, question), words_for(case.session, node, piece)
    beside = memory_waits.beside(case, case.subject.thing, node, piece, since, wanted)
    if beside is None:
        return [], ""
    before = "after that " if since >= 0 else f"nothing wrote {where}; "
    before = "" if beside.place and since >= beside.event else before
    place, by = beside.place, beside.by
    holds = f", with what is awaited at {place}" if place else ""
    moved = f"wait for {place} in {case.names.of(case.subject.thing)}, or let {by} write {where}"
    return [fact(f"{before}{by} wrote {beside.where}{holds}", beside.event)], moved if place else ""
