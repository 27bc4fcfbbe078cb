"""What an event changed: object, field, the value before and after, as text."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rdmalab.command import Noun, Thing
from rdmalab.hca import extended
from rdmalab.hca.attributes import AhAttr
from rdmalab.hca.qp import QueuePair
from rdmalab.session.names import Names
from rdmalab.spec.access import Rereg
from rdmalab.spec.records import (
    Kind,
    Part,
    Record,
    address_of,
    arm_of,
    async_event_of,
    attr_mask_of,
    batch_error_of,
    channel_of,
    count_of,
    cqe_of,
    ending_of,
    expires_ns_of,
    fault_of,
    gid_entry_of,
    gid_of,
    kind_of,
    length_of,
    line_number_of,
    link_layer_of,
    new_mig_state_of,
    new_size_of,
    new_state_of,
    node_of,
    old_mig_state_of,
    old_size_of,
    old_state_of,
    pkey_of,
    port_state_of,
    psn_of,
    queue_of,
    reason_of,
    rereg_of,
    send_flags_of,
    send_wqe_of,
    send_wr_of,
    setting_of,
    setting_value_of,
    slots_of,
    srq_field_of,
    srq_value_of,
    status_of,
    table_index_of,
    wr_id_of,
)
from rdmalab.spec.states import MTU, QPState, fields_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt
from rdmalab.wire.packet import gid_text
from rdmalab.world.relations import exists
from rdmalab.world.trace import Records
from rdmalab.world.world import World

_SHOWN = 16  # bytes of a write that are spelled out


@dataclass(slots=True)
class ChangeRow:
    """One change; `old` is empty if the old value was not recorded."""

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
        say = _SAY.get(kind_of(record))
        if say is not None:
            rows += say(fmt.RecordContext(world, names, record), is_latest)
    return rows + _counted_rows(world, names, records, span)


# --------------------------------------------------------------------------- one record
def _state(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    record = moment.record
    old, new = (
        fmt.member(old_state_of(record), QPState),
        fmt.member(new_state_of(record), QPState),
    )
    return [ChangeRow(fmt.subject(moment.names, record), "state", old, new)]


def _attributes(moment: fmt.RecordContext, latest: bool) -> list[ChangeRow]:
    """The trace keeps only the names of the fields; the values are current, known for the last
    event.
    """
    record = moment.record
    name, thing = fmt.subject(moment.names, record), fmt.thing_of(record)
    known = latest and thing is not None and exists(moment.world, thing)
    attr = moment.world.find(thing, QueuePair).attr if known and thing is not None else None
    return [
        ChangeRow(name, field, "", _value(getattr(attr, field)) if attr is not None else "set")
        for field in fields_of(attr_mask_of(record))
        if field != "qp_state"
    ]


def _value(value: object) -> str:
    """As a person would write it: an address, bytes of an MTU, names of flags, a number."""
    if isinstance(value, AhAttr):
        return gid_text(value.dgid)
    if isinstance(value, MTU):
        return str(value.octets)
    return str(getattr(value, "name", None) or value)


def _opened(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    return [ChangeRow(fmt.subject(moment.names, moment.record), "region.open", "no", "yes")]


def _closed(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    record, name = moment.record, fmt.subject(moment.names, moment.record)
    if ending_of(record) == extended.UNOPENED:
        return []
    return [ChangeRow(name, "region.open", "yes", f"no, {fmt.ENDINGS[ending_of(record)]}")]


def _next_wr(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    record, name = moment.record, fmt.subject(moment.names, moment.record)
    flags = fmt.said(moment, send_flags_of)
    wr_id = fmt.number(wr_id_of(record))
    return [
        ChangeRow(name, "region.wr_id", "", wr_id),
        ChangeRow(name, "region.wr_flags", "", flags),
    ]


def _built(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    record, name = moment.record, fmt.subject(moment.names, moment.record)
    return [ChangeRow(name, "region", "", fmt.send_wr(send_wr_of(record)))]


def _spoiled(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    record, name = moment.record, fmt.subject(moment.names, moment.record)
    return [ChangeRow(name, "region.error", "", str(batch_error_of(record)))]


def _started(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    return [_wqe(moment, "POSTED", "ON_WIRE")]


def _completed(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    status = status_of(moment.record)
    good = status == WCStatus.SUCCESS
    return [_wqe(moment, "", "ACKED" if good else f"FAILED {fmt.member(status, WCStatus)}")]


def _wqe(moment: fmt.RecordContext, old: str, new: str) -> ChangeRow:
    record = moment.record
    name = fmt.subject(moment.names, record)
    return ChangeRow(name, f"wr[{send_wqe_of(record).wr.wr_id}].status", old, new)


def _armed(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    record = moment.record
    name = fmt.subject(moment.names, record)
    return [
        ChangeRow(name, f"{reason_of(record)}_timer.at_ns", "", fmt.clock(expires_ns_of(record)))
    ]


def _fired(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    record = moment.record
    name = fmt.subject(moment.names, record)
    return [ChangeRow(name, f"{reason_of(record)}_timer.armed", "on", "off")]


def _back(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    name = fmt.subject(moment.names, moment.record)
    return [ChangeRow(name, "next_psn", "", str(psn_of(moment.record)))]


def _written(moment: fmt.RecordContext, latest: bool) -> list[ChangeRow]:
    record, world = moment.record, moment.world
    node, addr, length = node_of(record), address_of(record), length_of(record)
    where = fmt.thing_at(world, moment.names, node, addr)
    if not latest:
        return [ChangeRow(where, "bytes", "", f"{length} written")]
    shown = world.nodes[node].memory.read(addr, min(length, _SHOWN)).hex(" ")
    return [ChangeRow(where, "bytes", "", shown + (f" … ({length} B)" if length > _SHOWN else ""))]


def _made(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    thing = fmt.thing_of(moment.record)
    name = moment.names.of(thing) if thing else node_of(moment.record)
    made = kind_of(moment.record) is Kind.CREATED
    return [ChangeRow(name, "exists", *(("no", "yes") if made else ("yes", "no")))]


def _raised(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    event = fmt.said(moment, async_event_of)
    who = fmt.subject(moment.names, moment.record)
    return [ChangeRow(node_of(moment.record), "async_events", "", f"{event} of {who}")]


def _group(moment: fmt.RecordContext, old: str, new: str) -> ChangeRow:
    name = fmt.subject(moment.names, moment.record)
    return ChangeRow(name, f"group[{gid_text(gid_of(moment.record))}]", old, new)


def _port(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    state = fmt.said(moment, port_state_of)
    return [ChangeRow(node_of(moment.record), "port.state", "", state)]


def _link_layer(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    layer = fmt.said(moment, link_layer_of)
    return [ChangeRow(node_of(moment.record), "port.link_layer", "", layer)]


def _migration(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    before, after = (fmt.said(moment, part) for part in (old_mig_state_of, new_mig_state_of))
    name = fmt.subject(moment.names, moment.record)
    return [ChangeRow(name, "path_mig_state", before, after)]


def _gid(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    return _entry(moment, "gids", gid_entry_of)


def _pkey(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    return _entry(moment, "pkeys", pkey_of)


def _entry(moment: fmt.RecordContext, table: str, entry_of: Part[int]) -> list[ChangeRow]:
    record, value = moment.record, fmt.said(moment, entry_of)
    return [ChangeRow(node_of(record), f"port.{table}[{table_index_of(record)}]", "", value)]


_DEVICE = {
    Kind.DEVICE_OPENED: "open", Kind.DEVICE_CLOSED: "closed", Kind.DEVICE_DIED: "dead",
}  # fmt: skip


def _device(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    state = _DEVICE[kind_of(moment.record)]
    return [ChangeRow(node_of(moment.record), "device.state", "", state)]


def _window(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    name = fmt.subject(moment.names, moment.record)
    bound = kind_of(moment.record) is Kind.WINDOW_BOUND
    return [ChangeRow(name, "state", *(("FREE", "BOUND") if bound else ("BOUND", "FREE")))]


def _reregistered(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    name = fmt.subject(moment.names, moment.record)
    named = [flag for flag in Rereg if flag & rereg_of(moment.record)]
    fields = [(flag.name or "").removeprefix("CHANGE_").lower() for flag in named]
    return [ChangeRow(name, field, "", "changed") for field in fields]


def _link(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    return [
        ChangeRow("", f"link.{setting_of(moment.record)}", "", fmt.said(moment, setting_value_of))
    ]


def _srq_set(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    record = moment.record
    field = "limit" if srq_field_of(record) == "srq_limit" else "capacity"
    return [ChangeRow(fmt.subject(moment.names, record), field, "", str(srq_value_of(record)))]


def _srq_failed(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    return [ChangeRow(fmt.subject(moment.names, moment.record), "error", "no", "yes")]


def _shared(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    name = fmt.subject(moment.names, moment.record)
    return [ChangeRow(name, "opened", "", str(count_of(moment.record)))]


def _fault(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    record = moment.record
    if kind_of(record) is Kind.FAULT_CLEARED:
        value = f"{count_of(record)} cleared"
    else:
        is_over = kind_of(record) is Kind.FAULT_TRIGGERED
        value = f"{fault_of(record)} is cleared" if is_over else f"set {fault_of(record)}"
    return [ChangeRow("", "link.faults", "", value)]


def _cq_armed(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    armed = arm_of(moment.record).name
    return [ChangeRow(fmt.subject(moment.names, moment.record), "armed", "", armed)]


def _cq_woke(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    """The arm is spent; the channel has one event more, if there is a channel."""
    cq = ChangeRow(fmt.subject(moment.names, moment.record), "armed", "", "NONE")
    told = channel_of(moment.record)
    return [cq, *([_channel_row(moment, told, "+1")] if told else [])]


def _channel_row(moment: fmt.RecordContext, number: int, step: str) -> ChangeRow:
    thing = Thing(Noun.CHANNEL, node_of(moment.record), number)
    return ChangeRow(moment.names.of(thing), "events", "", step)


def _cq_taken(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    return [_channel_row(moment, channel_of(moment.record), "-1")]


def _read(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    cqe = fmt.cqe(cqe_of(moment.record))
    return [ChangeRow(fmt.subject(moment.names, moment.record), "current", "", cqe)]


def _resized(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    old, new = str(old_size_of(moment.record)), str(new_size_of(moment.record))
    return [ChangeRow(fmt.subject(moment.names, moment.record), "capacity", old, new)]


def _taken(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    event = fmt.said(moment, async_event_of)
    who = fmt.subject(moment.names, moment.record)
    acked = kind_of(moment.record) is Kind.ASYNC_ACKED
    before, after = ("taken", "acked") if acked else ("waiting", "taken")
    return [ChangeRow(node_of(moment.record), f"{event} of {who}", before, after)]


def _discarded(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    count = count_of(moment.record)
    return [ChangeRow(node_of(moment.record), "events", "", f"-{count}")]


def _ran(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    name, record = fmt.subject(moment.names, moment.record), moment.record
    return [ChangeRow(name, "line", "", str(line_number_of(record)))]


def _stands(moment: fmt.RecordContext, _latest: bool) -> list[ChangeRow]:
    """Rows of a program that stopped waiting: it is resumed, failed, or runs on."""
    old, new = _PROGRAM_STATES[kind_of(moment.record)]
    return [ChangeRow(fmt.subject(moment.names, moment.record), "state", old, new)]


_PROGRAM_STATES = {
    Kind.PROGRAM_WAITED: ("RUNNING", "WAITING"),
    Kind.PROGRAM_WOKEN: ("WAITING", "RUNNING"),
    Kind.PROGRAM_DONE: ("RUNNING", "DONE"),
    Kind.PROGRAM_FAILED: ("", "FAILED"),
}

_SAY: dict[Kind, Callable[[fmt.RecordContext, bool], list[ChangeRow]]] = {
    Kind.STATE_CHANGED: _state,
    Kind.ATTRIBUTES_SET: _attributes,
    Kind.REGION_OPENED: _opened,
    Kind.REGION_CLOSED: _closed,
    Kind.NEXT_WR_SET: _next_wr,
    Kind.WR_BUILT: _built,
    Kind.WR_FILLED: _built,
    Kind.BATCH_FAILED: _spoiled,
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
    Kind.REREGISTERED: _reregistered,
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
    Kind.FAULT_TRIGGERED: _fault,
}

# --------------------------------------------------------------------------- what is counted
_Key = tuple[Thing, str]

# Field and step of the kinds that make a number larger or smaller.
_COUNTED: dict[Kind, Callable[[Record], tuple[str, int]]] = {
    Kind.SEND_POSTED: lambda _r: ("sq.used", 1),
    Kind.RECV_POSTED: lambda _r: ("rq.used", 1),
    Kind.SRQ_POSTED: lambda _r: ("used", 1),
    Kind.SRQ_FREED: lambda r: ("used", -count_of(r)),
    Kind.SLOTS_FREED: lambda r: (f"{queue_of(r)}.used", -slots_of(r)),
    Kind.QUEUE_DISCARDED: lambda r: (f"{queue_of(r)}.used", -slots_of(r)),
    Kind.CQE_ADDED: lambda _r: ("count", 1),
    Kind.CQE_POLLED: lambda _r: ("count", -1),
    Kind.CQ_EVENT_TAKEN: lambda _r: ("unacked", 1),
    Kind.CQ_EVENTS_ACKED: lambda r: ("unacked", -count_of(r)),
}
_NOW: dict[str, Callable[[Any], int]] = {
    "sq.used": lambda qp: qp.sq.occupied,
    "rq.used": lambda qp: qp.rq.used,
    "used": lambda srq: srq.used,
    "count": lambda cq: len(cq.cqes),
    "unacked": lambda cq: cq.unacked,
}


def _steps(records: Iterable[Record]) -> "Counter[_Key]":
    steps: Counter[_Key] = Counter()
    for record in records:
        count, thing = _COUNTED.get(kind_of(record)), None
        if count is not None and (thing := fmt.thing_of(record)) is not None:
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
        if exists(world, thing):
            after = _NOW[field](world.find(thing, object)) - later[key]
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
"""Kinds of record that change no field."""

CHANGES = (*_SAY, *_COUNTED)
