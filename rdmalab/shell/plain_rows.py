"""Rows as sentences, one fact each and no drawings, for screen readers."""

import dataclasses
import enum
from collections.abc import Callable
from typing import Any

from rdmalab.shell.show_objects import event_count
from rdmalab.shell.show_parts import opened
from rdmalab.shell.show_qp import region_words
from rdmalab.spec.access import Access
from rdmalab.spec.completions import Arm
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.views import fmt, record_text
from rdmalab.views.completions import CqRow
from rdmalab.views.counters import NAMES as COUNTERS
from rdmalab.views.counters import CountersRow
from rdmalab.views.ladder import PacketRow
from rdmalab.views.packets import DecodedRow
from rdmalab.views.ports import LinkRow
from rdmalab.views.queues import QpRow, QueueRow
from rdmalab.views.states import DiagramRow
from rdmalab.views.story import EventRow, StoryRow
from rdmalab.views.windows import MwRow, WindowState
from rdmalab.workbench.view_requests import JournalRow

_HEX = 16


def facts(row: object) -> list[str]:
    """The sentences for a row of any view."""
    say = _SAY.get(type(row))
    if say is not None:
        return say(row)
    if hasattr(row, "text"):
        return [str(row.text)]
    return [_listed(row)]


def _listed(row: object) -> str:
    """`A.mr0: addr 0x10000000, length 4096, …`."""
    if not dataclasses.is_dataclass(row):
        return " ".join(map(str, row)) if isinstance(row, tuple) else str(row)
    found = {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}
    name = found.pop("name", None) or found.pop("node", "")
    said = ", ".join(f"{key} {_value(value)}" for key, value in found.items())
    return f"{name}: {said}" if name else said


def _value(value: object) -> str:
    if isinstance(value, enum.IntFlag):
        return fmt.flags(value, type(value))
    if isinstance(value, enum.Enum):
        return value.name
    return fmt.number(value) if isinstance(value, int) else str(value)


def _qp(row: QpRow) -> list[str]:
    peer = f", its peer is {row.peer}" if row.peer else ""
    found = [f"{row.name} is {row.qp_type.name} {row.qp_num:#x} in {row.state.name}{peer}"]
    transport = TRANSPORTS[row.qp_type]
    if transport.sends:
        found.append(f"{row.name} send queue: {_queue(row.sq)}")
    if transport.receives:
        found.append(f"{row.name} {_receives(row)}")
    if row.region.open:
        found.append(f"{row.name} critical region: {region_words(row.region)}")
    for name, timer in (("RNR", row.rnr_timer), ("ack", row.ack_timer)):
        if timer.at_ns is not None:
            found.append(f"{row.name} {name} timer fires at {fmt.clock(timer.at_ns)}")
    return found


def _receives(row: QpRow) -> str:
    source = row.srq or (row.xrcd and f"the SRQs of {row.xrcd}")
    return f"uses the receives of {source}" if source else f"receive queue: {_queue(row.rq)}"


def _queue(row: QueueRow) -> str:
    parts = [("done", row.acked), ("in progress", row.on_wire), ("waiting", row.waiting)]
    said = "".join(f", {count} {what}" for what, count in parts if count)
    return f"{row.used} of {row.capacity} slots used{said}"


def _window(row: MwRow) -> list[str]:
    if row.state is WindowState.FREE:
        return [f"{row.name} is a window of {row.type.name}, bound to nothing, rkey {row.rkey:#x}"]
    owner = f" by {row.qp} alone" if row.qp else ""
    rights = fmt.flags(row.access, Access)
    return [f"{row.name} opens {opened(row)}{owner}: {rights}, rkey {row.rkey:#x}"]


def _cq(row: CqRow) -> list[str]:
    dead = ", overrun" if row.dead else ""
    found = [
        f"{row.name} holds {row.count} of {row.capacity} completions, {row.total} so far{dead}"
    ]
    if row.channel or row.armed is not Arm.NONE:
        told = f"notifies {row.channel}" if row.channel else "has no channel"
        found.append(f"{row.name} is armed for {record_text.ARMS[row.armed]} and {told}")
    if row.events or row.unacked:
        found.append(f"{row.name} has {event_count(row)}")
    return found


def _diagram(row: DiagramRow) -> list[str]:
    nexts = ", ".join(move.to.name for move in row.nexts)
    return [f"state {row.current.name}", f"legal next: {nexts}"]


def _event(row: EventRow) -> list[str]:
    at = fmt.clock(row.at_ns) if row.at_ns is not None else ""
    return [f"ev {row.event} {at} {row.text}"]


def _link(row: LinkRow) -> list[str]:
    up = "up" if row.up else "down"
    latency, rate = fmt.duration(row.latency_ns), fmt.rate(row.rate_bps)
    found = [f"the link is {up}, latency {latency}, rate {rate}, mtu {row.mtu}"]
    return found + [f"fault {fault}" for fault in row.faults]


def _decoded(row: DecodedRow) -> list[str]:
    starts = range(0, len(row.raw), _HEX)
    octets = [f"{start:03x} {row.raw[start : start + _HEX].hex(' ')}" for start in starts]
    return [row.text, *(layer.text for layer in row.layers), *octets]


_SAY: dict[type, Callable[[Any], list[str]]] = {
    QpRow: _qp,
    MwRow: _window,
    QueueRow: lambda row: [_queue(row)],
    CqRow: _cq,
    DiagramRow: _diagram,
    PacketRow: lambda row: [f"ev {row.event} {row.text}, {row.fate_text}"],
    EventRow: _event,
    StoryRow: lambda row: [f"{row.event}.{row.position} {fmt.clock(row.at_ns)} {row.text}"],
    JournalRow: lambda row: [f"ev {row.event} {fmt.clock(row.at_ns)} {row.text}"],
    CountersRow: lambda row: [f"{row.node} {name} {getattr(row, name)}" for name in COUNTERS],
    LinkRow: _link,
    DecodedRow: _decoded,
}
