"""Critical regions of the extended post API: what was built in each, and how it ended."""

from dataclasses import dataclass, field
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.call import Call
from rdmalab.doctor.log import Log
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.hca.extended import ABORTED, DROPPED, POSTED, UNOPENED
from rdmalab.hca.wr import SendWR
from rdmalab.spec.builders import DATA_SETTERS
from rdmalab.spec.records import Kind, Record, ending_of, event_of, kind_of, send_wr_of, setter_of

_KINDS = (
    Kind.REGION_OPENED, Kind.WR_BUILT, Kind.WR_FILLED, Kind.BATCH_FAILED, Kind.REGION_CLOSED,
)  # fmt: skip


class Setting(NamedTuple):
    """A setter that filled a work request: which, and in which event."""

    verb: str
    event: int


@dataclass(slots=True)
class Building:
    """A work request that was built. wr: with the values of its setters; event, flags: of its
    builder."""

    wr: SendWR
    event: int
    flags: int = 0
    setters: list[Setting] = field(default_factory=list)

    @property
    def data_setter(self) -> Setting | None:
        """The setter of the data; None if there is none."""
        return next((each for each in self.setters if each.verb in DATA_SETTERS), None)


@dataclass(slots=True)
class Batch:
    """One region. opened, closed: events; ending: as `extended` has it, empty while it is open.

    spoiled: the event of a function that made a mistake and could not tell.
    """

    thing: Thing
    opened: int
    built: list[Building] = field(default_factory=list)
    spoiled: int | None = None
    closed: int | None = None
    ending: str = ""

    def refusal(self, log: Log) -> Call | None:
        """What wr_complete answered, where it dropped the batch."""
        if self.ending != DROPPED:
            return None
        return next((call for call in log.refused() if call.event == self.closed), None)

    def find(self, wr_id: int) -> Building | None:
        """The newest work request of it with this wr_id."""
        return next((each for each in reversed(self.built) if each.wr.wr_id == wr_id), None)


def batches(log: Log, thing: Thing) -> list[Batch]:
    """The regions of a queue pair whose beginning is kept, oldest first."""
    if thing.noun is not Noun.QP or not log.about(Kind.REGION_OPENED, thing):
        return []
    found: list[Batch] = []
    for each in log.in_order(_KINDS, thing):
        _take(found, each, thing)
    return found


def _take(found: list[Batch], record: Record, thing: Thing) -> None:
    """One record more, of the newest region."""
    kind, event = kind_of(record), event_of(record)
    if kind is Kind.REGION_OPENED:
        found.append(Batch(thing, event))
    elif not found or found[-1].closed is not None:
        return
    elif kind is Kind.WR_BUILT:
        found[-1].built.append(Building(send_wr_of(record), event, int(send_wr_of(record).flags)))
    elif kind is Kind.WR_FILLED and found[-1].built:
        found[-1].built[-1].wr = send_wr_of(record)
        found[-1].built[-1].setters.append(Setting(str(setter_of(record)), event))
    elif kind is Kind.BATCH_FAILED:
        found[-1].spoiled = event
    elif kind is Kind.REGION_CLOSED and ending_of(record) != UNOPENED:
        found[-1].closed, found[-1].ending = event, str(ending_of(record))


def latest(log: Log, subject: Subject) -> Batch | None:
    """The newest region in which a send, which is on no queue, was built and not posted.

    Of a queue pair: the region that is open, if something was built in it.
    """
    if subject.sort is Sort.QP:
        newest = batches(log, subject.thing)[-1:]
        return next((each for each in newest if each.built and each.closed is None), None)
    if subject.serial >= 0 or subject.sort is not Sort.SEND:
        return None
    for batch in reversed(batches(log, subject.thing)):
        if batch.ending != POSTED and batch.find(subject.wr_id) is not None:
            return batch
    return None


def posted_at(log: Log, thing: Thing, event: int | None, wr_id: int) -> Building | None:
    """How a send was built whose batch was posted in an event; None if it was not built."""
    closed = (each for each in batches(log, thing) if each.closed == event)
    return next((each.find(wr_id) for each in closed), None)


def given_up(log: Log, qp: Thing) -> Batch | None:
    """The newest region of a queue pair if it was aborted, and nothing was posted there since."""
    newest = [each for each in batches(log, qp)[-1:] if each.built and each.ending == ABORTED]
    posts = [event_of(record) for record in log.about(Kind.SEND_POSTED, qp)[-1:]]
    return next((each for each in newest if not posts or posts[0] < each.opened), None)


def closed_by(log: Log, call: Call) -> Batch | None:
    """The region that this refused wr_complete has dropped."""
    if call.verb != "wr_complete":
        return None
    found = batches(log, Thing(Noun.QP, *call.thing))
    return next((batch for batch in found if batch.closed == call.event), None)
