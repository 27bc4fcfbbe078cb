"""Where the time of a send went: after earlier requests, in waits for a receiver, in timeouts."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from rdmalab.doctor.work.send import Send
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record
from rdmalab.views import fmt

LATE_FACTOR = 10
"""A send is late when it took so many times the time that it took without waits."""

LATE_NS = 100_000
"""No wait of less than 0.1 ms makes a send late."""


class Spent(NamedTuple):
    """A wait in words, its length in ns, and the event in which it began.

    during: an event after which it was waiting.
    """

    text: str
    ns: int
    event: int | None
    during: int | None


class TimeSpent:
    """The waits of a send from its post to its end, or to now."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.log = send.log
        self.thing = send.subject.thing

    @cached_property
    def life(self) -> tuple[int, int] | None:
        """When it was posted and when it ended, in ns; None if one of them is not kept."""
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
        found = [*self._queued(), *self._rnr(), *self._timeouts()]
        return sorted(
            (wait for wait in found if wait.ns >= self.total_ns // LATE_FACTOR),
            key=lambda wait: -wait.ns,
        )

    @property
    def total_ns(self) -> int:
        """From its post to its end; 0 where that is not known."""
        return self.life[1] - self.life[0] if self.life is not None else 0

    @property
    def is_late(self) -> bool:
        """Whether waits made it much longer than it would have been without them."""
        waited = sum(wait.ns for wait in self.waits)
        return waited >= LATE_NS and self.total_ns >= LATE_FACTOR * (self.total_ns - waited)

    def _records(self, kind: Kind) -> Iterator[Record]:
        """The records of its queue pair from its start to its end."""
        assert self.life is not None
        for _, record in self.log.about(kind, self.thing):
            if self._started_ns <= rec.at_ns_of(record) <= self.life[1]:
                yield record

    @cached_property
    def _start(self) -> Record | None:
        serial = self.send.subject.serial
        found = self.log.about(Kind.WQE_STARTED, self.thing)
        return next((r for _, r in reversed(found) if rec.send_wqe_of(r).serial == serial), None)

    @property
    def _started_ns(self) -> int:
        assert self.life is not None
        return rec.at_ns_of(self._start) if self._start is not None else self.life[0]

    def _queued(self) -> Iterator[Spent]:
        """Until its first packet left: the earlier requests of the queue had their turn."""
        assert self.life is not None
        before = self.send.subject.serial - 1
        posts = self.log.about(Kind.SEND_POSTED, self.thing)
        earlier = [rec.send_wqe_of(r) for _, r in posts if rec.send_wqe_of(r).serial == before]
        after = f" after wr{earlier[0].wr.wr_id}" if earlier else ""
        waited, during = self._started_ns - self.life[0], self.send.posted
        for wqe in earlier if waited >= LATE_NS else ():
            subject = replace(self.send.subject, serial=before, wr_id=wqe.wr.wr_id)
            its = TimeSpent(Send(self.send.session, subject, self.log)).waits[:1]
            during = next((wait.during for wait in its), during)
        text = f"{fmt.duration(waited)} on the send queue{after}"
        yield Spent(text, waited, self.send.posted, during)

    def _rnr(self) -> Iterator[Spent]:
        """In waits that RNR NAKs asked for."""
        assert self.life is not None
        armed = list(self._records(Kind.TIMER_ARMED))
        waited = sum(min(rec.expires_ns_of(r), self.life[1]) - rec.at_ns_of(r) for r in armed)
        if armed:
            many = fmt.count(len(armed), "RNR wait")
            text = f"{fmt.duration(waited)} in {many}: the peer had no receive"
            fired = [rec.event_of(record) - 1 for record in self._records(Kind.TIMER_FIRED)]
            yield Spent(text, waited, rec.event_of(armed[0]), fired[-1] if fired else None)

    def _timeouts(self) -> Iterator[Spent]:
        """Until the ack timer fired: a packet or its answer was lost."""
        sent = [rec.at_ns_of(r) for r in self._records(Kind.PACKET_SENT)]
        fired = [r for r in self._records(Kind.WENT_BACK) if rec.reason_of(r) == "timeout"]
        waited = 0
        for record in fired:
            waited += rec.at_ns_of(record) - max(t for t in [self._started_ns, *sent]
                                             if t <= rec.at_ns_of(record))  # fmt: skip
        if fired:
            many = fmt.count(len(fired), "timeout")
            text = f"{fmt.duration(waited)} in {many}: a packet or its answer was lost"
            yield Spent(text, waited, rec.event_of(fired[0]), rec.event_of(fired[0]) - 1)
