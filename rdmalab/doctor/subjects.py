"""From a question to what it is about; without one, what a careful friend would see at once."""

from collections.abc import Callable

from rdmalab.command import New, NotUnderstood, Noun, Ref, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.thread_waits import thread_wait
from rdmalab.doctor.log import Log
from rdmalab.doctor.newest import newest_receive, newest_send
from rdmalab.doctor.outstanding import MOST, newest_work, undone, unmet
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.doctor.suspects import subject_of, suspects
from rdmalab.doctor.work import attempts
from rdmalab.grammar.hints import quoted, suggest
from rdmalab.grammar.nodes import Index, Node, Path
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.mr import MemoryRegion
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.srq import SharedReceiveQueue
from rdmalab.session.session import Session
from rdmalab.spec.records import Kind, event_of, wqe_of
from rdmalab.spec.rules import ERRNO_NAMES, RULES
from rdmalab.spec.states import QPState
from rdmalab.world.programs import programs_of
from rdmalab.world.relations import exists

WHAT = (
    "why, why A.qp0, why A.qp0.wr[7], why B.qp0.recv_wr[3], why A.cq0, why B.mr0[0:64], why EINVAL"
)

_UP = (QPState.RTR, QPState.RTS, QPState.SQD)
"""Then a queue pair works, and what was posted on it is more interesting than itself."""


def subjects(session: Session, log: Log, question: Node | None) -> list[Subject]:
    """What is asked about, the worst first; NotUnderstood if it names no subject."""
    if question is None:
        return list(suspects(session, log, lambda _thing: True))[:MOST]
    if not isinstance(question, Path):
        raise NotUnderstood("that is not a subject of why", hint=f"try: {WHAT}")
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
    return [subject_of(found[-1])]


def _by_path(session: Session, log: Log, path: Path) -> list[Subject]:
    node, *rest = path.steps
    name = str(rest[0]) if rest else ""
    if node in session.world.nodes and not rest:
        return list(suspects(session, log, lambda thing: thing.node == node))
    thing = session.names.find(f"{node}.{name}")
    if thing is None:
        hint = suggest(str(path), session.names.all())
        raise NotUnderstood(f"nothing is called {quoted(f'{node}.{name}')}", path.place, hint)
    ask = _OF_NOUN.get(thing.noun)
    if ask is None:
        return _refused_about(session, log, thing)
    index = _index(path, 3)
    if index is not None and path.steps[2] in _NEWEST:
        return [_newest_of_lives(session, log, f"{node}.{name}", path)]
    if not exists(session.world, thing):
        return [_gone(thing, _index(path, 2))]
    return ask(session, log, thing, path)


def _refused_about(session: Session, log: Log, thing: Thing) -> list[Subject]:
    """Of a domain, a window, an address handle: the last call about it, if it was refused."""
    name, found = session.names.of(thing), list[Subject]()
    for call in log.refused() if exists(session.world, thing) else ():
        said = call.invocation.arguments.values() if call.invocation is not None else ()
        if name in [str(value) for value in said if isinstance(value, Ref | New)]:
            found = [subject_of(call)]
    return found


def _gone(thing: Thing, index: Index | None) -> Subject:
    """What is asked about a destroyed object: what it was is known at its last moment only."""
    start = index.start if index is not None else 0
    stop = index.stop if index is not None and index.stop is not None else start + 1
    sort = {Noun.CQ: Sort.CQ, Noun.MR: Sort.BYTES, Noun.PROGRAM: Sort.PROGRAM}
    bytes_ = {"start": start, "stop": stop} if thing.noun is Noun.MR else {}
    return Subject(sort.get(thing.noun, Sort.QP), thing, **bytes_)


def _newest_of_lives(session: Session, log: Log, name: str, path: Path) -> Subject:
    """The work request of a wr_id that was posted, or refused, last on any object of a name."""
    index, find = _index(path, 3), _NEWEST[str(path.steps[2])]
    assert index is not None
    things = [thing for thing, said in session.names.name_of.items() if said == name]
    found = [
        (newest_receive if thing.noun is Noun.SRQ else find)(session, log, thing, index.start)
        for thing in things
    ]
    return max(found, key=lambda subject: _tried(log, subject))


def _tried(log: Log, subject: Subject) -> tuple[int, int]:
    """The event of a post, or of the refused call; then the newer object."""
    if subject.serial >= 0:
        posts = (
            log.about(kind, subject.thing) for kind in _POSTS[subject.sort, subject.thing.noun]
        )
        same = (r for found in posts for _, r in found if wqe_of(r).serial == subject.serial)
        events = [event_of(record) for record in same]
        return max(events, default=0), subject.thing.number
    refused = attempts.latest(log, subject)
    return (refused.call.event if refused is not None else -1), subject.thing.number


def _index(path: Path, at: int) -> Index | None:
    step = path.steps[at] if len(path.steps) > at else None
    return step if isinstance(step, Index) else None


def _queue_pair(session: Session, log: Log, thing: Thing, path: Path) -> list[Subject]:
    if len(path.steps) > 2:
        raise NotUnderstood(f"why does not explain {path}", path.place, f"try: {WHAT}")
    found = list(suspects(session, log, lambda it: it == thing))
    own = Subject(Sort.QP, thing)
    is_up = exists(session.world, thing) and session.world.find(thing, QueuePair).state in _UP
    newest = newest_work(log, thing)
    return found or ([*newest, own] if is_up else [own, *newest])


def _shared_queue(session: Session, log: Log, thing: Thing, _path: Path) -> list[Subject]:
    srq = session.world.find(thing, SharedReceiveQueue)
    oldest = [Subject.of_receive(thing, w) for w in list(srq.wqes)[:1]]
    users = {q.number for q in session.world.nodes[thing.node].qps.items.values()
             if q.srq == thing.number}  # fmt: skip
    failed = suspects(session, log, lambda it: it.noun is Noun.QP and it.node == thing.node
                  and it.number in users)  # fmt: skip
    return [*failed, *oldest]


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
    return list(dict.fromkeys(found))


def _channel(session: Session, log: Log, thing: Thing, path: Path) -> list[Subject]:
    """Who waits on it, and the queues that should tell it."""
    programs = programs_of(session.world)
    threads = [Subject(Sort.PROGRAM, Thing(Noun.PROGRAM, p.node, p.number)) for p in programs]
    waits = [thread_wait(Case(session, each, log, asked=True)) for each in threads]
    waiting = [
        each for each, program, wait in zip(threads, programs, waits, strict=True)
        if (program.wants is not None and program.wants[1] == thing)
        or (wait is not None and thing in wait.things)
    ]  # fmt: skip
    cqs = session.world.nodes[thing.node].cqs.items.values()
    notified = [Thing(Noun.CQ, thing.node, cq.number) for cq in cqs if cq.channel == thing.number]
    calls = suspects(session, log, lambda it: it == thing)
    return [*waiting, *calls] + [
        s for cq in notified for s in _completion_queue(session, log, cq, path)
    ]


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


_NEWEST = {"wr": newest_send, "recv_wr": newest_receive}
_POSTS = {
    (Sort.SEND, Noun.QP): (Kind.SEND_POSTED,),
    (Sort.RECV, Noun.QP): (Kind.RECV_POSTED,),
    (Sort.RECV, Noun.SRQ): (Kind.SRQ_POSTED,),
}
_OF_NOUN: dict[Noun, Callable[[Session, Log, Thing, Path], list[Subject]]] = {
    Noun.QP: _queue_pair,
    Noun.SRQ: _shared_queue,
    Noun.CQ: _completion_queue,
    Noun.CHANNEL: _channel,
    Noun.PROGRAM: _program,
    Noun.MR: _memory,
}
