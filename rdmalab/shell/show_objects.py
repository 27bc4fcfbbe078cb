"""Lines for objects: queue pairs with their state line, queues, completions, memory, ports."""

from rdmalab.shell.styled_text import Fragment, Line, plain
from rdmalab.shell.tables import (
    DIM,
    GOOD,
    WARN,
    bracketed,
)
from rdmalab.views import fmt
from rdmalab.views.memory import HexRow
from rdmalab.views.ports import LinkRow


# --------------------------------------------------------------------------- memory, ports
def hexdump(row: HexRow) -> list[Line]:
    """16 bytes, bytes that the event touched in `[ ]`."""
    cells, bar_, text = row.text.partition(" |")
    return [[*bracketed(cells), (DIM, bar_ + text)]]


def link(row: LinkRow) -> list[Line]:
    """The link and its faults."""
    up: Fragment = (GOOD, "UP") if row.up else (WARN, "! DOWN")
    speed = fmt.rate(row.rate_bps)
    rest = f"  {fmt.duration(row.latency_ns)} one way  {speed}  mtu {row.mtu}"
    lines: list[Line] = [[("", "link "), up, ("", rest)]]
    return lines + [plain(f"! fault {fault}", WARN) for fault in row.faults]
