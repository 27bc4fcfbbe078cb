"""Queue pairs, their work queues and work requests as lines."""

from collections.abc import Sequence

from rdmalab.shell.styled_text import Fragment, Line, plain
from rdmalab.shell.tables import CURRENT, DIM, NAME, NUMBER, WARN, bar, style, table
from rdmalab.spec.access import Access
from rdmalab.spec.states import ATTRIBUTES, BRING_UP, ERROR_STATES, QPState
from rdmalab.spec.timers import INFINITE_RETRIES
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.spec.work import SendOps
from rdmalab.views import fmt
from rdmalab.views.columns import Meaning
from rdmalab.views.queues import QpRow, QueueRow
from rdmalab.views.states import DiagramRow, StateRow
from rdmalab.views.wqes import RegionRow

_BAD = style(Meaning.FAILED)


def qp_table(rows: Sequence[QpRow]) -> list[Line]:
    """Queue pairs, one line each."""
    return table([_qp_cells(row) for row in rows])


def _qp_cells(row: QpRow) -> list[Fragment]:
    peer = f" → {row.peer}" if row.peer else ""
    sends = TRANSPORTS[row.qp_type].sends
    return [
        (NAME, row.name),
        ("", f"{row.qp_type.name} {row.qp_num:#x}{peer}"),
        (_BAD if row.state in ERROR_STATES else CURRENT, f"[{row.state.name}]"),
        ("", slots("SQ", row.sq) if sends else ""),
        ("", receives(row, "") or (slots("RQ", row.rq) if row.rq.capacity else "")),
    ]


_CELLS = 8  # of a bar in a table


def slots(name: str, row: QueueRow) -> str:
    """`SQ ■▪□□□□□□ 2/8`."""
    return f"{name} {bar(row, _CELLS)} {row.used}/{row.capacity}"


def state_line(row: DiagramRow) -> Line:
    """`RESET─INIT─RTR─[RTS]  SQD ·sqe· ERR`."""
    line: Line = []
    for box in row.states:
        gap = "─" if box.state in BRING_UP else " " if box.state is not QPState.SQD else "  "
        line += [("", gap if line else ""), _box(box)]
    if row.taken is not None:
        line += [(DIM, f"   {row.taken.text} in ev {row.taken.event}")]
    return [fragment for fragment in line if fragment[1]]


def _box(box: StateRow) -> Fragment:
    bad = box.current and box.state in ERROR_STATES
    return _BAD if bad else CURRENT if box.current else "" if box.possible else DIM, box.text


def diagram(row: DiagramRow) -> list[Line]:
    """The state line and the legal next states."""
    nexts = [("", ", ".join(f"{state.to.name}" for state in row.nexts))]
    return [state_line(row), [(DIM, "legal next: "), *nexts]]


def qp_block(row: QpRow) -> list[Line]:
    """All lines about one queue pair; attributes that its type lacks are left out."""
    peer = f" → {row.peer} ({row.dest_qp_num:#x})" if row.peer else no_peer(row)
    parts = ("pd", "send_cq", "recv_cq", "srq", "xrcd")
    where = "  ".join(f"{part} {getattr(row, part)}" for part in parts if getattr(row, part))
    return [
        [(NAME, row.name), ("", f" {row.qp_type.name} {row.qp_num:#x}{peer}  {where}")],
        *send_lines(row),
        *receive_lines(row),
        *settings(row),
    ]


def settings(row: QpRow) -> list[Line]:
    """The attributes, PSNs and timers of a queue pair."""
    lines = [_psns(row), _timers(row), _settings(row), _paths(row)]
    return [plain(text) for text in lines if text] + _region(row) + _running(row)


def _psns(row: QpRow) -> str:
    """The PSNs; none for RAW_PACKET, no expected PSN for types without responses."""
    transport = TRANSPORTS[row.qp_type]
    if transport.service is None:
        return ""
    unacked = "none" if row.unacked_psn == row.sq_psn else row.unacked_psn
    sends = f"next WR {row.sq_psn}, next sent {row.next_psn}"
    parts = [sends] if transport.sends else []
    parts += [f"oldest unacked {unacked}"] if transport.sends and transport.acknowledged else []
    if transport.acknowledged:
        parts.append(f"expects {row.rq_psn}; msn {row.msn}")
    return "psn: " + ", ".join(parts)


def no_peer(row: QpRow) -> str:
    """The reason why no peer is named."""
    transport = TRANSPORTS[row.qp_type]
    if transport.connected:
        return ", no peer yet"
    return f", no peer: each {'frame' if transport.service is None else 'datagram'} says {_WHERE}"


_WHERE = "its destination"


def region_words(row: RegionRow) -> str:
    """`2 built, not posted; thread 1 holds the lock`."""
    lock = f"thread {row.thread} " + ("holds the lock" if row.locked else "holds no lock")
    error = f"; wr_complete will return {row.error}" if row.error else ""
    return f"{row.built} built, not posted; {lock}{error}"


def _region(row: QpRow) -> list[Line]:
    """The critical region of an extended queue pair, and its work requests."""
    if not row.region.extended:
        return []
    ops = fmt.flags(row.region.send_ops_flags, SendOps)
    lines: list[Line] = [plain(f"send_ops_flags={ops}")]
    if row.region.open:
        style = WARN if row.region.error else ""
        lines.append([(CURRENT, "wr_start … "), (style, region_words(row.region))])
    return lines


def _settings(row: QpRow) -> str:
    """The arguments of `modify_qp` and `create_qp` that this type uses."""
    given = {
        "path_mtu": row.path_mtu,
        "max_rd_atomic": row.max_rd_atomic,
        "max_dest_rd_atomic": row.max_dest_rd_atomic,
        "qkey": hex(row.qkey),
        "qp_access_flags": fmt.flags(row.qp_access_flags, Access),
    }
    parts = [f"{k}={v}" for k, v in given.items() if row.qp_type in ATTRIBUTES[k].types]
    groups = [f"groups={row.groups}"] if row.groups else []
    parts += [f"sq_sig_all={int(row.sq_sig_all)}"] if TRANSPORTS[row.qp_type].sends else []
    return " ".join([*parts, *groups])


def _paths(row: QpRow) -> str:
    """`path LID 2 → 4, alternate LID 3 → 5`, of a connected queue pair of an InfiniBand port."""
    if row.dlid is None:
        return ""
    other = f", alternate LID {row.alt_slid} → {row.alt_dlid}" if row.alt_dlid is not None else ""
    return f"path LID {row.slid} → {row.dlid}{other}; path_mig_state={row.path_mig_state.name}"


def _timers(row: QpRow) -> str:
    """The timeouts and retry counts that this type has."""
    wait = "no timeout" if row.timeout_ns is None else fmt.duration(row.timeout_ns)
    rnr = "unlimited" if row.rnr_retry == INFINITE_RETRIES else f"{row.rnr_retries_left} left"
    given = {
        "timeout": f"{row.timeout} ({wait})",
        "retry_cnt": f"{row.retry_cnt} ({row.retries_left} left)",
        "rnr_retry": f"{row.rnr_retry} ({rnr})",
        "min_rnr_timer": f"{row.min_rnr_timer} ({fmt.duration(row.min_rnr_timer_ns)})",
    }
    return " ".join(f"{k}={v}" for k, v in given.items() if row.qp_type in ATTRIBUTES[k].types)


def _running(row: QpRow) -> list[Line]:
    lines = []
    for name, timer in (("RNR", row.rnr_timer), ("ack", row.ack_timer)):
        if timer.at_ns is not None and timer.left_ns is not None:
            at, left = fmt.clock(timer.at_ns), fmt.duration(timer.left_ns)
            lines.append(plain(f"⏲ {name} timer fires at {at}, in {left}"))
    return lines


def receives(row: QpRow, many: str = "the SRQs of ") -> str:
    """The SRQs that receives come from; empty if from its own queue."""
    return f"RQ → {row.srq}" if row.srq else f"RQ → {many}{row.xrcd}" if row.xrcd else ""


def send_lines(row: QpRow) -> list[Line]:
    """The send queue; empty for a type that only receives."""
    if not TRANSPORTS[row.qp_type].sends:
        return []
    return [queue_line("SQ", row.sq)]


def receive_lines(row: QpRow) -> list[Line]:
    """The receive queue or the SRQ; empty for a type that only sends."""
    shared = receives(row)
    if shared:
        return [plain(shared)]
    return [queue_line("RQ", row.rq)] if TRANSPORTS[row.qp_type].receives else []


def queue_parts(row: QueueRow) -> list[str]:
    """`1 failed`, `1 done`, `1 in progress`, `full`: what is in the slots."""
    good = max(0, row.acked - row.failed)
    parts = [("failed", row.failed), ("done", good), ("in progress", row.on_wire)]
    words = [f"{count} {what}" for what, count in [*parts, ("waiting", row.waiting)] if count]
    return [*words, "full"] if row.capacity and not row.free else words


def queue_line(name: str, row: QueueRow) -> Line:
    """`SQ ✗■▶□□□□□ 3/8  1 failed, 1 done, 1 in progress`."""
    style = {"failed": _BAD, "full": WARN}
    fragments: Line = []
    for part in queue_parts(row):
        fragments += [("", ", " if fragments else "  "), (style.get(part.split()[-1], ""), part)]
    return [("", f"{name} {bar(row)} "), (NUMBER, f"{row.used}/{row.capacity}"), *fragments]


def queue(row: QueueRow) -> list[Line]:
    """One line with the counts of a work queue."""
    return [queue_line("  ", row)]
