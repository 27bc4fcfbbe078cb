"""Work that failed or was lost, refused calls, things that hang: of a session, or of one object.

Objects: refused calls that name it, requests that name its key.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from rdmalab.command import New, Noun, Ref, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.evidence.components import planned
from rdmalab.doctor.evidence.log import Call, Log
from rdmalab.doctor.evidence.made_good import Repeats, is_made_good, is_past, is_repaired
from rdmalab.doctor.evidence.outcome import Status, outcome_of
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.doctor.evidence.work_of_queues import (
    MOST,
    Wanted,
    failed_before_flush,
    failed_lives,
    qps_of,
    undone,
)
from rdmalab.doctor.facts import receivers
from rdmalab.doctor.facts.vain_requests import vain_request
from rdmalab.doctor.fixes.refused_calls import OF_USE
from rdmalab.doctor.moments.moments import moments, posted_in_err, teardowns, visit
from rdmalab.doctor.moments.unreported import LOOKS, abandoned_sends, taken_queue_pairs
from rdmalab.hca.objects import region_number, window_number
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.programs import BLOCKING, ProgramState
from rdmalab.spec.records import Kind
from rdmalab.world.event_queue import Door
from rdmalab.world.programs import programs_of
from rdmalab.world.relations import exists, users_of


def suspects(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Everything that is plainly wrong, the worst first, each once."""
    return _once(_REPORTED + _UNREPORTED, session, log, wanted)


def unreported(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Of them those that no completion and no errno reports; a teardown takes their traces."""
    return _once(_UNREPORTED, session, log, wanted)


def _once(
    looks: "Sequence[_Look]", session: Session, log: Log, wanted: Wanted
) -> Iterator[Subject]:
    seen: set[Subject] = set()
    for examination in looks:
        for subject in examination(session, log, wanted):
            if subject not in seen:
                seen.add(subject)
                yield subject


def _failed(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Of the last life of each queue pair that has a failure what failed first, unless mended."""
    where = [rec.place_of(r) for r in log.failed_sends]
    where += [(rec.node_of(r), rec.cqe_of(r).qp_num) for r in log.failed_receives]
    for node, number in sorted(dict.fromkeys(where)):
        thing = Thing(Noun.QP, node, number)
        for event, subject in failed_lives(log, thing)[-1:] if wanted(thing) else ():
            # of a shared receive it is the queue pair that took it which failed
            if not is_repaired(session, log, replace(subject, thing=thing), event):
                yield subject


def _posted_in_err(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """The first send that was posted on a queue pair after a call had moved it to ERR.

    What failed first may be work that this call flushed. (A receive is due only to its poster.)
    """
    for place in sorted({rec.place_of(r) for r in log.of(Kind.STATE_CHANGED)}):
        thing = Thing(Noun.QP, *place)
        act, later = posted_in_err(log, thing, None) if wanted(thing) else (None, [])
        if act is None or failed_before_flush(log, thing):
            continue
        sends = (each for each in later if each.sort is Sort.SEND)
        yield from islice((s for s in sends if not _is_after_flush(log, s, act.event)), 1)


def _is_after_flush(log: Log, send: Subject, since: int) -> bool:
    """Whether a thread posted a send after it had polled a flush of its queue pair since an event:
    its wait had ended with that, and not as it expected.
    """
    posted = log.event_of(Kind.SEND_POSTED, send.thing, send.serial)
    name = log.asked(posted)[1]
    polls = (r for r in log.since(since, Kind.CQE_POLLED) if rec.node_of(r) == send.thing.node)
    return bool(name) and any(
        rec.event_of(r) < (posted or 0) and rec.cqe_of(r).status
        and rec.cqe_of(r).qp_num == send.thing.number and log.asked(rec.event_of(r))[1] == name
        for r in polls
    )  # fmt: skip


def _abandoned(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """The oldest send that a queue pair had outstanding when it was destroyed or reset."""
    for thing, events in taken_queue_pairs(log).items():
        for event in events if wanted(thing) else ():
            lost = abandoned_sends(log, thing, event)
            if lost and not is_repaired(session, log, lost[0], event):
                yield lost[0]
                break


def _refusals(_session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Calls that were refused, and not accepted since; of those that would block the newest."""
    empty_polls: set[tuple[str, tuple[str, int]]] = set()
    calls = log.refused()[-MOST:]
    repeats = Repeats(log, calls)
    for call in reversed(calls):
        if not any(wanted(Thing(noun, *call.thing)) for noun in _nouns(call)):
            continue
        if call.refusal in BLOCKING and (call.program or (call.verb, call.thing) in empty_polls):
            continue  # the program itself waits, and is stuck
        empty_polls.add((call.verb, call.thing))
        if not (repeats.has(call) or _polled_since(log, call) or is_past(log, call)):
            yield call.subject


def _polled_since(log: Log, call: Call) -> bool:
    """Whether completions were polled after a get_cq_event that would block, before a teardown."""
    if call.verb != "get_cq_event":
        return False
    polls = [rec.event_of(r) for r in log.since(call.event, Kind.CQE_POLLED)
             if rec.node_of(r) == call.thing[0]][:1]  # fmt: skip
    ends = [act.event for row in teardowns(log) for act in row if act.event > call.event]
    return bool(polls) and not any(end < polls[0] for end in ends)


def _nouns(call: Call) -> tuple[Noun, ...]:
    """Of which nouns the number may be that a call was about."""
    return (Noun.CHANNEL,) if call.verb == "get_cq_event" else (Noun.QP, Noun.CQ, Noun.SRQ)


def _stuck(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Programs that failed, and those that wait while nothing changes any more.

    Those that poll come last: it may be their work, whether anything comes or not. So it is with
    those that wait for an asynchronous event.
    """
    polls = (ProgramState.RUNNING, ProgramState.SLEEPING)
    for program in sorted(programs_of(session.world), key=lambda each: (
            each.awaits_async_event, each.state in polls)):  # fmt: skip
        subject = Subject(Sort.PROGRAM, program.thing)
        waits = program.state is not ProgramState.DONE and log.rests(program.thing)
        # a loop without end has no last line to come to
        never = (
            outcome_of(session, subject, log).kind is Status.NEVER
            if 0 not in program.loops
            else vain_request(Case(session, subject, log, asked=True), program) is not None
        )
        if wanted(program.thing) and (waits or never or program.state is ProgramState.FAILED):
            yield subject


def _hanging(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Sends that do not get on: at most timers run, or they are sent again and again."""
    for thing, qp in qps_of(session, wanted):
        coming = planned(session.world, log.component_of(thing)) if undone(qp) else []
        quiet = all(entry[2] == Door.TIMER for entry in coming) or log.rests(thing)
        again = [r for r in log.about(Kind.WENT_BACK, thing) if rec.psn_of(r) == qp.comp.psn]
        if quiet or again:
            yield from undone(qp)


def _overrun(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Completion queues that lost something."""
    found = log.of(Kind.CQ_OVERRUN)
    for node, number in dict.fromkeys(rec.place_of(r) for r in found):
        subject = Subject(Sort.CQ, Thing(Noun.CQ, node, number))
        if wanted(subject.thing) and not is_made_good(session, log, subject, log.event):
            yield subject


_Look = Callable[[Session, Log, Wanted], Iterator[Subject]]
_REPORTED: tuple[_Look, ...] = (_failed, _posted_in_err, _refusals)
_UNREPORTED: tuple[_Look, ...] = (_stuck, _hanging, _abandoned, _overrun, *LOOKS)


def trouble_with(session: Session, log: Log, thing: Thing) -> list[Subject]:
    """All suspects of the session in which an object has a part, the worst first."""
    found = suspects(session, log, lambda _thing: True)
    return [each for each in found if _has_part(Case(session, each, log, asked=True), thing)
            or _had_part(session, log, each, thing)]  # fmt: skip


def _had_part(session: Session, log: Log, subject: Subject, thing: Thing) -> bool:
    """Whether a thing had a part in a send whose queue pair was destroyed or has lost its peer."""
    case = Case(session, subject, log, asked=True)
    if case.send is None or receivers.goes_to(case, case.send)[0]:
        return False
    with visit(log, moments(session, log, subject)[0].event) as then:
        return _has_part(Case(session, subject, then, asked=True), thing)


def never_made(log: Log, name: str) -> list[Subject]:
    """The refused calls that were to make an object of this name, oldest first."""
    return [call.subject for call in log.refused()
            if call.invocation is not None and name in map(str, _new(call))]  # fmt: skip


def _new(call: Call) -> list[New]:
    made = call.invocation.arguments.values() if call.invocation is not None else ()
    return [value for value in made if isinstance(value, New)]


def _has_part(case: Case, thing: Thing) -> bool:
    subject = case.subject
    if subject.sort is Sort.CALL:
        return case.call is not None and _is_named(case, case.call, thing)
    if case.qp is not None and thing == Thing(Noun.SRQ, case.qp.node, case.qp.srq):
        return True
    return subject.thing == thing or (case.send is not None and _is_needed(case, thing))


def _is_named(case: Case, call: Call, thing: Thing) -> bool:
    """Whether a call names a thing, or was refused because the thing uses what the call names."""
    named = list(_names(call.invocation.arguments if call.invocation is not None else {}))
    if case.names.of(thing) in named:
        return True
    used = case.names.find(named[0]) if named and call.refusal in OF_USE else None
    if used is None or not exists(case.world, used):
        return False
    return thing in [user for user, _ in users_of(case.world, used)]


def _names(value: object) -> Iterator[str]:
    """The names in the arguments of a call, at any depth."""
    if isinstance(value, Ref | New):
        yield str(value)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        yield from _names(each)


def _is_needed(case: Case, thing: Thing) -> bool:
    """Whether a send names a key of a thing, its address handle, or its shared receive queue."""
    wqe = case.wqe
    if wqe is None or case.send is None:
        return False
    wr, number = wqe.wr, thing.number
    local, there = case.node == thing.node, receivers.goes_to(case, case.send)[0] == thing.node
    match thing.noun:
        case Noun.MR:
            own = local and number in [region_number(sge.lkey) for sge in wr.sg]
            return own or (there and region_number(wr.rkey) == number)
        case Noun.MW:
            return (there and window_number(wr.rkey) == number) or (local and wr.mw == number)
        case Noun.AH:
            return local and wr.ah == number
        case Noun.SRQ:
            target = receivers.target(case)
            srq = case.shared_by(target) if target is not None else None
            return there and srq is not None and srq.number == number
    return False
