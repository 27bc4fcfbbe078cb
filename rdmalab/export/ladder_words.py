"""The words of the ladder: what a packet is, what became of it, times that fit a column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdmalab.render.meanings import APPEARANCES
from rdmalab.spec.records import Kind
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.timers import RNR_NS
from rdmalab.views import fmt
from rdmalab.views.columns import Meaning
from rdmalab.views.fates import Fate
from rdmalab.views.ladder import PacketRow
from rdmalab.views.planned import PlannedKind
from rdmalab.views.transit_effects import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdmalab.views.ladder import MarkerRow
    from rdmalab.views.planned import PlannedRow

_FLUSHED = WCStatus.WR_FLUSH_ERR.name
_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"))
TIME, SINCE = 10, 9
"""Columns of a moment and of a difference."""


def moment(at_ns: int) -> str:
    """`2.315 us`, `67.1123 ms`, `59.35351 s`: as many digits as TIME columns have room for.

    Packets of one message leave 100 ns apart, also after a wait of seconds.
    """
    size, unit = next((row for row in _UNITS if at_ns >= row[0]), _UNITS[-1])
    texts = (f"{at_ns / size:.{places}f} {unit}" for places in range(len(str(size)) - 1, 0, -1))
    return next((text for text in texts if len(text) <= TIME), f"{at_ns / size:.0f} {unit}")


def since(wait_ns: int) -> str:
    """`+1.010 us`, `+7 ns`, `+640.0 us`: four digits, at most SINCE columns."""
    for size, unit in _UNITS:
        if wait_ns >= size:
            digits = len(str(wait_ns // size))
            return f"+{wait_ns / size:.{max(0, 4 - digits)}f} {unit}"
    return f"+{wait_ns} ns"


def meaning(row: PacketRow) -> Meaning:
    """Meaning of a packet by its kind and its fate, which gives it colour and sign."""
    if row.fate is Fate.LOST:
        return Meaning.LOST
    if row.syndrome is Syndrome.RNR_NAK or row.fate in (Fate.REFUSED, Fate.DROPPED):
        return Meaning.REFUSED
    if row.syndrome not in (None, Syndrome.ACK):
        return Meaning.FAILED
    return Meaning.OK if row.opcode == "ACKNOWLEDGE" else Meaning.UNDER_WAY


def again(row: PacketRow) -> list[str]:
    """`2nd of psn=0, first at ev 16`, the longest form first; empty for the first time."""
    if row.sent_times is None:
        return [f"psn={row.psn} is sent again", "sent again", "again"]
    if row.first_event is None:
        return []
    count, first = fmt.nth(row.sent_times), f"ev {row.first_event}"
    return [f"{count} of psn={row.psn}, first at {first}", f"{count}, first at {first}",
            f"{count}, {first}"]  # fmt: skip


def facts(row: PacketRow, room: int) -> list[str]:
    """Facts that the label does not have, the most important first."""
    resent = next((text for text in again(row) if len(text) <= room), "")
    found = [resent, *row.troubles]
    found += [] if row.timer is None or row.failed else [f"wait {fmt.duration(RNR_NS[row.timer])}"]
    found += [f"{row.length} B"] if row.length and row.psn is not None else []
    found += [row.remark, "ack_req" if row.ack_req else ""]
    found += [] if row.dlid is None else [f"dlid={row.dlid}"]
    return [text for text in found if text]


def label(row: PacketRow) -> str:
    """`SEND_ONLY psn=0`, `✗ NAK_REMOTE_ACCESS psn=1`, `copied SEND_ONLY psn=0`."""
    origin = "" if row.origin is Origin.SENT else f"{row.origin.name.lower()} "
    answers = row.syndrome is not None and row.opcode == "ACKNOWLEDGE"
    appearance = APPEARANCES[answer_meaning(row)] if answers else APPEARANCES[Meaning.PLAIN]
    sign = f"{appearance.sign} " if appearance.sign else ""
    return f"{sign}{origin}{row.short}"


_SHORTER = (
    ("RDMA_", ""), ("_WITH_IMMEDIATE", "_IMM"), ("_WITH_INVALIDATE", "_INV"),
    ("READ_RESPONSE", "RESP"), ("READ_REQUEST", "READ_REQ"), ("ACKNOWLEDGE", "ACK"),
    ("REMOTE_", "REM_"), ("OPERATION", "OP"), ("INVALID_", "INV_"), ("REQUEST", "REQ"),
    ("SEQUENCE", "SEQ"),
)  # fmt: skip


def short_opcode(name: str) -> str:
    """`RESP_MIDDLE`, `NAK_REM_OP`: the name of a packet in as few letters as tell it apart."""
    for long, short in _SHORTER:
        name = name.replace(long, short)
    return name


def least_label(row: PacketRow) -> str:
    """The shortest text by which a packet is known: opcode, PSN, and how often it was sent."""
    name = row.label
    short = label(row).replace(name, short_opcode(name))
    if not again(row):
        return short
    count = "again" if row.sent_times is None else fmt.nth(row.sent_times)
    return f"{short} ({count})"


def labels(row: PacketRow) -> list[str]:
    """The label, the longest form first."""
    whole = label(row)
    return [whole, whole.replace("RDMA_", ""), row.label, row.label.replace("RDMA_", "")]


def flat_labels(row: PacketRow) -> list[str]:
    """The label with what has no other place if a packet has one row; the longest form first.

    A shorter name of the opcode goes before the PSN, by which an answer is matched to its request.
    """
    plain = label(row)
    least = [least_label(row), least_label(row).partition(" (")[0], short_opcode(row.label)]
    size = f" {row.length} B" if row.length and row.psn is not None else ""
    if resent := again(row)[1:]:
        forms = [f"{plain}{size} ({resent[0]})", *(f"{plain} ({each})" for each in resent)]
        count = resent[1].partition(",")[0]
        brief = [f"{form} ({each})" for form in labels(row)[:2] for each in (resent[1], count)]
        return [*forms, *brief, least[0], *labels(row)[:2], *least[1:]]
    more = "".join(f" {each}" for each in row.troubles)
    asks = " ack_req" if row.ack_req else ""
    where = f" {row.remark}" if row.remark else ""
    where += f" dlid={row.dlid}" if row.dlid is not None else ""
    whole = [plain + size + more + where + asks, plain + size + more + where, plain + size + where]
    named = [plain + where, plain + size + more, plain + size, *labels(row)[:2]]
    return [*whole, *named, *least]


def answer_meaning(row: PacketRow) -> Meaning:
    """Meaning of an ACK or a NAK, whatever its fate."""
    if row.syndrome is Syndrome.ACK:
        return Meaning.OK
    return Meaning.REFUSED if row.syndrome is Syndrome.RNR_NAK else Meaning.FAILED


def reason(row: PacketRow, *, brief: bool = False) -> str:
    """`! B.qp0 refused: rkey 0xdead is the key of no MR …`; empty if nothing is wrong.

    brief: without the queue pair, whose name stands above.
    """
    if row.fate in (Fate.RECEIVED, Fate.IN_FLIGHT):
        return ""
    sign = APPEARANCES[Meaning.LOST if row.fate is Fate.LOST else Meaning.REFUSED].sign
    who = "" if brief or row.fate is Fate.LOST else f"{row.by} "
    return f"{sign} {who}{row.fate.name.lower()}: {row.why}"


def outcome(row: PacketRow | MarkerRow) -> tuple[list[str], Meaning]:
    """`wr1 RECV`, `wr7 REM_ACCESS_ERR, wr8 WR_FLUSH_ERR`, `wr7 REM_ACCESS_ERR, 1 flushed`.

    What its arrival completed, the longest form first; no form if it completed nothing.
    """
    if not row.failed:
        done = row.completed if isinstance(row, PacketRow) else []
        found = [text.removesuffix(" SUCCESS") for text in done]
        return [", ".join(found)] if found else [], Meaning.OK
    causes = [text for text in row.failed if not text.endswith(_FLUSHED)]
    flushed = len(row.failed) - len(causes)
    brief = [*causes, f"{flushed} flushed"] if flushed else causes
    return [", ".join(row.failed), ", ".join(brief)], Meaning.FAILED


def timer(row: MarkerRow, *, resent: bool) -> list[str]:
    """Texts of a timer: its cause, when it fires, and what follows; the longest form first.

    resent: when it fired, the queue pair went back.
    """
    name = "ack" if row.reason == "ack" else "RNR"
    psn = "a packet" if row.psn is None else f"psn={row.psn}"
    if row.kind is Kind.TIMER_ARMED:
        until = moment(row.fires_ns or 0)
        plain = [f"◷ {name} timer until {until}", f"◷ {name} until {until}"]
        if row.psn is None:
            return plain
        again = f"◷ {name} timer until {until}, then {psn} is sent again"
        return [again, f"◷ {psn} waits ({name}) until {until}", *plain]
    if row.kind is Kind.TIMER_FIRED:
        then = f": {psn} is sent again" if resent else ""
        answer = f", {psn} has no answer" if name == "ack" and row.psn is not None else ""
        brief = f": resends {psn}" if resent else ""
        found = dict.fromkeys((f"{answer}{then}", then, brief, ""))
        return [f"◷ {name} timer fires{each}" for each in found]
    return [f"↺ {row.sentence}", f"↺ back to {psn}"]


_SIGNS = {PlannedKind.ACK_TIMER: "◷", PlannedKind.RNR_TIMER: "◷", PlannedKind.ACCIDENT: "!"}


def planned(row: PlannedRow) -> list[str]:
    """Texts of a scheduled action, the longest form first."""
    sign = _SIGNS.get(row.plan, "·")
    head, comma, _ = row.sentence.partition(", ")
    return [f"{sign} {row.sentence}", f"{sign} {head}"] if comma else [f"{sign} {row.sentence}"]


def spread(parts: list[str], room: int, between: str = "  ") -> Iterator[str]:
    """As many of the parts as have room, in their order."""
    for part in parts:
        if len(part) <= room:
            room -= len(part) + len(between)
            yield part
