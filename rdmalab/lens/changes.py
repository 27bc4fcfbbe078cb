"""What an event changed: thing, field, the value before and after, in words."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rdmalab.command import Thing
from rdmalab.hca.attributes import AhAttr
from rdmalab.lens import words
from rdmalab.lens.names import Names
from rdmalab.spec.access import Rereg
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.states import MTU, QPState, fields_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.wire.packet import gid_text
from rdmalab.world.world import World

_SHOWN = 16  # bytes of a write that are spelled out


@dataclass(slots=True)
class ChangeRow:
    """One change; `old` is empty where nobody kept it."""

    name: str
    field: str
    old: str
    new: str

    @property
    def text(self) -> str:
        """`A.qp0.state RTR → RTS`, one fact a line."""
        what = f"{self.name}.{self.field}" if self.name else self.field
        return f"{what} {self.old} → {self.new}" if self.old else f"{what} = {self.new}"


def change_rows(world: World, names: Names, event: int | None = None) -> list[ChangeRow]:
    """What an event (the last one) changed, in the order in which it did."""
    records = world.trace.records
    span = words.span(records, world.event if event is None else event)
    is_latest = span.stop == len(records)
    rows: list[ChangeRow] = []
    for record in records[span.start : span.stop]:
        say = _SAY.get(record[words.KIND])
        if say is not None:
            rows += say(words.Moment(world, names, record), is_latest)
    return rows + _counted_rows(world, names, records, span)


# --------------------------------------------------------------------------- one record
def _state(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    record = moment.record
    old, new = words.member(record[words.A], QPState), words.member(record[words.B], QPState)
    return [ChangeRow(words.subject(moment.names, record), "state", old, new)]


def _attributes(moment: words.Moment, latest: bool) -> list[ChangeRow]:
    """The trace keeps which fields were set; values are those of now, known for the last event."""
    record = moment.record
    name, thing = words.subject(moment.names, record), words.thing_of(record)
    known = latest and thing is not None and words.exists(moment.world, thing)
    attr = moment.world.find(thing).attr if known and thing is not None else None
    return [
        ChangeRow(name, field, "", _value(getattr(attr, field)) if attr is not None else "set")
        for field in fields_of(record[words.A])
        if field != "qp_state"
    ]


def _value(value: Any) -> str:
    """As a person would write it: an address, bytes of an MTU, names of flags, a number."""
    if isinstance(value, AhAttr):
        return gid_text(value.dgid)
    if isinstance(value, MTU):
        return str(value.octets)
    return str(getattr(value, "name", None) or value)


def _started(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    return [_wqe(moment, "POSTED", "ON_WIRE")]


def _completed(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    status = moment.record[words.B]
    good = status == WCStatus.SUCCESS
    return [_wqe(moment, "", "ACKED" if good else f"FAILED {words.member(status, WCStatus)}")]


def _wqe(moment: words.Moment, old: str, new: str) -> ChangeRow:
    record = moment.record
    name = words.subject(moment.names, record)
    return ChangeRow(name, f"wr[{record[words.A].wr.wr_id}].status", old, new)


def _armed(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    record = moment.record
    name = words.subject(moment.names, record)
    return [ChangeRow(name, f"{record[words.B]}_timer.at_ns", "", words.clock(record[words.A]))]


def _fired(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    record = moment.record
    name = words.subject(moment.names, record)
    return [ChangeRow(name, f"{record[words.B]}_timer.armed", "on", "off")]


def _back(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    name = words.subject(moment.names, moment.record)
    return [ChangeRow(name, "next_psn", "", str(moment.record[words.A]))]


def _written(moment: words.Moment, latest: bool) -> list[ChangeRow]:
    record, world = moment.record, moment.world
    node, addr, length = record[words.NODE], record[words.A], record[words.B]
    where = words.thing_at(world, moment.names, node, addr)
    if not latest:
        return [ChangeRow(where, "bytes", "", f"{length} written")]
    shown = world.nodes[node].memory.read(addr, min(length, _SHOWN)).hex(" ")
    return [ChangeRow(where, "bytes", "", shown + (f" … ({length} B)" if length > _SHOWN else ""))]


def _made(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    thing = words.thing_of(moment.record)
    name = moment.names.of(thing) if thing else moment.record[words.NODE]
    made = moment.record[words.KIND] is Kind.CREATED
    return [ChangeRow(name, "exists", *(("no", "yes") if made else ("yes", "no")))]


def _raised(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    event = words.SAYINGS["event"](moment, moment.record[words.A])
    who = words.subject(moment.names, moment.record)
    return [ChangeRow(moment.record[words.NODE], "async_events", "", f"{event} of {who}")]


def _port(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    state = words.SAYINGS["port_state"](moment, moment.record[words.A])
    return [ChangeRow(moment.record[words.NODE], "port.state", "", state)]


def _window(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    name = words.subject(moment.names, moment.record)
    bound = moment.record[words.KIND] is Kind.WINDOW_BOUND
    return [ChangeRow(name, "state", *(("FREE", "BOUND") if bound else ("BOUND", "FREE")))]


def _reregistered(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    name = words.subject(moment.names, moment.record)
    named = [flag for flag in Rereg if flag & moment.record[words.A]]
    fields = [(flag.name or "").removeprefix("CHANGE_").lower() for flag in named]
    return [ChangeRow(name, field, "", "changed") for field in fields]


def _link(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    setting, value = moment.record[words.A], moment.record[words.B]
    return [ChangeRow("", f"link.{setting}", "", words.SAYINGS["value"](moment, value))]


def _fault(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    cleared = moment.record[words.KIND] is Kind.FAULT_CLEARED
    value = f"{moment.record[words.A]} cleared" if cleared else f"set {moment.record[words.A]}"
    return [ChangeRow("", "link.faults", "", value)]


_SAY: dict[Kind, Callable[[words.Moment, bool], list[ChangeRow]]] = {
    Kind.STATE_CHANGED: _state,
    Kind.ATTRIBUTES_SET: _attributes,
    Kind.WQE_STARTED: _started,
    Kind.WQE_COMPLETED: _completed,
    Kind.TIMER_ARMED: _armed,
    Kind.TIMER_FIRED: _fired,
    Kind.WENT_BACK: _back,
    Kind.MEMORY_WRITTEN: _written,
    Kind.HOST_WROTE: _written,
    Kind.CREATED: _made,
    Kind.DESTROYED: _made,
    Kind.ASYNC_RAISED: _raised,
    Kind.PORT_CHANGED: _port,
    Kind.WINDOW_BOUND: _window,
    Kind.WINDOW_INVALIDATED: _window,
    Kind.REGISTERED_ANEW: _reregistered,
    Kind.LINK_SET: _link,
    Kind.FAULT_SET: _fault,
    Kind.FAULT_CLEARED: _fault,
}

# --------------------------------------------------------------------------- what is counted
_Key = tuple[Thing, str]

# Field and step of the kinds that make a number larger or smaller.
_COUNTED: dict[Kind, Callable[[Record], tuple[str, int]]] = {
    Kind.SEND_POSTED: lambda _r: ("sq.used", 1),
    Kind.RECV_POSTED: lambda _r: ("rq.used", 1),
    Kind.SLOTS_FREED: lambda r: (f"{r[words.A]}.used", -r[words.B]),
    Kind.QUEUE_DISCARDED: lambda r: (f"{r[words.A]}.used", -r[words.B]),
    Kind.CQE_ADDED: lambda _r: ("count", 1),
    Kind.CQE_POLLED: lambda _r: ("count", -1),
}
_NOW: dict[str, Callable[[Any], int]] = {
    "sq.used": lambda qp: qp.sq.posted - qp.sq.freed + len(qp.sq.early),
    "rq.used": lambda qp: qp.rq.posted - qp.rq.freed,
    "count": lambda cq: len(cq.cqes),
}


def _steps(records: Iterable[Record]) -> "Counter[_Key]":
    steps: Counter[_Key] = Counter()
    for record in records:
        count, thing = _COUNTED.get(record[words.KIND]), None
        if count is not None and (thing := words.thing_of(record)) is not None:
            field, step = count(record)
            steps[thing, field] += step
    return steps


def _counted_rows(
    world: World, names: Names, records: list[Record], span: range
) -> list[ChangeRow]:
    """Numbers before and after: those of now, less what later events added."""
    steps = _steps(records[span.start : span.stop])
    later = _steps(records[span.stop :]) if steps else Counter[_Key]()
    rows = []
    for key, step in steps.items():
        thing, field = key
        if words.exists(world, thing):
            after = _NOW[field](world.find(thing)) - later[key]
            old, new = str(after - step), str(after)
        else:
            old, new = "", f"{step:+}"
        if step:
            rows.append(ChangeRow(names.of(thing), field, old, new))
    return rows


NOT_CHANGES = (
    Kind.CALLED, Kind.RECV_TAKEN, Kind.PACKET_SENT, Kind.PACKET_RECEIVED, Kind.PACKET_DROPPED,
    Kind.PACKET_LOST, Kind.PACKET_HARMED, Kind.REQUEST_REFUSED, Kind.MEMORY_READ, Kind.CQ_OVERRUN,
    Kind.WINDOW_REFUSED, Kind.MEMORY_FLUSHED,
)  # fmt: skip
"""Kinds that tell what happened and change no field."""

CHANGES = (*_SAY, *_COUNTED)
