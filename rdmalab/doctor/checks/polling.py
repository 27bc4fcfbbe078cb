"""Completion queues: the wrong one polled, polled already, order, overrun, unacked events."""

from collections.abc import Sequence
from typing import TypeVar

from rdmalab.doctor.evidence.host_reads import watched
from rdmalab.doctor.evidence.work_of_queues import subject_of_cqe
from rdmalab.doctor.evidence.work_requests import CqePlace
from rdmalab.doctor.facts import vain_polls
from rdmalab.doctor.facts.vain_polls import VainPoll, found_nothing, left_elsewhere, vain_poll
from rdmalab.doctor.fixes.completion_queues import message_again, needed, recreate
from rdmalab.doctor.fixes.refused_calls import advice
from rdmalab.doctor.kit import *
from rdmalab.doctor.moments.future import goes_on
from rdmalab.doctor.moments.unreported import cut_off, done_unsignaled
from rdmalab.hca import async_events
from rdmalab.spec.completions import Arm
from rdmalab.spec.records import channel_of, noun_of
from rdmalab.world.relations import DESTROYERS


@check("wrong-cq", asked=True)
def wrong_cq(case: Case, work: Send | Receive) -> Finding:
    """Check whether other CQs were polled since the completion was added, and its CQ never was."""
    if work.added is None:
        return NA
    if work.polled is not None:
        return ok("its completion was polled", work.polled.event)
    place, node = work.added, case.node
    if place.event < case.log.begins:
        return unknown("the log does not keep the polls since then")
    polls = [c for c in case.log.calls("poll_cq", node) if c.event > place.event]
    empty_polls = [c for c in polls if found_nothing(case, c)
                   and _is_meant(case, place, c.thing[1])]  # fmt: skip
    later = (event_of(r) > c.event for c in empty_polls[-1:]
             for r in case.log.of(Kind.CQE_POLLED, *c.thing))  # fmt: skip
    if any(c.thing[1] == place.cq for c in polls) or any(later):
        return ok("its queue is polled, or another one had a completion in the end")
    name = case.name(Noun.CQ, node, place.cq)
    if not empty_polls or not case.at_rest:
        return _slept(case, place, name)
    polled = case.name(Noun.CQ, node, empty_polls[-1].thing[1])
    many = f" for the {fmt.nth(len(empty_polls))} time" if len(empty_polls) > 3 else ""
    succeeded = place.cqe.status is WCStatus.SUCCESS
    return (fail if succeeded else warn)(  # of what failed, that is the trouble
        fact(f"its completion is on {name}", place.event),
        fact(f"{empty_polls[-1].program or 'a call'} polled {polled}{many} and got none",
             empty_polls[-1].event),
        fact(f"no call has polled {name} since then"),
        cure=Fix([f"poll_cq {name}"]),
    )  # fmt: skip


@wrong_cq.instead
def _of_no_queue_pair(case: Case, cq: CompletionQueue) -> Finding:
    """Of a completion queue, whether no queue pair completes on it; a thread has its own check.

    Of one that a program polls without end, whether the completion is on the other of its pair.
    """
    if (vain := vain_poll(case)) is not None and (left := left_elsewhere(case, vain)) is not None:
        return _of_the_other(case, vain, *left)
    node, name = case.hca, case.names.of(case.subject.thing)
    gone = any(noun_of(r) == Noun.QP for r in case.log.of(Kind.DESTROYED, case.node))
    users = any(cq.number in (qp.send_cq, qp.recv_cq) for qp in node.qps.items.values())
    users = users or any(cq.number == srq.cq for srq in node.srqs.items.values())
    polled = any(call.thing == (cq.node, cq.number) for call in case.log.calls("poll_cq"))
    if cq.cqes or users or gone or not polled:
        return NA
    if thread_waits.waiting_on(case, case.subject.thing):
        return ok("a thread waits for it")
    others = [case.names.of(other.thing) for other in node.cqs.items.values() if other.cqes]
    listed = " and ".join(others)
    there = f"; completions wait on {listed}" if others else ""
    advice = f"poll {listed} instead" if others else f"name {name} as a CQ in create_qp"
    return fail(
        fact(f"no queue pair completes on {name}{there}", case.log.created(case.subject.thing)),
        cure=Fix(program=advice),
    )


def _of_the_other(case: Case, vain: VainPoll, other: CompletionQueue, cqe: Cqe) -> Finding:
    name, polled = case.names.of(other.thing), case.names.of(vain.cq.thing)
    what = name_of(case.names, subject_of_cqe(other.node, cqe))
    return fail(
        fact(f"the completion of {what} is on {name}", thread_waits.added(case, other, cqe)),
        fact(f"{polled} is polled, and no work is left for it", vain.event),
        cure=Fix(program=f"poll {name} instead of {polled}, or both"),
    )


def _slept(case: Case, place: CqePlace, name: str) -> Finding:
    """Of a completion that was not polled for whether a thread sleeps for it elsewhere."""
    cq = case.hca.cqs.items.get(place.cq)
    channel = case.hca.channels.items.get(cq.channel) if cq is not None else None
    notified = channel is not None and place.cq in channel.events  # see no-channel
    if notified or not case.at_rest or not (blocked := _blocked_threads(case, place)):
        return ok("nothing polls another queue for it")
    return fail(fact(f"its completion is on {name}", place.event), blocked[0].words(),
                cure=Fix([f"poll_cq {name}"]))  # fmt: skip


def _blocked_threads(case: Case, place: CqePlace) -> list[ThreadWait]:
    """The threads that wait for another completion queue, and can only mean this work.

    It is theirs where it is the only work left that they have posted.
    """
    poster = case.work.poster if case.work is not None else ""
    here = Thing(Noun.CQ, case.node, place.cq)
    others = {Thing(Noun.CQ, case.node, number) for number in case.hca.cqs.items
              if number != place.cq and _is_meant(case, place, number)}  # fmt: skip
    waiting = (thread_waits.of_program(case, program) for program in programs_of(case.world))
    return [waits for waits in waiting if waits is not None and here not in waits.cqs and (
        others.intersection(waits.cqs)
        or (waits.name == poster and not waits.outstanding
            and watched(case.session, waits.program.line.question) is None)  # it polls memory
    )]  # fmt: skip


def _is_meant(case: Case, place: CqePlace, polled: int) -> bool:
    """Whether a poll of that CQ can only be meant for this work: it is the other CQ of the queue
    pair, or no other work completes there.
    """
    qp = case.qp
    if qp is not None and polled in (qp.send_cq, qp.recv_cq):
        return True
    return not case.log.about(Kind.CQE_ADDED, Thing(Noun.CQ, case.node, polled)) and not any(
        polled in (other.send_cq, other.recv_cq) and other.number != place.cqe.qp_num
        for other in case.hca.qps.items.values()
    )


_LOOK_AT_OPCODE = "count only completions whose opcode is that of a receive as messages"
_ONE_POLLER = "let one thread poll the queue, and notify the others by wr_id"


@check("already-polled", waits=thread_wait)
def already_polled(case: Case, work: Send | Receive) -> Finding:
    """Check whether another program polled the completion that the posting program waits for."""
    if work.polled is None or work.posted is None:
        return NA
    poster, taker = work.poster, work.polled.program
    thing = case.names.find(poster) if poster else None
    if thing is None or poster == taker:
        return ok("the program that posted it has polled it", work.polled.event)
    program = _waiting(case, thing, work.polled.cq)
    if program is None or goes_on(case.session, thing):
        return ok(f"{poster} does not wait for it")
    name = case.name(Noun.CQ, case.node, work.polled.cq)
    return fail(fact(f"{taker or 'a call'} polled it from {name}", work.polled.event),
                fact(f"{poster}, which posted it, waits in {program.line.text}", work.posted),
                cure=_already_polled_cure(case), since=work.polled.event)  # fmt: skip


@already_polled.instead
def _taken_before(case: Case, waits: ThreadWait) -> Finding:
    """Of a thread that only waits, at rest, whether others took all that came to its queue."""
    if any(case.log.about(Kind.CQ_OVERRUN, cq) for cq in waits.cqs):
        return ok("a completion of its queue was lost: it was full")
    event = thread_waits.read_by_other(case)
    if own := vain_polls.own_for_messages(case, waits):
        return fail(*own, waits.words(), cure=Fix(program=_LOOK_AT_OPCODE))
    if waits.took_the_last and _polls_too_often(case, waits):
        cure = Fix(program=waits.one_poll_each())
        return fail(*waits.own_poll(), waits.words(), cure=cure, since=waits.since())
    polled = _polled_by_other(case, waits)
    if event is None and polled is None:
        return ok("no other thread took the completion or the event it waits for")
    return fail(
        *(each for each in (event, polled) if each is not None), waits.words(),
        cure=Fix(program=_ONE_POLLER),
        since=(polled or event or waits.words()).event,
    )  # fmt: skip


def _polls_too_often(case: Case, waits: ThreadWait) -> bool:
    """Whether a thread polls for one more completion than it can get: no work is left, no message
    was refused, no peer still sends, and no thread is to post more, or was until it was stopped.
    """
    left = waits.outstanding or waits.shared or waits.coming or waits.providers
    endless = 0 in waits.program.loops
    silent = waits.silent or any(done_unsignaled(case.log, qp) for qp in waits.feeding)
    sleeps = waits.program.wants is not None or thread_waits.event_waiter(case) is not None
    other = waits.unposted or waits.refuted or conditions.unmet(waits)
    if left or endless or silent or sleeps or other:
        return False
    return not (undelivered.refused_messages(waits) or cut_off(case.log, waits.thing))


def _polled_by_other(case: Case, waits: ThreadWait) -> Evidence | None:
    """The last completion of its queues, or one of its own work, if another thread took it."""
    others, name = [each for each in waits.taken if each.by != waits.name], waits.name
    if not others or waits.taken[-1].by == name:
        return None
    found, which = others[-1], "the last"
    posts = any("post_" in line.text for line in waits.program.lines)
    if posts or len(others) < len(waits.taken):
        posters = [(each, _poster(case, each.cqe)) for each in waits.taken]
        own = [each for each, poster in posters if poster == name != each.by]
        instead = sum(each.by == name and poster != name for each, poster in posters if poster)
        meant = posters[-1][1] in ("", name)
        if waits.outstanding or not (meant or len(own) > instead):
            return None
        found, which = (found, which) if meant else (own[-1], "one")
    names = " and ".join(case.names.of(cq) for cq in waits.cqs)
    text = f"{found.by or 'a call'} polled {which} of {fmt.count(len(others), 'completion')}"
    what = name_of(case.names, subject_of_cqe(case.node, found.cqe))
    return fact(f"{text} from {names}, of {what}", found.event)


def _poster(case: Case, cqe: Cqe) -> str | None:
    work = Case(case.session, subject_of_cqe(case.node, cqe), case.log, asked=True).work
    return work.poster if work is not None else None


def _waiting(case: Case, thing: Thing, cq: int) -> Program | None:
    """The program, if it waits for a completion of this queue."""
    asked = Case(case.session, Subject(Sort.PROGRAM, thing), case.log, asked=case.asked)
    program = asked.program
    if program is None or program.state.is_over:
        return None
    looks = program.line.word == "poll" or program.state is ProgramState.WAITING
    looked_at = thread_waits.looked_at(asked) if looks else []
    return program if Thing(Noun.CQ, thing.node, cq) in looked_at else None


def _already_polled_cure(case: Case) -> Fix:
    """Fix: the request again, for its thread to poll. The program must keep only one poller."""
    if case.wqe is not None and case.qp is not None:
        return Fix(commands.again(case, case.qp, case.wqe.wr))
    return Fix(program=_ONE_POLLER)


@check("polled-once", waiter=thread_waits.event_waiter)
def polled_once(case: Case, waiter: EventWaiter) -> Finding:
    """Of a program blocked in get_cq_event, whether its last poll left completions in the CQ."""
    for cq in waiter.cqs:
        added = thread_waits.added(case, cq, cq.cqes[0]) if cq.cqes else None
        poll = case.log.last(Kind.CQE_POLLED, cq.thing)
        if added is None or poll is None or poll < added or cq.armed is Arm.NONE:
            continue
        if thread_waits.stays(case):
            return _left(case, waiter, cq, added, poll)
    return ok("the last poll left no completion")


def _left(case: Case, waiter: EventWaiter, cq: CompletionQueue, added: int, poll: int) -> Finding:
    name, many, who = case.names.of(cq.thing), len(cq.cqes), case.log.who(poll)
    polled = case.log.about(Kind.CQE_POLLED, cq.thing)
    took = fmt.count(sum(event_of(record) == poll for record in polled), "completion")
    return fail(
        fact(f"{fmt.count(many, 'completion')} on {name}, the oldest from here", added),
        fact(f"the last poll, of {who}, returned {took} and left the others", poll),
        thread_waits.wait_evidence(case, waiter),
        fact(f"{name} is armed; completions already in it raise no event",
             thread_waits.armed(case, cq)),
        cure=_poll_all(case, name, many), since=poll,
    )  # fmt: skip


def _poll_all(case: Case, name: str, many: int) -> Fix:
    """A poll of what was left; it frees only a thread whose wait comes again and has an end."""
    if case.program is not None and (not case.program.loops or 0 in case.program.loops):
        return Fix(program=f"poll {name} until it is empty, only then wait for an event")
    return Fix([f"poll_cq {name} num_entries={many}"])


_Found = TypeVar("_Found", ownership.Pair, ownership.Orphan)
_SORTS = (Sort.SEND, Sort.RECV, Sort.CQ, Sort.QP)


def _newest(case: Case, found: Sequence[_Found]) -> _Found | None:
    """The newest that concerns what is asked about."""
    asked = case.asked and case.subject.sort in _SORTS
    return next((f for f in reversed(found) if asked and f.concerns(case.subject)), None)


@check("wr-id-ambiguous")
def wr_id_ambiguous(case: Case) -> Finding:
    """A warning if another request of its queue was outstanding with the same wr_id."""
    pair = _newest(case, ownership.alike(case.log, case.node))
    if pair is None:
        return NA if case.subject.sort not in _SORTS else ok("its wr_id was not outstanding twice")
    polled = [each for each in (pair.first.polled, pair.second.polled) if each is not None]
    taken = [fact("the first of their completions was polled", min(polled))] if polled else []
    return warn(
        fact(f"two requests with {fmt.wr(pair.subject.wr_id)} were outstanding: a completion does "
             "not tell which", pair.second.posted),
        fact("the first of them was posted", pair.first.posted), *taken,
        cure=Fix(program="give each work request a wr_id of its own"),
    )  # fmt: skip


@check("cross-qp-order")
def cross_qp_order(case: Case) -> Finding:
    """A warning if it and a send of another queue pair completed on one CQ against their posts."""
    pair = _newest(case, ownership.crossed(case.log, case.node))
    if pair is None:
        return NA if case.subject.sort not in _SORTS else ok("sends completed as they were posted")
    first, second = (name_of(case.names, each.subject) for each in pair)
    return warn(
        fact(f"{second} completed before {first}, on the same queue", pair.second.ended),
        fact(f"{first} was posted before {second}", pair.first.posted),
        fact(f"{first} completed after it", pair.first.ended),
        cure=Fix(program="find the request of a completion by its qp_num and wr_id"),
    )


@cross_qp_order.instead
def _of_bytes(case: Case, content: Content) -> Finding | None:
    """The cause of bytes that a READ fetched before a request of another queue pair wrote them."""
    for touch, message in content.brought if case.asked else ():
        for late in ownership.later_writes(case.log, message, touch.at, touch.piece[1]):
            if late.came is not None and late.came.thing != message.thing:
                read, wrote = (name_of(case.names, m.subject) for m in (message, late.came))
                where = words_for(case.session, late.node, late.piece)
                return fail(
                    fact(f"{wrote} was posted before {read}", late.came.posted),
                    fact(f"{wrote} wrote {where} after {read} had read them", late.event),
                    cure=Fix(program=f"post {read} after the completion of {wrote}, or on its "
                             "queue pair"),
                )  # fmt: skip
    return None


@check("polled-after-destroy")
def polled_after_destroy(case: Case) -> Finding:
    """A warning if its completion was polled when its queue pair had been destroyed."""
    each = _newest(case, ownership.orphans(case.log, case.node))
    if each is None:
        return NA if case.subject.sort not in _SORTS else ok("its queue pair was there")
    name, cq = case.names.of(each.qp), case.names.of(each.cq)
    return warn(
        fact(f"{name} was destroyed, with its completions on {cq}", each.destroyed),
        fact(f"the completion of {name_of(case.names, each.subject)} was polled only then",
             each.polled),
        cure=Fix(program=f"poll the completions of {name} before destroy_qp {name}"),
    )  # fmt: skip


@check("cq-overrun")
def cq_overrun(case: Case) -> Finding:
    """Check whether a completion was lost because the CQ was full."""
    number, lost = _lost(case)
    if number is None:
        return NA
    if lost is None:
        return ok("no completion of it was lost")
    found = case.log.about(Kind.CQ_OVERRUN, Thing(Noun.CQ, case.node, number))
    name = case.name(Noun.CQ, case.node, number)
    cq = case.hca.cqs.items.get(number)
    evidence = [_full(case, number, event_of(found[0]))]
    if cq is not None:
        slots = needed(case, cq)
        evidence.append(fact(f"the queues that complete there have {slots} slots"))
    ids = " ".join(dict.fromkeys(fmt.wr(cqe_of(each).wr_id) for each in found[:4]))
    more = " …" if len(found) > 4 else ""
    many = fmt.count(len(found), "completion")
    evidence.append(fact(f"{many} lost on {name}: {ids}{more}", event_of(found[0])))
    if cq is not None and cq.dead:
        evidence.append(fact(f"since then {name} is in error, and its queue pairs are in ERR"))
    cure = _cure(case, cq, lost) if cq is not None else None
    return fail(*evidence, cure=cure, since=event_of(found[0]))


def _lost(case: Case) -> tuple[int | None, Cqe | None]:
    """The CQ, and the completion that is missed there."""
    work = case.work
    if work is not None and work.overrun is not None:
        return work.overrun.cq, work.overrun.cqe
    if work is not None:
        return (work.added.cq, None) if work.added is not None else (None, None)
    if case.cq is None:
        return None, None
    found = case.log.about(Kind.CQ_OVERRUN, case.subject.thing)
    return case.cq.number, cqe_of(found[0]) if found else None


def _full(case: Case, number: int, event: int) -> Evidence:
    """Evidence: the completions on the queue when it overflowed."""
    thing = Thing(Noun.CQ, case.node, number)
    before = [event_of(r) for r in case.log.about(Kind.CQE_ADDED, thing) if event_of(r) <= event]
    cq = case.hca.cqs.items.get(number)
    resized = (r for r in case.log.about(Kind.CQ_RESIZED, thing) if event_of(r) > event)
    capacity = next(map(rec.old_size_of, resized), cq.capacity if cq is not None else 0)
    room = f" has room for {capacity}" if capacity else ""
    return fact(f"{case.names.of(thing)}{room}, and was full from here",
                before[-1] if before else event)  # fmt: skip


def _cure(case: Case, cq: CompletionQueue, lost: Cqe) -> Fix:
    """Make room, and let what was lost come again."""
    qp = find_qp(case.world, cq.node, lost.qp_num)
    name = case.name(Noun.CQ, cq.node, cq.number)
    if qp is None:
        return Fix(program=f"make {name} for {needed(case, cq)}, and poll in time")
    polls = [f"poll_cq {name} num_entries={len(cq.cqes)}"] if cq.cqes else []
    lines = recreate(case, cq, cqe=max(needed(case, cq), cq.capacity + 1)) if cq.dead else polls
    return Fix([*lines, *_lost_again(case, qp, lost, after_reset=cq.dead)])


def _lost_again(case: Case, qp: QueuePair, lost: Cqe, *, after_reset: bool) -> list[str]:
    """The work whose completion was lost."""
    if not lost.is_send:
        again = message_again(case, qp, lost, after_reset=after_reset)
        if case.receive is None or case.receive.wqe is None:
            return again
        return [commands.post_recv(case, qp, case.receive.wqe.wr), *again[-1:]]
    sent = case.log.newest_of(Kind.SEND_POSTED, qp.thing, lost.serial)
    if sent is None:
        return []
    return commands.again(case, qp, send_wqe_of(sent).wr, after_reset=after_reset)


_OF_CQ, _ASYNC = "cq-events-unacked", "async-unacked"
_NOUNS = {DESTROYERS[noun]: noun for noun in (Noun.CQ, Noun.QP, Noun.SRQ)}


def _destroyed(case: Case) -> Thing | None:
    """The thing that the program, or the call, wants to destroy and cannot."""
    program = case.program
    if program is not None and program.state is ProgramState.WAITING and program.wants is not None:
        rule, thing = program.wants
        return thing if rule in (_OF_CQ, _ASYNC) else None
    if case.call is not None and case.call.refusal in (_OF_CQ, _ASYNC):
        noun = _NOUNS.get(case.call.verb)
        return Thing(noun, *case.call.thing) if noun is not None else None
    return None


@check("unacked-events", wanted=_destroyed)
def unacked_events(case: Case, wanted: Thing) -> Finding:
    """Of a destruction that does not come back, how many events of the object are not acked."""
    many = unacked(case, wanted)
    if not many or not exists(case.world, wanted):
        return ok("its events are acknowledged by now")
    if case.program is not None and not case.at_rest and goes_on(case.session, case.subject.thing):
        return ok("later events of this run acknowledge them")
    evidence = [*_taken(case, wanted, many), *_call_waits(case)]
    return fail(*evidence, cure=Fix(_acks(case, wanted, many)))


@unacked_events.instead
def _acknowledged_too_many(case: Case, call: Call) -> Finding | None:
    """FAIL of an acknowledgement of more events than were read of its queue."""
    if call.refusal != "cq-events-ack":
        return None
    line = advice(case).line
    cure = Fix([line] if line else [], program="" if line else _ACKNOWLEDGE)
    return fail(fact(call.call_text(case.session), call.event), *_read(case), cure=cure,
                since=call.event)  # fmt: skip


_ACKNOWLEDGE = "acknowledge each event once, on the completion queue that get_cq_event returned"


def _read(case: Case) -> list[Evidence]:
    """The completion queues of the node whose events were read and not acknowledged."""
    found = []
    for number, cq in case.hca.cqs.items.items():
        read = case.log.of(Kind.CQ_EVENT_TAKEN, case.node, number)
        if cq.unacked and read:
            name = case.names.of(cq.thing)
            channel = case.name(Noun.CHANNEL, case.node, channel_of(read[-1]))
            text = f"get_cq_event {channel} returned {name}, whose event is unacknowledged"
            found.append(fact(text, event_of(read[-1])))
    return found


def unacked(case: Case, thing: Thing) -> int:
    """Events of an object that were taken and not given back."""
    hca = case.world.nodes[thing.node]
    raised = sum(async_events.names(each, thing.noun, thing.number) for each in hca.async_unacked)
    cq = hca.cqs.items.get(thing.number) if thing.noun is Noun.CQ else None
    return raised + (cq.unacked if cq is not None else 0)


def _taken(case: Case, thing: Thing, many: int) -> list[Evidence]:
    """The poll that took them, and the number that is left."""
    kinds = (Kind.CQ_EVENT_TAKEN, Kind.ASYNC_TAKEN)
    found = case.log.in_order(kinds, thing)
    event = event_of(found[-many]) if len(found) >= many else None
    what, who = f"{fmt.count(many, 'event')} of {case.names.of(thing)}", case.log.asked(event)[1]
    by = f" by {who}" if who else ""
    return [fact(f"{what} taken{by} and not acknowledged, the first of them here", event)]


def _call_waits(case: Case) -> list[Evidence]:
    if case.call is not None:
        return [fact(f"{case.call.verb} would wait without end", case.call.event)]
    thing, text = case.subject.thing, case.program.line.text if case.program is not None else ""
    waited = case.log.last(Kind.PROGRAM_WAITED, thing)
    return [fact(f"{case.names.of(thing)} waits in {text}", waited)]


def _acks(case: Case, thing: Thing, many: int) -> list[str]:
    """The calls that give them back."""
    name = case.names.of(thing)
    taken = case.world.find(thing, CompletionQueue).unacked if thing.noun is Noun.CQ else 0
    acks = [f"ack_cq_events {name} nevents={taken}"] if taken else []
    return acks + [f"ack_async_event {name}"] * (many - taken)
