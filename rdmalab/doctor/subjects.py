"""From a question to what it is about; without one, what a careful friend would see at once."""

from collections.abc import Callable, Iterator

from rdmalab.command import Invocation, New, NotUnderstood, Noun, Ref, Thing
from rdmalab.doctor.failed_work import first_failed
from rdmalab.doctor.log import Call, Log
from rdmalab.doctor.newest import newest_receive, newest_send
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.grammar.hints import quoted, suggest
from rdmalab.grammar.nodes import Index, Node, Path
from rdmalab.hca.mr import MemoryRegion
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.srq import SharedReceiveQueue
from rdmalab.session.session import Session
from rdmalab.spec.programs import BLOCKING, ProgramState
from rdmalab.spec.records import A, B, Kind, event_of, node_of, object_of
from rdmalab.spec.rules import ERRNO_NAMES, RULES
from rdmalab.spec.states import QPState
from rdmalab.world.programs import programs_of
from rdmalab.world.relations import exists

MOST = 16
"""Complaints that are looked into at once."""

WHAT = (
    "why, why A.qp0, why A.qp0.wr[7], why B.qp0.recv_wr[3], why A.cq0, why B.mr0[0:64], why EINVAL"
)

Wanted = Callable[[Thing], bool]

_UP = (QPState.RTR, QPState.RTS, QPState.SQD)
"""Then a queue pair works, and what was posted on it is more interesting than itself."""


def subjects(session: Session, log: Log, question: Node | None) -> list[Subject]:
    """What is asked about, the worst first; NotUnderstood if it is nothing one can ask about."""
    if question is None:
        return list(_all(session, log, lambda _thing: True))[:MOST]
    if not isinstance(question, Path):
        raise NotUnderstood("that is nothing one can ask about", hint=f"try: {WHAT}")
    if question.is_single and question.steps[0] not in session.world.nodes:
        return _by_errno(session, log, question)
    return _by_path(session, log, question)[:MOST]


# --------------------------------------------------------------------------- asked by name
def _by_errno(session: Session, log: Log, path: Path) -> list[Subject]:
    """The newest call that was refused so, by errno or by rule."""
    text = str(path)
    if text not in ERRNO_NAMES.values() and text not in RULES:
        hint = suggest(text, [*session.names.all(), *ERRNO_NAMES.values()])
        raise NotUnderstood(f"{quoted(text)} is no object and no errno", path.place, hint)
    found = [c for c in log.refused() if text in (c.refusal, ERRNO_NAMES.get(c.errno))]
    if not found:
        refused = dict.fromkeys(ERRNO_NAMES.get(c.errno, "") for c in log.refused())
        hint = f"refused so far: {' '.join(refused)}" if refused else "no call was refused so far"
        raise NotUnderstood(f"no call was refused with {text}", path.place, hint)
    return [_subject_of(found[-1])]


def _subject_of(call: Call) -> Subject:
    node, number = call.thing
    return Subject(Sort.CALL, Thing(Noun.NODE, node, number), event=call.event)


def _by_path(session: Session, log: Log, path: Path) -> list[Subject]:
    node, *rest = path.steps
    name = str(rest[0]) if rest else ""
    if node in session.world.nodes and not rest:
        return list(_all(session, log, lambda thing: thing.node == node))
    thing = session.names.find(f"{node}.{name}")
    if thing is None:
        hint = suggest(str(path), session.names.all())
        raise NotUnderstood(f"nothing is called {quoted(f'{node}.{name}')}", path.place, hint)
    ask = _OF_NOUN.get(thing.noun)
    if ask is None:
        raise NotUnderstood(f"one cannot ask why of a {thing.noun}", path.place, f"try: {WHAT}")
    return ask(session, log, thing, path)


def _index(path: Path, at: int) -> Index | None:
    step = path.steps[at] if len(path.steps) > at else None
    return step if isinstance(step, Index) else None


def _queue_pair(session: Session, log: Log, thing: Thing, path: Path) -> list[Subject]:
    word, index = (path.steps[2] if len(path.steps) > 2 else None), _index(path, 3)
    if word == "wr" and index is not None:
        return [newest_send(session, log, thing, index.start)]
    if word == "recv_wr" and index is not None:
        return [newest_receive(session, log, thing, index.start)]
    if word is not None:
        raise NotUnderstood(f"one cannot ask why of {path}", path.place, f"try: {WHAT}")
    found = list(_all(session, log, lambda it: it == thing))
    own = Subject(Sort.QP, thing)
    is_up = exists(session.world, thing) and session.world.find(thing, QueuePair).state in _UP
    newest = _newest_work(log, thing)
    return found or ([*newest, own] if is_up else [own, *newest])


def _newest_work(log: Log, thing: Thing) -> list[Subject]:
    """What was posted last, on either queue."""
    sent, received = (
        [record[A] for _, record in log.about(kind, thing)[-1:]]
        for kind in (Kind.SEND_POSTED, Kind.RECV_POSTED)
    )
    sends = [Subject(Sort.SEND, thing, wqe.serial, wqe.wr.wr_id) for wqe in sent]
    return sends + [Subject(Sort.RECV, thing, wqe.serial, wqe.wr.wr_id) for wqe in received]


def _shared_queue(session: Session, log: Log, thing: Thing, path: Path) -> list[Subject]:
    index = _index(path, 3)
    if index is not None:
        return [newest_receive(session, log, thing, index.start)]
    srq = session.world.find(thing, SharedReceiveQueue)
    oldest = [Subject(Sort.RECV, thing, w.serial, w.wr.wr_id) for w in list(srq.wqes)[:1]]
    users = {q.number for q in session.world.nodes[thing.node].qps.items.values()
             if q.srq == thing.number}  # fmt: skip
    failed = _all(session, log, lambda it: it.noun is Noun.QP and it.node == thing.node
                  and it.number in users)  # fmt: skip
    return [*failed, *oldest]


def _completion_queue(session: Session, log: Log, thing: Thing, _path: Path) -> list[Subject]:
    """The queue itself, and the work whose completions should come onto it."""
    hca = session.world.nodes[thing.node]
    users = [q for q in hca.qps.items.values() if thing.number in (q.send_cq, q.recv_cq)]
    numbers = {qp.number for qp in users}

    def concerns(it: Thing) -> bool:
        return it == thing or (
            it.noun is Noun.QP and it.node == thing.node and it.number in numbers
        )

    found = [Subject(Sort.CQ, thing), *_all(session, log, concerns)]
    for qp in users:
        found += undone(qp) if qp.send_cq == thing.number else []
        found += unmet(qp) if qp.recv_cq == thing.number else []
    return list(dict.fromkeys(found))


def _channel(session: Session, log: Log, thing: Thing, path: Path) -> list[Subject]:
    """Who waits on it, and the queues that should tell it."""
    waiting = [
        Subject(Sort.PROGRAM, Thing(Noun.PROGRAM, p.node, p.number))
        for p in programs_of(session.world)
        if p.wants is not None and p.wants[1] == thing
    ]
    cqs = session.world.nodes[thing.node].cqs.items.values()
    told = [Thing(Noun.CQ, thing.node, cq.number) for cq in cqs if cq.channel == thing.number]
    return waiting + [s for cq in told for s in _completion_queue(session, log, cq, path)]


def _program(_session: Session, _log: Log, thing: Thing, _path: Path) -> list[Subject]:
    return [Subject(Sort.PROGRAM, thing)]


def _memory(session: Session, _log: Log, thing: Thing, path: Path) -> list[Subject]:
    index, length = _index(path, 2), session.world.find(thing, MemoryRegion).length
    if index is None:
        return [Subject(Sort.BYTES, thing, start=0, stop=length)]
    stop = index.start + 1 if index.stop is None else index.stop
    if not 0 <= index.start < stop <= length:
        raise NotUnderstood(f"{path} leaves the region", path.place, f"it has {length} bytes")
    return [Subject(Sort.BYTES, thing, start=index.start, stop=stop)]


_OF_NOUN: dict[Noun, Callable[[Session, Log, Thing, Path], list[Subject]]] = {
    Noun.QP: _queue_pair,
    Noun.SRQ: _shared_queue,
    Noun.CQ: _completion_queue,
    Noun.CHANNEL: _channel,
    Noun.PROGRAM: _program,
    Noun.MR: _memory,
}


# --------------------------------------------------------------------------- seen at once
def _all(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Everything that is plainly wrong, the worst first, each once."""
    seen: set[Subject] = set()
    for look in (_failed, _refusals, _stuck, _hanging, _overrun):
        for subject in look(session, log, wanted):
            if subject not in seen:
                seen.add(subject)
                yield subject


def _qps(session: Session, wanted: Wanted) -> list[tuple[Thing, QueuePair]]:
    return [
        (thing, qp)
        for node, hca in session.world.nodes.items()
        for number, qp in hca.qps.items.items()
        if wanted(thing := Thing(Noun.QP, node, number))
    ]


def _failed(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Of each queue pair what failed first."""
    for thing, _ in _qps(session, wanted):
        yield from first_failed(log, thing)


def _refusals(_session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Calls that were refused, and not accepted since; a poll in vain is no refusal."""
    for call in reversed(log.refused()[-MOST:]):
        concerns = any(wanted(Thing(noun, *call.thing)) for noun in (Noun.QP, Noun.CQ, Noun.SRQ))
        if concerns and call.refusal not in BLOCKING and not _accepted_since(log, call):
            yield _subject_of(call)


def _accepted_since(log: Log, call: Call) -> bool:
    """Whether the same was asked of the same thing, or under the same name, and done."""
    later = [
        event_of(r)
        for _, r in log.of(Kind.CALLED, *call.thing)
        if event_of(r) > call.event and r[A] == call.verb and not r[B]
    ]
    if not later or call.invocation is None:
        return bool(later)
    named = _first_name(call.invocation)
    said = [log.asked(event)[0] for event in later]
    return any(it is None or _first_name(it) == named for it in said)


def _first_name(invocation: Invocation) -> str:
    """The first thing that a command names, or is to give a name."""
    names = [value for value in invocation.arguments.values() if isinstance(value, Ref | New)]
    return str(names[0]) if names else ""


def _stuck(session: Session, _log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Programs that failed, and those that wait while nothing happens any more."""
    idle = session.world.agenda.next_ns() is None
    for program in programs_of(session.world):
        thing = Thing(Noun.PROGRAM, program.node, program.number)
        waits = program.state is ProgramState.WAITING and idle
        if wanted(thing) and (waits or program.state is ProgramState.FAILED):
            yield Subject(Sort.PROGRAM, thing)


def _hanging(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Sends that do not get on: nothing happens any more, or they are sent again and again."""
    idle = session.world.agenda.next_ns() is None
    for thing, qp in _qps(session, wanted):
        again = [r for _, r in log.about(Kind.WENT_BACK, thing) if r[A] == qp.comp.psn]
        if idle or again:
            yield from undone(qp)


def undone(qp: QueuePair) -> list[Subject]:
    """The oldest send that is not done."""
    thing = Thing(Noun.QP, qp.node, qp.number)
    wqe = qp.sq.wqes.get(qp.comp.serial)
    if wqe is not None:
        return [Subject(Sort.SEND, thing, wqe.serial, wqe.wr.wr_id)]
    return [Subject(Sort.SEND, thing, qp.sq.posted, wr.wr_id) for wr in qp.sq.early[:1]]


def unmet(qp: QueuePair) -> list[Subject]:
    """The oldest receive that no message has taken."""
    thing = Thing(Noun.QP, qp.node, qp.number)
    return [Subject(Sort.RECV, thing, w.serial, w.wr.wr_id) for w in list(qp.rq.wqes)[:1]]


def _overrun(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Completion queues that lost something."""
    found = log.of(Kind.CQ_OVERRUN)
    for node, number in dict.fromkeys((node_of(r), object_of(r)) for _, r in found):
        thing = Thing(Noun.CQ, node, number)
        if wanted(thing) and number in session.world.nodes[node].cqs.items:
            yield Subject(Sort.CQ, thing)
