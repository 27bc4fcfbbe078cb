"""What is plainly wrong in a session: work that failed or was lost, refused calls, what hangs.

Failures are found in the log, so that those of destroyed and reset queue pairs are found as well.
"""

from collections.abc import Callable, Iterator, Sequence

from rdmalab.command import Invocation, New, Noun, Ref, Thing
from rdmalab.doctor.call import Call
from rdmalab.doctor.components import planned
from rdmalab.doctor.failed_work import failed_lives
from rdmalab.doctor.log import Log
from rdmalab.doctor.moments import teardowns
from rdmalab.doctor.outstanding import MOST, Wanted, qps_of, undone
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.doctor.unreported import (
    lost_messages,
    overwritten,
    polled_without_result,
    queue_pairs_in_err,
    refilled,
)
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.programs import BLOCKING, ProgramState
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState
from rdmalab.world.event_queue import Door
from rdmalab.world.programs import programs_of


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
    for look in looks:
        for subject in look(session, log, wanted):
            if subject not in seen:
                seen.add(subject)
                yield subject


def _failed(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Of each life of each queue pair what failed first, unless it was mended or ordered."""
    where = [(rec.node_of(r), rec.object_of(r)) for _, r in log.failed_sends]
    where += [(rec.node_of(r), rec.cqe_of(r).qp_num) for _, r in log.failed_receives]
    for node, number in sorted(dict.fromkeys(where)):
        thing = Thing(Noun.QP, node, number)
        for event, subject in failed_lives(log, thing) if wanted(thing) else ():
            if not _corrected(session, log, thing, event):
                yield subject


def _corrected(session: Session, log: Log, thing: Thing, event: int) -> bool:
    """Whether a queue pair of this name was brought up after an event, and work succeeded then."""
    name = session.names.of(thing)
    same = [it for it, said in session.names.name_of.items() if said == name]
    up = [at for it in same for at in log.entered(it, QPState.RTR, after=event)]
    if not up:
        return False
    done = (r for it in same for _, r in log.about(Kind.WQE_COMPLETED, it) if not rec.status_of(r))
    took = (
        r for _, r in log.of(Kind.CQE_ADDED, thing.node)
        if not rec.cqe_of(r).status and Thing(Noun.QP, thing.node, rec.cqe_of(r).qp_num) in same
    )  # fmt: skip
    return any(rec.event_of(r) > min(up) for found in (done, took) for r in found)


def _abandoned(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """The oldest send that a queue pair had outstanding when it was destroyed or reset."""
    taken = dict.fromkeys(a.thing for row in teardowns(log) for a in row if a.thing.noun is Noun.QP)
    for thing in taken or ():
        if not wanted(thing):
            continue
        done = {rec.send_wqe_of(r).serial for _, r in log.about(Kind.WQE_COMPLETED, thing)}
        posted = [rec.send_wqe_of(r) for _, r in log.about(Kind.SEND_POSTED, thing)]
        left = [wqe for wqe in posted if wqe.serial not in done]
        for event in (a.event for row in teardowns(log) for a in row if a.thing == thing):
            lost = [w for w in left if _lost_in(log, thing, w.serial, event)]
            if lost and not _corrected(session, log, thing, event):
                yield Subject(Sort.SEND, thing, lost[0].serial, lost[0].wr.wr_id)
                break


def _lost_in(log: Log, thing: Thing, serial: int, event: int) -> bool:
    """Whether a send that never ended was posted before an event."""
    posts = log.about(Kind.SEND_POSTED, thing)
    return any(rec.send_wqe_of(r).serial == serial and rec.event_of(r) < event for _, r in posts)


def _refusals(_session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Calls that were refused, and not accepted since; of those that would block the newest."""
    empty_polls: set[tuple[str, tuple[str, int]]] = set()
    for call in reversed(log.refused()[-MOST:]):
        if not any(wanted(Thing(noun, *call.thing)) for noun in _nouns(call)):
            continue
        if call.refusal in BLOCKING and (call.program or (call.verb, call.thing) in empty_polls):
            continue  # the program itself waits, and is stuck
        empty_polls.add((call.verb, call.thing))
        if not _accepted_since(log, call) and not _polled_since(log, call):
            yield subject_of(call)


def _polled_since(log: Log, call: Call) -> bool:
    """Whether completions were polled after a get_cq_event that would block."""
    polls = log.of(Kind.CQE_POLLED, call.thing[0]) if call.verb == "get_cq_event" else []
    return any(rec.event_of(record) > call.event for _, record in polls[-1:])


def _nouns(call: Call) -> tuple[Noun, ...]:
    """Of which nouns the number may be that a call was about."""
    return (Noun.CHANNEL,) if call.verb == "get_cq_event" else (Noun.QP, Noun.CQ, Noun.SRQ)


def _accepted_since(log: Log, call: Call) -> bool:
    """Whether the same was asked of the same thing, or under the same name, and done."""
    later = [
        rec.event_of(r)
        for _, r in log.of(Kind.CALLED, *call.thing)
        if rec.event_of(r) > call.event and rec.verb_of(r) == call.verb and not rec.errno_of(r)
    ]
    if not later or call.invocation is None:
        return bool(later)
    named = _first_name(call.invocation)
    said = [log.asked(event)[0] for event in later]
    wanted = _state(call.invocation)
    return any(it is None or (_first_name(it), _state(it)) == (named, wanted) for it in said)


def _state(invocation: Invocation) -> object:
    """The state that a modify_qp asks for: another one is another call."""
    attr = invocation.arguments.get("attr")
    return attr.get("qp_state") if isinstance(attr, dict) else None


def _first_name(invocation: Invocation) -> str:
    """The first thing that a command names, or is to give a name."""
    names = [value for value in invocation.arguments.values() if isinstance(value, Ref | New)]
    return str(names[0]) if names else ""


def _stuck(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Programs that failed, and those that wait while nothing changes any more.

    Those that poll come last: it may be their work, whether anything comes or not.
    """
    polls = (ProgramState.RUNNING, ProgramState.SLEEPING)
    for program in sorted(programs_of(session.world), key=lambda each: each.state in polls):
        thing = Thing(Noun.PROGRAM, program.node, program.number)
        waits = program.state is not ProgramState.DONE and log.rests(thing)
        if wanted(thing) and (waits or program.state is ProgramState.FAILED):
            yield Subject(Sort.PROGRAM, thing)


def _hanging(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Sends that do not get on: at most timers run, or they are sent again and again."""
    for thing, qp in qps_of(session, wanted):
        coming = planned(session.world, log.component_of(thing)) if undone(qp) else []
        quiet = all(entry[2] == Door.TIMER for entry in coming) or log.rests(thing)
        again = [r for _, r in log.about(Kind.WENT_BACK, thing) if rec.psn_of(r) == qp.comp.psn]
        if quiet or again:
            yield from undone(qp)


def _overrun(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Completion queues that lost something."""
    found = log.of(Kind.CQ_OVERRUN)
    for node, number in dict.fromkeys((rec.node_of(r), rec.object_of(r)) for _, r in found):
        thing = Thing(Noun.CQ, node, number)
        if wanted(thing):
            yield Subject(Sort.CQ, thing)


def subject_of(call: Call) -> Subject:
    """A refused call as a subject."""
    node, number = call.thing
    return Subject(Sort.CALL, Thing(Noun.NODE, node, number), event=call.event)


_Look = Callable[[Session, Log, Wanted], Iterator[Subject]]
_REPORTED: tuple[_Look, ...] = (_failed, _refusals)
_UNREPORTED: tuple[_Look, ...] = (
    _stuck, _hanging, _abandoned, _overrun,
    queue_pairs_in_err, lost_messages, polled_without_result, overwritten, refilled,
)  # fmt: skip
