"""The facts of a send or a receive: its post, its packets or its message, its end."""

from functools import cached_property
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.evidence.log import Log, WorkKey
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.hca.qp import QueuePair, RecvQueue, SharedReceiveQueue
from rdmalab.hca.wr import Cqe, RecvWqe, SendWqe
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.opcodes import OPCODES
from rdmalab.spec.records import Kind, Record, object_of, recv_wqe_of
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.views.ladder import PacketRow
from rdmalab.wire.packet import Packet

MOST_PACKETS = 64  # of one work request that are looked at one by one: the first and the last


class Ending(NamedTuple):
    """Its status, and the event in which it ended."""

    status: WCStatus
    event: int


class CqePlace(NamedTuple):
    """Place of a completion that was added or taken: CQ number, event, the program that took it."""

    cq: int
    event: int
    cqe: Cqe
    program: str = ""


class WorkRequest:
    """One work request. A fact is None or empty if it does not hold or is not kept."""

    shared = False
    """Whether it is on a queue that several queue pairs take from."""

    def __init__(self, session: Session, subject: Subject, log: Log) -> None:
        self.session = session
        self.subject = subject
        self.log = log
        self._is_send = subject.sort is Sort.SEND

    def _newest(self, kind: Kind) -> Record | None:
        return self.log.newest_of(kind, self.subject.thing, self.subject.serial)

    @cached_property
    def posting(self) -> Record | None:
        """The record of its post."""
        return self._newest(post_kind(self.subject.thing, is_send=self._is_send))

    @property
    def posted(self) -> int | None:
        """The event of its post."""
        return rec.event_of(self.posting) if self.posting is not None else None

    @property
    def poster(self) -> str | None:
        """The program that posted it; empty of a call, None if its post is not kept."""
        return self.log.asked(self.posted)[1] if self.posted is not None else None

    @property
    def on_queue(self) -> bool:
        """Whether it has not ended and no message has taken it."""
        raise NotImplementedError

    @property
    def ending(self) -> Ending | None:
        """Its completion; a flush is a completion too."""
        raise NotImplementedError

    def _ended_with(self, status: WCStatus) -> bool:
        return self.ending is not None and self.ending.status is status

    @property
    def succeeded(self) -> bool:
        """Whether it ended with SUCCESS."""
        return self._ended_with(WCStatus.SUCCESS)

    @property
    def flushed(self) -> bool:
        """Whether it ended with WR_FLUSH_ERR."""
        return self._ended_with(WCStatus.WR_FLUSH_ERR)

    @cached_property
    def discarded(self) -> int | None:
        """The event in which a RESET threw it away before it was done."""
        if self.posted is None or self.ending is not None or self.on_queue or self.shared:
            return None
        later = self.log.entered(self.subject.thing, QPState.RESET, after=self.posted)
        return later[0] if later else None

    # ------------------------------------------------------------------ its completion
    @cached_property
    def added(self) -> CqePlace | None:
        """CQ that its completion was added to, and the event; None if none was."""
        return self._place(Kind.CQE_ADDED)

    @cached_property
    def polled(self) -> CqePlace | None:
        """Poll that returned its completion; None if no poll did."""
        return self._place(Kind.CQE_POLLED)

    @property
    def unpolled(self) -> Cqe | None:
        """Its completion, if that is on a CQ now, whatever the log knows."""
        waiting = unpolled(self.session, self.subject.thing, is_send=self._is_send)
        return next((cqe for cqe in waiting if cqe.serial == self.subject.serial), None)

    @cached_property
    def overrun(self) -> CqePlace | None:
        """CQ whose overrun lost its completion, and the event; None if none was lost."""
        return self._place(Kind.CQ_OVERRUN)

    def _place(self, kind: Kind) -> CqePlace | None:
        """The newest record of this kind about its completion."""
        (_, node, number), log = self.subject.thing, self.log
        srq, qpn = (number, 0) if self.shared else (0, number)
        work = WorkKey(node, self._is_send, srq, qpn, self.subject.serial)
        record = log.completion(kind, work)
        if record is None:
            return None
        program = log.asked(rec.event_of(record))[1] if kind is Kind.CQE_POLLED else ""
        return CqePlace(rec.object_of(record), rec.event_of(record), rec.cqe_of(record), program)


def post_kind(thing: Thing, *, is_send: bool = False) -> Kind:
    """The kind of the records of posts on a queue pair or a shared receive queue."""
    if thing.noun is Noun.SRQ:
        return Kind.SRQ_POSTED
    return Kind.SEND_POSTED if is_send else Kind.RECV_POSTED


def unpolled(session: Session, thing: Thing, *, is_send: bool) -> list[Cqe]:
    """The completions of a queue that are on the CQs of its node, oldest first on each."""
    srq, qpn = (thing.number, 0) if thing.noun is Noun.SRQ else (0, thing.number)
    return [cqe for cq in session.world.nodes[thing.node].cqs.items.values() for cqe in cq.cqes
            if cqe.is_send is is_send and cqe.srq == srq and qpn in (0, cqe.qp_num)]  # fmt: skip


class Send(WorkRequest):
    """One send work request."""

    def __init__(self, session: Session, subject: Subject, log: Log) -> None:
        super().__init__(session, subject, log)
        self.node = subject.thing.node
        self.number = subject.thing.number
        self.qp: QueuePair | None = session.world.nodes[self.node].qps.items.get(self.number)

    @property
    def since(self) -> int | None:
        """The event from which on to look for its packets: its post, or the oldest that is kept."""
        if self.posted is not None:
            return self.posted
        return self.log.begins if self.wqe is not None else None

    @cached_property
    def wqe(self) -> SendWqe | None:
        """The entry of it on the queue, which never changes; None if it is not known."""
        kept = self.qp.sq.wqes.get(self.subject.serial) if self.qp is not None else None
        return kept or (rec.send_wqe_of(self.posting) if self.posting is not None else None)

    @property
    def on_queue(self) -> bool:
        """Whether it is in the send queue and not completed."""
        qp, serial = self.qp, self.subject.serial
        waits = qp is not None and qp.comp.serial <= serial < qp.sq.posted
        return waits and self.ending is None  # the log can know more than the queue

    @property
    def begun(self) -> bool:
        """Whether a part of it has been sent or executed."""
        qp = self.qp
        return qp is not None and self.subject.serial < qp.req.started

    @cached_property
    def ending(self) -> Ending | None:
        """Its completion; a flush is a completion too."""
        record = self._newest(Kind.WQE_COMPLETED)
        if record is None:
            return None
        return Ending(WCStatus(rec.status_of(record)), rec.event_of(record))

    @property
    def retries_exhausted(self) -> bool:
        """Whether it ended with RETRY_EXC_ERR: no answer after all retransmits."""
        return self._ended_with(WCStatus.RETRY_EXC_ERR)

    # ------------------------------------------------------------------ on the wire
    @cached_property
    def sent(self) -> list[Record]:
        """The records of its packets as often as they left, as far as the log is kept."""
        wqe, since = self.wqe, self.since
        if wqe is None or since is None:
            return []
        return [
            record for record in self.log.about(Kind.PACKET_SENT, self.subject.thing)
            if rec.event_of(record) >= since
            and isinstance(packet := rec.packet_of(record), Packet)  # a frame has no PSN
            and _is_request(packet) and wqe.has_psn(packet.psn)
        ]  # fmt: skip

    @cached_property
    def transmissions(self) -> list[PacketRow]:
        """The oldest and the newest of these packets, each with its fate."""
        half, found = MOST_PACKETS // 2, self.sent
        if len(found) > MOST_PACKETS:
            found = found[:half] + found[-half:]
        return self.log.packets(found)

    @cached_property
    def answers(self) -> list[PacketRow]:
        """ACKs, NAKs and data for its PSNs that were sent to this queue pair, oldest first."""
        wqe, since = self.wqe, self.since
        if wqe is None or since is None:
            return []
        gids = {gid for gid in self.session.world.nodes[self.node].gids if gid}
        found = [
            record for record in self.log.since(since, Kind.PACKET_SENT)
            if (packet := rec.packet_of(record)).dest_qp == self.number
            and isinstance(packet, Packet) and packet.flow.dst in gids
            and not _is_request(packet) and wqe.has_psn(packet.psn)
        ]  # fmt: skip
        return self.log.packets(found[-MOST_PACKETS:])

    @cached_property
    def rnr_naks(self) -> list[PacketRow]:
        """The RNR NAKs among its answers, oldest first."""
        return [row for row in self.answers if row.syndrome is Syndrome.RNR_NAK]


def _is_request(packet: object) -> bool:
    row = OPCODES.get(packet.opcode) if isinstance(packet, Packet) else None
    return row is None or row.request


class Receive(WorkRequest):
    """One receive work request, on a queue pair's own queue or on a shared one.

    qp: the queue pair whose queue it is on, or that took it; queue: where it waits.
    """

    def __init__(self, session: Session, subject: Subject, log: Log) -> None:
        super().__init__(session, subject, log)
        self.shared = subject.thing.noun is Noun.SRQ

    @cached_property
    def queue(self) -> RecvQueue | SharedReceiveQueue | None:
        """The queue that it was posted to, if that still exists."""
        thing = self.subject.thing
        table = self.session.world.nodes[thing.node].tables[thing.noun].items
        found = table.get(thing.number)
        return found if self.shared or found is None else found.rq

    @cached_property
    def qp(self) -> QueuePair | None:
        """Whose it is; of a shared one, who took it."""
        qps = self.session.world.nodes[self.subject.thing.node].qps.items
        if not self.shared:
            return qps.get(self.subject.thing.number)
        return qps.get(object_of(self.taking)) if self.taking is not None else None

    @cached_property
    def wqe(self) -> RecvWqe | None:
        """The entry of it on the queue; None if neither the queue nor the log has it."""
        waiting = self.queue.wqes if self.queue is not None else ()
        found = next((w for w in waiting if w.serial == self.subject.serial), None)
        return found or (recv_wqe_of(self.posting) if self.posting is not None else None)

    @property
    def on_queue(self) -> bool:
        """Whether no message has taken it."""
        waiting = self.queue.wqes if self.queue is not None else ()
        return any(w.serial == self.subject.serial for w in waiting)

    @cached_property
    def taking(self) -> Record | None:
        """The record of the message that took it; its object is the queue pair."""
        thing, serial = self.subject.thing, self.subject.serial
        for record in reversed(self.log.of(Kind.RECV_TAKEN, thing.node)):
            wqe = recv_wqe_of(record)
            own = wqe.srq == thing.number if self.shared else object_of(record) == thing.number
            if own and wqe.serial == serial and bool(wqe.srq) is self.shared:
                return record
        return None

    @property
    def ending(self) -> Ending | None:
        """Its completion."""
        place = self.added or self.overrun
        return Ending(place.cqe.status, place.event) if place is not None else None
