"""Lines for SRQs, memory windows, channels, programs, address handles."""

from collections.abc import Sequence

from rdmalab.shell.styled_text import Fragment, Line, shown
from rdmalab.shell.tables import CURRENT, DIM, NAME, NUMBER, WARN, bar, table
from rdmalab.spec.access import Access
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.srq import SrqType
from rdmalab.views import fmt
from rdmalab.views.addresses import AhRow
from rdmalab.views.events import ChannelRow
from rdmalab.views.flows import FlowRow
from rdmalab.views.programs import LineRow, ProgramRow
from rdmalab.views.queues import QueueRow
from rdmalab.views.srq import SharedRecvRow, SrqRow
from rdmalab.views.windows import MwRow, WindowState


# --------------------------------------------------------------------------- receive queues
def as_queue(row: SrqRow) -> QueueRow:
    """An SRQ as a work queue; a receive in use is taken until its completion."""
    return QueueRow(row.capacity, row.used, row.free, row.total, row.count, 0, row.used - row.count)


def srq_line(row: SrqRow, name: str, *, cells: int = 16) -> Line:
    """`SRQ ■▪▪□□□□□ 3/8  srq0  1 taken, 2 posted  limit 2 armed`."""
    kind = "" if row.srq_type is SrqType.BASIC else f"{row.srq_type.name} "
    said: Line = [("", f"  {row.used - row.count} taken")] if row.used > row.count else []
    said += [("", f"{',' if said else ' '} {row.count} posted")] if row.count else []
    return [
        ("", f"{kind}SRQ {bar(as_queue(row), cells)} "),
        (NUMBER, f"{row.used}/{row.capacity}"),
        *([(NAME, f"  {name}")] if name else []),
        (WARN, _trouble(row)),
        *said,
        (CURRENT, f"  limit {row.limit} armed" if row.armed else ""),
    ]


def _trouble(row: SrqRow) -> str:
    if row.error:
        return "  ! ERROR STATE: no receive is taken any more"
    return "" if row.count else "  ! EMPTY"


def srq_table(rows: Sequence[SrqRow]) -> list[Line]:
    """Shared receive queues, one line each."""
    return [_srq(row) for row in rows]


def _srq(row: SrqRow) -> Line:
    where = f"in {row.xrcd}" if row.xrcd else f"{fmt.count(row.users, 'QP')} on it"
    return [(NAME, f"{row.name}  "), *srq_line(row, ""), (DIM, f"  {row.srq_num:#x}, {where}")]


def taken_table(rows: Sequence[SharedRecvRow]) -> list[Line]:
    """The receives of a shared queue: which queue pair took which."""
    return table([_taken(row) for row in rows], "<<>")


def _taken(row: SharedRecvRow) -> list[Fragment]:
    how: Fragment = (NAME, f"taken by {row.qp}") if row.qp else ("", "waits")
    return [
        (NAME, fmt.wr(row.wr_id)),
        ("", "RECV"),
        (NUMBER, f"{row.length} B"),
        how,
        (DIM, "" if row.event is None else f"ev {row.event}"),
    ]


# --------------------------------------------------------------------------- windows
def mw_table(rows: Sequence[MwRow]) -> list[Line]:
    """Memory windows: range, rights and rkey of each."""
    return table([_window(row) for row in rows])


def _window(row: MwRow) -> list[Fragment]:
    bound = row.state is WindowState.BOUND
    return [
        (NAME, row.name),
        ("", row.type.name),
        (CURRENT if bound else DIM, row.state.name),
        ("", f"rkey {row.rkey:#x}"),
        ("", opened(row)),
        (DIM, fmt.flags(row.access, Access) if bound else ""),
        ("", f"for {row.qp}" if row.qp else ""),
    ]


def opened(row: MwRow) -> str:
    """`B.mr0[0:64]`; empty for an unbound window."""
    start = row.start or 0
    return f"{row.mr}[{start}:{start + row.length}]" if row.mr else ""


# --------------------------------------------------------------------------- channels, ways
def channel_table(rows: Sequence[ChannelRow]) -> list[Line]:
    """Completion channels: pending events, unacknowledged events, CQs."""
    return table([_channel(row) for row in rows])


def _channel(row: ChannelRow) -> list[Fragment]:
    waits = f"{row.events} event{' waits' if row.events == 1 else 's wait'}"
    return [
        (NAME, row.name),
        (WARN if row.events else DIM, waits),
        (WARN if row.unacked else DIM, f"{row.unacked} unacked"),
        ("", f"of {row.cqs}" if row.cqs else "no CQ uses it"),
    ]


# --------------------------------------------------------------------------- programs
def program_table(rows: Sequence[ProgramRow]) -> list[Line]:
    """Programs, one line each: current line, since when, error."""
    return [_program(row) for row in rows]


def _program(row: ProgramRow) -> Line:
    name, state = row.name, row.state.name
    return [(NAME, name), (_STANDS.get(row.state, ""), f" {state}"),
            ("", row.text.removeprefix(f"{name} {state}"))]  # fmt: skip


_STANDS = {
    ProgramState.WAITING: WARN,
    ProgramState.FAILED: WARN,
    ProgramState.RUNNING: CURRENT,
    ProgramState.SLEEPING: CURRENT,
}


def program_lines(rows: Sequence[LineRow]) -> list[Line]:
    """`> 3    get_cq_event A.ch0`: the lines of a program, with the next one marked."""
    return [
        [
            (CURRENT if row.comes else DIM, f"{'>' if row.comes else ' '} {row.number:>3}  "),
            (CURRENT if row.comes else "", shown(row.text)),
        ]
        for row in rows
    ]


def way(row: AhRow | FlowRow) -> str:
    """The destination of an address handle, or the match of a flow rule."""
    own = row.name.partition(".")[2]
    if isinstance(row, FlowRow):
        return f"{own} {row.fits or row.type.name} → {row.qp.partition('.')[2]}"
    return f"{own} → {row.dgid.removeprefix('::ffff:') if row.to in _MANY else row.to}"


_MANY = ("", "group")  # an address that is no single node's
