"""Short notes on what a verb did: `A.qp0 SQ 3/8.`, `A.qp0 RESET → INIT.`, `A.cq0 16 entries.`"""

from collections.abc import Callable
from dataclasses import dataclass, field

from rdmalab.command import Noun, Thing
from rdmalab.hca import extended
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.qp import QueuePair, SharedReceiveQueue
from rdmalab.session.lines import Reply
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.records import Kind, Record, kind_of, node_of, object_of
from rdmalab.spec.states import QPState
from rdmalab.views import fmt
from rdmalab.views.record_text import ARMS, ENDINGS, RecordContext, said, sentence, subject
from rdmalab.world.relations import exists


@dataclass(slots=True)
class Notes:
    """facts: sentences; states: (QP, state it went to); has_work: the device has work now."""

    facts: list[str] = field(default_factory=list)
    states: list[tuple[str, str]] = field(default_factory=list)
    has_work: bool = False


def notes(session: Session, reply: Reply) -> Notes:
    """Notes on the event of this reply."""
    found = Notes()
    if reply.event is None:
        return found
    records = session.world.trace.records
    for number in records.span(reply.event):
        record = records[number]
        if (tell := _SENTENCES.get(kind_of(record))) is not None:
            found.facts.append(tell(session, record))
        elif (take := _TAKES.get(kind_of(record))) is not None:
            take(session, record, found)
    found.facts = list(dict.fromkeys(found.facts))
    return found


def _name(session: Session, record: Record, noun: Noun) -> str:
    return session.names.of(Thing(noun, node_of(record), object_of(record)))


def _created(session: Session, record: Record, found: Notes) -> None:
    noun = Noun(rec.noun_of(record))
    thing = Thing(noun, node_of(record), object_of(record))
    if exists(session.world, thing):
        found.has_work = found.has_work or noun is Noun.PROGRAM
        about = _ABOUT.get(noun, _plain)(session.world.find(thing, object))
        found.facts.append(f"{session.names.of(thing)} {about}.")


def _plain(_item: object) -> str:
    return "created"


_ABOUT: dict[str, Callable[..., str]] = {
    Noun.MR: lambda mr: (
        f"is {mr.length} bytes at {mr.addr:#x}, lkey {mr.lkey:#x} rkey {mr.rkey:#x}"
    ),
    Noun.MW: lambda mw: f"is an unbound {mw.type.name} memory window, rkey {mw.rkey:#x}",
    Noun.CQ: lambda cq: f"holds {cq.capacity} completions",
    Noun.SRQ: lambda srq: f"holds {srq.capacity} receives, its number is {srq.number:#x}",
    Noun.XRCD: lambda xrcd: f"is XRC domain {xrcd.domain}",
    Noun.CHANNEL: lambda _channel: "has no CQ yet",
    Noun.PROGRAM: lambda program: (
        f"runs its {fmt.count(len(program.lines), 'line')} while time does"
    ),
    Noun.QP: lambda qp: f"is QP {qp.number:#x} in {qp.state.name}",
}


def _state(session: Session, record: Record, found: Notes) -> None:
    name = _name(session, record, Noun.QP)
    before, after = (
        fmt.member(part(record), QPState) for part in (rec.old_state_of, rec.new_state_of)
    )
    found.facts.append(f"{name} {before} → {after}.")
    found.states.append((name, after))
    found.has_work = rec.new_state_of(record) in (QPState.RTS, QPState.ERR)


def _closed(session: Session, record: Record, found: Notes) -> None:
    count, ending = rec.count_of(record), ENDINGS[rec.ending_of(record)]
    if rec.ending_of(record) == extended.UNOPENED:  # a warning says it
        return
    found.facts.append(f"{_name(session, record, Noun.QP)}: {count} built, {ending}.")


def _queue(session: Session, record: Record, found: Notes) -> None:
    """The used slots of a work queue; a posted send is work that time will do."""
    kind, thing = kind_of(record), Thing(Noun.QP, node_of(record), object_of(record))
    found.has_work = found.has_work or kind is Kind.SEND_POSTED
    which = _QUEUES.get(kind) or rec.queue_of(record)
    if exists(session.world, thing):
        queue = getattr(session.world.find(thing, QueuePair), which)
        found.facts.append(
            f"{session.names.of(thing)} {which.upper()} {queue.used}/{queue.capacity}."
        )


_QUEUES = {Kind.SEND_POSTED: "sq", Kind.RECV_POSTED: "rq"}


def _shared(session: Session, record: Record, found: Notes) -> None:
    thing = Thing(Noun.SRQ, node_of(record), object_of(record))
    if exists(session.world, thing):
        srq = session.world.find(thing, SharedReceiveQueue)
        found.facts.append(f"{session.names.of(thing)} {srq.used}/{srq.capacity}.")


def _raised(session: Session, record: Record, found: Notes) -> None:
    """Note that modify_srq raised SRQ_LIMIT_REACHED at once."""
    if rec.async_event_of(record) is AsyncEvent.SRQ_LIMIT_REACHED:
        found.facts.append(f"{_name(session, record, Noun.SRQ)} raised SRQ_LIMIT_REACHED.")


def _moment(session: Session, record: Record) -> RecordContext:
    return RecordContext(session.world, session.names, record)


def _told(session: Session, record: Record) -> str:
    """The sentence of the log."""
    said = sentence(session.world, session.names, record)
    name = subject(session.names, record)
    return f"{name}{':' if said.startswith('its ') else ''} {said}."


def _unacked(session: Session, record: Record) -> str:
    thing = Thing(Noun.CQ, node_of(record), object_of(record))
    return (
        f"{session.names.of(thing)} {session.world.find(thing, CompletionQueue).unacked} unacked."
    )


def _wrote(session: Session, record: Record) -> str:
    where = fmt.thing_at(session.world, session.names, node_of(record), rec.address_of(record))
    return f"{rec.length_of(record)} bytes at {where}."


# The kinds of records that are one sentence.
_SENTENCES: dict[Kind, Callable[[Session, Record], str]] = {
    Kind.DESTROYED: lambda s, r: f"{_name(s, r, Noun(rec.noun_of(r)))} is destroyed.",
    Kind.REGION_OPENED: lambda s, r: (
        f"{_name(s, r, Noun.QP)} builds work requests for thread {rec.thread_of(r)}."
    ),
    Kind.WR_BUILT: lambda _s, r: f"{fmt.send_wr(rec.send_wr_of(r))}, not posted yet.",
    Kind.WR_FILLED: lambda _s, r: f"{fmt.send_wr(rec.send_wr_of(r))}, not posted yet.",
    Kind.SRQ_SET: lambda s, r: (
        f"{_name(s, r, Noun.SRQ)} {rec.srq_field_of(r)} {rec.srq_value_of(r)}."
    ),
    Kind.HOST_WROTE: _wrote,
    Kind.LINK_SET: lambda s, r: (
        f"link {said(_moment(s, r), rec.setting_of)} {said(_moment(s, r), rec.setting_value_of)}."
    ),
    Kind.CQ_ARMED: lambda s, r: f"{_name(s, r, Noun.CQ)} is armed for {ARMS[rec.arm_of(r)]}.",
    Kind.CQ_EVENT_RAISED: lambda s, r: (
        f"{_name(s, r, Noun.CQ)} raised an event for {said(_moment(s, r), rec.channel_of)}."
    ),
    Kind.CQ_EVENTS_ACKED: _unacked,
    Kind.EVENTS_DISCARDED: lambda _s, r: (
        f"{rec.count_of(r)} events that were not fetched are discarded."
    ),
    Kind.GROUP_JOINED: _told,
    Kind.GROUP_LEFT: _told,
    Kind.PORT_CHANGED: _told,
    Kind.LINK_LAYER_SET: _told,
    Kind.MIGRATION_CHANGED: _told,
    Kind.DEVICE_DIED: _told,
    Kind.ASYNC_ACKED: _told,
}
# The kinds that are no sentence on some conditions, or tell more than a sentence.
_TAKES: dict[Kind, Callable[[Session, Record, Notes], None]] = {
    Kind.CREATED: _created,
    Kind.STATE_CHANGED: _state,
    Kind.REGION_CLOSED: _closed,
    Kind.SEND_POSTED: _queue,
    Kind.RECV_POSTED: _queue,
    Kind.SLOTS_FREED: _queue,
    Kind.SRQ_POSTED: _shared,
    Kind.SRQ_FREED: _shared,
    Kind.ASYNC_RAISED: _raised,
}
