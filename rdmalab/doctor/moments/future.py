"""The outcome of a thing without another call: seen on a branch that is undone."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from rdmalab.command import Noun, Thing
from rdmalab.doctor.evidence import components
from rdmalab.doctor.evidence.components import Component
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.outcome import Status, SubjectOutcome, outcome_of
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.hca.qp import QueuePair
from rdmalab.session.breakpoints import Breakpoints
from rdmalab.session.history import undone_afterwards
from rdmalab.session.session import Session
from rdmalab.spec.records import Kind, at_ns_of, kind_of, line_number_of, node_of, object_of
from rdmalab.spec.row import dataclass
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
    """Let time go on until the subject is settled, nothing more happens, or `within_ns` are over.

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
    world = session.world
    if log.rests(subject.thing):  # threads that come back to their lines never find anything
        return _future(world, outcome_of(session, subject, log), log, idle=True, repeats=False)
    with undone_trial(session):
        component = log.component_of(subject.thing)
        components.leave_out_others(world, component)
        first, retries, repeats = world.trace.latest + 1, _retries(session, subject), False
        for more in _slices(session, component, within_ns):
            now = Log(session, log)
            found = outcome_of(session, subject, now)
            same = retries is not None and retries == _retries(session, subject)
            settled = found.kind is not Status.PENDING
            repeats = same and not settled and _went_back(session, subject.thing, first)
            if settled or not more or (repeats and _is_alone(world, component)):
                break
            first, retries = world.trace.latest + 1, _retries(session, subject)
        return _future(
            world, found, now, idle=not components.planned(world, component), repeats=repeats
        )


def _future(world: World, found: SubjectOutcome, log: Log, *, idle: bool, repeats: bool) -> Future:
    end_ns = end_ns_of(found, log)
    end_ns = world.now_ns if end_ns is None else end_ns
    return Future(found, world.event, end_ns, found.kind is not Status.PENDING, idle, repeats)


def _slices(
    session: Session, component: Component | None, within_ns: int = LONG_WAIT_NS
) -> Iterator[bool]:
    """Run a trial on in longer and longer slices; after each, whether it goes on after that.

    It ends when nothing more happens, or when a person would call it a hang. component: the
    threads that may look in vain; None: all.
    """
    limit_ns, left, size = session.world.now_ns + within_ns, MOST_EVENTS, _FIRST_LOOK
    more = True
    while more and left:
        wanted = min(size, left)
        done = session.history.run(wanted, limit_ns)
        left, size = left - done, 4 * size
        more = done == wanted
        yield more and left > 0
        if more and components.pass_idle_polls(
            session, component or components.everything(session.world)
        ):
            size = _FIRST_LOOK


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
        component = components.component_of(session, thing)
        components.leave_out_others(session.world, component)
        before = session.world.trace.latest
        slices = _slices(session, component)
        return any(passes_line(session, thing, line, before) for _ in slices)


def let_time_pass(session: Session) -> None:
    """Run a trial on, until nothing more happens or a person would call it a hang."""
    deque(_slices(session, None), maxlen=0)


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
