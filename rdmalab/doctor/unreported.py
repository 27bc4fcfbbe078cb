"""What no completion and no errno reports: queue pairs in ERR, lost messages, polls in vain."""

from collections.abc import Iterator

from rdmalab.command import Noun, Thing
from rdmalab.doctor.failed_work import failed_lives
from rdmalab.doctor.log import Log
from rdmalab.doctor.moments import teardowns
from rdmalab.doctor.outstanding import Wanted, qps_of, undone
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.doctor.work import batches, past
from rdmalab.doctor.work.messages import Message, arrived, piece_of
from rdmalab.doctor.work.ownership import overwrites, refills
from rdmalab.doctor.work.unanswered_sends import posted_as, sender_of
from rdmalab.hca.qp import QueuePair
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.opcodes import Service
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState
from rdmalab.wire.packet import Packet
from rdmalab.world.relations import peer_thing


def queue_pairs_in_err(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Queue pairs in ERR that no call and no work took there, and whose event nothing has read."""
    ordered = {act.thing for row in teardowns(log) for act in row}
    for thing, qp in qps_of(session, wanted):
        pair = [thing, peer_thing(session.world, qp) or thing]
        reported = log.about(Kind.ASYNC_TAKEN, thing) or any(failed_lives(log, it) for it in pair)
        if qp.state is QPState.ERR and thing not in ordered and not reported:
            yield Subject(Sort.QP, thing)


def lost_messages(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Of each queue pair the first message that was dropped or lost and is never sent again."""
    first: dict[Thing, Subject] = {}
    for _, record in sorted(log.of(Kind.PACKET_DROPPED) + log.of(Kind.PACKET_LOST)):
        sender = sender_of(session.world, record) if _is_message(rec.packet_of(record)) else None
        if sender is None or sender in first or not wanted(sender):
            continue
        wqe = posted_as(log, sender, record)
        if wqe is not None:
            first[sender] = Subject.of_send(sender, wqe)
    for thing, qp in qps_of(session, wanted):
        if not qp.transport.connected and thing not in first:
            first.update((thing, each) for each in _unsent(log, thing)[:1])
    yield from first.values()


def _unsent(log: Log, thing: Thing) -> list[Subject]:
    """Datagrams that ended well and never left."""
    left = {rec.event_of(r) for _, r in log.about(Kind.PACKET_SENT, thing)}
    ends = log.about(Kind.WQE_COMPLETED, thing)
    done = [(rec.event_of(r), rec.send_wqe_of(r)) for _, r in ends if not rec.status_of(r)]
    return [
        Subject.of_send(thing, wqe)
        for event, wqe in done if wqe.op is not None and event not in left
    ]  # fmt: skip


def _is_message(packet: object) -> bool:
    """Whether a packet belongs to a message of a service without acknowledgement."""
    return isinstance(packet, Packet) and packet.opcode_row.service in (Service.UC, Service.UD)


def polled_without_result(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """What was polled for in vain last: invisible sends, completions elsewhere, open regions."""
    for node, hca in session.world.nodes.items():
        for number, cq in hca.cqs.items.items():
            since = _empty_polls_since(log, Thing(Noun.CQ, node, number))
            if cq.cqes or since is None:
                continue
            for thing, qp in qps_of(session, wanted):
                if thing.node == node and number in (qp.send_cq, qp.recv_cq):
                    yield from _not_on(log, qp, number, since)


def _empty_polls_since(log: Log, cq: Thing) -> int | None:
    """The event since which polls of a CQ have found nothing; None where the last one did."""
    calls = [r for _, r in log.about(Kind.CALLED, cq) if rec.verb_of(r) == "poll_cq"][-1:]
    taken = [rec.event_of(r) for _, r in log.about(Kind.CQE_POLLED, cq)[-1:]]
    empty_polls = calls and rec.event_of(calls[0]) > max(taken, default=-1)
    return max(taken, default=-1) if empty_polls else None


def _not_on(log: Log, qp: QueuePair, cq: int, since: int) -> Iterator[Subject]:
    """Of a queue pair what would complete on a CQ and does not, or has completed on its other."""
    thing = Thing(Noun.QP, qp.node, qp.number)
    if any(call.thing == thing[1:] and call.event > since for call in log.refused()):
        return  # the refused call is the trouble
    if qp.send_cq == cq and not undone(qp):
        yield from done_unsignaled(log, qp, since)
        batch = batches.latest(log, Subject(Sort.QP, thing))
        yield from (
            Subject(Sort.SEND, thing, wr_id=b.wr.wr_id) for b in (batch.built if batch else [])[:1]
        )
    yield from elsewhere(log, qp, cq)


def elsewhere(log: Log, qp: QueuePair, cq: int) -> list[Subject]:
    """The first work of a queue pair that has completed on another CQ than this one."""
    thing = Thing(Noun.QP, qp.node, qp.number)
    for _, record in log.of(Kind.CQE_ADDED, qp.node):
        cqe = rec.cqe_of(record)
        if cqe.qp_num == qp.number and rec.object_of(record) != cq and not cqe.srq:
            sort = Sort.SEND if cqe.is_send else Sort.RECV
            return [Subject(sort, thing, cqe.serial, cqe.wr_id)]
    return []


def overwritten(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """Requests that were under way when the program wrote into the bytes that they fill."""
    for node in session.world.nodes:
        for each in overwrites(log, node):
            if wanted(each.sink.subject.thing):
                yield each.sink.subject


def refilled(session: Session, log: Log, wanted: Wanted) -> Iterator[Subject]:
    """What sends brought that left with bytes which the program wrote after their post."""
    for node in session.world.nodes:
        for each in refills(log, node):
            if wanted(each.message.thing):
                yield _landed(session, log, each.message) or each.message.subject


def _landed(session: Session, log: Log, message: Message) -> Subject | None:
    """The bytes that a packet wrote where it arrived; None where it did not arrive."""
    for _, record in log.since(message.sent, Kind.MEMORY_WRITTEN):
        node, number = rec.node_of(record), rec.object_of(record)
        came = arrived(session.world, log, rec.event_of(record), node, number)
        if came is not None and came.packet == message.packet:
            return past.bytes_at(session, node, piece_of(record))
    return None


def done_unsignaled(log: Log, qp: QueuePair, since: int = -1) -> list[Subject]:
    """The newest send, if it was carried out since an event and has no completion."""
    thing = Thing(Noun.QP, qp.node, qp.number)
    ends = log.about(Kind.WQE_COMPLETED, thing)[-1:]
    done = [rec.send_wqe_of(r) for _, r in ends if not rec.status_of(r) and rec.event_of(r) > since]
    return [Subject.of_send(thing, wqe) for wqe in done if not wqe.signaled]
