"""Records of the trace as text: the object that a record is about, its sentence, its parts."""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.hca import extended
from rdmalab.hca.wr import RecvWqe
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.access import Rereg
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.completions import Arm
from rdmalab.spec.limits import PortState
from rdmalab.spec.records import Kind, Part, Record, kind_of, node_of, object_of
from rdmalab.spec.states import MigState, QPState, fields_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags
from rdmalab.views import fmt
from rdmalab.views.fmt import number
from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import Packet, gid_text
from rdmalab.world.world import World


class RecordContext(NamedTuple):
    """A record, with what is needed to format it."""

    world: World
    names: Names
    record: Record


_NOUNS = frozenset(Noun)


def thing_of(record: Record) -> Thing | None:
    """The thing a record is about; None where it is the link, a fault or a port."""
    kind, node, object_ = kind_of(record), node_of(record), object_of(record)
    noun = rec.KINDS[kind].noun
    if kind in (Kind.CREATED, Kind.DESTROYED):
        noun = str(rec.noun_of(record))
    elif kind in _B_IS_NOUN:
        noun = str(rec.event_noun_of(record))
    if noun in _NOUNS:
        return Thing(Noun(noun), node, 0 if noun == Noun.NODE else object_)
    return None


_B_IS_NOUN = (Kind.ASYNC_RAISED, Kind.ASYNC_TAKEN, Kind.ASYNC_ACKED, Kind.EVENTS_DISCARDED)


def is_about(record: Record, kind: Kind, thing: Thing) -> bool:
    """Whether a record is of this kind and about this thing."""
    return (
        kind_of(record) is kind
        and object_of(record) == thing.number
        and node_of(record) == thing.node
    )


def subject(names: Names, record: Record) -> str:
    """The object that acted, or its node; "" for the cable, the application and the user."""
    if kind_of(record) is Kind.HOST_WROTE:  # its sentence has the application
        return ""
    thing = thing_of(record)
    unclaimed = isinstance(rec.KINDS[kind_of(record)].a(record), Frame) and not object_of(record)
    if thing is None or thing.noun is Noun.NODE or kind_of(record) in _BY_THE_NODE or unclaimed:
        return node_of(record)
    return names.of(thing)


_BY_THE_NODE = (Kind.CREATED, Kind.DESTROYED)


def sentence(world: World, names: Names, record: Record) -> str:
    """The record as text, without its subject."""
    row = rec.KINDS[kind_of(record)]
    moment = RecordContext(world, names, record)
    return row.sentence.format(a=part_text(moment, row.a), b=part_text(moment, row.b))


def duplicate(records: Sequence[Record]) -> str:
    """Words for an event with these records that is an atomic request received again, or nothing.

    One that is executed reads memory in this event, one that is refused or dropped says so.
    """
    packet = rec.packet_of(records[0]) if kind_of(records[0]) is Kind.PACKET_RECEIVED else None
    is_atomic = isinstance(packet, Packet) and packet.atomiceth is not None
    if not is_atomic or len(records) > 1:
        return ""
    return ", a duplicate: does not execute it again, and returns the stored result"


def part_text(moment: RecordContext, part: Part[object]) -> str:
    """One part of the record as text."""
    return SAYINGS[rec.MEANINGS[part]](moment, part(moment.record))


def _noun(moment: RecordContext, _value: str) -> str:
    thing = thing_of(moment.record)
    return moment.names.of(thing) if thing else str(_value)


def _address(moment: RecordContext, addr: int) -> str:
    return fmt.thing_at(moment.world, moment.names, node_of(moment.record), addr)


def _packet(moment: RecordContext, packet: Packet | Frame) -> str:
    if isinstance(packet, Frame):
        return packet.summary
    source, target = fmt.ends_of(moment.world, packet)
    sent = node_of(moment.record) == source
    other = target if sent else source
    if not other and (group := fmt.group_of(packet)):
        other = f"group {group}"
    return f"{fmt.packet_words(packet)} {'to' if sent else 'from'} {other or 'an unknown node'}"


_NUMBERED = re.compile(rf"([A-Z])\.({Noun.MR}|{Noun.QP})#(\d+)")


def fault_words(names: Names, fault: object) -> str:
    """The text of a fault, with the names of its objects."""
    return _NUMBERED.sub(lambda m: names.of(Thing(Noun(m[2]), m[1], int(m[3]))), str(fault))


def _setting(moment: RecordContext, value: int | str) -> str:
    name = str(rec.setting_of(moment.record))
    if isinstance(value, int) and name.endswith("_ns"):
        return fmt.duration(value)
    return fmt.rate(value) if isinstance(value, int) and name == "rate_bps" else str(value)


def _of_srq(moment: RecordContext, wqe: RecvWqe) -> str:
    """The SRQ of a receive, if a queue pair takes it from one."""
    if not wqe.srq or kind_of(moment.record) is Kind.SRQ_POSTED:
        return ""
    return f" of {fmt.part_name(moment.names, Noun.SRQ, node_of(moment.record), wqe.srq)},"


def _channel(moment: RecordContext, number: int) -> str:
    if not number:
        return "no channel: it has none"
    return moment.names.of(Thing(Noun.CHANNEL, node_of(moment.record), number))


ARMS = {Arm.NONE: "nothing", Arm.SOLICITED: "solicited completions", Arm.ANY: "any completion"}


_QUEUES = {"sq": "send queue", "rq": "receive queue"}


def _plain(_moment: RecordContext, value: object) -> str:
    return str(value)


ENDINGS = {
    extended.POSTED: "posted",
    extended.ABORTED: "discarded",
    extended.DROPPED: "dropped",
    extended.OVERWRITTEN: "overwritten by another thread",
    extended.UNOPENED: "posted, although it was not open",
}
"""Result for the work requests built in a critical region."""


_AS_IT_IS = (
    "verb", "rule", "complaint", "count", "length", "psn", "index", "srq_field", "number",
    "context", "line",
)  # fmt: skip
# The formatter of each meaning that a or b can have; `spec/records.py` says which has which.
SAYINGS: dict[str, Callable[[RecordContext, Any], str]] = {
    "": lambda _m, _v: "",
    **dict.fromkeys(_AS_IT_IS, _plain),
    "errno": lambda _m, v: fmt.errno_word(int(v or 0)),
    "noun": _noun,
    "state": lambda _m, v: fmt.member(v, QPState),
    "attr_mask": lambda _m, v: " ".join(fields_of(v)) or "nothing",
    "send_wqe": lambda _m, v: fmt.send_wqe(v),
    "recv_wqe": lambda m, v: fmt.recv_wqe(v) + _of_srq(m, v),
    "send_wr": lambda _m, v: fmt.send_wr(v),
    "wr_id": lambda _m, v: number(v),
    "send_flags": lambda _m, v: fmt.flags(v, SendFlags),
    "ending": lambda _m, v: ENDINGS[v],
    "status": lambda _m, v: fmt.member(v, WCStatus),
    "queue": lambda _m, v: _QUEUES.get(v, str(v)),
    "slots": lambda _m, v: fmt.count(v, "slot"),
    "requests": lambda _m, v: fmt.count(v, "work request"),
    "packet": _packet,
    "reason": lambda _m, v: fmt.reason(str(v)),
    "frame": lambda _m, v: f"{len(v)} bytes",
    "address": _address,
    "cqe": lambda _m, v: fmt.cqe(v),
    "at_ns": lambda _m, v: fmt.clock(v),
    "injection": lambda _m, v: f"{len(v.octets)} bytes injected towards {v.target}",
    "why_not": lambda _m, v: f", but {v}" if v else "",
    "wait_ns": lambda _m, v: fmt.duration(v),
    "event": lambda _m, v: fmt.member(v, AsyncEvent),
    "port_state": lambda _m, v: fmt.member(v, PortState),
    "link_layer": lambda _m, v: v.text,
    "mig_state": lambda _m, v: fmt.member(v, MigState),
    "setting": lambda _m, v: str(v).removesuffix("_ns").removesuffix("_bps"),
    "value": _setting,
    "fault": lambda m, v: fault_words(m.names, v),
    "gid": lambda _m, v: gid_text(v),
    "entry": lambda _m, v: gid_text(v) if v else "empty",
    "pkey": lambda _m, v: f"{v:#06x}" if v else "empty",
    "arm": lambda _m, v: ARMS[v],
    "channel": _channel,
    "rkey": lambda _m, v: hex(v),
    "rereg": lambda _m, v: fmt.flags(v, Rereg),
}
