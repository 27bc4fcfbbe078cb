"""The wire: packets, timers and plans as a drawing in text; one packet decoded."""

from collections.abc import Sequence

from rdmalab.export.ladder_canvas import Ink
from rdmalab.export.ladder_columns import LadderRow, Room
from rdmalab.export.ladder_text import TextLadder
from rdmalab.render.meanings import Tone
from rdmalab.session.names import Names
from rdmalab.shell.styled_text import Line, fold, shown, text_of
from rdmalab.shell.tables import CURRENT, DIM, EVENT
from rdmalab.views import fmt
from rdmalab.views.ladder import PacketRow
from rdmalab.views.ladder import rows as past_rows
from rdmalab.views.packets import DecodedRow
from rdmalab.views.planned import PlannedRow
from rdmalab.world.world import World

_HEX = 16


def ladder(rows: Sequence[LadderRow], width: int, now: int = -1) -> list[Line]:
    """A row for each packet, timer and plan, and one for each reason; `▶` marks the event `now`."""
    seen = {"A", "B"}
    for row in rows:
        seen |= {row.source, row.target} if isinstance(row, PacketRow) else {row.node}
    past = (row.at_ns for row in rows if not isinstance(row, PlannedRow))
    room = Room(width, 1, sorted(seen - {""}), (now, max(past, default=0)))
    drawn = TextLadder(rows, room)
    return [[(_style(ink), text) for text, ink in drawn.line(y)] for y in range(drawn.height)]


def drawing(world: World, names: Names, width: int, first: int = 0) -> str:
    """All packets and timers since record `first`, drawn as text of `width` columns."""
    rows = past_rows(world, names, last=None, since=first)
    return "\n".join(text_of(line).rstrip() for line in ladder(rows, width))


def _style(ink: Ink) -> str:
    plain = "" if ink.tone is Tone.PLAIN else f"class:{ink.tone}"
    return f"{plain} bold".strip() if ink.bold else plain


def decoded(row: DecodedRow, width: int) -> list[Line]:
    """A decoded packet, layer by layer, then its bytes."""
    lines: list[Line] = [[(EVENT, f"ev {row.event} "), ("", f"{fmt.clock(row.at_ns)}  {row.text}")]]
    deepest = max((len(layer.name) for layer in row.layers), default=0)
    for layer in row.layers:
        text = layer.name.ljust(deepest) + layer.text[len(layer.name) :]
        lines += fold([(CURRENT, text[:deepest]), ("", shown(text[deepest:]))], width, deepest + 1)
    for start in range(0, len(row.raw), _HEX):
        octets = row.raw[start : start + _HEX]
        lines.append([(DIM, f"+{start:03x} "), ("", octets.hex(" "))])
    return lines
