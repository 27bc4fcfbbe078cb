"""Messages that a receive waits for and that did not come, and what the peer did instead."""

from collections.abc import Collection, Iterator
from itertools import islice, takewhile
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Call, Case, CompletionQueue, QueuePair, Send, SendWqe, Sort, Subject
from rdmalab.doctor.evidence import posting_calls
from rdmalab.doctor.evidence.host_reads import watched
from rdmalab.doctor.evidence.made_good import Repeats, is_made_good
from rdmalab.doctor.evidence.messages import is_request, sender_of, sent_as
from rdmalab.doctor.evidence.work_of_queues import first_failed, subject_of_cqe, undone
from rdmalab.doctor.facts.receivers import addressee
from rdmalab.doctor.facts.thread_waits import ThreadWait, looked_at
from rdmalab.doctor.moments.moments import is_ordered
from rdmalab.doctor.moments.unreported import created_with
from rdmalab.hca.objects import MemoryRegion
from rdmalab.hca.srq import named_srq
from rdmalab.spec import records as rec
from rdmalab.spec.access import Access
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import Kind, Record, event_of, send_wqe_of, status_of
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WORK, Local, SendFlags, WROpcode
from rdmalab.wire.packet import Packet
from rdmalab.world.programs import programs_of
from rdmalab.world.relations import find_qp, node_at, peer_node, peer_of

MOST = 3
"""The number of them that are examined; the first lost datagrams, or what was sent again last."""


def undelivered_sends(case: Case, qp: QueuePair) -> list[Subject]:
    """The sends to a queue pair that were dropped or lost since its last message."""
    taken = case.log.about(Kind.RECV_TAKEN, qp.thing)
    in_use = qp.resp.recv is not None  # of its message the beginning has come
    since = rec.event_of(taken[-1]) if taken and not in_use else -1
    if not qp.transport.acknowledged:  # what came since does not make good what was lost before
        posted = case.receive.posted if case.receive is not None else None
        since = min(since, -1 if posted is None else posted)
    found: dict[Subject, None] = {}
    missed = list(takewhile(lambda record: rec.event_of(record) >= since, _missed(case, qp)))
    for record in missed if qp.transport.acknowledged else reversed(missed):
        if len(found) == MOST:
            break
        sender = sender_of(case.world, record)
        own = sender is not None and _may_be_for(case, qp, record, sender)
        if own and (sent := sent_as(case.log, record)) is not None:
            found[Subject.of_send(*sent)] = None
    return list(found)


def _missed(case: Case, qp: QueuePair) -> Iterator[Record]:
    """Requests that ended at the node, or never reached it; the newest first."""
    dropped = case.log.of(Kind.PACKET_DROPPED, qp.node if qp.transport.connected else "")
    lost = [each for each in case.log.of(Kind.PACKET_LOST)
            if isinstance(packet := rec.packet_of(each), Packet)
            and case.world.network.target_of(packet.flow) in (qp.node, "")]  # fmt: skip
    for record in sorted(dropped + lost, reverse=True, key=rec.event_of):
        if is_request(rec.packet_of(record)):
            yield record


def _may_be_for(case: Case, qp: QueuePair, record: Record, sender: Thing) -> bool:
    """Whether it names this QP, or its peer sent it, or no QP has the number and the Q_Key fits."""
    packet = rec.roce_packet_of(record)
    if packet.dest_qp == qp.number and case.world.network.target_of(packet.flow) == qp.node:
        return True
    if qp.path is not None and qp.transport.connected:
        return (sender.node, sender.number) == (peer_node(case.world, qp), qp.path.dest_qpn)
    if packet.deth is None or packet.deth.qkey != qp.attr.qkey:
        return False
    target = find_qp(case.world, rec.node_of(record), rec.object_of(record))
    return target is None or addressee(case, sender, target, packet.deth.qkey) is qp


def refused_messages(waits: ThreadWait) -> list[Subject]:
    """The messages since the last one to queue pairs of a thread that found no receive there."""
    case, found = waits.case, list[Subject]()
    cqs = {(cq.node, cq.number) for cq in waits.cqs}
    ends = {qp.thing: qp for qp in waits.feeding if (qp.node, qp.recv_cq) in cqs}
    for node, hca in case.world.nodes.items():  # XRC
        srqs = (srq.thing for srq in hca.srqs.items.values() if (node, srq.cq) in cqs)
        ends |= {qp.thing: qp for srq in srqs for qp in users_of(case, srq)}
    for qp in ends.values():
        peer = peer_of(case.world, qp) if qp.transport.acknowledged else None
        if peer is None:
            found += undelivered_sends(case, qp)
            continue
        taken = case.log.about(Kind.RECV_TAKEN, qp.thing)
        found += found_no_receive(case, peer, rec.event_of(taken[-1]) if taken else -1)
    return found


def found_no_receive(case: Case, peer: QueuePair, since: int) -> list[Subject]:
    """The sends of a queue pair that got an RNR NAK after an event, and did not end well."""
    sent = [*first_failed(case.log, peer.thing), *undone(peer)]
    naks = ((each, Send(case.session, each, case.log).rnr_naks[-1:]) for each in sent)
    return [each for each, last in naks if last and last[0].event > since]


def users_of(case: Case, srq: Thing) -> list[QueuePair]:
    """The queue pairs that take their receives from a shared queue; of XRC those of its domain."""
    hca = case.world.nodes[srq.node]
    qps = [qp for qp in hca.qps.items.values() if qp.shares_receives]
    return [qp for qp in qps if qp.srq == srq.number or named_srq(hca, qp, srq.number)]


def for_destroyed_users(case: Case, srq: Thing) -> list[Subject]:
    """The newest send to a destroyed queue pair that took its receives from a shared queue."""
    for record in reversed(case.log.of(Kind.PACKET_DROPPED, srq.node)):
        if not is_request(rec.packet_of(record)) or rec.reason_of(record) != "wrong-qpn":
            continue
        packet = rec.roce_packet_of(record)
        qp = Thing(Noun.QP, srq.node, packet.dest_qp)
        named = packet.xrceth is not None and packet.xrceth.srqn == srq.number
        if named or created_with(case.session, case.log, qp, "srq") == srq:
            sent = sent_as(case.log, record)
            return [Subject.of_send(*sent)] if sent is not None else []
    return []


# --------------------------------------------------------------------------- bytes
def for_bytes(case: Case) -> list[Subject]:
    """The work that was to bring bytes: sends that write there, receives that name them.

    Not what was over without success before the request was posted that brought all these bytes.
    """
    if not case.exists(case.subject.thing):
        return []
    node, mr = case.node, case.world.find(case.subject.thing, MemoryRegion)
    span = range(case.subject.start, case.subject.stop)
    found: list[Subject] = []
    for kind, names in ((Kind.SEND_POSTED, _sinks), (Kind.SEND_POSTED, _writes),
                        (Kind.RECV_POSTED, _names)):  # fmt: skip
        newest = reversed(case.log.of(kind))
        here = (r for r in newest if (rec.node_of(r) == node) is (names is not _writes))
        found += [_posted(kind, r) for r in islice((r for r in here if names(r, mr, span)), MOST)]
    since = case.content.requested if case.content is not None else None
    return [each for each in found if since is None or not _is_over(case, each, since)]


def _is_over(case: Case, subject: Subject, event: int) -> bool:
    """Whether work had failed before an event, or a call had taken it."""
    work = Case(case.session, subject, case.log, asked=True).work
    if work is None or work.succeeded:
        return False
    end = work.discarded if work.ending is None else work.ending.event
    end = case.log.destroyed(subject.thing) if end is None else end
    return end is not None and end < event


def _posted(kind: Kind, record: Record) -> Subject:
    sort = Sort.SEND if kind is Kind.SEND_POSTED else Sort.RECV
    thing = Thing(Noun.QP, *rec.place_of(record))
    return Subject(sort, thing, rec.wqe_of(record).serial, rec.wqe_of(record).wr.wr_id)


def _writes(record: Record, mr: MemoryRegion, span: range) -> bool:
    """Whether a send of another node is to write some of these bytes, whatever its key is.

    An address alone names no region whose own addresses begin at 0.
    """
    wr, right = rec.send_wqe_of(record).wr, WORK[rec.send_wqe_of(record).wr.opcode].remote
    named = wr.rkey == mr.rkey != 0 or (mr.iova and right is Access.REMOTE_WRITE)
    return bool(named) and _meets(mr, span, wr.remote_addr, rec.send_wqe_of(record).length)


def _sinks(record: Record, mr: MemoryRegion, span: range) -> bool:
    """Whether a READ or an atomic brings its answer there."""
    filled = WORK[rec.send_wqe_of(record).wr.opcode].local is Local.SCATTER
    return filled and _names(record, mr, span)


def _names(record: Record, mr: MemoryRegion, span: range) -> bool:
    """Whether a work request has a buffer there."""
    return any(sge.lkey == mr.lkey and _meets(mr, span, sge.addr, sge.length)
               for sge in rec.wqe_of(record).sg)  # fmt: skip


def _meets(mr: MemoryRegion, span: range, addr: int, length: int) -> bool:
    first = addr - mr.iova
    return first < span.stop and span.start < first + length


def waiting_qps(case: Case) -> list[QueuePair]:
    """Those that may still bring a receive its message, or the rest of it."""
    receive = case.receive
    if receive is None or receive.ending is not None:
        return []
    if receive.shared and receive.taking is None:
        return users_of(case, case.subject.thing)
    return [receive.qp] if receive.qp is not None else []


class Done(NamedTuple):
    """A work request that was carried out, and in which event."""

    wqe: SendWqe
    event: int

    @property
    def takes_receive(self) -> bool:
        """Whether its message takes a receive at the peer, and so completes there."""
        opcode = self.wqe.wr.opcode
        return opcode in tuple(WROpcode) and WORK[WROpcode(opcode)].consumes_receive


def waiters(case: Case) -> list[QueuePair]:
    """The queue pairs whose next message a receive or a program waits for."""
    if not case.asked:
        return []
    if case.receive is not None:
        return waiting_qps(case)
    program = case.program
    if program is None or program.state.is_over:
        return []
    if watched(case.session, program.line.question) is not None:
        return []  # it waits for bytes
    cqs = [case.world.find(thing, CompletionQueue) for thing in looked_at(case)]
    return [qp for cq in cqs if not cq.cqes for qp in case.world.nodes[cq.node].qps.items.values()
            if qp.recv_cq == cq.number]  # fmt: skip


def watchers(case: Case, qp: QueuePair) -> list[ThreadWait]:
    """The waits of the programs that look at the completion queue of its receives."""
    waits = (ThreadWait(case, each) for each in programs_of(case.world) if not each.state.is_over)
    return [each for each in waits if Thing(Noun.CQ, qp.node, qp.recv_cq) in each.cqs]


def watcher(case: Case, qp: QueuePair) -> str:
    """The program that waits for a completion of its receives, in words; empty if none does."""
    for waits in watchers(case, qp):
        return waits.name
    thing = Thing(Noun.CQ, qp.node, qp.recv_cq)
    cq = case.world.nodes[qp.node].cqs.items.get(qp.recv_cq)
    armed = cq is not None and cq.armed
    return f"the program that armed {case.names.of(thing)}" if armed else ""


def is_quiet(case: Case, qp: QueuePair) -> bool:
    """Whether the peer has nothing more to do: what is under way may be what is waited for."""
    peer = peer_of(case.world, qp)
    return peer is not None and peer.comp.serial == peer.sq.posted and not peer.sq.early


def done_by_peer(case: Case, qp: QueuePair) -> list[Done]:
    """The requests that the peer carried out after the last message that arrived, oldest first.

    This includes a message that it sent and that did not arrive.
    """
    peer = peer_of(case.world, qp)
    if peer is None:
        return []
    since = case.log.last_entered(qp.thing, QPState.RTR) or -1
    ended = case.log.about(Kind.WQE_COMPLETED, peer.thing)
    done = [Done(send_wqe_of(record), event_of(record)) for record in ended
            if status_of(record) == WCStatus.SUCCESS and event_of(record) > since]  # fmt: skip
    taken = case.log.about(Kind.RECV_TAKEN, qp.thing)
    messages = [number for number, each in enumerate(done) if each.takes_receive]
    arrived = sum(event_of(record) > since for record in taken)
    return done[messages[-1] + 1 :] if messages and len(messages) <= arrived else done


# --------------------------------------------------------------------------- who was to send
def talkers(case: Case, qp: QueuePair) -> list[QueuePair]:
    """The peer of a connection; of a datagram queue pair those that sent to it, or wanted to."""
    if qp.transport.connected:
        peer = peer_of(case.world, qp)
        return [peer] if peer is not None else []
    posts = case.log.of(Kind.SEND_POSTED)
    own = (r for r in posts if _is_for(case, rec.node_of(r), send_wqe_of(r), qp))
    tried = (c.thing for c in case.log.refused() if posting_calls.names_target(c, case.names, qp))
    places = [*map(rec.place_of, own), *tried]
    living = (find_qp(case.world, *each) for each in dict.fromkeys(places))
    return [each for each in living if each is not None]


def _is_for(case: Case, node: str, wqe: SendWqe, qp: QueuePair) -> bool:
    made = wqe.av or case.world.nodes[node].ahs.items.get(wqe.wr.ah or 0)
    to = node_at(case.world, case.node, made.attr) if made is not None else None
    return wqe.wr.remote_qpn == qp.number and to == qp.node


def unsent(case: Case, qp: QueuePair) -> list[Call]:
    """The last post of sends of a queue pair that was refused, as in `unposted`."""
    return unposted(case, qp, posting_calls.SENDING)


def unsent_for(case: Case, qp: QueuePair, *, by_message: bool) -> list[Call]:
    """Of `unsent` a post that a waiter needs: the peer its message, or the CQ its completion.

    A program that tolerates the refusal of another one goes on without it.
    """
    wanted = _is_message if by_message else _is_signaled
    return [call for call in unsent(case, qp) if not call.tolerated or wanted(qp, call)]


def _is_message(_qp: QueuePair, call: Call) -> bool:
    works = [WORK.get(wr.get("opcode", -1)) for wr in posting_calls.requests(call)]
    return not works or any(work is not None and work.consumes_receive for work in works)


def _is_signaled(qp: QueuePair, call: Call) -> bool:
    flags = [int(wr.get("flags", 0)) for wr in posting_calls.requests(call)]
    return qp.sq_sig_all or not flags or any(each & SendFlags.SIGNALED for each in flags)


def unposted(case: Case, qp: QueuePair, verbs: Collection[str]) -> list[Call]:
    """The last post of a queue pair that was refused, if its requests were not posted since."""
    mine = (qp.node, qp.number)
    refused = [c for c in case.log.refused() if c.thing == mine and c.verb in verbs]
    return [call for call in refused[-1:] if not Repeats(case.log, refused).has(call)]


def unnoticed(case: Case) -> list[Subject]:
    """Of a thread that is done the work that it posted, and that failed with no poll of it.

    Neither what a call flushed on purpose nor what was repaired since.
    """
    program, log = case.program, case.log
    if program is None or program.state is not ProgramState.DONE:
        return []
    sends = (Subject.of_send(Thing(Noun.QP, *rec.place_of(r)), rec.send_wqe_of(r))
             for r in log.failed_sends)  # fmt: skip
    receives = (subject_of_cqe(rec.node_of(r), rec.cqe_of(r)) for r in log.failed_receives)
    works = (Case(case.session, each, log, asked=True).work for each in (*sends, *receives))
    own = [work for work in works if work is not None and work.polled is None
           and log.asked(work.posted)[1] == case.names.of(program.thing)]  # fmt: skip
    return [
        work.subject
        for work in own[-MOST:]
        if not is_ordered(case.session, log, work.subject) and not is_mended(case, work.subject)
    ]


def is_mended(case: Case, failed: Subject) -> bool:
    """Whether the queue pair of work that failed was repaired since."""
    ending = Case(case.session, failed, case.log, asked=True).ending
    return ending is not None and is_made_good(case.session, case.log, failed, ending.event)
