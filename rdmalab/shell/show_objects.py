"""Lines for objects: queue pairs with their state line, queues, completions, memory, ports."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from rdmalab.shell.styled_text import Fragment, Line, plain
from rdmalab.shell.tables import (
    CURRENT,
    DIM,
    GOOD,
    NAME,
    NUMBER,
    WARN,
    bracketed,
    gauge,
    header,
    table,
)
from rdmalab.spec.access import Access
from rdmalab.spec.completions import Arm
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WCOpcode
from rdmalab.views import fmt
from rdmalab.views.completions import CqRow, WcRow
from rdmalab.views.memory import HexRow, MrRow, OwnedRow
from rdmalab.views.ports import DeviceRow, LinkRow, PortRow, TableRow, UseRow

# --------------------------------------------------------------------------- queue pairs


# --------------------------------------------------------------------------- completions
def cq_line(row: CqRow) -> list[Line]:
    """A completion queue."""
    return [
        [
            (NAME, row.name),
            ("", f"  CQ {gauge(row.count, row.capacity)} "),
            (NUMBER, f"{row.count}/{row.capacity}"),
            (DIM, f"  {row.total} so far"),
            (WARN, "  ! OVERRUN: no more CQEs are added" if row.dead else ""),
            *arm_line(row),
        ]
    ]


def arm_line(row: CqRow) -> Line:
    """`  ARMED any   channel: ch0`: its channel, if it is or was armed."""
    if row.armed is not Arm.NONE:
        found = [(CURRENT, f"  ARMED {row.armed.name.lower()}")]
    else:
        found = [(DIM, "  not armed")] if row.channel else []
    if row.channel:
        found.append(("", f"  channel: {row.channel.partition('.')[2]}"))
    if row.events or row.unacked:
        found.append((WARN, f"  {event_count(row)}"))
    return found


def event_count(row: CqRow) -> str:
    """`1 event, 2 unacked`."""
    many = "" if row.events == 1 else "s"
    parts = [f"{row.events} event{many}"] if row.events else []
    return ", ".join(parts + ([f"{row.unacked} unacked"] if row.unacked else []))


def wc_table(rows: Sequence[WcRow]) -> list[Line]:
    """Completions; what an error leaves undefined is a dash."""
    return table([header("  wr_id", "opcode", "status", "len", "qp", ""), *map(_wc, rows)], "<<<>")


def _wc(row: WcRow) -> list[Fragment]:
    undefined = row.undefined
    good = row.status == WCStatus.SUCCESS
    return [
        (NAME, f"  {row.wr_id}"),
        ("", "-" if "opcode" in undefined else fmt.member(row.opcode, WCOpcode)),
        (GOOD if good else WARN, ("" if good else "! ") + fmt.member(row.status, WCStatus)),
        (NUMBER, "-" if "byte_len" in undefined else str(row.byte_len)),
        ("", row.qp),
        ("", _more(row)),
    ]


def _more(row: WcRow) -> str:
    parts = [] if "imm_data" in row.undefined else [f"imm_data={row.imm_data:#x}"]
    if row.status != WCStatus.SUCCESS:
        parts.append(f"vendor_err={row.vendor_err:#x}")
    return " ".join(parts)


# --------------------------------------------------------------------------- memory, ports
def mr_table(rows: Sequence[MrRow]) -> list[Line]:
    """Memory regions."""
    cells: list[list[Fragment]] = [
        [
            (NAME, row.name),
            (NUMBER, f"{row.length} B"),
            ("", _addresses(row)),
            ("", f"lkey {row.lkey:#x} rkey {row.rkey:#x}"),
            (DIM, fmt.flags(row.access, Access)),
        ]
        for row in rows
    ]
    return table(cells, "<>")


def _addresses(row: MrRow) -> str:
    """`at 0x10000000`, and its iova if that differs."""
    called = "" if row.iova == row.addr else f" iova {row.iova:#x}"
    return f"at {row.addr:#x}{called}"


def hexdump(row: HexRow) -> list[Line]:
    """16 bytes, bytes that the event touched in `[ ]`."""
    cells, bar_, text = row.text.partition(" |")
    return [[*bracketed(cells), (DIM, bar_ + text)]]


def owner(row: OwnedRow) -> list[Line]:
    """One warning line: bytes of an MR that an outstanding work request uses."""
    return [plain(f"! {row.text}", WARN)]


def plain_table(rows: Sequence[Any]) -> list[Line]:
    """Objects without a drawing: the name, then `field value` for each field."""
    keys = [f.name for f in dataclasses.fields(rows[0]) if f.name not in ("name", "node")]
    return table([[(NAME, row.name), *(_field(row, key) for key in keys)] for row in rows])


def _field(row: object, key: str) -> Fragment:
    value = getattr(row, key)
    return "", f"{key} {hex(value) if key.endswith('key') else fmt.value(value)}"


def device(row: DeviceRow) -> list[Line]:
    """`A  open  profile strict  5 objects`."""
    state: Fragment = (GOOD, row.state) if row.state == "open" else (WARN, f"! {row.state}")
    rest = f"  profile {row.profile}  {row.objects} objects"
    return [[(NAME, row.node), ("", "  "), state, ("", rest)]]


def entries(rows: Sequence[TableRow]) -> list[Line]:
    """The tables of a port."""
    return table(
        [[(NAME, row.name), (NUMBER, str(row.index)), ("", row.value)] for row in rows], "<>"
    )


def uses(rows: Sequence[UseRow]) -> list[Line]:
    """How much of each limit is used."""
    cells = [
        [("", row.name), (NUMBER, str(row.used)), (DIM, "of"), (DIM, f"{row.limit:,}")]
        for row in rows
    ]
    return table(cells, "<><>")


def link(row: LinkRow) -> list[Line]:
    """The link and its faults."""
    up: Fragment = (GOOD, "UP") if row.up else (WARN, "! DOWN")
    speed = fmt.rate(row.rate_bps)
    rest = f"  {fmt.duration(row.latency_ns)} one way  {speed}  mtu {row.mtu}"
    lines: list[Line] = [[("", "link "), up, ("", rest)]]
    return lines + [plain(f"! fault {fault}", WARN) for fault in row.faults]


def port_table(rows: Sequence[PortRow]) -> list[Line]:
    """The ports of the nodes."""
    return table([_port(row) for row in rows])


def _port(row: PortRow) -> list[Fragment]:
    return [
        (NAME, row.node),
        (GOOD if row.state.name == "ACTIVE" else WARN, row.state.name),
        ("", row.gid),
        *_lids(row),
        ("", f"mtu {row.active_mtu}"),
        ("", f"profile {row.profile}"),
        (WARN if row.drops else DIM, f"{row.drops} dropped"),
        (WARN if row.async_events else DIM, f"{row.async_events} async events"),
        *_violations(row),
    ]


def _lids(row: PortRow) -> list[Fragment]:
    """The LIDs of an InfiniBand port."""
    return [("", f"{row.link_layer.text} lid {row.lid} lmc {row.lmc}")] if row.lid else []


def _violations(row: PortRow) -> list[Fragment]:
    """The counters that are not 0."""
    counts = (("P_Key", row.bad_pkey_cntr), ("Q_Key", row.qkey_viol_cntr))
    return [(WARN, f"{count} bad {key}") for key, count in counts if count]
