"""The parts of the time of a send: after earlier requests, in waits for a receiver, in timeouts."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.evidence.work_requests import Send
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.work import SendFlags
from rdmalab.views import fmt
from rdmalab.views.fates import Fate
from rdmalab.wire.packet import Packet
from rdmalab.world.relations import peer_of

LATE_FACTOR = 5
"""A send is late when it took so many times as long as it would on an unloaded link."""

LATE_NS = 20_000
"""No wait of less than 20 us makes a send late."""


class Spent(NamedTuple):
    """A wait in words, its length in ns, and the event in which it began.

    during: an event after which it was waiting. advice: what avoids it.
    """

    text: str
    ns: int
    event: int | None
    during: int | None
    advice: str = ""


class TimeSpent:
    """The waits of a send from its post to its end, or to now."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.log = send.log
        self.thing = send.subject.thing

    @cached_property
    def life(self) -> tuple[int, int] | None:
        """Times at which it was posted and ended, in ns; None if one of them is not kept."""
        posting, ending = self.send.posting, self.send.ending
        if posting is None or ending is None:
            return None
        ends = [rec.at_ns_of(record) for record in self.log.within(ending.event)]
        return (rec.at_ns_of(posting), ends[0]) if ends else None

    @cached_property
    def waits(self) -> list[Spent]:
        """Each kind of wait, the longest first."""
        if self.life is None:
            return []
        found = [*self._queued(), *self._rnr(), *self._timeouts(), *self._delayed()]
        return sorted((wait for wait in found if wait.ns >= self.total_ns // LATE_FACTOR),
                      key=lambda wait: -wait.ns)  # fmt: skip

    @property
    def is_fenced(self) -> bool:
        """Whether it has FENCE."""
        return self.send.wqe is not None and bool(self.send.wqe.flags & SendFlags.FENCE)

    @property
    def held(self) -> Spent | None:
        """Its wait for the READs and atomics before it, if it need not have waited."""
        advice = self._hold_advice()
        return next((wait for wait in self.waits if advice and wait.advice == advice
                     and wait.ns >= LATE_NS), None)  # fmt: skip

    @property
    def total_ns(self) -> int:
        """From its post to its end; 0 where that is not known."""
        return self.life[1] - self.life[0] if self.life is not None else 0

    @property
    def is_late(self) -> bool:
        """Whether waits made it much longer than it would have been without them."""
        waited = sum(wait.ns for wait in self.waits)
        return waited >= LATE_NS and self.total_ns >= LATE_FACTOR * self.unloaded_ns

    @property
    def unloaded_ns(self) -> int:
        """The time without its waits, of which several can run at once."""
        return max(self.total_ns - sum(wait.ns for wait in self.waits), 0)

    def _records(self, kind: Kind) -> Iterator[Record]:
        """The records of its queue pair from its start to its end."""
        assert self.life is not None
        for record in self.log.about(kind, self.thing):
            if self._started_ns <= rec.at_ns_of(record) <= self.life[1]:
                yield record

    @cached_property
    def _start(self) -> Record | None:
        return self.log.newest_of(Kind.WQE_STARTED, self.thing, self.send.subject.serial)

    @property
    def _started_ns(self) -> int:
        assert self.life is not None
        return rec.at_ns_of(self._start) if self._start is not None else self.life[0]

    def _queued(self) -> Iterator[Spent]:
        """Until its first packet left: the earlier requests of the queue had their turn."""
        assert self.life is not None
        before = self.send.subject.serial - 1
        posts = self.log.about(Kind.SEND_POSTED, self.thing)
        earlier = [rec.send_wqe_of(r) for r in posts if rec.send_wqe_of(r).serial == before]
        after = f" after wr{earlier[0].wr.wr_id}" if earlier else ""
        waited = self._started_ns - self.life[0]
        waited -= self._carried_ns() if waited >= LATE_NS else 0
        during, advice = self._last_held(), self._hold_advice()
        for wqe in earlier if waited >= LATE_NS else ():
            subject = replace(self.send.subject, serial=before, wr_id=wqe.wr.wr_id)
            for wait in TimeSpent(Send(self.send.session, subject, self.log)).waits[:1]:
                if not advice or wait.advice != advice:
                    during, advice = wait.during, wait.advice or advice
        text = f"{fmt.duration(waited)} on the send queue{after}"
        yield Spent(text, waited, self.send.posted, during, advice)

    def _last_held(self) -> int | None:
        """The event before the one that let it begin: the end of a request before it."""
        ends = self.log.about(Kind.WQE_COMPLETED, self.thing)
        earlier = [rec.event_of(r) for r in ends if rec.at_ns_of(r) <= self._started_ns]
        return max(earlier[-1] - 1, self.send.posted or 0) if earlier else self.send.posted

    def _carried_ns(self) -> int:
        """Time in ns that the fuller direction of the link was in use before: load, no wait."""
        cable, busy = self.send.session.world.network.cable, Counter[str]()
        for record in self.log.since(self.send.posted or 0, Kind.PACKET_SENT):
            if rec.at_ns_of(record) >= self._started_ns:
                break
            packet = rec.packet_of(record)
            busy[rec.node_of(record)] += (
                cable.occupies_ns(packet) if isinstance(packet, Packet)
                else cable.frame_occupies_ns(packet)
            )  # fmt: skip
        return max(busy.values(), default=0)

    def _hold_advice(self) -> str:
        """Advice that lets it begin earlier, if a fence or READs and atomics can hold it."""
        send, qp = self.send, self.send.qp
        if self.is_fenced:
            return "post it without FENCE if it sends nothing that a READ before it brings"
        if send.wqe is None or send.wqe.work is None or not send.wqe.work.outstanding or qp is None:
            return ""
        most = send.session.world.nodes[send.node].profile.caps.max_qp_init_rd_atom
        if not 0 < (qp.attr.max_rd_atomic or 0) < most:
            return ""
        return f"connect with a larger max_rd_atomic and max_dest_rd_atomic, up to {most}"

    def _rnr(self) -> Iterator[Spent]:
        """In waits that RNR NAKs asked for."""
        assert self.life is not None
        armed = list(self._records(Kind.TIMER_ARMED))
        waited = sum(min(rec.expires_ns_of(r), self.life[1]) - rec.at_ns_of(r) for r in armed)
        if armed:
            many = fmt.count(len(armed), "RNR wait")
            text = f"{fmt.duration(waited)} in {many}: the peer had no receive"
            fired = [rec.event_of(record) - 1 for record in self._records(Kind.TIMER_FIRED)]
            names, qp = self.send.session.names, self.send.qp
            peer = peer_of(self.send.session.world, qp) if qp is not None else None
            queue = Thing(Noun.SRQ, peer.node, peer.srq) if peer is not None and peer.srq else None
            queue = peer.thing if peer is not None and queue is None else queue
            where = f" on {names.of(queue)}" if queue is not None else ""
            advice = f"post a receive{where} before {names.of(self.thing)} sends"
            yield Spent(text, waited, rec.event_of(armed[0]), fired[-1] if fired else None, advice)

    def _delayed(self) -> Iterator[Spent]:
        """Longer on the way than the link takes, because a fault delayed its packets."""
        sent = self.send.transmissions + self.send.answers if self._any_delay else []
        for source in dict.fromkeys(row.source for row in sent):
            rows = [(row.arrives_ns - row.at_ns, row) for row in sent if row.source == source
                    and row.arrives_ns and row.troubles and row.fate is Fate.RECEIVED]  # fmt: skip
            longest, row = max(rows, key=lambda each: each[0], default=(0, sent[0]))
            waited = longest - self.send.session.world.network.cable.latency_ns
            if waited > 0:
                text = f"{fmt.duration(waited)} on the way: {row.label} from {source} was delayed"
                advice = "clear the fault that delays packets; faults lists it"
                yield Spent(text, waited, row.event, row.event, advice)

    @property
    def _any_delay(self) -> bool:
        kinds = (Kind.PACKET_DELAYED, Kind.PACKET_HELD)
        return any(self.log.since(self.send.posted or 0, kind) for kind in kinds)

    @property
    def is_lossy(self) -> bool:
        """Whether a packet of it, or an answer, was lost or dropped before its end."""
        rows = (*self.send.transmissions, *self.send.answers)
        end_ns = self.life[1] if self.life is not None else 0
        came = (row for row in rows if row.fate is Fate.DROPPED)
        return (any(row.fate is Fate.LOST for row in rows)
                or any((row.arrives_ns or 0) <= end_ns for row in came))  # fmt: skip

    def _timeouts(self) -> Iterator[Spent]:
        """Until the ack timer fired, if a packet or its answer was lost: else see timeout-short."""
        sent = [rec.at_ns_of(r) for r in self._records(Kind.PACKET_SENT)]
        fired = [r for r in self._records(Kind.WENT_BACK) if rec.reason_of(r) == "timeout"]
        waited = 0
        for record in fired:
            waited += rec.at_ns_of(record) - max(t for t in [self._started_ns, *sent]
                                             if t <= rec.at_ns_of(record))  # fmt: skip
        if fired and self.is_lossy:
            many = fmt.count(len(fired), "timeout")
            text = f"{fmt.duration(waited)} in {many}: a packet or its answer was lost"
            advice = "find what loses packets; a smaller timeout asks again earlier"
            yield Spent(text, waited, rec.event_of(fired[0]), rec.event_of(fired[0]) - 1, advice)
