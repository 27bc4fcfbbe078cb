"""The outcome of a thing without another call: seen on a branch that is undone."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from rdmalab.command import Noun, Thing
from rdmalab.doctor.evidence.components import (
    Component,
    component_of,
    everything,
    leave_out_others,
    pass_idle_polls,
    planned,
)
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.outcome import Status, SubjectOutcome, outcome_of
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.hca.qp import QueuePair
from rdmalab.session.breakpoints import Breakpoints
from rdmalab.session.history import undone_afterwards
from rdmalab.session.session import Session
from rdmalab.spec.records import Kind, at_ns_of, kind_of, line_number_of, node_of, object_of
from rdmalab.world.programs import Program
from rdmalab.world.relations import exists
from rdmalab.world.world import World

MOST_EVENTS = 4_000
"""The most events of a trial: it must not take longer than a person waits for an answer."""

LONG_WAIT_NS = 10_000_000_000
"""Time that a person waits before calling it a hang, in ns of virtual time."""

_FIRST_LOOK = 32  # events, and then four times as many each time


@dataclass(slots=True)
class Future:
    """The outcome of a subject without another call. end_ns: when it ended, or the look ahead.

    event: the last one that was looked at. settled: it has come to an end; idle: nothing more
    happens that changes anything; repeats: it is sent again and again, and no counter of retries
    changes.
    """

    outcome: SubjectOutcome
    event: int
    end_ns: int
    settled: bool
    idle: bool
    repeats: bool


@contextmanager
def undone_trial(session: Session) -> Iterator[None]:
    """Afterwards nothing has happened; breakpoints do not stop what is only tried."""
    breakpoints, session.breakpoints = session.breakpoints, Breakpoints()
    checkpoints = dict(session.checkpoints)
    default_node = session.default_node
    try:
        with undone_afterwards(session.history):
            yield
    finally:
        session.breakpoints, session.checkpoints = breakpoints, checkpoints
        session.default_node = default_node


def look_ahead(
    session: Session, subject: Subject, within_ns: int = LONG_WAIT_NS, log: Log | None = None
) -> Future:
    """Let time go on until the subject is settled, nothing more happens, or `patience_ns` is over.

    log: of what has happened so far; one consultation looks ahead once a subject.
    """
    log = log or Log(session)
    seen = _seen.setdefault(log, {})
    key = subject, session.world.event, within_ns
    if key not in seen:
        seen[key] = _look_ahead(session, subject, within_ns, log)
    return seen[key]


_seen: "WeakKeyDictionary[Log, dict[tuple[Subject, int, int], Future]]" = WeakKeyDictionary()


def _look_ahead(session: Session, subject: Subject, within_ns: int, log: Log) -> Future:
    history, world = session.history, session.world
    if log.rests(subject.thing):  # threads that come back to their lines never find anything
        found = outcome_of(session, subject, log)
        settled, end_ns = found.kind is not Status.PENDING, end_ns_of(found, log)
        end_ns = world.now_ns if end_ns is None else end_ns
        return Future(found, world.event, end_ns, settled, idle=True, repeats=False)
    with undone_trial(session):
        component = log.component_of(subject.thing)
        leave_out_others(world, component)
        limit_ns, left, slice_events = world.now_ns + within_ns, MOST_EVENTS, _FIRST_LOOK
        while True:
            wanted, retries = min(slice_events, left), _retries(session, subject)
            first = world.trace.latest + 1
            done = history.run(wanted, limit_ns)
            left, slice_events = left - done, 4 * slice_events
            now = Log(session, log)
            found = outcome_of(session, subject, now)
            settled = found.kind is not Status.PENDING
            same = retries is not None and retries == _retries(session, subject)
            repeats = same and not settled and _went_back(session, subject.thing, first)
            if not settled and done == wanted and pass_idle_polls(session, component):
                slice_events = _FIRST_LOOK
            if settled or done < wanted or not left or (repeats and _is_alone(world, component)):
                idle, end_ns = not planned(world, component), end_ns_of(found, now)
                end_ns = world.now_ns if end_ns is None else end_ns
                return Future(found, world.event, end_ns, settled, idle, repeats)


def _retries(session: Session, subject: Subject) -> tuple[int, int, int] | None:
    """The oldest PSN without an answer and the retries used; None where no timer of it runs."""
    thing = subject.thing
    if subject.sort is not Sort.SEND or not exists(session.world, thing):
        return None
    qp = session.world.find(thing, QueuePair)
    comp = qp.comp
    return (comp.psn, comp.retried, comp.rnr_retried) if qp.timer.at_ns is not None else None


def _is_alone(world: World, component: Component) -> bool:
    """Whether neither a program nor a fault can change what repeats."""
    threads = any(thing.noun is Noun.PROGRAM for thing in component)
    return not threads and not world.network.cable.faults


def _went_back(session: Session, thing: Thing, first: int) -> bool:
    """Whether a queue pair has sent again since a record."""
    return any(
        kind_of(record) is Kind.WENT_BACK and (node_of(record), object_of(record)) == thing[1:]
        for record in session.world.trace.since(first)
    )


def goes_on(session: Session, thing: Thing) -> bool:
    """Whether a program comes past the line in which it waits, without another call."""
    line = session.world.find(thing, Program).line.number
    with undone_trial(session):
        component = component_of(session, thing)
        leave_out_others(session.world, component)
        history, world, before = session.history, session.world, session.world.trace.latest
        limit_ns, left, slice_events = world.now_ns + LONG_WAIT_NS, MOST_EVENTS, _FIRST_LOOK
        while left:
            wanted = min(slice_events, left)
            done = history.run(wanted, limit_ns)
            left, slice_events = left - done, 4 * slice_events
            if passes_line(session, thing, line, before):
                return True
            if done < wanted:
                return False
            if pass_idle_polls(session, component):
                slice_events = _FIRST_LOOK
    return False


def let_time_pass(session: Session) -> None:
    """Run a trial on, until nothing more happens or a person would call it a hang."""
    limit_ns, left, slice_events = session.world.now_ns + LONG_WAIT_NS, MOST_EVENTS, _FIRST_LOOK
    while left:
        wanted = min(slice_events, left)
        done = session.history.run(wanted, limit_ns)
        left, slice_events = left - done, 4 * slice_events
        if done < wanted:
            return
        if pass_idle_polls(session, everything(session.world)):
            slice_events = _FIRST_LOOK


def passes_line(session: Session, thing: Thing, line: int, before: int) -> bool:
    """Whether a program has carried out another line than this one, or its last, since a record."""
    trace = session.world.trace
    for record in trace.records[max(before + 1, trace.first) :]:
        if (node_of(record), object_of(record)) == thing[1:] and (
            kind_of(record) is Kind.PROGRAM_DONE
            or (kind_of(record) is Kind.PROGRAM_RAN and line_number_of(record) != line)
        ):
            return True
    return False


def end_ns_of(found: SubjectOutcome, log: Log) -> int | None:
    """The virtual time of the event that made it so."""
    records = log.within(found.event) if found.event is not None else []
    return next((at_ns_of(record) for record in records), None)
