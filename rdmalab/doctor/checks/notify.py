"""Completion events and asynchronous events that a thread waits for."""

from collections.abc import Iterator

from rdmalab.doctor.fixes import completion_queues
from rdmalab.doctor.kit import *
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.completions import Arm
from rdmalab.spec.refusals import REFUSALS


def _with_cqs(case: Case) -> EventWaiter | None:
    """Thread that waits in get_cq_event for a channel with completion queues; None: no such."""
    waiter = thread_waits.event_waiter(case)
    return waiter if waiter is not None and waiter.cqs else None


@check("cq-not-armed", waiter=_with_cqs)
def cq_not_armed(case: Case, waiter: EventWaiter) -> Finding:
    """Of a program asleep in get_cq_event, whether a queue of its channel is not armed."""
    unarmed = [cq for cq in waiter.cqs if cq.armed is Arm.NONE]
    full = [cq for cq in unarmed if cq.cqes]
    if not full and (len(unarmed) < len(waiter.cqs) or not case.asked):
        return ok(
            "no completion is on an unarmed CQ" if unarmed else "a CQ of its channel is armed"
        )
    if not full and thread_waits.read_by_other(case) is not None:
        return ok("another thread read its event")
    if not thread_waits.stays(case):
        return ok("later events of this run end its wait")
    cq = max(full or unarmed, key=lambda each: thread_waits.armed(case, each) or 0)
    return fail(
        thread_waits.armed_words(case, cq), *_unnotified(case, cq),
        thread_waits.wait_evidence(case, waiter),
        cure=_cq_not_armed_cure(case, cq), since=waiter.since,
    )  # fmt: skip


def _unnotified(case: Case, cq: CompletionQueue) -> list[Evidence]:
    if not cq.cqes:
        return []
    event = thread_waits.added(case, cq, cq.cqes[0])
    raised = map(event_of, case.log.about(Kind.CQ_EVENT_RAISED, cq.thing))
    was_raised = event is not None and event in raised
    what = "its event was read, but no poll has returned it" if was_raised else "it raised no event"
    return [fact(f"{_came(case, cq, cq.cqes[0])}: {what}", event)]


def _came(case: Case, cq: CompletionQueue, cqe: Cqe) -> str:
    return f"{fmt.cqe(cqe)} was added to {case.names.of(cq.thing)}"


_ARMS = "req_notify_cq"


def _cq_not_armed_cure(case: Case, cq: CompletionQueue) -> Fix:
    """Arm the CQ, then cause one more completion: those already in the CQ raise no event."""
    name = case.names.of(cq.thing)
    lines, loops = (
        (case.program.lines, case.program.loops) if case.program is not None else ([], [])
    )
    first = next((line.number for line in lines if line.word == "loop"), 0)
    armed_in = lines[first if 0 in loops else 0 :]  # no call but one in it helps a loop without end
    if first and not any(_ARMS in line.text for line in armed_in):
        advice = f"put {_ARMS} {name} into its loop, and poll {name} until it is empty before it"
        return Fix(program=f"{advice} waits")
    if case.profile.arm_sees_unpolled and cq.cqes:
        return Fix([f"req_notify_cq {name}"])
    more = completion_queues.one_more(case, cq)
    if not more:
        return Fix(program=f"req_notify_cq {name} before each get_cq_event, then poll, then wait")
    return Fix([f"req_notify_cq {name}", *more])


@check("armed-after-cqe", waiter=_with_cqs)
def armed_after_cqe(case: Case, waiter: EventWaiter) -> Finding:
    """Of a program asleep in get_cq_event, whether what it waits for lay there before the arm."""
    missed = [cq for cq in waiter.cqs if cq.cqes and cq.armed is not Arm.NONE]
    if any(thread_waits.armed(case, cq) is None for cq in missed):
        return unknown("when it was armed is not kept")
    late = [cq for cq in missed if _came_first(case, cq)]
    if not late:
        return ok("no completion came before the arming and stayed in the CQ")
    if not thread_waits.stays(case):
        return ok("the next completion raises its event")
    cq = late[0]
    name, first = case.names.of(cq.thing), thread_waits.added(case, cq, cq.cqes[0])
    arm = f"req_notify_cq {name}"
    advice = f"after {arm} poll {name} until it is empty, only then wait; or arm it before"
    return fail(
        fact(_came(case, cq, cq.cqes[0]), first),
        thread_waits.armed_words(case, cq), thread_waits.wait_evidence(case, waiter),
        cure=Fix([arm], program=advice, before=first), since=thread_waits.armed(case, cq),
    )  # fmt: skip


def _came_first(case: Case, cq: CompletionQueue) -> bool:
    """Whether all completions in the CQ are older than its arming, and not polled since."""
    armed, last = thread_waits.armed(case, cq), thread_waits.added(case, cq, cq.cqes[-1])
    if armed is None or last is None or last > armed:
        return False
    return not thread_waits.polled_since(case, cq, armed)


@check("solicited-only", waiter=_with_cqs)
def solicited_only(case: Case, waiter: EventWaiter) -> Finding:
    """Of a program asleep in get_cq_event, whether a completion came that its arm passes over."""
    found = next(_passed_over(case, waiter.cqs), None)
    if found is None:
        return ok("no unsolicited completion came")
    if not thread_waits.stays(case):
        return ok("the next solicited completion raises its event")
    cq, cqe, event = found
    return fail(
        thread_waits.armed_words(case, cq), fact(_why_not(case, cq, cqe), event),
        *_packet(case, cqe, event), thread_waits.wait_evidence(case, waiter),
        cure=_solicited_only_cure(case, cq, cqe), since=thread_waits.armed(case, cq),
    )  # fmt: skip


def _passed_over(
    case: Case, cqs: list[CompletionQueue]
) -> Iterator[tuple[CompletionQueue, Cqe, int]]:
    """Completions that came when their queue was armed, and in which event each came."""
    for cq in (cq for cq in cqs if cq.armed is Arm.SOLICITED):
        armed = thread_waits.armed(case, cq)
        for cqe in cq.cqes if armed is not None else ():
            event = thread_waits.added(case, cq, cqe)
            if armed is not None and event is not None and event > armed:
                yield cq, cqe, event


def _why_not(case: Case, cq: CompletionQueue, cqe: Cqe) -> str:
    came = _came(case, cq, cqe)
    if cqe.status != WCStatus.SUCCESS:
        return f"{came}: on this device no error but a flushed receive raises an event"
    return f"{came}: {'a send' if cqe.is_send else 'its message'} is not solicited"


def _packet(case: Case, cqe: Cqe, event: int) -> list[Evidence]:
    """The packet that brought it, without the SE bit."""
    if cqe.is_send or cqe.status != WCStatus.SUCCESS:
        return []
    packets = [packet_of(r) for r in case.log.within(event)
               if kind_of(r) is Kind.PACKET_RECEIVED and node_of(r) == case.node]  # fmt: skip
    return [fact(f"{fmt.packet_words(p)} brought it, with SE=0", event) for p in packets[:1]]


def _solicited_only_cure(case: Case, cq: CompletionQueue, cqe: Cqe) -> Fix:
    """The sender marks the message; or the queue is armed for any."""
    marked = not cqe.is_send and cqe.status == WCStatus.SUCCESS
    more = completion_queues.one_more(case, cq, solicited=marked)
    arm = f"req_notify_cq {case.names.of(cq.thing)}"
    if not more:
        return Fix(program=f"{arm}, or SOLICITED at the sender")
    return Fix(more if marked else [arm, *more])


@check("no-channel", waiter=thread_waits.event_waiter)
def no_channel(case: Case, waiter: EventWaiter) -> Finding:
    """Of a program blocked in get_cq_event, whether a CQ that it names has that channel."""
    named = _named(case)
    if waiter.cqs and (not named or any(cq in waiter.cqs for cq in named)):
        for other in (cq for cq in named if cq not in waiter.cqs and cq.channel):
            if other.number in case.hca.channels.items[other.channel].events:
                return _on_another(case, waiter, other.channel, other.number)
        return ok(f"{case.names.of(waiter.cqs[0].thing)} has that channel")
    if not thread_waits.stays(case):
        return ok("later events of this run end its wait")
    cq = named[0] if named else None
    made = [_made(case, cq, waiter.channel)] if cq is not None else [_alone(case, waiter.channel)]
    return fail(*made, thread_waits.wait_evidence(case, waiter),
                cure=_no_channel_cure(case, cq, waiter.channel))  # fmt: skip


def _on_another(case: Case, waiter: EventWaiter, channel: int, cq: int) -> Finding:
    """The finding on an event that is unread on another channel than the thread waits on."""
    name, there = case.name(Noun.CQ, case.node, cq), case.name(Noun.CHANNEL, case.node, channel)
    raised = case.log.last(Kind.CQ_EVENT_RAISED, Thing(Noun.CQ, case.node, cq))
    return fail(
        fact(f"{name} raised its event on {there}, where no call has read it", raised),
        thread_waits.wait_evidence(case, waiter),
        cure=Fix(program=f"call get_cq_event {there}, with which {name} was made"),
    )


def _named(case: Case) -> list[CompletionQueue]:
    """The completion queues in the lines of the program, or that calls of the node have armed."""
    if case.call is not None:
        arms = [call.thing[1] for call in case.log.calls("req_notify_cq", case.node)]
        cqs = case.hca.cqs.items
        return [cqs[number] for number in dict.fromkeys(reversed(arms)) if number in cqs]
    lines = case.program.lines if case.program is not None else ()
    calls = (line.invocation for line in lines if line.invocation is not None)
    refs = (ref for call in calls for ref in call.arguments.values() if isinstance(ref, Ref))
    things = (thing for ref in refs if (thing := case.names.find(str(ref))) is not None)
    return [case.world.find(thing, CompletionQueue) for thing in things
            if thing.noun is Noun.CQ and exists(case.world, thing)]  # fmt: skip


def _made(case: Case, cq: CompletionQueue, channel: Thing) -> Evidence:
    other = case.name(Noun.CHANNEL, cq.node, cq.channel) if cq.channel else ""
    what = f"with channel={other}" if other else "without a channel"
    text = f"{case.names.of(cq.thing)} was made {what}, not with {case.names.of(channel)}"
    return fact(text, case.log.created(cq.thing))


def _alone(case: Case, channel: Thing) -> Evidence:
    name = case.names.of(channel)
    return fact(f"no completion queue was made with {name}", case.log.created(channel))


def _no_channel_cure(case: Case, cq: CompletionQueue | None, channel: Thing) -> Fix:
    """Create the CQ again with the channel, arm it, and cause its completions again."""
    program = f"create_cq … channel={case.names.of(channel)}, or poll instead of waiting"
    if cq is None:
        return Fix(program=program)
    more = completion_queues.one_more(case, cq)
    arm = f"req_notify_cq {case.names.of(cq.thing)}"
    return Fix([*completion_queues.recreate(case, cq, channel=channel.number), arm, *more])


_LAST = AsyncEvent.QP_LAST_WQE_REACHED.name
_ENDS = ("destroy_", "dealloc_", "dereg_", "close_", "modify_")


def _for_an_event(case: Case) -> ThreadWait | None:
    """Of a thread that waits for an asynchronous event what it waits for."""
    waits = thread_wait(case)
    asks = waits is not None and waits.program.line.text.startswith("get_async_event")
    return waits if asks else None


@check("event-taken", waits=_for_an_event)
def event_taken(case: Case, waits: ThreadWait) -> Finding:
    """Check whether another thread read an event of the device since this thread was started."""
    log = case.log
    begun = log.created(waits.thing)
    since = log.begins if begun is None else begun
    taken = [r for r in log.of(Kind.ASYNC_TAKEN, waits.program.node) if event_of(r) >= since]
    others = [(r, by) for r in taken if (by := log.asked(event_of(r))[1]) != waits.name]
    if not others:
        return ok("no other thread read an event since it was started")
    record, by = others[0]
    return fail(
        fact(f"{by or 'a call'} read {rec.async_event_of(record).name}", event_of(record)),
        waits.words(),
        cure=Fix(program="read asynchronous events in one thread, and notify the others"),
    )  # fmt: skip


@check("sqd-notify-missing", waits=_for_an_event)
def sqd_notify_missing(case: Case, waits: ThreadWait) -> Finding:
    """Check whether a queue pair of the device has drained, and no event was raised."""
    qps = [qp for qp in case.hca.qps.items.values() if qp.state is QPState.SQD]
    for qp in (qp for qp in qps if qp.comp.serial == qp.req.started):
        moved = event_of(case.log.about(Kind.STATE_CHANGED, qp.thing)[-1])
        raised = case.log.about(Kind.ASYNC_RAISED, qp.thing)
        since = [rec.async_event_of(r) for r in raised if event_of(r) >= moved]
        if AsyncEvent.SQ_DRAINED not in since:
            name = case.names.of(qp.thing)
            return fail(
                fact(f"{name} was moved to SQD without en_sqd_async_notify=1", moved),
                fact(f"{name} has drained, and no event was raised for it"), waits.words(),
                cure=Fix(program=f"modify_qp {name} state=SQD en_sqd_async_notify=1"),
            )  # fmt: skip
    return ok("no queue pair of its device has drained without an event")


@check("async-never", waits=_for_an_event)
def async_never(case: Case, waits: ThreadWait) -> Finding:
    """FAIL of a thread that waits at rest for an asynchronous event that nothing raises."""
    if 0 in waits.program.loops:
        return ok("it reads events in a loop without end: it may wait without limit")
    later = next((line for line in waits.program.lines[waits.program.at + 1 :]
                  if line.text.startswith(_ENDS)), None)  # fmt: skip
    own, advice = list[Evidence](), _before_a_wait(case)
    if later is not None:
        own = [fact(f"line {later.number} of {waits.name}, {later.text}, comes after the wait")]
        advice = f"carry out {later.text} without the wait: nothing raises an event"
    found, last = [*_never_raised(case), *own, waits.words()], _last_raised(case, waits)
    for srq in _used_limits(case):
        text = "SRQ_LIMIT_REACHED was raised for {}, and disarmed its limit: no modify_srq since"
        raised = case.log.last(Kind.ASYNC_RAISED, srq.thing)
        found.insert(0, fact(text.format(case.names.of(srq.thing)), raised))
    is_late = case.log.who(last.event or 0) == waits.name  # the thread itself has read it
    return fail(*([last, *found] if is_late else [*found, last]), cure=Fix(program=advice),
                since=waits.since())  # fmt: skip


@async_never.instead
def _of_a_program(case: Case, call: Call) -> Finding | None:
    """Of the wait of a program of the host that hangs: the same, without what comes after it."""
    if call.refusal != "async-none" or not case.session.unanswered:
        return None
    raised = case.log.of(Kind.ASYNC_RAISED, case.node)[-1:]
    last = [fact(f"{rec.async_event_of(r).name} is the last event that was raised on {case.node}",
                 event_of(r)) for r in raised]  # fmt: skip
    return fail(
        *_never_raised(case), *(last or [fact(f"no event was raised on {case.node}")]),
        fact("get_async_event would block without end", call.event),
        cure=Fix(program=_before_a_wait(case)), since=call.event,
    )  # fmt: skip


def _before_a_wait(case: Case) -> str:
    """Advice on what must come before a wait for an asynchronous event."""
    if used := next(_used_limits(case), None):
        return f"modify_srq {case.names.of(used.thing)} srq_limit=N after each SRQ_LIMIT_REACHED"
    if unarmed := next(_unarmed(case), None):
        return f"arm the limit before the wait: modify_srq {case.names.of(unarmed)} srq_limit=N"
    return "wait for an event only after a call or a state that raises it"


def _never_raised(case: Case) -> Iterator[Evidence]:
    """The state changes and refusals on its node that raise no event, and why."""
    device = f"profile {case.profile.name}"
    for qp in (qp for qp in case.hca.qps.items.values() if qp.state is QPState.ERR):
        why = f"{device} never raises {_LAST}"
        if not qp.shares_receives:
            why = f"without a shared receive queue it raises no {_LAST}"
        if not (qp.shares_receives and case.profile.raises_last_wqe_reached):
            text, moved = f"{case.qp_name(qp)} entered ERR", case.log.entered(qp.thing, QPState.ERR)
            yield fact(f"{text}; {why}", *moved[-1:])
    for srq in _unarmed(case):
        made = case.log.created(srq)
        call, _ = case.log.asked(made)
        given = (call.arguments.get("attr") or {}).get("srq_limit") if call is not None else None
        is_ignored = given and not case.profile.arms_created_srq
        ignored = f", create_srq ignores srq_limit={given}" if is_ignored else ""
        name = case.names.of(srq)
        yield fact(f"{name} has no limit armed{ignored}: it raises no SRQ_LIMIT_REACHED", made)
    refused = case.log.of(Kind.REQUEST_REFUSED, case.node)
    found = [r for r in refused if REFUSALS[reason_of(r)].event is not None]
    if found and not case.profile.raises_responder_events:
        yield fact(f"{case.node} refused a request; {device} raises no event for it",
                   event_of(found[-1]))  # fmt: skip


def _used_limits(case: Case) -> Iterator[SharedReceiveQueue]:
    """The shared receive queues of its node whose limit has raised its one event."""
    for srq in case.hca.srqs.items.values():
        raised = case.log.about(Kind.ASYNC_RAISED, srq.thing)
        if not srq.limit and any(rec.async_event_of(r) is AsyncEvent.SRQ_LIMIT_REACHED
                                 for r in raised):  # fmt: skip
            yield srq


def _unarmed(case: Case) -> Iterator[Thing]:
    """The shared receive queues of its node whose limit was never armed."""
    for srq in case.hca.srqs.items.values():
        if not srq.limit and not case.log.about(Kind.ASYNC_RAISED, srq.thing):
            yield srq.thing


def _last_raised(case: Case, waits: ThreadWait) -> Evidence:
    """The last event that was raised on its node since the thread was started, and who read it."""
    begun = case.log.created(waits.thing) or 0
    raised = [r for r in case.log.of(Kind.ASYNC_RAISED, case.node) if event_of(r) > begun]
    if not raised:
        return fact(f"no event was raised on {case.node} since {waits.name} was started", begun)
    name = rec.async_event_of(raised[-1]).name
    read = next((event_of(r) for r in case.log.of(Kind.ASYNC_TAKEN, case.node)[-1:]), None)
    by = case.log.who(read)
    return fact(f"{by} read {name}, the last event raised on {case.node}", read)
