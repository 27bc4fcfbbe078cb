"""What an event changed: thing, field, the value before and after, in words."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rdmalab.command import Noun, Thing
from rdmalab.hca import extended
from rdmalab.hca.attributes import AhAttr
from rdmalab.lens import words
from rdmalab.lens.names import Names
from rdmalab.spec.access import Rereg
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.states import MTU, QPState, fields_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.wire.packet import gid_text
from rdmalab.world.trace import Records
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
    span = records.span(world.event if event is None else event)
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


def _opened(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    return [ChangeRow(words.subject(moment.names, moment.record), "region.open", "no", "yes")]


def _closed(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    record, name = moment.record, words.subject(moment.names, moment.record)
    if record[words.B] == extended.UNOPENED:
        return []
    return [ChangeRow(name, "region.open", "yes", f"no, {words.ENDINGS[record[words.B]]}")]


def _next_wr(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    record, name = moment.record, words.subject(moment.names, moment.record)
    flags = words.SAYINGS["send_flags"](moment, record[words.B])
    wr_id = words.number(record[words.A])
    return [
        ChangeRow(name, "region.wr_id", "", wr_id),
        ChangeRow(name, "region.wr_flags", "", flags),
    ]


def _built(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    record, name = moment.record, words.subject(moment.names, moment.record)
    return [ChangeRow(name, "region", "", words.send_wr(record[words.A]))]


def _spoiled(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    record, name = moment.record, words.subject(moment.names, moment.record)
    return [ChangeRow(name, "region.error", "", str(record[words.A]))]


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


def _group(moment: words.Moment, old: str, new: str) -> ChangeRow:
    name = words.subject(moment.names, moment.record)
    return ChangeRow(name, f"group[{gid_text(moment.record[words.A])}]", old, new)


def _port(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    state = words.SAYINGS["port_state"](moment, moment.record[words.A])
    return [ChangeRow(moment.record[words.NODE], "port.state", "", state)]


def _link_layer(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    layer = words.SAYINGS["link_layer"](moment, moment.record[words.A])
    return [ChangeRow(moment.record[words.NODE], "port.link_layer", "", layer)]


def _migration(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    before, after = (
        words.SAYINGS["mig_state"](moment, moment.record[at]) for at in (words.A, words.B)
    )
    name = words.subject(moment.names, moment.record)
    return [ChangeRow(name, "path_mig_state", before, after)]


def _gid(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    return _entry(moment, "gids", "entry")


def _pkey(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    return _entry(moment, "pkeys", "pkey")


def _entry(moment: words.Moment, table: str, meaning: str) -> list[ChangeRow]:
    record = moment.record
    value = words.SAYINGS[meaning](moment, record[words.B])
    return [ChangeRow(record[words.NODE], f"port.{table}[{record[words.A]}]", "", value)]


_DEVICE = {
    Kind.DEVICE_OPENED: "open", Kind.DEVICE_CLOSED: "closed", Kind.DEVICE_DIED: "dead",
}  # fmt: skip


def _device(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    state = _DEVICE[moment.record[words.KIND]]
    return [ChangeRow(moment.record[words.NODE], "device.state", "", state)]


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


def _srq_set(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    record = moment.record
    field = "limit" if record[words.A] == "srq_limit" else "capacity"
    return [ChangeRow(words.subject(moment.names, record), field, "", str(record[words.B]))]


def _srq_failed(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    return [ChangeRow(words.subject(moment.names, moment.record), "error", "no", "yes")]


def _shared(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    name = words.subject(moment.names, moment.record)
    return [ChangeRow(name, "opened", "", str(moment.record[words.A]))]


def _fault(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    form = {Kind.FAULT_CLEARED: "{} cleared", Kind.FAULT_STRUCK: "{} is over"}
    value = form.get(moment.record[words.KIND], "set {}").format(moment.record[words.A])
    return [ChangeRow("", "link.faults", "", value)]


def _cq_armed(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    armed = moment.record[words.A].name
    return [ChangeRow(words.subject(moment.names, moment.record), "armed", "", armed)]


def _cq_woke(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    """The arm is spent; the channel has one event more, if there is a channel."""
    cq = ChangeRow(words.subject(moment.names, moment.record), "armed", "", "NONE")
    told = moment.record[words.A]
    return [cq, *([_channel_row(moment, told, "+1")] if told else [])]


def _channel_row(moment: words.Moment, number: int, step: str) -> ChangeRow:
    thing = Thing(Noun.CHANNEL, moment.record[words.NODE], number)
    return ChangeRow(moment.names.of(thing), "events", "", step)


def _cq_taken(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    return [_channel_row(moment, moment.record[words.A], "-1")]


def _read(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    cqe = words.cqe(moment.record[words.A])
    return [ChangeRow(words.subject(moment.names, moment.record), "current", "", cqe)]


def _resized(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    old, new = str(moment.record[words.A]), str(moment.record[words.B])
    return [ChangeRow(words.subject(moment.names, moment.record), "capacity", old, new)]


def _taken(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    event = words.SAYINGS["event"](moment, moment.record[words.A])
    who = words.subject(moment.names, moment.record)
    acked = moment.record[words.KIND] is Kind.ASYNC_ACKED
    before, after = ("taken", "acked") if acked else ("waiting", "taken")
    return [ChangeRow(moment.record[words.NODE], f"{event} of {who}", before, after)]


def _discarded(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    count = moment.record[words.A]
    return [ChangeRow(moment.record[words.NODE], "events", "", f"-{count}")]


def _ran(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    name, record = words.subject(moment.names, moment.record), moment.record
    return [ChangeRow(name, "line", "", str(record[words.A]))]


def _stands(moment: words.Moment, _latest: bool) -> list[ChangeRow]:
    """Who waits may be woken, or fail of what it waits for; anything else comes to who runs."""
    old, new = _PROGRAM_STATES[moment.record[words.KIND]]
    return [ChangeRow(words.subject(moment.names, moment.record), "state", old, new)]


_PROGRAM_STATES = {
    Kind.PROGRAM_WAITED: ("RUNNING", "WAITING"),
    Kind.PROGRAM_WOKEN: ("WAITING", "RUNNING"),
    Kind.PROGRAM_DONE: ("RUNNING", "DONE"),
    Kind.PROGRAM_FAILED: ("", "FAILED"),
}

_SAY: dict[Kind, Callable[[words.Moment, bool], list[ChangeRow]]] = {
    Kind.STATE_CHANGED: _state,
    Kind.ATTRIBUTES_SET: _attributes,
    Kind.REGION_OPENED: _opened,
    Kind.REGION_CLOSED: _closed,
    Kind.NEXT_WR_SET: _next_wr,
    Kind.WR_BUILT: _built,
    Kind.WR_FILLED: _built,
    Kind.BATCH_SPOILED: _spoiled,
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
    Kind.ASYNC_TAKEN: _taken,
    Kind.ASYNC_ACKED: _taken,
    Kind.EVENTS_DISCARDED: _discarded,
    Kind.CQ_ARMED: _cq_armed,
    Kind.CQ_EVENT_RAISED: _cq_woke,
    Kind.CQ_EVENT_TAKEN: _cq_taken,
    Kind.CQ_RESIZED: _resized,
    Kind.POLL_STARTED: _read,
    Kind.POLL_ADVANCED: _read,
    Kind.PORT_CHANGED: _port,
    Kind.LINK_LAYER_SET: _link_layer,
    Kind.MIGRATION_CHANGED: _migration,
    Kind.GID_SET: _gid,
    Kind.PKEY_SET: _pkey,
    **dict.fromkeys(_DEVICE, _device),
    Kind.WINDOW_BOUND: _window,
    Kind.WINDOW_INVALIDATED: _window,
    Kind.REGISTERED_ANEW: _reregistered,
    Kind.LINK_SET: _link,
    Kind.GROUP_JOINED: lambda moment, _latest: [_group(moment, "", "joined")],
    Kind.GROUP_LEFT: lambda moment, _latest: [_group(moment, "joined", "left")],
    Kind.SRQ_SET: _srq_set,
    Kind.SRQ_FAILED: _srq_failed,
    Kind.QP_SHARED: _shared,
    Kind.FAULT_SET: _fault,
    Kind.FAULT_CLEARED: _fault,
    Kind.PROGRAM_RAN: _ran,
    **dict.fromkeys(_PROGRAM_STATES, _stands),
    Kind.FAULT_STRUCK: _fault,
}

# --------------------------------------------------------------------------- what is counted
_Key = tuple[Thing, str]

# Field and step of the kinds that make a number larger or smaller.
_COUNTED: dict[Kind, Callable[[Record], tuple[str, int]]] = {
    Kind.SEND_POSTED: lambda _r: ("sq.used", 1),
    Kind.RECV_POSTED: lambda _r: ("rq.used", 1),
    Kind.SRQ_POSTED: lambda _r: ("used", 1),
    Kind.SRQ_FREED: lambda r: ("used", -r[words.A]),
    Kind.SLOTS_FREED: lambda r: (f"{r[words.A]}.used", -r[words.B]),
    Kind.QUEUE_DISCARDED: lambda r: (f"{r[words.A]}.used", -r[words.B]),
    Kind.CQE_ADDED: lambda _r: ("count", 1),
    Kind.CQE_POLLED: lambda _r: ("count", -1),
    Kind.CQ_EVENT_TAKEN: lambda _r: ("unacked", 1),
    Kind.CQ_EVENTS_ACKED: lambda r: ("unacked", -r[words.A]),
}
_NOW: dict[str, Callable[[Any], int]] = {
    "sq.used": lambda qp: qp.sq.posted - qp.sq.freed + len(qp.sq.early),
    "rq.used": lambda qp: qp.rq.posted - qp.rq.freed,
    "used": lambda srq: srq.posted - srq.freed,
    "count": lambda cq: len(cq.cqes),
    "unacked": lambda cq: cq.unacked,
}


def _steps(records: Iterable[Record]) -> "Counter[_Key]":
    steps: Counter[_Key] = Counter()
    for record in records:
        count, thing = _COUNTED.get(record[words.KIND]), None
        if count is not None and (thing := words.thing_of(record)) is not None:
            field, step = count(record)
            steps[thing, field] += step
    return steps


def _counted_rows(world: World, names: Names, records: Records, span: range) -> list[ChangeRow]:
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
    Kind.CALLED, Kind.REFUSED, Kind.RECV_TAKEN, Kind.PACKET_SENT, Kind.PACKET_RECEIVED,
    Kind.PACKET_DROPPED,
    Kind.PACKET_LOST, Kind.PACKET_HARMED, Kind.PACKET_MARKED, Kind.PACKET_DELAYED,
    Kind.PACKET_HELD, Kind.PACKET_RELEASED, Kind.PACKET_COPIED, Kind.PACKET_INJECTED,
    Kind.REQUEST_REFUSED, Kind.MEMORY_READ, Kind.CQ_OVERRUN, Kind.WINDOW_REFUSED,
    Kind.MEMORY_FLUSHED,
)  # fmt: skip
"""Kinds that tell what happened and change no field."""

CHANGES = (*_SAY, *_COUNTED)
