"""Failures without completion and errno: lost messages, polls in vain, work that a call ended."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice

from rdmalab.command import Noun, Thing
from rdmalab.doctor.evidence import ownership, posting_calls, work_of_queues
from rdmalab.doctor.evidence.content import bytes_at
from rdmalab.doctor.evidence.host_reads import (
    early_reads,
    early_sends,
    unseen,
    was_read,
    written_over,
)
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.messages import (
    Message,
    arrived_with,
    failed_releases,
    meet,
    piece_of,
    pieces,
    posted_as,
    sender_of,
    stale,
    target,
)
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.doctor.evidence.work_of_queues import MOST, Wanted, failed_lives, qps_of, undone
from rdmalab.doctor.evidence.work_requests import Receive
from rdmalab.doctor.moments.moments import MOST_OLDER, teardowns, visit
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import SendWqe, SendWR
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.opcodes import Service
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState, QPType
from rdmalab.spec.work import SendFlags
from rdmalab.wire.packet import Packet
from rdmalab.world.programs import Program, programs_of
from rdmalab.world.relations import exists, find_qp, peer_node, peer_thing


def abandoned_sends(log: Log, thing: Thing, event: int) -> list[Subject]:
    """The sends that a queue pair had outstanding in the event that took it, oldest first."""
    done = {rec.send_wqe_of(r).serial for r in log.about(Kind.WQE_COMPLETED, thing)}
    posted = [rec.send_wqe_of(r) for r in log.about(Kind.SEND_POSTED, thing)
              if rec.event_of(r) < event]  # fmt: skip
    return [Subject.of_send(thing, wqe) for wqe in posted if wqe.serial not in done]


def taken_queue_pairs(log: Log) -> dict[Thing, list[int]]:
    """The queue pairs that a call destroyed or moved to RESET or ERR, and those events."""
    found: dict[Thing, list[int]] = {}
    for act in (act for row in teardowns(log) for act in row if act.thing.noun is Noun.QP):
        found.setdefault(act.thing, []).append(act.event)
    return found


def lost_receives(
    session: Session, log: Log, wanted: Wanted, *, spare: bool = False
) -> Iterator[Subject]:
    """Of each queue pair the oldest receive that a destroy or a RESET took, if it was missed.

    It was missed if a poll found nothing since, or no work at all was ever done: a message that was
    meant for it and failed is a fact of its sender. Else it was a spare one. spare: of these those
    of queue pairs to which their peer can still send.
    """
    begun = log.of(Kind.WQE_COMPLETED) or log.of(Kind.RECV_TAKEN)
    reachable = _reachable(session) if spare else set()
    for thing, events in taken_queue_pairs(log).items():
        posted = log.about(Kind.RECV_POSTED, thing) if wanted(thing) else []
        newest = (Subject.of_receive(thing, rec.recv_wqe_of(r)) for r in reversed(posted))
        used = {rec.recv_wqe_of(r).serial for r in log.about(Kind.RECV_TAKEN, thing)}
        spared = (s for s in islice(newest, MOST) if s.serial not in used)
        lost = [subject for subject in spared if _is_lost(session, log, subject)]
        if not lost:
            continue
        cq = created_with(session, log, thing, "recv_cq")
        missed = not begun or _polled_in_vain(log, cq, events[0])
        if (thing in reachable and not missed) if spare else missed:
            yield lost[-1]


def _reachable(session: Session) -> set[Thing | None]:
    """The queue pairs that a living one can send to, whether they exist or not."""
    qps = (qp for _, qp in qps_of(session, lambda _: True) if qp.state is QPState.RTS)
    return {peer_thing(session.world, qp) for qp in qps}


def _is_lost(session: Session, log: Log, subject: Subject) -> bool:
    """Whether a receive that no message took ended without a completion."""
    work = Receive(session, subject, log)
    gone = work.discarded is not None or not exists(session.world, subject.thing)
    return gone and work.ending is None


def created_with(session: Session, log: Log, qp: Thing, key: str) -> Thing | None:
    """The object that the call which made a queue pair named as `key`; None if it is not kept."""
    call, _ = log.asked(log.created(qp))
    attr = call.arguments.get("init_attr") if call is not None else None
    return session.names.find(str((attr or {}).get(key)))


def _polled_in_vain(log: Log, cq: Thing | None, event: int) -> bool:
    """Whether the last poll of a completion queue came after an event and returned nothing."""
    calls = log.about(Kind.CALLED, cq) if cq is not None else []
    polls = [rec.event_of(r) for r in calls if rec.verb_of(r) == "poll_cq"]
    found = polls and all(rec.kind_of(r) is not Kind.CQE_POLLED for r in log.within(polls[-1]))
    return bool(found) and polls[-1] > event


def stopped_threads(
    session: Session, log: Log, wanted: Wanted, hangs_in_loop: Callable[[Log, Thing], bool]
) -> Iterator[Subject]:
    """The threads that were stopped while they hung, and were not started again.

    hangs_in_loop: whether one that may serve in a loop without end does not get on in it.
    """
    stopped = [r for r in log.of(Kind.DESTROYED) if rec.noun_of(r) == Noun.PROGRAM]
    for record in stopped[-MOST_OLDER:]:
        thing = Thing(Noun.PROGRAM, *rec.place_of(record))
        same = session.names.find(session.names.of(thing)) == thing
        if not same or _is_over(log, thing) or not wanted(thing):
            continue
        with visit(log, rec.event_of(record) - 1) as then:
            program = session.world.find(thing, Program)
            leaves = any(line.word == "stop" for line in program.lines)
            serves = 0 in program.loops and not leaves  # its last line never comes
            hangs = (then.rests(thing) and not serves) or hangs_in_loop(then, thing)
        if hangs:
            yield Subject(Sort.PROGRAM, thing)


def _is_over(log: Log, thing: Thing) -> bool:
    """Whether a thread is done or has failed."""
    return bool(log.about(Kind.PROGRAM_DONE, thing) or log.about(Kind.PROGRAM_FAILED, thing))


def cut_off(log: Log, thing: Thing) -> list[Thing]:
    """The threads beside one that a call stopped before they were over."""
    stopped = [Thing(Noun.PROGRAM, *rec.place_of(r)) for r in log.of(Kind.DESTROYED)
               if rec.noun_of(r) == Noun.PROGRAM]  # fmt: skip
    return [each for each in stopped if each != thing and not _is_over(log, each)]


def queue_pairs_in_err(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Queue pairs in ERR that no call and no work took there, and whose event nothing has read."""
    ordered = {act.thing for row in teardowns(log) for act in row}
    for thing, qp in qps_of(session, wanted):
        pair = [thing, peer_thing(session.world, qp) or thing]
        reported = log.about(Kind.ASYNC_TAKEN, thing) or any(failed_lives(log, it) for it in pair)
        if qp.state is QPState.ERR and thing not in ordered and not reported:
            yield Subject(Sort.QP, thing)


def lost_messages(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Of each queue pair the first and the newest message that was lost and is never sent again."""
    first = _lost_of_each(session, log, wanted, log.missed)
    newest = _lost_of_each(session, log, wanted, log.missed[::-1]) if first else {}
    for thing, qp in qps_of(session, wanted):
        if not qp.transport.connected and thing not in first:
            first.update((thing, each) for each in _unsent(log, thing)[:1])
    yield from dict.fromkeys([*first.values(), *newest.values()])


def _lost_of_each(
    session: Session, log: Log, wanted: Wanted, records: Iterable[rec.Record]
) -> dict[Thing, Subject]:
    """Of each sender the message of the first of these records that is never sent again."""
    found: dict[Thing, Subject] = {}
    for record in records:
        sender = sender_of(session.world, record) if _is_message(rec.packet_of(record)) else None
        if sender is None or sender in found or not wanted(sender):
            continue
        wqe = posted_as(log, sender, record)
        if wqe is not None and not _sent_again(log, sender, wqe):
            found[sender] = Subject.of_send(sender, wqe)
    return found


def _sent_again(log: Log, thing: Thing, lost: SendWqe) -> bool:
    """Whether the same request was posted once more, and has left without a packet missed.

    It may go to another target: that was the mistake.
    """
    posts = {rec.send_wqe_of(r).serial: r for r in log.about(Kind.SEND_POSTED, thing)}
    done = {rec.send_wqe_of(r).serial for r in log.about(Kind.WQE_COMPLETED, thing)
            if not rec.status_of(r)}  # fmt: skip
    later = [r for n, r in posts.items() if n > lost.serial and n in done
             and _body(rec.send_wqe_of(r).wr) == _body(lost.wr)]  # fmt: skip
    again = [r for r in later if _is_repeat(log, posts[lost.serial], r)]
    missed = {wqe.serial for r in log.missed if again and rec.event_of(r) > rec.event_of(again[0])
              and sender_of(log.session.world, r) == thing
              and (wqe := posted_as(log, thing, r)) is not None}  # fmt: skip
    return any(rec.send_wqe_of(r).serial not in missed for r in again)


def _is_repeat(log: Log, lost: rec.Record, later: rec.Record) -> bool:
    """Whether a post repeats one of the same bytes, which was lost.

    One program's next message may look the same: it repeats where the program got an answer only
    then, and is done. A call repeats with the same wr_id, or after a receive was posted for it.
    """
    first, second = (rec.event_of(r) for r in (lost, later))
    program = log.asked(first)[1]
    if program and program == log.asked(second)[1]:
        return _answered(log, program, first, later)
    wrs = [replace(rec.send_wqe_of(r).wr, ah=0, remote_qpn=0, remote_qkey=0) for r in (lost, later)]
    node = rec.node_of(lost)
    ready = any(rec.node_of(r) != node and first < rec.event_of(r) < second
                for kind in (Kind.RECV_POSTED, Kind.SRQ_POSTED) for r in log.of(kind))  # fmt: skip
    return wrs[0] == wrs[1] or (ready and not program and not log.asked(second)[1])


def _answered(log: Log, program: str, first: int, later: rec.Record) -> bool:
    """Whether a program that is done polled its first message since an event after a later post,
    whose bytes it had not changed meanwhile.
    """
    thing, world = log.session.names.find(program), log.session.world
    if thing is None or not log.about(Kind.PROGRAM_DONE, thing):
        return False
    node, posted = rec.node_of(later), rec.event_of(later)
    own = pieces(world.nodes[node], rec.send_wqe_of(later).wr.sg)
    filled = any(first < rec.event_of(r) < posted and meet(own, [piece_of(r)])
                 for r in log.of(Kind.HOST_WROTE, node))  # fmt: skip
    came = [rec.event_of(r) for r in log.of(Kind.CQE_POLLED, node) if rec.event_of(r) > first
            and not rec.cqe_of(r).is_send and log.asked(rec.event_of(r))[1] == program]  # fmt: skip
    return bool(came) and min(came) > posted and not filled


def _body(wr: SendWR) -> SendWR:
    """A request without its number, its flags and the target that its handle and numbers name."""
    return replace(wr, wr_id=0, flags=SendFlags(0), ah=0, remote_qpn=0, remote_qkey=0)


def _unsent(log: Log, thing: Thing) -> list[Subject]:
    """Datagrams that ended well and never left."""
    left = {rec.event_of(r) for r in log.about(Kind.PACKET_SENT, thing)}
    ends = log.about(Kind.WQE_COMPLETED, thing)
    done = [(rec.event_of(r), rec.send_wqe_of(r)) for r in ends if not rec.status_of(r)]
    return [
        Subject.of_send(thing, wqe)
        for event, wqe in done if wqe.op is not None and event not in left
    ]  # fmt: skip


def _is_message(packet: object) -> bool:
    """Whether a packet belongs to a message of a service without acknowledgement."""
    return isinstance(packet, Packet) and packet.opcode_row.service in (Service.UC, Service.UD)


def polled_without_result(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """The subjects of polls in vain: unsignaled sends, completions elsewhere, open regions."""
    for node, hca in session.world.nodes.items():
        for number, cq in hca.cqs.items.items():
            since = _empty_polls_since(log, Thing(Noun.CQ, node, number))
            if cq.cqes or since is None:
                continue
            users = [qp for qp in hca.qps.items.values() if number in (qp.send_cq, qp.recv_cq)]
            for qp in (qp for qp in users if wanted(qp.thing)):
                yield from _not_on(log, qp, number, since)
            if not users and wanted(cq.thing) and any(each.cqes for each in hca.cqs.items.values()):
                yield Subject(Sort.CQ, cq.thing)


def _empty_polls_since(log: Log, cq: Thing) -> int | None:
    """The event since which polls of a CQ have found nothing; None where the last one did."""
    calls = [r for r in log.about(Kind.CALLED, cq) if rec.verb_of(r) == "poll_cq"][-1:]
    taken = [rec.event_of(r) for r in log.about(Kind.CQE_POLLED, cq)[-1:]]
    empty_polls = calls and rec.event_of(calls[0]) > max(taken, default=-1)
    return max(taken, default=-1) if empty_polls else None


def _not_on(log: Log, qp: QueuePair, cq: int, since: int) -> Iterator[Subject]:
    """Of a queue pair what would complete on a CQ and does not, or has completed on its other."""
    thing = qp.thing
    if any(call.thing == thing[1:] and call.event > since for call in log.refused()):
        return  # the refused call is the trouble
    if qp.send_cq == cq and not undone(qp):
        silent = done_unsignaled(log, qp, since)
        yield from silent if not _serves_receives(log, qp, cq) else ()
        batch = posting_calls.latest_batch(log, Subject(Sort.QP, thing))
        for built in batch.built[:1] if batch is not None else ():
            yield Subject(Sort.SEND, thing, wr_id=built.wr.wr_id)
    yield from elsewhere(log, qp, cq)


def _serves_receives(log: Log, qp: QueuePair, cq: int) -> bool:
    """Whether a poll of a CQ may be for a queue pair's receives: posted, waiting, or taken."""
    kinds = (Kind.RECV_POSTED, Kind.RECV_TAKEN)  # a RESET has emptied the queue
    known = bool(qp.source.wqes) or any(log.about(kind, qp.thing) for kind in kinds)
    return qp.recv_cq == cq and known


def elsewhere(log: Log, qp: QueuePair, cq: int) -> list[Subject]:
    """The first work of a queue pair that has completed on another CQ than this one."""
    cqes = (rec.cqe_of(r) for r in log.of(Kind.CQE_ADDED, qp.node) if rec.object_of(r) != cq)
    own = (cqe for cqe in cqes if cqe.qp_num == qp.number and not cqe.srq)
    return [work_of_queues.subject_of_cqe(qp.node, cqe) for cqe in islice(own, 1)]


def spoiled(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Bytes that differ from what was meant, or the work and programs that used them.

    First of requests under way, when the program wrote into the bytes that they fill. Then of sends
    that left with bytes which the program wrote after their post, or which a READ had not filled
    yet. Then bytes that a READ brought half old and half new, programs that read bytes before they
    came, and bytes that were replaced before they were read. Of a send that failed its failure
    is what is wrong, not its bytes.
    """
    nodes = list(session.world.nodes)
    sinks = (each.sink.subject for node in nodes for each in ownership.overwrites(log, node))
    yield from (subject for subject in sinks if wanted(subject.thing))
    sent = [each.message for node in nodes for each in ownership.refills(log, node)]
    sent += [
        each.message for node in nodes for each in ownership.overtakes(log, node) if each.message
    ]
    failed = {(rec.place_of(r), rec.send_wqe_of(r).serial) for r in log.failed_sends}
    sent = [each for each in sent if (each.thing[1:], each.wqe.serial) not in failed]
    for message in (each for each in sent if wanted(each.thing)):
        yield from _landed(session, log, message)
    for half in (each for node in nodes for each in ownership.torn_reads(log, node)):
        read = half.read.subject
        if wanted(read.thing):
            yield bytes_at(session, read.thing.node, half.piece) or read
    early = (each.program for node in nodes for each in early_reads(log, node))
    yield from (Subject(Sort.PROGRAM, program) for program in early if wanted(program))
    for message in (each for node in nodes for each in early_sends(log, node)):
        yield from _landed(session, log, message) if wanted(message.thing) else ()
    yield from _replaced(session, log, wanted)


def _replaced(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Bytes whose first contents were replaced before they were read, or polled."""
    for node in session.world.nodes:
        for each in unseen(log, node)[-1:]:
            if wanted(each.first.message.thing):
                yield bytes_at(session, node, each.piece) or each.first.message.subject
        yield from _written_over(session, log, node, wanted)
        for twice in ownership.filled_twice(log, node)[-1:]:
            span = twice.first.ended or 0, twice.second.ended or 0
            # Of the one without a completion there is another answer: that none will come.
            own = (each.subject for each in twice[:2] if each.cq)
            subjects = [subject for subject in own if wanted(subject.thing)]
            if subjects and not was_read(log, node, twice.piece, *span):
                yield subjects[0]


def _written_over(session: Session, log: Log, node: str, wanted: Wanted) -> Iterator[Subject]:
    """Of a node the bytes that a WRITE replaced last after the program had written them."""
    for each in written_over(log, node)[-1:]:
        found = bytes_at(session, node, each.piece) or each.came.message.subject
        if wanted(found.thing):
            yield found


def _landed(session: Session, log: Log, message: Message) -> list[Subject]:
    """The bytes that a packet wrote, if their region is there; its send where it did not arrive."""
    for record in log.since(message.sent, Kind.MEMORY_WRITTEN):
        came = arrived_with(log, record)
        if came is not None and came.packet == message.packet:
            landed = bytes_at(session, rec.node_of(record), piece_of(record))
            return [landed] if landed is not None else []
    return [message.subject]


def doubtful(session: Session, log: Log, node: str) -> Iterator[Subject]:
    """Of a node, or of all, the newest work that ended well and leaves a question of each kind."""
    for name in (name for name in session.world.nodes if node in ("", name)):
        for found in (ownership.orphans, ownership.crossed, ownership.alike):
            yield from (each.subject for each in found(log, name)[-1:])
        yield from _written_over(session, log, name, lambda _: True)
        again = log.of(Kind.TIMER_FIRED, name) + log.of(Kind.WENT_BACK, name)
        last = {rec.object_of(each): rec.event_of(each) for each in sorted(again, key=rec.event_of)}
        for number, event in last.items():
            thing = Thing(Noun.QP, name, number)
            ends = (r for r in log.about(Kind.WQE_COMPLETED, thing) if rec.event_of(r) > event)
            yield from (Subject.of_send(thing, rec.send_wqe_of(r)) for r in islice(ends, 1))


def done_unsignaled(log: Log, qp: QueuePair, since: int = -1) -> list[Subject]:
    """The newest send, if it was carried out since an event and has no completion."""
    ends = log.about(Kind.WQE_COMPLETED, qp.thing)[-1:]
    done = [rec.send_wqe_of(r) for r in ends if not rec.status_of(r) and rec.event_of(r) > since]
    return [Subject.of_send(qp.thing, wqe) for wqe in done if not wqe.signaled]


def swallowed(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """The first send of each node that its peer acknowledged and did not carry out, of both kinds:
    the peer was not reset, or had taken a packet of the connection before for it.
    """
    for node in session.world.nodes:
        late = (e.victim for e in stale(log, node) if e.victim is not None)
        for found in ((e.subject for e in ownership.swallowed(log, node)), late):
            yield from islice((each for each in found if wanted(each.thing)), 1)


def unsteered(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """The oldest receive of each raw queue pair that waits since its node dropped a frame.

    Only a frame that no flow rule took, after the queue pair had taken its last one.
    """
    for thing, qp in qps_of(session, wanted):
        if qp.qp_type is not QPType.RAW_PACKET or not qp.rq.wqes:
            continue
        oldest = next(iter(qp.rq.wqes))
        taken = log.about(Kind.RECV_TAKEN, thing) or log.about(Kind.RECV_POSTED, thing)[:1]
        dropped = (
            r for r in log.of(Kind.PACKET_DROPPED, thing.node) if rec.reason_of(r) == "no-flow"
        )
        if taken and any(rec.event_of(r) > rec.event_of(taken[-1]) for r in dropped):
            yield Subject.of_receive(thing, oldest)


def unreleased(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Compare-and-swaps that left a lock taken, unless its word was written since."""
    for each in (each for node in session.world.nodes for each in failed_releases(log, node)):
        qp = find_qp(session.world, *each.thing[1:])
        node = peer_node(session.world, qp) if qp is not None else ""
        word = [target(session.world.nodes[node], each.wqe)] if node else []
        written = any(rec.node_of(r) == node and meet(word, [piece_of(r)])
                      for kind in (Kind.MEMORY_WRITTEN, Kind.HOST_WROTE)
                      for r in log.since(each.event, kind))  # fmt: skip
        if wanted(each.thing) and not written:
            yield Subject.of_send(each.thing, each.wqe)


def unposted(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """The first request of an open region whose queue pair was destroyed, or whose thread ended."""
    over = {session.names.of(each.thing) for each in programs_of(session.world)
            if each.state is ProgramState.DONE}  # fmt: skip
    for place in dict.fromkeys(map(rec.place_of, log.of(Kind.REGION_OPENED))):
        thing = Thing(Noun.QP, *place)
        batch = posting_calls.latest_batch(log, Subject(Sort.QP, thing)) if wanted(thing) else None
        gone = log.destroyed(thing) is not None
        if batch is not None and (gone or log.asked(batch.opened)[1] in over):
            yield Subject(Sort.SEND, thing, wr_id=batch.built[0].wr.wr_id)


LOOKS: tuple[Callable[[Session, Log, Wanted], Iterator[Subject]], ...] = (
    queue_pairs_in_err, lost_messages, polled_without_result, spoiled, swallowed, unsteered,
    unposted, unreleased,
)  # fmt: skip
"""Functions that yield such failures, each of the things that are wanted."""
