"""From a question to what it is about; without one, what a careful friend would see at once."""

from collections.abc import Callable

from rdmalab.command import NotUnderstood, Noun, Thing
from rdmalab.doctor.asking.suspects import never_made, suspects, trouble_with
from rdmalab.doctor.case import (
    Case,
    CompletionQueue,
    Log,
    QueuePair,
    Session,
    SharedReceiveQueue,
    Sort,
    Subject,
)
from rdmalab.doctor.evidence import posting_calls
from rdmalab.doctor.evidence.components import gone_in
from rdmalab.doctor.evidence.ownership import orphans
from rdmalab.doctor.evidence.work_of_queues import (
    MOST,
    newest_receive,
    newest_send,
    newest_work,
    undone,
    unmet,
)
from rdmalab.doctor.evidence.work_requests import post_kind
from rdmalab.doctor.facts.thread_waits import thread_wait
from rdmalab.doctor.facts.undelivered import for_bytes
from rdmalab.doctor.moments.moments import visit
from rdmalab.grammar.nodes import Index, Path
from rdmalab.hca.objects import MemoryRegion
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import Kind, recv_wqe_of
from rdmalab.spec.rules import ERRNO_NAMES
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.world.programs import Program, programs_of
from rdmalab.world.relations import exists, find_qp, peer_of

_UP = (QPState.RTR, QPState.RTS, QPState.SQD)
"""Then a queue pair works, and what was posted on it is more interesting than itself."""


def subjects(session: Session, log: Log, question: Path | None) -> list[Subject]:
    """The subjects of a normalised question, the worst first; [] if it names none then.

    NotUnderstood of bytes that leave their region.
    """
    if question is None:
        return list(suspects(session, log, lambda _thing: True))[:MOST]
    if question.is_single and question.steps[0] not in session.world.nodes:
        return _by_errno(log, str(question))
    return _by_path(session, log, question)[:MOST]


# --------------------------------------------------------------------------- asked by name
def _by_errno(log: Log, text: str) -> list[Subject]:
    """The newest call that was refused so, by errno or by rule."""
    found = [c for c in log.refused() if text in (c.refusal, ERRNO_NAMES.get(c.errno))]
    return [call.subject for call in found[-1:]]


def _by_path(session: Session, log: Log, path: Path) -> list[Subject]:
    node, *rest = path.steps
    name = str(rest[0]) if rest else ""
    if node in session.world.nodes and not rest:
        return list(suspects(session, log, lambda thing: thing.node == node))
    thing = session.names.find(f"{node}.{name}")
    if thing is None:
        return never_made(log, f"{node}.{name}")[-1:]
    index = _index(path, 3)
    if index is not None and path.steps[2] in _NEWEST:
        return [_newest_of_lives(session, log, f"{node}.{name}", path)]
    if not exists(session.world, thing):
        at = _index(path, 2)
        used = _used_afterwards(session, log, thing) if at is None else []
        if thing.noun in _USED:
            found = used or (trouble_with(session, log, thing) if at is None else [])
            return found or [_gone(thing, at)]
        left = [each.subject for each in orphans(log, thing.node) if each.qp == thing][-1:]
        own = used or [*_when_it_lived(session, log, thing, path), _gone(thing, at)]
        return [*left, *own]
    return _OF_NOUN.get(thing.noun, _object)(session, log, thing, path)


def _object(session: Session, log: Log, thing: Thing, _path: Path) -> list[Subject]:
    """Of a domain, a window, an address handle: what is wrong around it, or the object alone."""
    return trouble_with(session, log, thing) or [Subject(Sort.OBJECT, thing)]


def _when_it_lived(session: Session, log: Log, thing: Thing, path: Path) -> list[Subject]:
    """Subjects that concern a destroyed object; queues and channels as they were before that."""
    gone = log.destroyed(thing)
    if thing.noun not in (Noun.CQ, Noun.CHANNEL) or gone is None:
        return list(suspects(session, log, lambda it: it == thing))
    with visit(log, gone - 1) as then:
        return _OF_NOUN[thing.noun](session, then, thing, path)


def _used_afterwards(session: Session, log: Log, thing: Thing) -> list[Subject]:
    """The first call that used a destroyed object."""
    calls = [c for c in log.refused() if c.refusal == "use-after-destroy"]
    return [c.subject for c in calls if thing in gone_in(session, c.invocation)][:1]


def _gone(thing: Thing, index: Index | None) -> Subject:
    """The subjects of a destroyed object, as at its last moment."""
    start = index.start if index is not None else 0
    stop = index.stop if index is not None and index.stop is not None else start + 1
    sort = {Noun.CQ: Sort.CQ, Noun.MR: Sort.BYTES, Noun.PROGRAM: Sort.PROGRAM}
    sort |= dict.fromkeys(_USED - {Noun.MR}, Sort.OBJECT)
    bytes_ = {"start": start, "stop": stop} if thing.noun is Noun.MR else {}
    return Subject(sort.get(thing.noun, Sort.QP), thing, **bytes_)


def _newest_of_lives(session: Session, log: Log, name: str, path: Path) -> Subject:
    """The work request of a wr_id that was posted, or refused, last on any object of a name.

    Of a wr_id that only the other queue has had, the one there. A receive of a queue pair may be
    one of its shared receive queue.
    """
    index, asked = _index(path, 3), str(path.steps[2])
    assert index is not None
    own = [thing for thing, text in session.names.name_of.items() if text == name]
    qps = (find_qp(session.world, *thing[1:]) for thing in own if thing.noun is Noun.QP)
    shared = [Thing(Noun.SRQ, qp.node, qp.srq) for qp in qps if qp is not None and qp.srq]
    newest: list[Subject] = []
    for word in sorted(_NEWEST, key=lambda word: word != asked):
        found = [
            (newest_receive if thing.noun is Noun.SRQ else _NEWEST[word])(
                session, log, thing, index.start
            )
            for thing in (*own, *(shared if word == "recv_wr" else ()))
        ]
        newest.append(max(found, key=lambda subject: _tried(log, subject)))
        if _tried(log, newest[-1])[0] >= 0 or posting_calls.latest_batch(log, newest[-1]):
            return newest[-1]
    return newest[0]


def _tried(log: Log, subject: Subject) -> tuple[int, int]:
    """The event of a post, or of the refused call; then the newer object."""
    if subject.serial >= 0:
        kind = post_kind(subject.thing, is_send=subject.sort is Sort.SEND)
        event = log.event_of(kind, subject.thing, subject.serial)
        return event or 0, subject.thing.number
    refused = posting_calls.latest_attempt(log, subject)
    return (refused.call.event if refused is not None else -1), subject.thing.number


def _index(path: Path, at: int) -> Index | None:
    step = path.steps[at] if len(path.steps) > at else None
    return step if isinstance(step, Index) else None


def _queue_pair(session: Session, log: Log, thing: Thing, path: Path) -> list[Subject]:
    found = list(suspects(session, log, lambda it: it == thing))
    found = found or trouble_with(session, log, thing)
    own = Subject(Sort.QP, thing)
    is_up = exists(session.world, thing) and session.world.find(thing, QueuePair).state in _UP
    newest = newest_work(log, thing)
    found = found or _starved(session, log, thing)
    return found or ([*newest, own] if is_up else [own, *newest])


def _starved(session: Session, log: Log, thing: Thing) -> list[Subject]:
    """The oldest send of the peer of a queue pair, if RNR NAKs answer it: no receive is posted."""
    qp = find_qp(session.world, thing.node, thing.number)
    peer = peer_of(session.world, qp) if qp is not None and not qp.source.wqes else None
    waits = peer is not None and peer.comp.rnr_until_ns is not None
    return undone(peer) if peer is not None and waits else []


def _shared_queue(session: Session, log: Log, thing: Thing, _path: Path) -> list[Subject]:
    srq = session.world.find(thing, SharedReceiveQueue)
    oldest = [Subject.of_receive(thing, w) for w in list(srq.wqes)[:1]]
    posts = log.about(Kind.SRQ_POSTED, thing)[-1:]
    newest = [Subject.of_receive(thing, recv_wqe_of(record)) for record in posts]
    return [*trouble_with(session, log, thing), *(oldest or newest)] or [
        Subject(Sort.OBJECT, thing)
    ]


def _completion_queue(session: Session, log: Log, thing: Thing, _path: Path) -> list[Subject]:
    """The queue itself, and the work whose completions should come onto it."""
    hca = session.world.nodes[thing.node]
    users = [q for q in hca.qps.items.values() if thing.number in (q.send_cq, q.recv_cq)]
    numbers = {qp.number for qp in users}

    def concerns(it: Thing) -> bool:
        notified = session.world.find(thing, CompletionQueue).channel or None
        return it in (thing, Thing(Noun.CHANNEL, thing.node, notified or -1)) or (
            it.noun is Noun.QP and it.node == thing.node and it.number in numbers
        )

    found = [Subject(Sort.CQ, thing), *suspects(session, log, concerns)]
    for qp in users:
        found += undone(qp) if qp.send_cq == thing.number else []
        found += unmet(qp) if qp.recv_cq == thing.number else []
    calls = [each for each in trouble_with(session, log, thing) if each.sort is Sort.CALL]
    return list(dict.fromkeys([*found, *calls]))


def _channel(session: Session, log: Log, thing: Thing, path: Path) -> list[Subject]:
    """Threads that wait on a channel, and the queues that should notify it."""
    programs = programs_of(session.world)
    threads = [Subject(Sort.PROGRAM, p.thing) for p in programs]
    waits = [thread_wait(Case(session, each, log, asked=True)) for each in threads]
    waiting = [
        each for each, program, wait in zip(threads, programs, waits, strict=True)
        if (program.wants is not None and program.wants[1] == thing)
        or (wait is not None and thing in wait.things)
    ]  # fmt: skip
    cqs = session.world.nodes[thing.node].cqs.items.values()
    notified = [Thing(Noun.CQ, thing.node, cq.number) for cq in cqs if cq.channel == thing.number]
    found = trouble_with(session, log, thing)
    found += [s for cq in notified for s in _completion_queue(session, log, cq, path)]
    calls = [each for each in found if each.sort is Sort.CALL]
    return list(dict.fromkeys([*waiting, *calls, *found])) or [Subject(Sort.OBJECT, thing)]


def _program(session: Session, log: Log, thing: Thing, _path: Path) -> list[Subject]:
    """A thread; of one that is done before it the failed work whose completion it polled."""
    own, name = Subject(Sort.PROGRAM, thing), session.names.of(thing)
    if session.world.find(thing, Program).state is not ProgramState.DONE:
        return [own]
    cases = (
        Case(session, each, log, asked=True)
        for each in suspects(session, log, lambda _thing: True)
        if each.serial >= 0
    )
    failed = [case.subject for case in cases if case.ending is not None and case.work is not None
              and case.ending.status is not WCStatus.WR_FLUSH_ERR  # a teardown may have ended it
              and case.work.polled is not None and case.work.polled.program == name]  # fmt: skip
    return [*failed[:1], own]


def _memory(session: Session, log: Log, thing: Thing, path: Path) -> list[Subject]:
    index, length = _index(path, 2), session.world.find(thing, MemoryRegion).length
    if index is None:
        found, whole = trouble_with(session, log, thing), Subject(Sort.BYTES, thing, stop=length)
        case = Case(session, whole, log, asked=True)
        if not found and not (for_bytes(case) or (case.content and case.content.written)):
            return [Subject(Sort.OBJECT, thing)]
        calls = [each for each in found if each.sort is Sort.CALL]
        return [*calls, whole, *(each for each in found if each not in calls)]
    stop = index.start + 1 if index.stop is None else index.stop
    if not 0 <= index.start < stop <= length:
        raise NotUnderstood(f"{path} leaves the region", path.place, f"it has {length} bytes")
    return [Subject(Sort.BYTES, thing, start=index.start, stop=stop)]


_USED = {Noun.PD, Noun.MR, Noun.MW, Noun.AH, Noun.XRCD, Noun.TD, Noun.FLOW}
"""Nouns of objects that others use and that have no work of their own."""
_NEWEST = {"wr": newest_send, "recv_wr": newest_receive}
_OF_NOUN: dict[Noun, Callable[[Session, Log, Thing, Path], list[Subject]]] = {
    Noun.QP: _queue_pair,
    Noun.SRQ: _shared_queue,
    Noun.CQ: _completion_queue,
    Noun.CHANNEL: _channel,
    Noun.PROGRAM: _program,
    Noun.MR: _memory,
}
