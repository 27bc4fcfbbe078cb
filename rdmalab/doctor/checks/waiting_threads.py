"""Threads that wait, or poll in vain, for what no other thread and no work request will bring."""

from rdmalab.command import New
from rdmalab.doctor.case import RecvWqe
from rdmalab.doctor.evidence.components import things_of
from rdmalab.doctor.evidence.host_reads import last_arrival, watched, written_over
from rdmalab.doctor.evidence.posting_calls import SENDING
from rdmalab.doctor.facts import conditions, memory_waits
from rdmalab.doctor.facts.lines_to_run import is_to_post
from rdmalab.doctor.facts.vain_polls import VainPoll, left_elsewhere, newest_silent, vain_poll
from rdmalab.doctor.kit import *
from rdmalab.grammar.trees import facts, render
from rdmalab.hca.completer import waits_without_limit

_POSTS = (Kind.SEND_POSTED, Kind.RECV_POSTED)


@check("thread-stopped", waits=thread_wait)
def thread_stopped(case: Case, waits: ThreadWait) -> Finding:
    """Check whether a thread that was to provide the awaited data has failed or ended."""
    gone = [other for other in waits.providers if other.state is ProgramState.FAILED]
    gone += [other for other in waits.providers if other.state is ProgramState.DONE]
    if not gone:
        return ok("no thread that it waits for has stopped")
    text = f"let {case.names.of(gone[0].thing)} signal its waiters before it stops"
    return fail(_stopped(case, gone[0]), waits.words(),
                cure=Fix(program=f"{text}, also after an error"))  # fmt: skip


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
    refused = any(call.event == event for call in case.log.refused())
    if program.state is not ProgramState.FAILED or event is None or refused:
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


def _on_queues(case: Case) -> ThreadWait | None:
    """The wait of a thread for a completion; None where its condition is about bytes."""
    waits = thread_wait(case)
    if waits is None or watched(case.session, waits.line.question) is not None:
        return None
    return waits if waits.cqs else None


@check("nothing-outstanding", waits=_on_queues, vain=vain_poll)
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
        *thread_waits.unread_events(case),
        cure=Fix(program=advice), since=waits.since(),
    )  # fmt: skip


@nothing_outstanding.instead
def _polled_once_more(case: Case, vain: VainPoll) -> Finding:
    """Of a queue that is polled in vain, whether all its work is over and was signaled.

    Who polls until a queue is empty has read all: it is a failure only of a program that hangs.
    """
    if newest_silent(case, vain) is not None:
        return ok("a send on it was not signaled")
    if left_elsewhere(case, vain) is not None:
        return ok("a completion is on another queue of its queue pairs")
    name = case.names.of(case.subject.thing)
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
    later = any(is_to_post(case, each, ends, SENDING) for each in waits.providers)
    if qp is None or peer is None or later:
        return ok("its peer may still send")
    receives, where = fmt.count(len(wqes), "receive"), srq or case.qp_name(qp)
    message = some_message(case, peer, wqes[0].length, srq)
    lines = [message] if peer.state is QPState.RTS else []
    sends = peer.sq.posted or case.log.about(Kind.SEND_POSTED, peer.thing)
    sent = _last_post(case, peer) if sends else fact(f"{case.qp_name(peer)} has sent nothing")
    cure = Fix(lines) if lines else None
    if (other := _answer_elsewhere(case, peer, qp.node)) is not None:
        sent = other
        cure = Fix(program=f"post the answer on {case.qp_name(peer)}, which got the request")
    return (wait if waits.serves else fail)(
        fact(f"{receives} posted on {where}, and no message has come for it"),
        sent, waits.words(), *thread_waits.unread_events(case), cure=cure, since=waits.since(),
    )  # fmt: skip


def _listening(case: Case, waits: ThreadWait) -> list[tuple[QueuePair, list[RecvWqe], str]]:
    """The queue pairs whose receives complete on its queues, with these and, in XRC, their SRQ."""
    numbers = {cq[1:] for cq in waits.cqs}
    own = [(qp, [*qp.source.wqes], "") for qp in waits.qps if (qp.node, qp.recv_cq) in numbers]
    xrc = [(qp, [*srq.wqes], case.names.of(srq.thing)) for srq in waits.shared
           for qp in undelivered.users_of(case, srq.thing)]  # fmt: skip
    return [each for each in [*own, *xrc] if each[1] and each[0].state is not QPState.ERR]


def _answer_elsewhere(case: Case, peer: QueuePair, node: str) -> Evidence | None:
    """The first message to a node that who took the last one of a QP then sent on another QP."""
    log = case.log
    taken = [event_of(r) for r in log.of(Kind.CQE_POLLED, peer.node)
             if cqe_of(r).qp_num == peer.number and not cqe_of(r).is_send][-1:]  # fmt: skip
    for record in log.of(Kind.SEND_POSTED, peer.node) if taken else ():
        event, other = event_of(record), find_qp(case.world, peer.node, object_of(record))
        work = send_wqe_of(record).work
        if event < taken[0] or other is None or work is None or not work.consumes_receive:
            continue
        if log.asked(event)[1] == log.asked(taken[0])[1] and peer_node(case.world, other) == node:
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
    values = [fact(f"{render(each)} is {conditions.value_text(case.session.ask(each))}")
              for each in facts(question)] if other is None else other.evidence  # fmt: skip
    change = f"let a message, a call or a thread make {render(question)} true"
    if unposted:
        change = f"wait for the wr_id of a {waits.posts_named} that is posted"
    change = other.advice if other is not None else change
    written, moved = _written_by(case, waits)
    idle = waits.serves and not (other is not None and other.for_good)
    cure = Fix(program=moved or f"{change}, or do not wait for it in {waits.name}")
    return (wait if idle else fail)(
        *unposted, *values, *written, *thread_waits.unread_events(case),
        waits.words(), cure=None if idle else cure, since=waits.since(),
    )  # fmt: skip


def _written_by(case: Case, waits: ThreadWait) -> tuple[list[Evidence], str]:
    """Evidence on the bytes that a condition reads: the message, threads and calls that wrote.

    Where what it wants was written beside them, advice on the place; else that is empty.
    """
    question = waits.line.question
    piece = watched(case.session, question)
    node, log = case.node, case.log
    if piece is None or question is None:
        return [], ""
    came, where = last_arrival(log, node, piece), words_for(case.session, node, piece)
    since = came.event if came is not None else -1
    host = [event for r in log.of(Kind.HOST_WROTE, node)
            if (event := event_of(r)) > since and meet([piece], [piece_of(r)])][-1:]  # fmt: skip
    beside = memory_waits.beside(case, waits.thing, piece, max([since, *host]))
    before = "after that" if came is not None or host else f"nothing wrote {where};"
    near, moved = list[Evidence](), ""
    if beside is not None:
        place = conditions.wanted_at(case, question, beside.piece)
        holds = f", with what is awaited at {place}" if place else ""
        near = [fact(f"{before} {beside.by} wrote {beside.where}{holds}", beside.event)]
        moved = (
            f"wait for {place} in {waits.name}, or let {beside.by} write {where}" if place else ""
        )
    if came is None:
        return [*(fact(f"{log.who(event)} wrote {where}", event) for event in host), *near], moved
    own = [each.event for each in written_over(log, node) if each.came == came][-1:]
    under_way = "had written them while that was under way"
    by, opcode = name_of(case.names, came.message.subject), came.message.wqe.wr.opcode.name
    how = f" by {opcode}" if opcode.startswith("ATOMIC") else ""
    return [fact(f"{by} wrote {where}{how}", came.event),
            *(fact(f"{log.who(event)} {under_way}", event) for event in own),
            *(fact(f"{log.who(event)} wrote them again", event) for event in host),
            *near], moved  # fmt: skip
