"""What a symptom results from: from the flush to the failure, from this end to the peer.

Each step leads from one subject to others to examine as well; the checks decide which
of them has the cause.
"""

from collections.abc import Callable

from rdmalab.command import Noun, Thing
from rdmalab.doctor.call import Call
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.possible_senders import newest, stopped, talkers, unsent
from rdmalab.doctor.facts.qp_error_cause import ErrorCause, qp_error_cause
from rdmalab.doctor.facts.thread_waits import (
    ThreadWait,
    cqs_of,
    looked_at,
    of_program,
    things_of,
    thread_wait,
)
from rdmalab.doctor.facts.undelivered import for_bytes, undelivered_sends, waiting_qps
from rdmalab.doctor.failed_work import failed_before_flush, first_failed, work_of
from rdmalab.doctor.outstanding import newest_work, undone, unmet
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.doctor.unreported import done_unsignaled, elsewhere
from rdmalab.doctor.work import attempts, batches
from rdmalab.hca.mr import MemoryRegion
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import Kind, cqe_of, event_of, noun_of, object_of
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.world.programs import programs_of
from rdmalab.world.relations import peer_of

MOST_POLLS = 16  # of the newest, among which one looks for who took a completion


def sources_of(case: Case) -> list[Subject]:
    """Subjects to be looked at as well, the likeliest first."""
    step = _OF.get(case.subject.sort)
    return step(case) if step is not None else []


def _thing(qp: QueuePair) -> Thing:
    return Thing(Noun.QP, qp.node, qp.number)


def _send(case: Case) -> list[Subject]:
    send, qp = case.send, case.qp
    if case.subject.serial < 0:
        return _refused(case)
    if send is None or qp is None:
        return []
    found = []
    if send.flushed:
        error_cause = qp_error_cause(case)
        if (
            error_cause is not None
            and error_cause.state is QPState.SQE
            and error_cause.event < (send.posted or 0)
        ):
            return []  # an older failure: what counts is that no call moved it out of SQE
        found += _of_error_cause(error_cause) + failed_before_flush(case.log, _thing(qp))
    if send.on_queue and (ahead := undone(qp)) and ahead[0].serial < case.subject.serial:
        found += ahead  # it waits in line after another, even if it was sent already
    if case.peer is not None and case.log.about(Kind.QUEUE_DISCARDED, _thing(case.peer)):
        found += [s for s in newest_work(case.log, _thing(case.peer)) if s.sort is Sort.RECV]
    good = send.ending is not None and send.ending.status is WCStatus.SUCCESS
    return found if good else found + _of_peer(case, case.peer)


def _receive(case: Case) -> list[Subject]:
    """Flushed: what took its queue pair down. Waiting: what became of the peer's sends."""
    receive, qp = case.receive, case.qp
    if case.subject.serial < 0:
        return _refused(case)
    if receive is None or (qp is None and not receive.shared):
        return []
    if receive.ending is None:
        return _missed(case)
    if receive.flushed and qp is not None:
        own = _of_error_cause(qp_error_cause(case)) + failed_before_flush(case.log, _thing(qp))
        return own + _of_peer(case, case.peer)
    return []


def _missed(case: Case) -> list[Subject]:
    """Of a receive that waits: messages that went astray, or find no receive elsewhere."""
    receive, peer = case.receive, case.peer
    starving = _starving(case) if receive is not None and receive.shared else []
    missed = [subject for one in waiting_qps(case) for subject in undelivered_sends(case, one)]
    found = [subject for one in waiting_qps(case) for subject in _unsaid(case, one)]
    return starving + missed + _of_peer(case, peer) + found


def _unsaid(case: Case, qp: QueuePair) -> list[Subject]:
    """What those who talk to a queue pair could not do, or were refused."""
    found: list[Subject] = []
    for one in talkers(case, qp):
        found += undone(one) + first_failed(case.log, _thing(one))
        found += newest(case, one) + [_of_call(call) for call in unsent(case, one)]
    return found


def _of_error_cause(error_cause: ErrorCause | None) -> list[Subject]:
    """The completion queue that took a queue pair down with it."""
    return (
        [Subject(Sort.CQ, error_cause.cq)]
        if error_cause is not None and error_cause.cq is not None
        else []
    )


def _refused(case: Case) -> list[Subject]:
    """The call that had it, where that was refused for more than this one work request."""
    attempt = attempts.latest(case.log, case.subject)
    batch = batches.latest(case.log, case.subject) if attempt is None else None
    call = batch.refusal(case.log) if batch is not None else None
    if attempt is not None:
        of_queue = attempt.call.refusal in attempts.OF_THE_QUEUE
        call = attempt.call if of_queue or attempt.is_bad(case.subject.wr_id) else None
    if call is None:
        return []
    return [_of_call(call)]


def _of_call(call: Call) -> Subject:
    return Subject(Sort.CALL, Thing(Noun.NODE, *call.thing), event=call.event)


def _starving(case: Case) -> list[Subject]:
    """Sends to this node that find no receive, while this one waits."""
    peers = [peer_of(case.world, qp) for qp in case.hca.qps.items.values() if not qp.source.wqes]
    return [subject for peer in peers if peer is not None for subject in undone(peer)]


def _call(case: Case) -> list[Subject]:
    """No slot was free: what holds up the queue. Not up yet: what stopped it on the way."""
    if case.call is None or case.qp is None:
        return []
    if case.call.refusal == "send-state":
        return [_of_call(call) for call in stopped(case, case.qp)]
    return undone(case.qp) if case.call.refusal == "queue-full" else []


def _of_peer(case: Case, peer: QueuePair | None) -> list[Subject]:
    """What failed first at the other end, or had no place to complete."""
    if peer is None:
        return []
    halted = [_of_call(call) for call in stopped(case, peer)]
    return first_failed(case.log, _thing(peer)) + halted + _overrun(case, peer)


def _program(case: Case) -> list[Subject]:
    """The call that a program failed of; what it waits for."""
    program = case.program
    if program is None:
        return []
    if program.state is ProgramState.FAILED:
        calls = [c for c in case.log.refused() if c.program == case.names.of(case.subject.thing)]
        node = case.subject.thing.node
        return [Subject(Sort.CALL, Thing(Noun.NODE, *c.thing), event=c.event)
                for c in calls[-1:] if c.thing[0] == node]  # fmt: skip
    return _awaited(case)


def _awaited(case: Case) -> list[Subject]:
    """What a program looks at, the work that should complete there, and who was to post it."""
    waits = thread_wait(case)
    found = _not_provided(case, waits) if waits is not None else _writers(case)
    for thing in looked_at(case):
        found.append(Subject(Sort.CQ, thing))
        found += _snatched(case, thing) + _dropped(case, thing)
        for qp in case.world.nodes[thing.node].qps.items.values():
            found += undone(qp) if qp.send_cq == thing.number else []
            found += unmet(qp) if qp.recv_cq == thing.number else []
    return found


def _not_provided(case: Case, waits: ThreadWait) -> list[Subject]:
    """Of a thread that waits at rest: stopped threads, sends without a trace, open regions."""
    found = [Subject(Sort.PROGRAM, Thing(Noun.PROGRAM, p.node, p.number)) for p in waits.providers]
    for qp in waits.qps:
        found += [] if undone(qp) else done_unsignaled(case.log, qp)
        for cq in waits.cqs:
            found += elsewhere(case.log, qp, cq.number)
        batch = batches.latest(case.log, Subject(Sort.QP, _thing(qp)))
        wrs = [built.wr.wr_id for built in batch.built[:1]] if batch is not None else []
        found += [Subject(Sort.SEND, _thing(qp), wr_id=wr_id) for wr_id in wrs]
        calls = [*stopped(case, qp), *unsent(case, qp)]
        found += [_of_call(call) for call in calls]
    if not waits.qps:
        found += [work for cq in waits.cqs for work in _unpolled(case, cq)]
    named = [t for t in waits.things if t.noun is Noun.QP]
    for qp in (qp for qp in waits.qps if _thing(qp) in named):
        found += undone(qp) + first_failed(case.log, _thing(qp))
    return found


def _unpolled(case: Case, cq: Thing) -> list[Subject]:
    """The work of the oldest completion on each other completion queue of a node."""
    others = case.world.nodes[cq.node].cqs.items.items()
    return [work_of(cq.node, other.cqes[0]) for n, other in others if n != cq.number and other.cqes]


def _writers(case: Case) -> list[Subject]:
    """For a thread that waits for bytes: the sends that block the QPs which may write them."""
    program = case.program
    if program is None or program.state is not ProgramState.WAITING:
        return []
    things = things_of(case, program)
    regions = [thing for thing in things if thing.noun is Noun.MR]
    domains = {(thing.node, case.world.find(thing, MemoryRegion).pd) for thing in regions}
    qps = [qp for hca in case.world.nodes.values() for qp in hca.qps.items.values()]
    peers = (peer_of(case.world, qp) for qp in qps if (qp.node, qp.pd) in domains)
    return [each for peer in peers if peer is not None for each in undone(peer)]


def _dropped(case: Case, cq: Thing) -> list[Subject]:
    """The newest work of queue pairs that were destroyed or emptied, and was to complete there."""
    log, name = case.log, case.names.of(cq)
    taken = {object_of(r) for _, r in log.of(Kind.QUEUE_DISCARDED, cq.node)}
    taken |= {object_of(r) for _, r in log.of(Kind.DESTROYED, cq.node) if noun_of(r) == Noun.QP}
    found: list[Subject] = []
    for qp in (Thing(Noun.QP, cq.node, number) for number in sorted(taken)):
        made = log.created(qp)
        call, _ = log.asked(made) if made is not None else (None, "")
        attr = call.arguments.get("init_attr") if call is not None else None
        if name in (str((attr or {}).get(queue)) for queue in ("send_cq", "recv_cq")):
            found += newest_work(log, qp)
    return found


def _snatched(case: Case, cq: Thing) -> list[Subject]:
    """Work of this program whose completion on that queue another one took last."""
    name = case.names.of(case.subject.thing)
    polls = case.log.about(Kind.CQE_POLLED, cq)
    taken = [(cqe_of(r), case.log.asked(event_of(r))[1]) for _, r in polls[-MOST_POLLS:]]
    cqes = [cqe for cqe, by in taken if by != name][-1:]
    return [work_of(cq.node, cqe) for cqe in cqes]


def _overrun(case: Case, qp: QueuePair) -> list[Subject]:
    """The completion queues of a dead queue pair that have lost something."""
    cqs = [Thing(Noun.CQ, qp.node, number) for number in dict.fromkeys((qp.send_cq, qp.recv_cq))]
    return [Subject(Sort.CQ, cq) for cq in cqs if case.log.about(Kind.CQ_OVERRUN, cq)]


def _cq(case: Case) -> list[Subject]:
    """The threads that wait for it at rest; the sends that ended without a word on it."""
    if case.cq is None or not case.at_rest:
        return []
    qps = case.world.nodes[case.node].qps.items.values()
    silent = [] if case.cq.cqes else [
        each for qp in qps if qp.send_cq == case.cq.number and not undone(qp)
        for each in done_unsignaled(case.log, qp)
    ]  # fmt: skip
    waiting = [p for p in programs_of(case.world) if of_program(case, p) is not None]
    return [Subject(Sort.PROGRAM, Thing(Noun.PROGRAM, p.node, p.number))
            for p in waiting if case.subject.thing in cqs_of(case, p)] + silent  # fmt: skip


def _queue_pair(case: Case) -> list[Subject]:
    """Of a queue pair in ERR what took it there: its own work, or the peer's."""
    if case.qp is None or case.qp.state is not QPState.ERR:
        return []
    own = _of_error_cause(qp_error_cause(case)) + failed_before_flush(case.log, _thing(case.qp))
    return own + _of_peer(case, case.peer)


_OF: dict[Sort, Callable[[Case], list[Subject]]] = {
    Sort.SEND: _send,
    Sort.RECV: _receive,
    Sort.CALL: _call,
    Sort.PROGRAM: _program,
    Sort.CQ: _cq,
    Sort.QP: _queue_pair,
    Sort.BYTES: for_bytes,
}
