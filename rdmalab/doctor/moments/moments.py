"""The moments at which a thing is judged: when it ended, before it was torn down, now.

The earliest of them at which a check says FAIL has the root; the state of the thing is that of now.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import Enum, auto
from itertools import islice, pairwise
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.evidence import posting_calls
from rdmalab.doctor.evidence.components import last_change
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.doctor.evidence.work_requests import Ending, Receive, Send
from rdmalab.session.history import read_only_visit
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.world.programs import Program
from rdmalab.world.relations import exists

MOST_OLDER = 3
"""Teardowns before the newest one that are looked at."""

_POSTS = (Kind.SEND_POSTED, Kind.RECV_POSTED, Kind.SRQ_POSTED)


class Why(Enum):
    """The reason a moment counts."""

    ENDED = auto()  # a completion was made, a call refused
    BEFORE_TEARDOWN = auto()
    TEARDOWN = auto()  # the call that took the thing
    QUIET = auto()  # the last event of its component, if the log no longer has it
    NOW = auto()


@dataclass(frozen=True, slots=True)
class Moment:
    """A place in time: judged after this event, with the log up to it.

    world: the earlier event as of which the objects are judged, where they were taken in between.
    """

    event: int
    why: Why
    world: int | None = None

    @property
    def seen(self) -> int:
        """The event as of which the objects are judged."""
        return self.event if self.world is None else self.world


class Act(NamedTuple):
    """A call that destroyed a thing, or moved a queue pair to RESET or ERR."""

    event: int
    thing: Thing


@contextmanager
def visit(log: Log, event: int, known: int | None = None) -> Iterator[Log]:
    """The session as it was after an event, and its log up to there; restored at the end.

    known: the log is the one up to this later event.
    """
    history = log.session.history
    if event >= log.session.world.event:
        yield log
        return
    with read_only_visit(history):
        history.seek(history.place_after(event))
        yield log.until_now() if known is None else log.until(known)


def visit_moment(log: Log, moment: Moment) -> AbstractContextManager[Log]:
    """The objects as they are judged at a moment, and the log up to it."""
    known = None if moment.world is None else moment.event
    return visit(log, moment.seen, known)


# --------------------------------------------------------------------------- teardowns
def teardowns(log: Log) -> list[list[Act]]:
    """The acts of teardown in rows, oldest first; nothing began within a row."""
    acts = sorted(_acts(log))
    begun = _begun(log) if acts else []
    rows: list[list[Act]] = []
    for act in acts:
        last = rows[-1][-1].event if rows else -1
        if not rows or bisect_left(begun, act.event) > bisect_right(begun, last):
            rows.append([])
        rows[-1].append(act)
    return rows


def _acts(log: Log) -> Iterator[Act]:
    for record in log.of(Kind.DESTROYED):
        noun = Noun(rec.noun_of(record))
        if noun is not Noun.PROGRAM and _called(log, rec.event_of(record)):
            yield Act(rec.event_of(record), Thing(noun, *rec.place_of(record)))
    for record in log.of(Kind.STATE_CHANGED):
        taken = rec.new_state_of(record) in (QPState.RESET, QPState.ERR)
        if taken and _called(log, rec.event_of(record)):
            yield Act(rec.event_of(record), Thing(Noun.QP, *rec.place_of(record)))


def _called(log: Log, event: int) -> bool:
    """Whether a call, and no failure or accident, made this event."""
    journal = log.session.journal
    index = journal.before(event)
    if index < len(journal) and journal.before(event + 1) > index:
        return True
    return any(rec.kind_of(record) is Kind.CALLED for record in log.within(event))


def _begun(log: Log) -> list[int]:
    """The events in which something was made, brought up or posted, but not in ERR."""
    kinds = (Kind.STATE_CHANGED, Kind.CREATED, *_POSTS)
    moves: dict[tuple[str, int], list[tuple[int, QPState]]] = {}
    for r in log.of(Kind.STATE_CHANGED):
        moves.setdefault(rec.place_of(r), []).append((rec.event_of(r), rec.new_state_of(r)))
    found = (r for kind in kinds for r in log.of(kind) if _begins(r))
    return sorted(rec.event_of(r) for r in found if not _is_in_err(r, moves))


def _is_in_err(post: Record, moves: dict[tuple[str, int], list[tuple[int, QPState]]]) -> bool:
    """Whether a record says that work was posted on a queue pair in ERR."""
    if rec.kind_of(post) not in (Kind.SEND_POSTED, Kind.RECV_POSTED):
        return False
    own = moves.get(rec.place_of(post), [])
    past = own[: bisect_left(own, rec.event_of(post), key=lambda move: move[0])]
    return bool(past) and past[-1][1] is QPState.ERR


def _begins(record: Record) -> bool:
    """Whether a record says that something was made, brought up or posted."""
    kind = rec.kind_of(record)
    if kind is Kind.STATE_CHANGED:
        return rec.new_state_of(record) in (QPState.INIT, QPState.RTR, QPState.RTS)
    return kind is Kind.CREATED or kind in _POSTS


def _before(log: Log, row: list[Act], thing: Thing) -> list[Moment]:
    """Before a row began, as far as it took queue pairs or the thing; before polls as well.

    The last: before the acts that came one right after the other with that which took the thing,
    and before each older such series.
    """
    first = next((a for a in row if a.thing.noun is Noun.QP or a.thing == thing), row[0])
    found = [first.event]
    calls = log.of(Kind.CALLED)
    index = bisect_left(calls, first.event, key=rec.event_of)
    while index and not any(map(_begins, log.within(rec.event_of(calls[index - 1])))):
        index -= 1
        found[1:] = [rec.event_of(calls[index])]
    own = next((n for n, act in enumerate(row) if act.thing == thing), len(row) - 1)
    series = [b.event for a, b in pairwise(row[: own + 1]) if b.event > a.event + 1]
    found += [event for event in reversed(series[-MOST_OLDER:]) if event > first.event]
    return [Moment(event - 1, Why.BEFORE_TEARDOWN) for event in found]


def before_stops(log: Log, event: int) -> int:
    """The event before calls stopped threads that were not over, if nothing began since; or this.

    A fix that is tried after it must help these threads, too.
    """
    stops = [at for at in _stops(log) if at <= event]
    begun = _begun(log) if stops else []
    last = bisect_right(begun, event)
    return min([at - 1 for at in stops if bisect_right(begun, at) == last], default=event)


def _stops(log: Log) -> list[int]:
    """The events of calls that stopped threads which were not over."""
    over = {rec.place_of(r) for kind in (Kind.PROGRAM_DONE, Kind.PROGRAM_FAILED)
            for r in log.of(kind)}  # fmt: skip
    return [event for r in log.of(Kind.DESTROYED) if rec.noun_of(r) == Noun.PROGRAM
            and rec.place_of(r) not in over and _called(log, event := rec.event_of(r))]  # fmt: skip


# --------------------------------------------------------------------------- of a subject
def moments(session: Session, log: Log, subject: Subject) -> list[Moment]:
    """The chain of a subject, in the order in which it is to be asked; never empty."""
    now = session.world.event
    find = _OF.get(subject.sort, _of_thing)
    late = (Why.NOW, Why.TEARDOWN)
    chain = [m if m.seen < now else Moment(now, Why.NOW) for m in find(session, log, subject)
             if m.seen < now or m.why in late]  # fmt: skip
    if not chain or exists(session.world, subject.thing):
        chain += [Moment(now, Why.NOW), *unlogged_moments(session, log, subject.thing)]
    found: dict[int, Moment] = {}
    for moment in chain:
        found.setdefault(moment.event, moment)
    return list(found.values())


def unlogged_moments(session: Session, log: Log, thing: Thing) -> list[Moment]:
    """The last event of the component of an existing thing that the log no longer has."""
    if not log.begins or thing.noun is Noun.NODE:
        return []
    last = last_change(session.history, log.component_of(thing))
    return [Moment(last, Why.QUIET)] if last is not None and last < log.begins else []


def _of_work(session: Session, log: Log, subject: Subject) -> list[Moment]:
    work = (Send if subject.sort is Sort.SEND else Receive)(session, subject, log)
    posted, ending = work.posted, work.ending
    if posted is None and (attempt := posting_calls.latest_attempt(log, subject)) is not None:
        posted = attempt.call.event
    found: list[Moment] = []
    if posted is None and ending is not None:
        posted = ending.event - 1  # its post is no longer in the log
    waits = posted is None and work.wqe is not None  # it got its slot without a record
    taken = None if waits else _taken(log, subject.thing, posted)
    ordered = is_ordered(session, log, subject)
    if ending is not None and ending.status is not WCStatus.SUCCESS and not ordered:
        found.append(Moment(ending.event, Why.ENDED, _refused_before_teardown(log, work, ending)))
    elif work.overrun is not None:
        found.append(Moment(work.overrun.event, Why.ENDED))
    if ending is None:
        is_unlogged = posted is None and subject.serial >= 0
        found += unlogged_moments(session, log, subject.thing) if is_unlogged else []
        found += _before_users(log, subject.thing, posted)
    if taken is None:
        return found
    row, act = taken
    before = _before(log, row, subject.thing)
    polled = work.polled.event if work.polled is not None else -1
    late = [Moment(polled, Why.TEARDOWN)] if polled > act.event and not ordered else []
    if ending is not None and not ordered:
        return [*found, *(moment for moment in before if moment.event >= ending.event), *late]
    act_moment = Moment(ending.event if ending is not None else act.event, Why.TEARDOWN)
    was_posted = subject.serial >= 0  # no act takes what was refused
    first = [act_moment] if was_posted and _is_alone(log, row, act) else []
    return [*found, *first, *before, act_moment, *late]


def _refused_before_teardown(log: Log, work: Send | Receive, ending: Ending) -> int | None:
    """Event of the NAK that a send ended with, if its sender was taken while it was under way."""
    rows = work.answers if isinstance(work, Send) else []
    naks = [row.event for row in rows if row.syndrome is not Syndrome.ACK and row.syndrome]
    sent = [record for event in naks[-1:] for record in log.within(event)
            if rec.kind_of(record) is Kind.PACKET_SENT]  # fmt: skip
    nodes = {rec.node_of(record) for record in sent}
    taken = (act for row in teardowns(log) for act in row if act.thing.node in nodes)
    between = any(naks[-1] < act.event <= ending.event for act in taken)
    return naks[-1] if between else None


def _is_alone(log: Log, row: list[Act], act: Act) -> bool:
    """Whether an act moved one end to RESET or ERR while the other end worked: no teardown."""
    last, at_ns = act.event, [rec.at_ns_of(r) for r in log.within(act.event)[:1]]
    for each in row:  # a teardown takes the other end right after it
        next_ = each.event == last + 1 and (each.thing != act.thing or last > act.event)
        last += next_ and at_ns == [rec.at_ns_of(r) for r in log.within(each.event)[:1]]
    changes = (*log.of(Kind.STATE_CHANGED), *log.of(Kind.DESTROYED))
    newest: dict[tuple[str, int], Record] = {}
    for record in sorted(changes, key=rec.event_of):
        is_qp = rec.kind_of(record) is Kind.STATE_CHANGED or rec.noun_of(record) == Noun.QP
        if is_qp and rec.node_of(record) != act.thing.node and rec.event_of(record) <= last:
            newest[rec.node_of(record), rec.object_of(record)] = record
    gone = any(
        rec.kind_of(r) is Kind.DESTROYED or rec.new_state_of(r) in (QPState.RESET, QPState.ERR)
        for r in newest.values()
    )
    return log.destroyed(act.thing) != act.event and not gone


def _before_users(log: Log, thing: Thing, posted: int | None) -> list[Moment]:
    """Of a receive on an SRQ: before the queue pairs were torn down that were to take it."""
    if thing.noun is not Noun.SRQ:
        return []
    rows = [row for row in teardowns(log) if row[-1].event > (posted or 0)]
    return [m for row in reversed(rows[-MOST_OLDER:]) for m in _before(log, row, thing)]


def _is_flush_of(ending: Ending | None, act: Act) -> bool:
    """Whether work was flushed because a call moved its queue pair to ERR."""
    flushed = ending is not None and ending.status is WCStatus.WR_FLUSH_ERR
    return ending is not None and flushed and act.event <= ending.event


def is_ordered(session: Session, log: Log, subject: Subject) -> bool:
    """Whether work ended with a flush that a call ordered: a drain, a teardown."""
    return flushing_act(session, log, subject) is not None


def flushing_act(session: Session, log: Log, subject: Subject) -> Act | None:
    """The call that flushed work by a move to ERR, before anything had failed; None if none did.

    Of the last request of a drain, which is posted in ERR, the call before it.
    """
    if subject.sort not in (Sort.SEND, Sort.RECV):
        return None
    work = (Send if subject.sort is Sort.SEND else Receive)(session, subject, log)
    taken = _taken(log, subject.thing, work.posted)
    is_flushed = taken is not None and _is_flush_of(work.ending, taken[1])
    return taken[1] if taken is not None and is_flushed else _drained_by(log, work)


def _drained_by(log: Log, work: Send | Receive) -> Act | None:
    """The move to ERR that a program made before it posted one request, whose flush was polled."""
    act, later = posted_in_err(log, work.subject.thing, work.posted)
    alone = [each for each in later if each.sort is work.subject.sort] == [work.subject]
    if act is None or not alone or work.polled is None or not work.flushed:
        return None
    return act if log.asked(act.event)[1] == log.asked(work.posted)[1] else None


def posted_in_err(log: Log, thing: Thing, until: int | None) -> tuple[Act | None, list[Subject]]:
    """The last call before an event that moved a queue pair to ERR, and what was posted since then.

    None and no work where the queue pair was in another state then, or in SQE before.
    """
    moves = log.about(Kind.STATE_CHANGED, thing) if thing.noun is Noun.QP else []
    past = [r for r in moves if until is None or rec.event_of(r) < until]
    event = rec.event_of(past[-1]) if past and rec.new_state_of(past[-1]) is QPState.ERR else -1
    if event < 0 or rec.old_state_of(past[-1]) is QPState.SQE or not _called(log, event):
        return None, []
    end = min((rec.event_of(r) for r in moves[len(past) :]), default=math.inf)
    sent, received = ([r for r in log.about(kind, thing) if event < rec.event_of(r) < end]
                      for kind in (Kind.SEND_POSTED, Kind.RECV_POSTED))  # fmt: skip
    works = [Subject.of_send(thing, rec.send_wqe_of(r)) for r in sent]
    works += [Subject.of_receive(thing, rec.recv_wqe_of(r)) for r in received]
    return Act(event, thing), works


def _taken(log: Log, thing: Thing, posted: int | None) -> tuple[list[Act], Act] | None:
    """The first act after its post that took a thing; without a known post the last one."""
    found = [
        (row, act) for row in teardowns(log) for act in row
        if act.thing == thing and (posted is None or act.event > posted)
    ]  # fmt: skip
    if not found:
        return None
    return found[-1] if posted is None else found[0]


def _of_call(session: Session, log: Log, subject: Subject) -> list[Moment]:
    later = [row for row in reversed(teardowns(log)) if row[0].event > subject.event]
    before = [m for row in later[:MOST_OLDER] for m in _before(log, row, subject.thing)]
    return [Moment(subject.event, Why.ENDED), *before]


def _of_thing(session: Session, log: Log, subject: Subject) -> list[Moment]:
    """Of an object: before its teardown, or now if it exists; then before each older teardown.

    What was wrong with a queue pair before its last bring-up is over.
    """
    thing, rows = subject.thing, teardowns(log)
    own = _own_row(log, rows, thing)
    found = [m for row in own for m in _before(log, row, thing)]
    end = log.destroyed(thing)
    taken = [a.event for row in own for a in row if a.thing == thing and a.event != end]
    found += [Moment(event, Why.TEARDOWN) for event in taken[-1:]]
    older = [row for row in reversed(rows) if row not in own][:MOST_OLDER]
    up = log.last_entered(thing, QPState.RTR) if thing.noun is Noun.QP else None
    before = [m for row in older for m in _before(log, row, thing) if m.event >= (up or 0)]
    now = Moment(session.world.event, Why.NOW)
    return [*_failure(log, thing), *found, *([now] if exists(session.world, thing) else []),
            *(Moment(rec.event_of(r), Why.ENDED) for r in log.about(Kind.CQ_OVERRUN, thing)[-1:]),
            *before]  # fmt: skip


def _failure(log: Log, thing: Thing) -> list[Moment]:
    """Moment of the first failed work after an error took a queue pair to ERR, at either end."""
    if thing.noun is not Noun.QP:
        return []
    errs = [e for e in log.entered(thing, QPState.ERR) if not _called(log, e)]
    up = log.entered(thing, QPState.RTR)
    ends = [(rec.event_of(r), rec.status_of(r)) for r in log.failed_sends]
    return [Moment(event, Why.ENDED) for err in errs[-1:] if err > max(up, default=-1)
            for event in [e for e, status in ends if e >= err
                          and status is not WCStatus.WR_FLUSH_ERR][:1]]  # fmt: skip


def _own_row(log: Log, rows: list[list[Act]], thing: Thing) -> list[list[Act]]:
    """The last row of teardown acts that took a thing; none if it was brought up since."""
    own = [row for row in rows if any(act.thing == thing for act in row)][-1:]
    is_qp = thing.noun is Noun.QP
    return [row for row in own
            if not (is_qp and log.entered(thing, QPState.RTR, after=row[-1].event))]  # fmt: skip


def object_moments(session: Session, log: Log, thing: Thing) -> list[Moment]:
    """Before the last teardown of an object, if nothing was posted on it since."""
    posts = [rec.event_of(r) for kind in _POSTS for r in log.about(kind, thing)]
    own = _own_row(log, teardowns(log), thing)
    since = [m for row in own if row[-1].event > max(posts, default=-1)
             for m in _before(log, row, thing)]  # fmt: skip
    return [moment for moment in since if moment.event < session.world.event]


def _of_program(session: Session, log: Log, subject: Subject) -> list[Moment]:
    """Before it was stopped, or another thread while it waited; before the teardown of what it may
    wait for.
    """
    begun, stopped = log.created(subject.thing), log.destroyed(subject.thing)
    if stopped is not None:
        return [Moment(_first_stop(log, stopped) - 1, Why.BEFORE_TEARDOWN)]
    rows = [row for row in teardowns(log) if begun is None or row[0].event > begun]
    rows = [row for row in rows if not _is_served_since(session, log, subject.thing, row)]
    found: list[Moment] = []
    for row in reversed(rows[-MOST_OLDER:]):
        before = _before(log, row, subject.thing)
        if _is_alone(log, row, row[0]):
            # the thread waits on after the act: now, or until the rest of the row
            later = [moment for moment in before if moment.event >= row[0].event]
            now = Moment(session.world.event, Why.NOW)
            before = [*(later or [now]), *(m for m in before if m not in later)]
        found += before
    stops = (at for at in _stops(log) if _has_stood_since(session, log, subject.thing, at))
    for moment in (Moment(at - 1, Why.BEFORE_TEARDOWN) for at in islice(stops, 1)):
        is_first = all(moment.event < row[0].event for row in rows)
        found = [moment, *found] if is_first else [*found, moment]
    if log.begins and found:  # it can wait longer than the log goes back
        with visit(log, found[0].event) as then:
            found = [*unlogged_moments(session, then, subject.thing), *found]
    return found


def _has_stood_since(session: Session, log: Log, thing: Thing, event: int) -> bool:
    """Whether a thread was in its present line at an event, and has polled nothing since."""
    ran = [r for r in log.about(Kind.PROGRAM_RAN, thing) if rec.event_of(r) < event][-1:]
    lines = {rec.line_number_of(r) for r in ran}
    lines |= {rec.line_number_of(r) for r in log.since(event, Kind.PROGRAM_RAN)
              if rec.place_of(r) == thing[1:]}  # fmt: skip
    polls = log.since(event, Kind.CQE_POLLED)
    name = session.names.of(thing)
    return bool(ran) and len(lines) == 1 and not any(
        log.asked(rec.event_of(r))[1] == name for r in polls if rec.node_of(r) == thing.node
    )  # fmt: skip


def _first_stop(log: Log, event: int) -> int:
    """The event of the first of the stops of programs that came one right after the other."""
    stops = {rec.event_of(r) for r in log.of(Kind.DESTROYED) if rec.noun_of(r) == Noun.PROGRAM}
    while event - 1 in stops:
        event -= 1
    return event


def _is_served_since(session: Session, log: Log, thing: Thing, row: list[Act]) -> bool:
    """Whether a program has polled a success of a queue pair since a row took that one.

    In a loop without end it serves others, and comes back to wait.
    """
    if not exists(session.world, thing) or 0 in session.world.find(thing, Program).loops:
        return False
    name, taken = session.names.of(thing), {act.thing for act in row}
    polls = (r for r in log.since(row[-1].event, Kind.CQE_POLLED) if rec.node_of(r) == thing.node)
    good = ((rec.event_of(r), rec.cqe_of(r)) for r in polls if not rec.cqe_of(r).status)
    return any(Thing(Noun.QP, thing.node, cqe.qp_num) in taken and log.asked(event)[1] == name
               for event, cqe in good)  # fmt: skip


def _now(session: Session, _log: Log, _subject: Subject) -> list[Moment]:
    """Of an object without work of its own: nothing of it ends."""
    return [Moment(session.world.event, Why.NOW)]


_OF = {
    Sort.SEND: _of_work, Sort.RECV: _of_work, Sort.CALL: _of_call, Sort.PROGRAM: _of_program,
    Sort.OBJECT: _now,
}  # fmt: skip
