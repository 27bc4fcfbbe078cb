"""Draw the QP state machine: current state, last transition, unreachable states.

The current state has a double border (or brackets), what a QP of this type can never enter is
dotted, and the arrow of the last transition is heavy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdmalab.shell.tables import CURRENT, DIM, EVENT
from rdmalab.spec.states import BRING_UP, BRING_UP_MOVES, QPState

if TYPE_CHECKING:
    from rdmalab.shell.styled_text import Fragment, Line
    from rdmalab.views.states import DiagramRow, StateRow

_TOP = (*BRING_UP, QPState.SQD)
_BELOW = (QPState.ERR, QPState.SQE)
BOXES_WIDTH, BOXES_HEIGHT = 36, 6


def one_line(row: DiagramRow, event: int) -> Line:
    """`RESET─INIT─RTR▶[RTS]  SQD ·sqe· ERR`: `▶` where the last event went."""
    line: Line = []
    for box in row.states:
        if box.state in BRING_UP[1:]:
            line.append(_link(row, box, event))
        elif line:
            line.append(("", "  " if box.state is QPState.SQD else " "))
        style = CURRENT if box.current else "" if box.possible else DIM
        line.append((style, box.text))
    if _is_new(row, event) and _jumped(row):
        line.append((EVENT, f" {row.taken.text}" if row.taken else ""))
    return line


def _is_new(row: DiagramRow, event: int) -> bool:
    return row.taken is not None and row.taken.event == event


def _jumped(row: DiagramRow) -> bool:
    """Raised if a transition is not on the line of states."""
    assert row.taken is not None
    return (row.taken.before, row.taken.after) not in BRING_UP_MOVES


def _link(row: DiagramRow, box: StateRow, event: int) -> Fragment:
    before = BRING_UP[BRING_UP.index(box.state) - 1]
    taken = row.taken
    if taken is not None and (taken.before, taken.after) == (before, box.state):
        return (EVENT if _is_new(row, event) else "", "▶")
    return ("", "─")


# --------------------------------------------------------------------------- boxes
def boxes(row: DiagramRow, width: int, event: int) -> list[Line]:
    """Six lines of boxes, in the given width."""
    states = {box.state: box for box in row.states}
    gap = 3 if width >= 46 else 2
    indent = " " if width > 40 else ""
    top: list[Line] = [[("", indent)] for _ in range(3)]
    for state in _TOP:
        box = states[state]
        arrow = _arrow(row, state, gap, event) if state is not _TOP[0] else None
        for number, (line, part) in enumerate(zip(top, _box(box), strict=True)):
            if arrow is not None:
                line.append(arrow if number == 1 else ("", " " * gap))
            line.append(part)
    return [*top, *_lower(row, states, width, event, indent)]


def _box(box: StateRow) -> tuple[Fragment, Fragment, Fragment]:
    name = box.state.name
    across = len(name)
    if box.current:
        return (
            (CURRENT, f"╔{'═' * across}╗"),
            (CURRENT, f"║{name}║"),
            (CURRENT, f"╚{'═' * across}╝"),
        )
    if not box.possible:
        dots = "·" * across
        return (DIM, f"┌{dots}┐"), (DIM, f":{name}:"), (DIM, f"└{dots}┘")
    line = "─" * across
    return ("", f"┌{line}┐"), ("", f"│{name}│"), ("", f"└{line}┘")


def _arrow(row: DiagramRow, state: QPState, gap: int, event: int) -> Fragment:
    before = _TOP[_TOP.index(state) - 1]
    both = state is QPState.SQD
    drawn = ("◀" if both else "─") + "─" * (gap - 2) + "▶"
    taken = row.taken
    moved = (taken.before, taken.after) if taken else ()
    if moved == (before, state) or (both and moved == (state, before)):
        return (EVENT if _is_new(row, event) else "bold", drawn.replace("─", "━"))
    return ("", drawn)


def _lower(
    row: DiagramRow, states: dict[QPState, StateRow], width: int, event: int, indent: str
) -> list[Line]:
    """The line of ERR and SQE, with the last transition between them."""
    is_new, taken = _is_new(row, event), row.taken
    to_err = taken is not None and taken.after is QPState.ERR
    style = EVENT if is_new else DIM
    reach = (EVENT if to_err and is_new else "", "   any ━▶ " if to_err else "   any ─▶ ")
    said = ("last move", taken.text, f"ev {taken.event}") if taken else ("", "", "")
    between = sum(len(state.name) + 2 for state in BRING_UP) + 4 * (3 if width >= 46 else 2) - 15
    sqe = states[QPState.SQE]
    never = f"never: {row.qp_type.name}" if not sqe.possible and width >= 54 else ""
    lines: list[Line] = []
    for number, (err, other) in enumerate(zip(_box(states[QPState.ERR]), _box(sqe), strict=True)):
        middle = f"  {said[number]}"[:between].ljust(between)
        line: Line = [
            ("", indent),
            reach if number == 1 else ("", " " * len(reach[1])),
            err,
            (style, middle),
            other,
            (DIM, f"  {never}" if number == 1 and never else ""),
        ]
        lines.append([fragment for fragment in line if fragment[1]])
    return lines
