"""Rows as sentences, one fact each and no drawings, for screen readers."""

from collections.abc import Callable, Sequence
from typing import Any

from rdmalab.shell.show_qp import queue_parts, region_words, settings
from rdmalab.shell.styled_text import text_of
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.views import fmt
from rdmalab.views.columns import COLUMNS, fact
from rdmalab.views.counters import NAMES as COUNTERS
from rdmalab.views.counters import CountersRow
from rdmalab.views.memory import HexRow
from rdmalab.views.packets import DecodedRow
from rdmalab.views.ports import LinkRow
from rdmalab.views.queues import QpRow, QueueRow
from rdmalab.views.states import DiagramRow

_HEX = 16


def facts(row: object) -> list[str]:
    """The sentences for a row of any view."""
    if (say := _SAY.get(type(row))) is not None:
        return say(row)
    return [fact(row) if type(row) in COLUMNS else str(getattr(row, "text", row))]


def _qp(row: QpRow) -> list[str]:
    peer = f", its peer is {row.peer} ({row.dest_qp_num:#x})" if row.peer else ""
    parts = ("pd", "send_cq", "recv_cq", "srq", "xrcd")
    where = ", ".join(f"{part} {getattr(row, part)}" for part in parts if getattr(row, part))
    found = [
        f"{row.name} is {row.qp_type.name} {row.qp_num:#x} in {row.state.name}{peer}",
        f"{row.name} uses {where}",
    ]
    transport = TRANSPORTS[row.qp_type]
    if transport.sends:
        found.append(_queue(row.sq))
    if transport.receives:
        found.append(_receives(row))
    if row.region.open:
        found.append(f"{row.name} critical region: {region_words(row.region)}")
    return found + [f"{row.name} {text_of(line).strip()}" for line in settings(row)]


def _receives(row: QpRow) -> str:
    source = row.srq or (row.xrcd and f"the SRQs of {row.xrcd}")
    if source:
        return f"{row.name} uses the receives of {source}"
    return _queue(row.rq)


def _queue(row: QueueRow) -> str:
    return ", ".join([f"{row.name}: {row.used} of {row.capacity} slots used", *queue_parts(row)])


def _diagram(row: DiagramRow) -> list[str]:
    nexts = ", ".join(move.to.name for move in row.nexts)
    never = ", ".join(box.state.name for box in row.states if not box.possible)
    taken = [f"last move {row.taken.text}"] if row.taken is not None else []
    cannot = [f"states that the type {row.qp_type.name} never has: {never}"] if never else []
    return [f"state {row.current.name}", *taken, f"legal next: {nexts}", *cannot]


def _link(row: LinkRow) -> list[str]:
    up = "up" if row.up else "down"
    latency, rate = fmt.duration(row.latency_ns), fmt.rate(row.rate_bps)
    found = [f"the link is {up}, latency {latency}, rate {rate}, mtu {row.mtu}"]
    return found + [f"fault {fault}" for fault in row.faults]


def _decoded(row: DecodedRow) -> list[str]:
    starts = range(0, len(row.raw), _HEX)
    octets = [f"{start:03x} {row.raw[start : start + _HEX].hex(' ')}" for start in starts]
    return [row.text, *(layer.text for layer in row.layers), *octets]


def _octets(row: HexRow) -> list[str]:
    text = row.ascii.strip(".")
    said = [f"+{row.offset:03x} " + (row.octets.hex(" ") if any(row.octets) else "zeros")]
    said += [f"text {text}"] if text else []
    touched = (("read", row.read), ("written", row.written))
    said += [f"{what} +{_ranges(row.offset, at)}" for what, at in touched if at]
    return [", ".join(said)]


def _ranges(offset: int, columns: Sequence[int]) -> str:
    first, last = offset + min(columns), offset + max(columns)
    return f"{first:03x}" if first == last else f"{first:03x} to +{last:03x}"


_SAY: dict[type, Callable[[Any], list[str]]] = {
    QpRow: _qp,
    QueueRow: lambda row: [_queue(row)],
    DiagramRow: _diagram,
    CountersRow: lambda row: [f"{row.node} {name} {getattr(row, name)}" for name in COUNTERS],
    HexRow: _octets,
    LinkRow: _link,
    DecodedRow: _decoded,
}
