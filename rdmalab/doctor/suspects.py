"""What is plainly wrong in a session: work that failed or was lost, refused calls, what hangs.

Failures are found in the log, so that those of destroyed and reset queue pairs are found as well.
"""

from collections.abc import Callable, Iterator, Sequence

from rdmalab.command import Noun, Thing
from rdmalab.doctor.call import Call
from rdmalab.doctor.components import planned
from rdmalab.doctor.failed_work import failed_lives
from rdmalab.doctor.log import Log
from rdmalab.doctor.made_good import Repeats, is_made_good, is_past, is_repaired
from rdmalab.doctor.moments import teardowns
from rdmalab.doctor.outstanding import MOST, Wanted, qps_of, undone
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.doctor.thrown_away import abandoned_sends, taken_queue_pairs
from rdmalab.doctor.unreported import (
    lost_messages,
    overtaken,
    overwritten,
    polled_without_result,
    queue_pairs_in_err,
    read_early,
    refilled,
    replaced,
)
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.programs import BLOCKING, ProgramState
from rdmalab.spec.records import Kind
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
    where = [(rec.node_of(r), rec.object_of(r)) for r in log.failed_sends]
    where += [(rec.node_of(r), rec.cqe_of(r).qp_num) for r in log.failed_receives]
    for node, number in sorted(dict.fromkeys(where)):
        thing = Thing(Noun.QP, node, number)
        for event, subject in failed_lives(log, thing) if wanted(thing) else ():
            if not is_repaired(session, log, subject, event):
                yield subject


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
            yield subject_of(call)


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

    Those that poll come last: it may be their work, whether anything comes or not.
    """
    polls = (ProgramState.RUNNING, ProgramState.SLEEPING)
    for program in sorted(programs_of(session.world), key=lambda each: each.state in polls):
        waits = program.state is not ProgramState.DONE and log.rests(program.thing)
        if wanted(program.thing) and (waits or program.state is ProgramState.FAILED):
            yield Subject(Sort.PROGRAM, program.thing)


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
    for node, number in dict.fromkeys((rec.node_of(r), rec.object_of(r)) for r in found):
        subject = Subject(Sort.CQ, Thing(Noun.CQ, node, number))
        if wanted(subject.thing) and not is_made_good(session, log, subject, log.event):
            yield subject


def subject_of(call: Call) -> Subject:
    """A refused call as a subject."""
    node, number = call.thing
    return Subject(Sort.CALL, Thing(Noun.NODE, node, number), event=call.event)


_Look = Callable[[Session, Log, Wanted], Iterator[Subject]]
_REPORTED: tuple[_Look, ...] = (_failed, _refusals)
_UNREPORTED: tuple[_Look, ...] = (
    _stuck, _hanging, _abandoned, _overrun,
    queue_pairs_in_err, lost_messages, polled_without_result, overwritten, refilled,
    overtaken, read_early, replaced,
)  # fmt: skip
