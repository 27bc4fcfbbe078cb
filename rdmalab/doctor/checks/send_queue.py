"""Slots of the send queue, and requests that ask for no completion."""

from typing import NamedTuple

from rdmalab.doctor.evidence.content import Atomic, atomics
from rdmalab.doctor.facts import full_queues
from rdmalab.doctor.facts.full_queues import Backlog, Unread, answer, backlog, gets_on
from rdmalab.doctor.facts.vain_polls import VainPoll, newest_silent, vain_poll
from rdmalab.doctor.kit import *
from rdmalab.hca.slots import frees
from rdmalab.spec.opcodes import Op


@check("unsignaled", asked=True, vain=vain_poll)
def unsignaled(case: Case, send: Send, wqe: SendWqe) -> Finding:
    """Of a send that is done, whether it was to have a completion at all."""
    if case.arrival:
        return NA
    if wqe.signaled:
        return ok("it asks for a completion", send.posted)
    if send.ending is None or send.ending.status is not WCStatus.SUCCESS:
        return warn(fact("posted without IBV_SEND_SIGNALED: only an error gives it a completion",
                         send.posted))  # fmt: skip
    vanished = case.qp is not None and not case.qp.transport.acknowledged and case.unanswered
    return (warn if vanished and vanished.misses else fail)(
        fact("posted without IBV_SEND_SIGNALED, and the queue pair has sq_sig_all=0", send.posted),
        fact("carried out with success", send.ending.event),
        cure=_signaled(case, send, wqe.wr),
    )


@unsignaled.instead
def _polled_for(case: Case, vain: VainPoll) -> Finding | None:
    """Of a queue that is polled in vain, whether a send asked for no completion on it.

    Who polls until a queue is empty has read all: it is a failure only of a program that hangs.
    """
    silent = newest_silent(case, vain)
    send = Send(case.session, silent, case.log) if silent is not None else None
    if send is None or send.wqe is None:
        return None
    return (fail if case.session.unanswered else warn)(
        fact(f"{fmt.send_wqe(send.wqe)} was posted without IBV_SEND_SIGNALED", send.posted),
        fact(f"{case.names.of(case.subject.thing)} is polled, and no other work is left for it",
             vain.event),
        cure=_signaled(case, send, send.wqe.wr),
    )  # fmt: skip


def _signaled(case: Case, send: Send, wr: SendWR) -> Fix:
    """The flag that the post lacks. Nothing is broken, so nothing is posted again."""
    text = f"post {fmt.wr(wr.wr_id)} with flags=SIGNALED"
    if send.qp is None or send.posted is None:
        return Fix(program=text)
    flags = fmt.flags(SendFlags(wr.flags) | SendFlags.SIGNALED, SendFlags)
    line = commands.post_send(case, send.qp, wr, flags=flags)
    return Fix([line], program=text, before=send.posted)


def _full(case: Case) -> QueuePair | None:
    """The queue pair on which a call found no slot, or for whose work a program waits."""
    full = case.program is not None or full_queues.refused_as_full(case)
    return case.qp or full_queues.waited_for(case) if full else None


@check("sq-full-of-unsignaled", qp=_full)
def sq_full_of_unsignaled(case: Case, qp: QueuePair) -> Finding:
    """Of a post that found no slot, whether all are held by unsignaled requests that are done."""
    call = case.call
    if call is not None and call.verb not in posting_calls.SENDING:
        return ok("it is the receive queue that was full")
    full = backlog(case)
    if full is not None and full.own_list:
        return ok("the list of the call alone is longer than the queue")
    held = full_queues.slots(qp)
    if not held.wqes or len(held.wqes) < qp.sq.capacity or not held.wasted:
        return ok("a completion will give slots back, or has")
    names = " ".join(dict.fromkeys(fmt.wr(wqe.wr.wr_id) for wqe in held.wqes[:4]))
    more = " …" if len(held.wqes) > 4 else ""
    many = fmt.count(len(held.wqes), "slot")
    return fail(
        fact(f"{many} of {case.qp_name(qp)}: {names}{more}, none of them signaled",
             full_queues.posted(case, qp, held.wqes[0])),
        fact(f"all of them are carried out, and {held.done} completions will never come"),
        *_answer(call),
        cure=_cure(case, qp) if _is_typed(case) else Fix(program=_SIGNAL),
    )  # fmt: skip


def _is_typed(case: Case) -> bool:
    """Whether it is about a call that no program made, neither one of the lab nor of the host."""
    call = case.call
    return call is not None and not (call.program or case.session.caller_of(call.event))


_SIGNAL = "post every few requests one with IBV_SEND_SIGNALED, and poll its completion"


def _answer(call: Call | None) -> list[Evidence]:
    """Evidence: the answer of a refused post; [] of a thread that waits."""
    return [fact(call.answer, call.event)] if call is not None else []


def _cure(case: Case, qp: QueuePair) -> Fix | None:
    """Only a reset empties it now; and what is posted then asks for a completion."""
    again = reposting.repost_refused(case, qp, signaled=True, after_reset=True)
    return Fix([*commands.bring_up_again(case, qp), *again]) if again else None


@check("sq-too-small", found=backlog)
def sq_too_small(case: Case, found: Backlog, call: Call) -> Finding:
    """Of a post that found no slot, whether polling could not have helped."""
    if found.own_list:
        return _longer_than_the_queue(case, found, call)
    if not found.all_under_way:
        return ok("some of what held its slots was done")
    if not found.signaled:
        return ok("none of what held its slots is signaled: no poll will ever free them")
    if answer(case, found) is not None:
        return ok("a message was polled in between, and taken for their completion")
    if not gets_on(case, found.sends[0]):
        return ok("the oldest request in its slots makes no progress")
    lines = reposting.after_polling(case, found)
    many = fmt.count(len(found.sends), "slot")
    return fail(
        fact(f"{many} of {case.qp_name(found.qp)}, all held by what was under way: "
             f"{_kinds(found.sends)}", found.sends[0].posted),
        fact(f"{call.verb} returned {errno_name(call.errno)}; nothing waited to be polled",
             call.event),
        cure=Fix(lines) if lines else None,
    )  # fmt: skip


def _longer_than_the_queue(case: Case, found: Backlog, call: Call) -> Finding:
    """Of a list that filled the queue and had more: its rest was never posted."""
    attempt, slots = posting_calls.of_call(case.log, call), fmt.count(found.qp.sq.capacity, "slot")
    many = len(attempt.wrs) if attempt is not None else len(found.sends) + 1
    left = f": {posting_calls.posted_text(attempt)}" if attempt is not None else ""
    text = f"post at most {found.qp.sq.capacity} requests in one list, the last of them signaled"
    return fail(
        fact(f"the list has {many} work requests, {case.qp_name(found.qp)} has {slots}",
             call.event),
        fact(f"{call.verb} returned {errno_name(call.errno)}{left}", call.event),
        cure=Fix(program=f"{text}, and post the rest from bad_wr on"),
    )  # fmt: skip


def _kinds(sends: list[Send]) -> str:
    """`4 RDMA_READ, 1 SEND`."""
    names = [fmt.member(s.wqe.wr.opcode, WROpcode) for s in sends if s.wqe is not None]
    return ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))


@check("polls-missing", asked=True, qp=_full, unread=full_queues.unread)
def polls_missing(case: Case, qp: QueuePair) -> Finding:
    """Of a post that found no slot, whether its queue's completions wait to be polled."""
    call = case.call
    is_send = call is None or call.verb in posting_calls.SENDING
    cq, many, last = full_queues.unpolled(case, qp, is_send=is_send)
    found = backlog(case)
    if cq is None or not many or (found is not None and found.own_list):
        return ok("none of its completions waits to be polled, or its own list took every slot")
    evidence = _on_cq(case, qp, cq, is_send=is_send)
    lines = [f"poll_cq {case.name(Noun.CQ, qp.node, cq.number)} num_entries={last}"]
    again = reposting.repost_refused(case, qp) if call is not None else []
    return fail(*evidence, *_answer(call), cure=Fix(lines + again))


@polls_missing.instead
def _waits_for_slots(case: Case, unread: Unread) -> Finding:
    """FAIL of a thread that waits for slots which a poll would give back."""
    qp, is_send = unread
    cq, _, last = full_queues.unpolled(case, qp, is_send=is_send)
    evidence = _on_cq(case, qp, cq, is_send=is_send) if cq is not None else []
    name = case.name(Noun.CQ, qp.node, qp.send_cq if is_send else qp.recv_cq)
    return fail(*evidence, cure=Fix([f"poll_cq {name} num_entries={last}"]))


def _on_cq(case: Case, qp: QueuePair, cq: CompletionQueue, *, is_send: bool) -> list[Evidence]:
    """Number of completions on the CQ, since when, and the last poll."""
    name = case.name(Noun.CQ, qp.node, cq.number)
    own = [c for c in cq.cqes if c.is_send is is_send and frees(qp, c)]
    added = (event_of(r) for r in case.log.about(Kind.CQE_ADDED, cq.thing) if cqe_of(r) is own[0])
    what = f"{fmt.count(len(own), 'completion')} of {case.qp_name(qp)} on {name}"
    begins = f" since event {case.log.begins}" if case.log.begins else ""
    polls = [c for c in case.log.calls("poll_cq", qp.node) if c.thing[1] == cq.number]
    looked = fact(f"no call has polled {name}{begins}")
    if polls:
        looked = fact(f"{polls[-1].program or 'a call'} polled {name} last", polls[-1].event)
    return [fact(f"{what}, the oldest of them from here", next(added, None)), looked]


class _Again(NamedTuple):
    """A call that was refused after a part of its list, and one that posted that part again."""

    qp: QueuePair
    first: posting_calls.Attempt
    later: Call


@check("posted-twice", asked=True)
def posted_twice(case: Case) -> Finding:
    """Of a queue's messages, or of a send, whether some were posted a second time."""
    if case.cq is None and case.send is None:
        return NA
    found = next((again for qp in _senders(case) for again in _repeated(case, qp)), None)
    if found is None:
        return ok("nothing was posted a second time")
    qp, first, later = found
    twice = " ".join(fmt.wr(posting_calls.id_of(wr)) for wr in first.wrs[: first.posted])
    if case.send is not None and not _is_one(case, found):
        return ok("this one was posted once")
    evidence = (
        fact(f"{first.call.verb} on {case.qp_name(qp)} returned {errno_name(first.call.errno)}: "
             f"{posting_calls.posted_text(first)}", first.call.event),
        fact(f"{later.program or 'a call'} posted the list again from its head: {twice} for the "
             "second time", later.event),
    )  # fmt: skip
    cure = Fix(program="go on from bad_wr: what stands before it has been posted")
    return fail(*evidence, cure=cure) if case.cq is not None else warn(*evidence, cure=cure)


_BOTH = 2


@posted_twice.instead
def _added_twice(case: Case, content: Content) -> Finding | None:
    """Of a word, whether an addition that failed after it was carried out was posted again.

    A requester that adds the same number more often counts with it: its next one is no repetition.
    """
    adds = {each.message.subject: each for each in atomics(content)
            if each.message.wqe.op is Op.FETCH_ADD and each.wrote}  # fmt: skip
    alike = [each for each in adds.values() if _adds_as(each, [*adds.values()][-1])]
    if len(alike) != _BOTH or case.log.begins:
        return None
    first, again = alike
    send = Send(case.session, first.message.subject, case.log)
    event = send.discarded if send.ending is None else send.ending.event
    if send.succeeded or event is None or event > again.message.posted:
        return None
    reads = (r for r in case.log.since(event, Kind.MEMORY_READ) if node_of(r) == case.node)
    if any(event_of(r) < again.touch.event and meet([first.touch.piece], [piece_of(r)])
           for r in reads):  # fmt: skip
        return ok("the word was read before the addition was posted again")
    one, other = (name_of(case.names, each.message.subject) for each in alike)
    where = words_for(case.session, case.node, first.touch.piece)
    added = first.message.wqe.wr.compare_add
    end = f"ended with {send.ending.status.name}" if send.ending is not None else "was discarded"
    return fail(
        fact(f"{one} added {added} to {where}", first.touch.event),
        fact(f"{one} then {end}", event),
        fact(f"{other} added {added} once more", again.touch.event),
        cure=Fix(program="after an atomic that fails READ the word: it may have been carried out"),
        since=first.touch.event,
    )  # fmt: skip


def _adds_as(one: Atomic, other: Atomic) -> bool:
    """Whether two additions are of one node, to one word, of one number."""
    same = one.message.wqe.wr.compare_add == other.message.wqe.wr.compare_add
    word = one.touch.piece == other.touch.piece
    return same and word and one.message.thing.node == other.message.thing.node


def _senders(case: Case) -> list[QueuePair]:
    """Whose messages complete on the queue; whose the send is."""
    if case.cq is None:
        return [case.qp] if case.qp is not None else []
    users = [q for q in case.hca.qps.items.values() if case.cq.number in (q.send_cq, q.recv_cq)]
    peers = [peer_of(case.world, qp) for qp in users if qp.recv_cq == case.cq.number]
    own = [qp for qp in users if qp.send_cq == case.cq.number]
    return [*own, *(peer for peer in peers if peer is not None)]


def _repeated(case: Case, qp: QueuePair) -> list[_Again]:
    """Refused calls with something posted, each with the next one that began with the same."""
    found = []
    for call in case.log.refused():
        own = (call.verb, call.thing) == ("post_send", (qp.node, qp.number))
        first = posting_calls.attempt(case.log, call) if own else None
        if first is None or not 0 < first.posted < len(first.wrs):
            continue
        later = (c for c in case.log.calls("post_send", qp.node)
                 if c.event > call.event and c.thing == call.thing)  # fmt: skip
        again = next((c for c in later if _begins_with(case, c, first)), None)
        found += [_Again(qp, first, again)] if again is not None else []
    return found


def _begins_with(case: Case, call: Call, first: posting_calls.Attempt) -> bool:
    """Whether it posted the head of that list again."""
    wrs = call.invocation.arguments.get("wr") if call.invocation is not None else None
    again = posting_calls.attempt(case.log, call) if call.errno else None
    posted = again.posted if again is not None else len(wrs or [])
    same = min(posted, first.posted)
    return bool(wrs) and same > 0 and list(wrs or [])[:same] == first.wrs[:same]


def _is_one(case: Case, found: _Again) -> bool:
    """Whether the send that is asked about is among those that were posted twice."""
    same = found.qp.thing == case.subject.thing
    ids = [posting_calls.id_of(wr) for wr in found.first.wrs[: found.first.posted]]
    return same and case.subject.wr_id in ids
