"""Changes by an event: object, field, the value before and after, as text."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.hca import extended
from rdmalab.hca.attributes import AhAttr
from rdmalab.hca.memory import PAGE
from rdmalab.hca.qp import QueuePair
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.access import Rereg
from rdmalab.spec.records import Kind, Part, Record, kind_of, node_of
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import MTU, fields_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt
from rdmalab.views.columns import Col, describe
from rdmalab.views.query_fields import OBJECTS, fields_of_row
from rdmalab.views.record_text import ENDINGS, RecordContext, part_text, subject, thing_of
from rdmalab.wire.packet import gid_text
from rdmalab.world.relations import exists
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


describe(ChangeRow, Col("text"))


def change_rows(world: World, names: Names, event: int | None = None) -> list[ChangeRow]:
    """Changes by an event, by default the last one, in the order of its records."""
    records = world.trace.records
    span = records.span(world.event if event is None else event)
    is_latest = span.stop == len(records)
    rows: list[ChangeRow] = []
    for record in records[span.start : span.stop]:
        moment, kind = RecordContext(world, names, record), kind_of(record)
        if (row := _ONE.get(kind)) is not None:
            texts = (text if isinstance(text, str) else text(moment) for text in row)
            # An event of any object waits at its node.
            of_node = rec.KINDS[kind].noun == "any"
            rows.append(ChangeRow(node_of(record) if of_node else _object(moment), *texts))
        elif (several := _SEVERAL.get(kind)) is not None:
            rows += several(moment, is_latest)
    return rows + [ChangeRow(*row) for row in counted_rows(world, names, span)]


# --------------------------------------------------------------------------- one row a record
Text = str | Callable[[RecordContext], str]
_Row = tuple[Text, Text, Text]
"""The field, the value before and after."""


def _of(part: Part[object]) -> Callable[[RecordContext], str]:
    return lambda moment: part_text(moment, part)


def _object(moment: RecordContext) -> str:
    return subject(moment.names, moment.record)


def _status_field(moment: RecordContext) -> str:
    return f"wr[{rec.send_wqe_of(moment.record).wr.wr_id}].status"


def _completion(moment: RecordContext) -> str:
    status = rec.status_of(moment.record)
    return "ACKED" if status == WCStatus.SUCCESS else f"FAILED {fmt.member(status, WCStatus)}"


def _group(moment: RecordContext) -> str:
    return f"group[{gid_text(rec.gid_of(moment.record))}]"


def _event(moment: RecordContext) -> str:
    return f"{part_text(moment, rec.async_event_of)} of {_object(moment)}"


# The kinds of records that change one value.
_ONE: dict[Kind, _Row] = {
    Kind.STATE_CHANGED: ("state", _of(rec.old_state_of), _of(rec.new_state_of)),
    Kind.MIGRATION_CHANGED: (
        "path_mig_state",
        _of(rec.old_mig_state_of),
        _of(rec.new_mig_state_of),
    ),
    Kind.REGION_OPENED: ("region.open", "no", "yes"),
    Kind.WR_BUILT: ("region", "", _of(rec.send_wr_of)),
    Kind.WR_FILLED: ("region", "", _of(rec.send_wr_of)),
    Kind.BATCH_FAILED: ("region.error", "", _of(rec.batch_error_of)),
    Kind.WQE_STARTED: (_status_field, "POSTED", "ON_WIRE"),
    Kind.WQE_COMPLETED: (_status_field, "", _completion),
    Kind.TIMER_ARMED: (
        lambda m: f"{rec.reason_of(m.record)}_timer.at_ns",
        "",
        _of(rec.expires_ns_of),
    ),
    Kind.TIMER_FIRED: (lambda m: f"{rec.reason_of(m.record)}_timer.armed", "on", "off"),
    Kind.WENT_BACK: ("next_psn", "", _of(rec.psn_of)),
    Kind.CQ_ARMED: ("armed", "", lambda m: rec.arm_of(m.record).name),
    Kind.CQ_RESIZED: ("capacity", _of(rec.old_size_of), _of(rec.new_size_of)),
    Kind.POLL_STARTED: ("current", "", _of(rec.cqe_of)),
    Kind.POLL_ADVANCED: ("current", "", _of(rec.cqe_of)),
    Kind.SRQ_SET: (
        lambda m: "limit" if rec.srq_field_of(m.record) == "srq_limit" else "capacity",
        "",
        _of(rec.srq_value_of),
    ),
    Kind.SRQ_FAILED: ("error", "no", "yes"),
    Kind.QP_SHARED: ("opened", "", _of(rec.count_of)),
    Kind.WINDOW_BOUND: ("state", "FREE", "BOUND"),
    Kind.WINDOW_INVALIDATED: ("state", "BOUND", "FREE"),
    Kind.GROUP_JOINED: (_group, "", "joined"),
    Kind.GROUP_LEFT: (_group, "joined", "left"),
    Kind.PROGRAM_RAN: ("line", "", _of(rec.line_number_of)),
    Kind.PROGRAM_WAITED: ("state", "RUNNING", "WAITING"),
    Kind.PROGRAM_WOKEN: ("state", "WAITING", "RUNNING"),
    Kind.PROGRAM_DONE: ("state", "RUNNING", "DONE"),
    Kind.PROGRAM_FAILED: ("state", "", "FAILED"),
    Kind.PORT_CHANGED: ("port.state", "", _of(rec.port_state_of)),
    Kind.LINK_LAYER_SET: ("port.link_layer", "", _of(rec.link_layer_of)),
    Kind.GID_SET: (
        lambda m: f"port.gids[{rec.table_index_of(m.record)}]",
        "",
        _of(rec.gid_entry_of),
    ),
    Kind.PKEY_SET: (lambda m: f"port.pkeys[{rec.table_index_of(m.record)}]", "", _of(rec.pkey_of)),
    Kind.DEVICE_OPENED: ("device.state", "", "open"),
    Kind.DEVICE_CLOSED: ("device.state", "", "closed"),
    Kind.DEVICE_DIED: ("device.state", "", "dead"),
    Kind.ASYNC_RAISED: ("async_events", "", _event),
    Kind.ASYNC_TAKEN: (_event, "waiting", "taken"),
    Kind.ASYNC_ACKED: (_event, "taken", "acked"),
    Kind.EVENTS_DISCARDED: ("events", "", lambda m: f"-{rec.count_of(m.record)}"),
    Kind.LINK_SET: (lambda m: f"link.{rec.setting_of(m.record)}", "", _of(rec.setting_value_of)),
    Kind.FAULT_SET: ("link.faults", "", lambda m: f"set {rec.fault_of(m.record)}"),
    Kind.FAULT_CLEARED: ("link.faults", "", lambda m: f"{rec.count_of(m.record)} cleared"),
    Kind.FAULT_TRIGGERED: ("link.faults", "", lambda m: f"{rec.fault_of(m.record)} is cleared"),
}


# --------------------------------------------------------------------------- several, or none
def _attributes(moment: RecordContext, latest: bool) -> list[ChangeRow]:
    """The trace keeps only the names of the fields; the values are current, known for the last
    event.
    """
    record = moment.record
    name, thing = _object(moment), thing_of(record)
    known = latest and thing is not None and exists(moment.world, thing)
    attr = moment.world.find(thing, QueuePair).attr if known and thing is not None else None
    return [
        ChangeRow(name, field, "", _value(getattr(attr, field)) if attr is not None else "set")
        for field in fields_of(rec.attr_mask_of(record))
        if field != "qp_state"
    ]


def _value(value: object) -> str:
    """As a person would write it: an address, bytes of an MTU, names of flags, a number."""
    if isinstance(value, AhAttr):
        return gid_text(value.dgid)
    if isinstance(value, MTU):
        return str(value.octets)
    return str(getattr(value, "name", None) or value)


def _closed(moment: RecordContext, _latest: bool) -> list[ChangeRow]:
    record, name = moment.record, _object(moment)
    if rec.ending_of(record) == extended.UNOPENED:
        return []
    return [ChangeRow(name, "region.open", "yes", f"no, {ENDINGS[rec.ending_of(record)]}")]


def _next_wr(moment: RecordContext, _latest: bool) -> list[ChangeRow]:
    record, name = moment.record, _object(moment)
    flags = part_text(moment, rec.send_flags_of)
    wr_id = fmt.number(rec.wr_id_of(record))
    return [
        ChangeRow(name, "region.wr_id", "", wr_id),
        ChangeRow(name, "region.wr_flags", "", flags),
    ]


def _written(moment: RecordContext, latest: bool) -> list[ChangeRow]:
    record, world = moment.record, moment.world
    node, addr, length = node_of(record), rec.address_of(record), rec.length_of(record)
    where = fmt.thing_at(world, moment.names, node, addr)
    if not latest:
        return [ChangeRow(where, "bytes", "", f"{length} written")]
    shown = world.nodes[node].memory.read(addr, min(length, _SHOWN)).hex(" ")
    return [ChangeRow(where, "bytes", "", shown + (f" … ({length} B)" if length > _SHOWN else ""))]


def _made(moment: RecordContext, _latest: bool) -> list[ChangeRow]:
    thing = thing_of(moment.record)
    name = moment.names.of(thing) if thing else node_of(moment.record)
    made = kind_of(moment.record) is Kind.CREATED
    return [ChangeRow(name, "exists", *(("no", "yes") if made else ("yes", "no")))]


def _reregistered(moment: RecordContext, _latest: bool) -> list[ChangeRow]:
    name = _object(moment)
    named = [flag for flag in Rereg if flag & rec.rereg_of(moment.record)]
    fields = [(flag.name or "").removeprefix("CHANGE_").lower() for flag in named]
    return [ChangeRow(name, field, "", "changed") for field in fields]


def _cq_woke(moment: RecordContext, _latest: bool) -> list[ChangeRow]:
    """The arm is spent; the channel has one event more, if there is a channel."""
    cq = ChangeRow(_object(moment), "armed", "", "NONE")
    comp_channel = rec.channel_of(moment.record)
    return [cq, *([_channel_row(moment, comp_channel, "+1")] if comp_channel else [])]


def _channel_row(moment: RecordContext, number: int, step: str) -> ChangeRow:
    thing = Thing(Noun.CHANNEL, node_of(moment.record), number)
    return ChangeRow(moment.names.of(thing), "events", "", step)


def _cq_taken(moment: RecordContext, _latest: bool) -> list[ChangeRow]:
    return [_channel_row(moment, rec.channel_of(moment.record), "-1")]


_SEVERAL: dict[Kind, Callable[[RecordContext, bool], list[ChangeRow]]] = {
    Kind.ATTRIBUTES_SET: _attributes,
    Kind.REGION_CLOSED: _closed,
    Kind.NEXT_WR_SET: _next_wr,
    Kind.MEMORY_WRITTEN: _written,
    Kind.HOST_WROTE: _written,
    Kind.CREATED: _made,
    Kind.DESTROYED: _made,
    Kind.REREGISTERED: _reregistered,
    Kind.CQ_EVENT_RAISED: _cq_woke,
    Kind.CQ_EVENT_TAKEN: _cq_taken,
}


NOT_CHANGES = (
    Kind.CALLED, Kind.REFUSED, Kind.RECV_TAKEN, Kind.PACKET_SENT, Kind.PACKET_RECEIVED,
    Kind.PACKET_DROPPED,
    Kind.PACKET_LOST, Kind.PACKET_HARMED, Kind.PACKET_MARKED, Kind.PACKET_DELAYED,
    Kind.PACKET_HELD, Kind.PACKET_RELEASED, Kind.PACKET_COPIED, Kind.PACKET_INJECTED,
    Kind.REQUEST_REFUSED, Kind.MEMORY_READ, Kind.CQ_OVERRUN, Kind.WINDOW_REFUSED,
    Kind.MEMORY_FLUSHED,
)  # fmt: skip
"""Kinds of record that change no field."""

_MOMENT_SHOWN = 8  # bytes of a difference that are spelled out
_NOT_YET, _GONE, _THERE = "(does not exist)", "(gone)", "exists"


class Facts(NamedTuple):
    """All values of a moment. fields: by path; pages: by node and number."""

    fields: dict[str, str]
    pages: dict[tuple[str, int], bytes]


def facts(world: World, names: Names) -> Facts:
    """All values of all objects."""
    fields = {"now": fmt.exact(world.now_ns)}
    for name in names.all():
        thing = names.find(name)
        sight = OBJECTS.get(thing.noun) if thing is not None else None
        if thing is not None and sight is not None and exists(world, thing):
            row = sight.row_of(world, names, thing)
            fields.update(
                (f"{name}.{path}", _moment_text(value)) for path, value in fields_of_row(row)
            )
    pages = {
        (node, number): bytes(page)
        for node, hca in world.nodes.items()
        for number, page in hca.memory.pages.items()
    }
    return Facts(fields, pages)


def _moment_text(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(_moment_text, value)) or "none"
    if dataclasses.is_dataclass(value):
        return str(getattr(value, "text", value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value in (None, "") else str(getattr(value, "name", None) or value)


def difference_rows(world: World, names: Names, before: Facts, after: Facts) -> list[ChangeRow]:
    """The differences, field by field; an object of only one moment gets one row."""
    rows = []
    sides = _by_object(before), _by_object(after)
    for name in {**sides[0], **sides[1]}:
        old, new = (side.get(name) for side in sides)
        if old is None or new is None:
            was = _NOT_YET if old is None else old.get(f"{name}.state", _THERE)
            now = _GONE if new is None else new.get(f"{name}.state", _THERE)
            rows.append(ChangeRow("", name, was, now))
            continue
        for path in {**old, **new}:
            values = old.get(path, _NOT_YET), new.get(path, _GONE)
            if values[0] != values[1]:
                rows.append(ChangeRow("", path, *values))
    return rows + list(_bytes(world, names, before, after))


def _by_object(facts: Facts) -> dict[str, dict[str, str]]:
    """The fields by object: `A.qp0`; the time has none."""
    found: dict[str, dict[str, str]] = {}
    for path, value in facts.fields.items():
        found.setdefault(".".join(path.split(".")[:2]), {})[path] = value
    return found


_FOLLOWS = ("now", "free", "left_ns")  # fields that follow from another field or from the time


def further_rows(rows: Sequence[ChangeRow], before: Facts, after: Facts) -> Iterator[ChangeRow]:
    """The fields of objects of both moments that differ and that `rows` do not name."""
    named = {f"{row.name}.{row.field}" for row in rows}
    for path, new in after.fields.items():
        old = before.fields.get(path)
        follows = path.rpartition(".")[2] in _FOLLOWS
        if old not in (None, new) and path not in named and not follows:
            yield ChangeRow("", path, str(old), new)


def _bytes(world: World, names: Names, before: Facts, after: Facts) -> Iterator[ChangeRow]:
    empty = bytes(PAGE)
    for key in sorted({*before.pages, *after.pages}):
        node, number = key
        old, new = before.pages.get(key, empty), after.pages.get(key, empty)
        for start, stop in _runs(old, new):
            where = fmt.thing_at(world, names, node, number * PAGE + start)
            was, now = _hex(old[start:stop]), _hex(new[start:stop])
            yield ChangeRow(where, f"{stop - start} bytes", was, now)


def _runs(old: bytes, new: bytes) -> Iterator[tuple[int, int]]:
    """Ranges in which two pages differ; a gap of a few equal bytes does not part a difference."""
    unlike = [n for n in range(PAGE) if old[n] != new[n]] if old != new else []
    start = last = None
    for n in unlike:
        if last is None or n > last + _MOMENT_SHOWN:
            if start is not None and last is not None:
                yield start, last + 1
            start = n
        last = n
    if start is not None and last is not None:
        yield start, last + 1


def _hex(octets: bytes) -> str:
    return octets[:_MOMENT_SHOWN].hex(" ") + (" …" if len(octets) > _MOMENT_SHOWN else "")


_Key = tuple[Thing, str]


CountedRow = tuple[str, str, str, str]


# Field and step of the kinds that make a number larger or smaller.
COUNTED: dict[Kind, Callable[[Record], tuple[str, int]]] = {
    Kind.SEND_POSTED: lambda _r: ("sq.used", 1),
    Kind.RECV_POSTED: lambda _r: ("rq.used", 1),
    Kind.SRQ_POSTED: lambda _r: ("used", 1),
    Kind.SRQ_FREED: lambda r: ("used", -rec.freed_of(r)),
    Kind.SLOTS_FREED: lambda r: (f"{rec.queue_of(r)}.used", -rec.slots_of(r)),
    Kind.QUEUE_DISCARDED: lambda r: (f"{rec.queue_of(r)}.used", -rec.requests_of(r)),
    Kind.CQE_ADDED: lambda _r: ("count", 1),
    Kind.CQE_POLLED: lambda _r: ("count", -1),
    Kind.CQ_EVENT_TAKEN: lambda _r: ("unacked", 1),
    Kind.CQ_EVENTS_ACKED: lambda r: ("unacked", -rec.count_of(r)),
}
CHANGES = (*_ONE, *_SEVERAL, *COUNTED)


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
        count, thing = COUNTED.get(kind_of(record)), None
        if count is not None and (thing := thing_of(record)) is not None:
            field, step = count(record)
            steps[thing, field] += step
    return steps


def counted_rows(world: World, names: Names, span: range) -> Iterator[CountedRow]:
    """Numbers before and after: those of now, less what later events added."""
    records = world.trace.records
    steps = _steps(records[span.start : span.stop])
    later = _steps(records[span.stop :]) if steps else Counter[_Key]()
    for key, step in steps.items():
        thing, field = key
        if exists(world, thing):
            after = _NOW[field](world.find(thing, object)) - later[key]
            old, new = str(after - step), str(after)
        else:
            old, new = "", f"{step:+}"
        if step:
            yield names.of(thing), field, old, new
