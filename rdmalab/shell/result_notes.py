"""Short notes on what a verb did: `A.qp0 SQ 3/8.`, `A.qp0 RESET → INIT.`, `A.cq0 16 entries.`"""

from collections.abc import Callable
from dataclasses import dataclass, field

from rdmalab.command import Noun, Thing
from rdmalab.hca import extended
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.srq import SharedReceiveQueue
from rdmalab.session.lines import Reply
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.records import Kind, Record, kind_of, node_of, object_of
from rdmalab.spec.states import QPState
from rdmalab.views import fmt, record_text
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
        take = _TAKES.get(kind_of(record))
        if take is not None:
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


def _destroyed(session: Session, record: Record, found: Notes) -> None:
    found.facts.append(f"{_name(session, record, Noun(rec.noun_of(record)))} is destroyed.")


def _state(session: Session, record: Record, found: Notes) -> None:
    name = _name(session, record, Noun.QP)
    before, after = (
        fmt.member(part(record), QPState) for part in (rec.old_state_of, rec.new_state_of)
    )
    found.facts.append(f"{name} {before} → {after}.")
    found.states.append((name, after))
    found.has_work = rec.new_state_of(record) in (QPState.RTS, QPState.ERR)


def _sends(session: Session, record: Record, found: Notes) -> None:
    _queue(session, record, found, "sq")
    found.has_work = True


def _opened(session: Session, record: Record, found: Notes) -> None:
    thread = rec.thread_of(record)
    found.facts.append(
        f"{_name(session, record, Noun.QP)} builds work requests for thread {thread}."
    )


def _built(session: Session, record: Record, found: Notes) -> None:
    found.facts.append(f"{fmt.send_wr(rec.send_wr_of(record))}, not posted yet.")


def _closed(session: Session, record: Record, found: Notes) -> None:
    count, ending = rec.count_of(record), record_text.ENDINGS[rec.ending_of(record)]
    if rec.ending_of(record) == extended.UNOPENED:  # a warning says it
        return
    found.facts.append(f"{_name(session, record, Noun.QP)}: {count} built, {ending}.")


def _receives(session: Session, record: Record, found: Notes) -> None:
    _queue(session, record, found, "rq")


def _freed(session: Session, record: Record, found: Notes) -> None:
    _queue(session, record, found, str(rec.queue_of(record)))


def _queue(session: Session, record: Record, found: Notes, which: str) -> None:
    thing = Thing(Noun.QP, node_of(record), object_of(record))
    if exists(session.world, thing):
        queue = getattr(session.world.find(thing, QueuePair), which)
        name = session.names.of(thing)
        found.facts.append(f"{name} {which.upper()} {queue.used}/{queue.capacity}.")


def _shared(session: Session, record: Record, found: Notes) -> None:
    thing = Thing(Noun.SRQ, node_of(record), object_of(record))
    if exists(session.world, thing):
        srq = session.world.find(thing, SharedReceiveQueue)
        found.facts.append(f"{session.names.of(thing)} {srq.used}/{srq.capacity}.")


def _srq_set(session: Session, record: Record, found: Notes) -> None:
    name = _name(session, record, Noun.SRQ)
    found.facts.append(f"{name} {rec.srq_field_of(record)} {rec.srq_value_of(record)}.")


def _raised(session: Session, record: Record, found: Notes) -> None:
    """Note that modify_srq raised SRQ_LIMIT_REACHED at once."""
    if rec.async_event_of(record) is AsyncEvent.SRQ_LIMIT_REACHED:
        found.facts.append(f"{_name(session, record, Noun.SRQ)} raised SRQ_LIMIT_REACHED.")


def _wrote(session: Session, record: Record, found: Notes) -> None:
    where = fmt.thing_at(session.world, session.names, node_of(record), rec.address_of(record))
    found.facts.append(f"{rec.length_of(record)} bytes at {where}.")


def _link(session: Session, record: Record, found: Notes) -> None:
    moment = record_text.RecordContext(session.world, session.names, record)
    value = record_text.said(moment, rec.setting_value_of)
    setting = record_text.said(moment, rec.setting_of)
    found.facts.append(f"link {setting} {value}.")


def _armed(session: Session, record: Record, found: Notes) -> None:
    found.facts.append(
        f"{_name(session, record, Noun.CQ)} is armed for {record_text.ARMS[rec.arm_of(record)]}."
    )


def _woke(session: Session, record: Record, found: Notes) -> None:
    moment = record_text.RecordContext(session.world, session.names, record)
    to = record_text.said(moment, rec.channel_of)
    found.facts.append(f"{_name(session, record, Noun.CQ)} raised an event for {to}.")


def _acked(session: Session, record: Record, found: Notes) -> None:
    cq = session.world.find(Thing(Noun.CQ, node_of(record), object_of(record)), CompletionQueue)
    found.facts.append(f"{_name(session, record, Noun.CQ)} {cq.unacked} unacked.")


def _discarded(_session: Session, record: Record, found: Notes) -> None:
    found.facts.append(f"{rec.count_of(record)} events that were not fetched are discarded.")


def _told(session: Session, record: Record, found: Notes) -> None:
    """The sentence of the log."""
    said = record_text.sentence(session.world, session.names, record)
    name = record_text.subject(session.names, record)
    found.facts.append(f"{name}{':' if said.startswith('its ') else ''} {said}.")


_TAKES: dict[Kind, Callable[[Session, Record, Notes], None]] = {
    Kind.CREATED: _created,
    Kind.DESTROYED: _destroyed,
    Kind.STATE_CHANGED: _state,
    Kind.REGION_OPENED: _opened,
    Kind.WR_BUILT: _built,
    Kind.WR_FILLED: _built,
    Kind.REGION_CLOSED: _closed,
    Kind.SEND_POSTED: _sends,
    Kind.RECV_POSTED: _receives,
    Kind.SLOTS_FREED: _freed,
    Kind.SRQ_POSTED: _shared,
    Kind.SRQ_FREED: _shared,
    Kind.SRQ_SET: _srq_set,
    Kind.ASYNC_RAISED: _raised,
    Kind.HOST_WROTE: _wrote,
    Kind.LINK_SET: _link,
    Kind.CQ_ARMED: _armed,
    Kind.CQ_EVENT_RAISED: _woke,
    Kind.CQ_EVENTS_ACKED: _acked,
    Kind.EVENTS_DISCARDED: _discarded,
    Kind.GROUP_JOINED: _told,
    Kind.GROUP_LEFT: _told,
    Kind.PORT_CHANGED: _told,
    Kind.LINK_LAYER_SET: _told,
    Kind.MIGRATION_CHANGED: _told,
    Kind.DEVICE_DIED: _told,
    Kind.ASYNC_ACKED: _told,
}
