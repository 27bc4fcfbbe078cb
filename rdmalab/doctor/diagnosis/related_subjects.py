"""The sources of a symptom: from the flush to the failure, from this end to the peer.

Each step leads from one subject to others to examine as well; the checks decide which
of them has the cause.
"""

from collections.abc import Callable, Iterator, Sequence

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case, CompletionQueue, QueuePair, Send, Sort, Subject
from rdmalab.doctor.evidence import posting_calls
from rdmalab.doctor.evidence.content import bytes_at
from rdmalab.doctor.evidence.host_reads import watched
from rdmalab.doctor.evidence.ownership import filled_twice, torn_reads
from rdmalab.doctor.evidence.work_of_queues import (
    failed_before_flush,
    first_failed,
    has_work_for,
    newest_work,
    oldest,
    subject_of_cqe,
    undone,
    unmet,
)
from rdmalab.doctor.facts.bring_up import stopped
from rdmalab.doctor.facts.key_lookup import refused_registration
from rdmalab.doctor.facts.lines_to_run import is_to_post
from rdmalab.doctor.facts.memory_waits import failed_writes
from rdmalab.doctor.facts.qp_error_cause import ErrorCause, posted_in_error, qp_error_cause
from rdmalab.doctor.facts.receivers import lacks_receive, refused_creation, target
from rdmalab.doctor.facts.thread_waits import ThreadWait, looked_at, thread_wait, waiting_on
from rdmalab.doctor.facts.undelivered import (
    for_bytes,
    for_destroyed_users,
    found_no_receive,
    is_mended,
    refused_messages,
    talkers,
    undelivered_sends,
    unnoticed,
    unposted,
    unsent,
    unsent_for,
    users_of,
    waiting_qps,
)
from rdmalab.doctor.facts.vain_requests import vain_request
from rdmalab.doctor.fixes.refused_calls import OF_STATES
from rdmalab.doctor.moments.unreported import (
    created_with,
    done_unsignaled,
    elsewhere,
    lost_messages,
)
from rdmalab.hca.invalid_pointers import listed
from rdmalab.hca.objects import MemoryRegion
from rdmalab.hca.qp import SharedReceiveQueue
from rdmalab.spec import records as rec
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.world.programs import programs_of
from rdmalab.world.relations import peer_of

MOST_POLLS = 16  # of the newest, among which one looks for who took a completion


def sources_of(case: Case) -> list[Subject]:
    """Subjects to be looked at as well, the likeliest first."""
    step = _OF.get(case.subject.sort)
    return step(case) if step is not None else []


_UNANSWERED = (None, WCStatus.RNR_RETRY_EXC_ERR, WCStatus.RETRY_EXC_ERR)


def _send(case: Case) -> list[Subject]:
    send, qp = case.send, case.qp
    if case.subject.serial < 0:
        return _refused(case)
    if send is None or qp is None:
        return []
    held = is_early(case) or (send.on_queue and qp.state is QPState.SQD)
    found = [call.subject for call in stopped(case, qp)] if held else []
    if send.flushed:
        error_cause = qp_error_cause(case)
        in_sqe = error_cause is not None and error_cause.state is QPState.SQE
        if error_cause is not None and in_sqe and posted_in_error(case, error_cause):
            return []  # out of SQE one call leads: that it was not made is the cause
        found += _of_error_cause(error_cause) + failed_before_flush(case.log, qp.thing)
    found += _repeaters(case, send) + unmade(case)
    if send.on_queue and (ahead := undone(qp)) and ahead[0].serial < case.subject.serial:
        found += ahead  # it waits in line after another, even if it was sent already
    status = send.ending.status if send.ending is not None else None
    waited = status in _UNANSWERED or not qp.transport.acknowledged
    if (
        waited and case.peer is not None and send.wqe is not None
        and send.wqe.work is not None and send.wqe.work.consumes_receive
        and case.log.about(Kind.QUEUE_DISCARDED, case.peer.thing)
    ):  # fmt: skip
        found += [s for s in newest_work(case.log, case.peer.thing) if s.sort is Sort.RECV]
    if status is WCStatus.SUCCESS:
        half_old = [each for each in _half_old(case) if each is not None]
        return found + half_old + _failed_receive(case, send, qp)
    return found + _of_peer(case, case.peer)


def _receives_not_posted(case: Case) -> list[Subject]:
    """Of a message that found no receive the refused call that was to post one before it came."""
    to = _without_receive(case)
    refused = unposted(case, to, posting_calls.RECEIVING) if to is not None else []
    return [call.subject for call in refused if call.event < case.ended]


def _without_receive(case: Case) -> QueuePair | None:
    """The queue pair that had no receive for the message of a send."""
    to = target(case) if case.wqe is not None else None
    dropped = case.unanswered.because("no-receive") if case.unanswered is not None else []
    return to if to is not None and (dropped or lacks_receive(case, to)) else None


def unmade(case: Case) -> list[Subject]:
    """The refused call that was to make what a request has failed at: memory, the other end, a
    receive; or that a thread failed of which was to post one.
    """
    call = refused_registration(case) or refused_creation(case)
    made = [call.subject] if call is not None else _of_failed_thread(case)
    return made or _receives_not_posted(case)


def _of_failed_thread(case: Case) -> list[Subject]:
    """The refused call, or the thread, that left the message of a send without a receive."""
    to = _without_receive(case)
    failed = [each.thing for each in programs_of(case.world) if to is not None
              and each.state is ProgramState.FAILED
              and is_to_post(case, each, [to.thing], posting_calls.RECEIVING)][:1]  # fmt: skip
    names = [case.names.of(thing) for thing in failed]
    calls = [call.subject for call in case.log.refused() if call.program in names]
    return calls[-1:] or [Subject(Sort.PROGRAM, thing) for thing in failed]


def _repeaters(case: Case, send: Send) -> list[Subject]:
    """Of a send under way the threads that repeat it without end, in vain."""
    if not send.on_queue:
        return []
    swaps = ((each, vain_request(case, each)) for each in programs_of(case.world))
    own = (each for each, swap in swaps if swap is not None and swap.qp == case.subject.thing)
    return [Subject(Sort.PROGRAM, each.thing) for each in own]


def _failed_receive(case: Case, send: Send, qp: QueuePair) -> list[Subject]:
    """Of a message that nothing acknowledges the receive that it took, and that failed of it."""
    if qp.transport.acknowledged or send.posted is None:
        return []
    failed = [r for r in case.log.failed_receives if rec.event_of(r) > send.posted][:MOST_POLLS]
    took = (subject_of_cqe(rec.node_of(r), rec.cqe_of(r)) for r in failed)
    for each in took:
        message = Case(case.session, each, case.log, asked=True).message
        if message is not None and message.subject == case.subject:
            return [each]
    return []


def _half_old(case: Case) -> Iterator[Subject | None]:
    """Bytes that a READ brought half old and half new."""
    for half in torn_reads(case.log, case.node):
        if half.read.subject == case.subject:
            yield bytes_at(case.session, case.node, half.piece)


def is_early(case: Case) -> bool:
    """Whether it lies in the ring of a device that refused its post."""
    return case.qp is not None and case.subject.serial >= case.qp.sq.posted


def _receive(case: Case) -> list[Subject]:
    """Flushed: what took its queue pair down. Waiting: what became of the peer's sends."""
    receive, qp = case.receive, case.qp
    if case.subject.serial < 0:
        return _refused(case)
    if receive is None or (qp is None and not receive.shared):
        return []
    if receive.ending is None:
        return _missed(case)
    if memory := unmade(case):
        return memory
    if receive.flushed and qp is not None:
        own = _of_error_cause(qp_error_cause(case)) + failed_before_flush(case.log, qp.thing)
        return own + _of_peer(case, case.peer)
    message = case.message if receive.ending.status is not WCStatus.SUCCESS else None
    empty = message is not None and any(not sge.length for sge in listed(message.wqe.wr))
    return [message.subject] if message is not None and empty else []  # its length was meant as 0


def _missed(case: Case) -> list[Subject]:
    """Of a receive that waits: messages that went astray, or find no receive elsewhere."""
    receive, peer = case.receive, case.peer
    starving = []
    if receive is not None and receive.shared:
        starving = _starving(case) + for_destroyed_users(case, case.subject.thing)
    missed = [subject for one in waiting_qps(case)
              for subject in (*undelivered_sends(case, one), *lost_by(case, one))]  # fmt: skip
    found = [subject for one in waiting_qps(case) for subject in _unsaid(case, one)]
    return starving + missed + _of_peer(case, peer) + found


def _unsaid(case: Case, qp: QueuePair) -> list[Subject]:
    """Subjects that could not use a queue pair, or were refused."""
    found: list[Subject] = []
    for one in talkers(case, qp):
        found += undone(one) + first_failed(case.log, one.thing)
        refused = unsent_for(case, one, by_message=True)
        found += newest(case, one) + [call.subject for call in refused]
    return found


def _of_error_cause(error_cause: ErrorCause | None) -> list[Subject]:
    """The completion queue that took a queue pair down with it."""
    cq = error_cause.cq if error_cause is not None else None
    return [] if cq is None else [Subject(Sort.CQ, cq)]


def _refused(case: Case) -> list[Subject]:
    """The call that had it, where that was refused for more than this one work request."""
    attempt = posting_calls.latest_attempt(case.log, case.subject)
    batch = posting_calls.latest_batch(case.log, case.subject) if attempt is None else None
    call = batch.refusal(case.log) if batch is not None else None
    if attempt is not None:
        of_queue = attempt.call.refusal in posting_calls.OF_THE_QUEUE
        call = attempt.call if of_queue or attempt.is_bad(case.subject.wr_id) else None
    return [call.subject] if call is not None else []


def _starving(case: Case) -> list[Subject]:
    """Sends to this node that find no receive, while this one waits."""
    peers = [peer_of(case.world, qp) for qp in case.hca.qps.items.values() if not qp.source.wqes]
    return [subject for peer in peers if peer is not None for subject in undone(peer)]


def _call(case: Case) -> list[Subject]:
    """No slot was free: what holds up the queue. Not up yet: what stopped it on the way."""
    if case.call is None or case.qp is None:
        return []
    if case.call.refusal in OF_STATES:
        return [call.subject for call in stopped(case, case.qp)]
    return undone(case.qp) if case.call.refusal == "queue-full" else []


def _of_peer(case: Case, peer: QueuePair | None) -> list[Subject]:
    """The first failed work of the other end, or work that had no place to complete."""
    if peer is None:
        return []
    halted = [call.subject for call in stopped(case, peer)]
    failed = [s for s in first_failed(case.log, peer.thing) if not is_mended(case, s)]
    return failed + halted + _overrun(case, peer)


def _program(case: Case) -> list[Subject]:
    """The call that a program failed of; what it waits for."""
    program = case.program
    if program is None:
        return []
    calls = [c for c in case.log.refused() if c.program == case.names.of(case.subject.thing)]
    newest = [c.subject for c in calls[-1:] if c.thing[0] == case.node]
    if program.state is ProgramState.FAILED:
        return newest
    if program.state is ProgramState.DONE:
        return unnoticed(case) + _awaited(case)
    waits = thread_wait(case)
    if program.awaits_async_event:
        return _for_limits(case)
    swap = vain_request(case, program)  # of a lock: its release may have failed
    released = failed_writes(case, swap.node, swap.word) if swap is not None else []
    spins = waits is not None and calls and calls[-1].event >= waits.since()
    return released + _awaited(case) + (newest if spins else [])


def _for_limits(case: Case) -> list[Subject]:
    """Of a thread that waits for an event the sends that find no receive on a queue of its node
    which raised one, and raises no other.
    """
    found = list[Subject]()
    for srq in case.hca.srqs.items.values():
        event = case.log.last(Kind.ASYNC_RAISED, srq.thing)
        peers = (peer_of(case.world, qp) for qp in users_of(case, srq.thing)
                 if event is not None and not srq.limit)  # fmt: skip
        found += [each for peer in peers if peer is not None
                  for each in found_no_receive(case, peer, event or 0)]  # fmt: skip
    return found


def _awaited(case: Case) -> list[Subject]:
    """The queues of a program, the work that should complete there, the threads to post it."""
    waits = thread_wait(case)
    found = _not_provided(case, waits) if waits is not None else []
    found += _writers(case)
    for thing in looked_at(case):
        found.append(Subject(Sort.CQ, thing))
        found += _snatched(case, thing) + _dropped(case, thing)
        for qp in case.world.nodes[thing.node].qps.items.values():
            found += undone(qp) if qp.send_cq == thing.number else []
            found += unmet(qp) if qp.recv_cq == thing.number else []
    return found


def _not_provided(case: Case, waits: ThreadWait) -> list[Subject]:
    """Of a thread that waits at rest: stopped threads, sends without a trace, open regions."""
    found = [Subject(Sort.PROGRAM, p.thing) for p in waits.providers]
    for qp in waits.qps:
        silent = not (undone(qp) or waits.expects_message)
        found += _unsignaled(case, waits.cqs, qp, [waits]) if silent else []
        for cq in waits.cqs:
            found += elsewhere(case.log, qp, cq.number)
        peer = peer_of(case.world, qp)
        found += _built(case, qp) + (_built(case, peer) if peer is not None else [])
        is_reader = Thing(Noun.CQ, qp.node, qp.recv_cq) in waits.cqs  # a reply needs a request
        refusals = unsent(case, qp) if is_reader else unsent_for(case, qp, by_message=False)
        found += [call.subject for call in (*stopped(case, qp), *refusals)]
        if is_reader:
            refused = unposted(case, qp, posting_calls.RECEIVING)
            refused += [call for one in talkers(case, qp)
                        for call in unsent_for(case, one, by_message=True)]  # fmt: skip
            found += [call.subject for call in refused] + lost_by(case, qp)
    for work in (each for cq in waits.cqs for each in _unpolled(case, cq)):
        its = Case(case.session, work, case.log, asked=True).work
        own = its is not None and case.log.asked(its.posted)[1] == waits.name
        found += [work] if own or not waits.qps else []
    found += (waits.unlinked or waits.silent) + waits.refuted + waits.coming
    found += [each for srq in waits.shared for each in oldest(srq)] + refused_messages(waits)
    piece = watched(case.session, waits.line.question)
    looked = bytes_at(case.session, case.node, piece) if piece is not None else None
    found += failed_writes(case, case.node, piece)
    found += [looked, *_taken_for_others(case, looked)] if looked is not None else []
    named = [t for t in waits.things if t.noun is Noun.QP]
    for qp in (qp for qp in waits.qps if qp.thing in named):
        found += undone(qp) + first_failed(case.log, qp.thing)
    return found


def _built(case: Case, qp: QueuePair) -> list[Subject]:
    """The first request of a queue pair that was built and not posted."""
    batch = posting_calls.latest_batch(case.log, Subject(Sort.QP, qp.thing))
    batch = batch or posting_calls.given_up(case.log, qp.thing)
    wrs = [built.wr.wr_id for built in batch.built[:1]] if batch is not None else []
    return [Subject(Sort.SEND, qp.thing, wr_id=wr_id) for wr_id in wrs]


def _taken_for_others(case: Case, looked: Subject) -> list[Subject]:
    """Of bytes that are waited for what else their receives brought: messages that then found none,
    receives that were posted twice.
    """
    found = list[Subject]()
    for each in for_bytes(Case(case.session, looked, case.log, asked=True)):
        own = Case(case.session, each, case.log, asked=True)
        if each.sort is Sort.RECV and own.qp is not None:
            lost = [] if own.qp.transport.acknowledged else undelivered_sends(own, own.qp)
            twice = (it.second.subject for it in filled_twice(case.log, case.node))
            found += [
                *lost,
                *(it for it in twice if it.sort is each.sort and it.thing == each.thing),
            ]
    return list(dict.fromkeys(found))


def _unsignaled(
    case: Case, cqs: Sequence[Thing], qp: QueuePair, waiting: Sequence[ThreadWait]
) -> list[Subject]:
    """The newest send of a queue pair, if it is the unsignaled one that is waited for.

    It is not where no thread that waits may mean it, where a later post was refused, or cut off by
    next=NULL, nor where other work can complete on these queues, and a completion came since then.
    """
    if unsent(case, qp) or any(case.world.find(cq, CompletionQueue).cqes for cq in cqs):
        return []
    if any(each.unlinked for each in waiting):
        return []
    polls = (each for cq in cqs for each in case.log.about(Kind.CQE_POLLED, cq)[-1:])
    last = max((rec.event_of(r) for r in polls), default=-1) if has_work_for(qp, cqs) else -1
    newest = case.log.about(Kind.SEND_POSTED, qp.thing)[-1:]
    is_old = bool(newest) and rec.event_of(newest[0]) < last
    is_meant = not waiting or any(each.means(qp, rec.send_wqe_of(r)) for each in waiting
                                  for r in newest)  # fmt: skip
    return [] if is_old or not is_meant else done_unsignaled(case.log, qp)


def _unpolled(case: Case, cq: Thing) -> list[Subject]:
    """The work of the oldest completion on each other completion queue of a node."""
    others = case.world.nodes[cq.node].cqs.items.items()
    return [subject_of_cqe(cq.node, other.cqes[0]) for n, other in others
            if n != cq.number and other.cqes]  # fmt: skip


def _writers(case: Case) -> list[Subject]:
    """For a thread that waits for bytes: the sends that block the QPs which may write them."""
    program = case.program
    waits = ThreadWait(case, program) if program is not None else None
    if waits is None or not (waits.program.state is ProgramState.WAITING or waits.spin):
        return []
    regions = [thing for thing in waits.things if thing.noun is Noun.MR]
    domains = {(thing.node, case.world.find(thing, MemoryRegion).pd) for thing in regions}
    qps = [qp for hca in case.world.nodes.values() for qp in hca.qps.items.values()]
    peers = (peer_of(case.world, qp) for qp in qps if (qp.node, qp.pd) in domains)
    return [each for peer in peers if peer is not None
            for each in (*undone(peer), *_built(case, peer))]  # fmt: skip


def _dropped(case: Case, cq: Thing) -> list[Subject]:
    """The newest work of queue pairs that were destroyed or emptied, and was to complete there."""
    log = case.log
    gone = [r for r in log.of(Kind.DESTROYED, cq.node) if rec.noun_of(r) == Noun.QP]
    taken = set(map(rec.object_of, log.of(Kind.QUEUE_DISCARDED, cq.node) + gone))
    found: list[Subject] = []
    for qp in (Thing(Noun.QP, cq.node, number) for number in sorted(taken)):
        if cq in (created_with(case.session, log, qp, queue) for queue in ("send_cq", "recv_cq")):
            found += newest_work(log, qp)
            srq = created_with(case.session, log, qp, "srq")
            if srq is not None and case.exists(srq):
                found += oldest(case.world.find(srq, SharedReceiveQueue))
    return found


def _snatched(case: Case, cq: Thing) -> list[Subject]:
    """Work of this program whose completion on that queue another one took last."""
    name = case.names.of(case.subject.thing)
    polls = case.log.about(Kind.CQE_POLLED, cq)
    taken = [(rec.cqe_of(r), case.log.asked(rec.event_of(r))[1]) for r in polls[-MOST_POLLS:]]
    cqes = [cqe for cqe, by in taken if by != name][-1:]
    return [subject_of_cqe(cq.node, cqe) for cqe in cqes]


def _overrun(case: Case, qp: QueuePair) -> list[Subject]:
    """The completion queues of a dead queue pair that have lost something."""
    cqs = [Thing(Noun.CQ, qp.node, number) for number in dict.fromkeys((qp.send_cq, qp.recv_cq))]
    return [Subject(Sort.CQ, cq) for cq in cqs if case.log.about(Kind.CQ_OVERRUN, cq)]


def _cq(case: Case) -> list[Subject]:
    """The threads that wait for it at rest; the sends that ended without a word on it.

    Of one that changes the threads that poll it for the same answer without end.
    """
    if case.cq is None:
        return []
    if not case.at_rest:
        looking = (each for each in programs_of(case.world)
                   if case.subject.thing in ThreadWait(case, each).cqs)  # fmt: skip
        return [Subject(Sort.PROGRAM, each.thing) for each in looking if vain_request(case, each)]
    waiting = waiting_on(case, case.subject.thing)
    qps = case.world.nodes[case.node].qps.items.values()
    known = case.cq.cqes or any(each.expects_message for each in waiting)
    silent = [each for qp in qps if qp.send_cq == case.cq.number and not known and not undone(qp)
              for each in _unsignaled(case, [case.subject.thing], qp, waiting)]  # fmt: skip
    return [Subject(Sort.PROGRAM, each.thing) for each in waiting] + silent


def _queue_pair(case: Case) -> list[Subject]:
    """Of a queue pair in ERR what took it there: its own work, or the peer's."""
    if case.qp is None or case.qp.state is not QPState.ERR:
        return []
    own = _of_error_cause(qp_error_cause(case)) + failed_before_flush(case.log, case.qp.thing)
    return own + _of_peer(case, case.peer)


_OF: dict[Sort, Callable[[Case], list[Subject]]] = {Sort.SEND: _send, Sort.RECV: _receive,
                                                    Sort.CALL: _call, Sort.PROGRAM: _program,
                                                    Sort.CQ: _cq, Sort.QP: _queue_pair,
                                                    Sort.BYTES: for_bytes}  # fmt: skip


def newest(case: Case, qp: QueuePair) -> list[Subject]:
    """The newest work of a queue pair, which may have left no packet and no completion."""
    return [each for each in newest_work(case.log, qp.thing) if each.sort is Sort.SEND]


def lost_by(case: Case, qp: QueuePair) -> list[Subject]:
    """The datagrams of a queue pair that were lost: what it waits for may be their answer."""
    if qp.transport.acknowledged:
        return []
    return list(lost_messages(case.session, case.log, lambda thing: thing == qp.thing))
