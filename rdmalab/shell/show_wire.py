"""Draw the wire: packets as arrows between two nodes, timers beside them, planned ones dashed."""

from typing import NamedTuple

from rdmalab.shell.styled_text import Fragment, Line, fold, shown
from rdmalab.shell.tables import CURRENT, DIM, EVENT, WARN, cut
from rdmalab.views import fmt
from rdmalab.views.ladder import Fate, MarkerRow, PacketRow
from rdmalab.views.packets import DecodedRow
from rdmalab.views.planned import Plan, PlannedRow
from rdmalab.views.transit_effects import Origin

LadderRow = PacketRow | MarkerRow | PlannedRow

_NARROWEST = 24
_NOTE = 24  # columns that a remark behind the arrow should have
_TIME = 11
_LOST = 3  # how much of the way a lost packet does not go
_HEX = 16


class Lanes(NamedTuple):
    """The two nodes, left and right, and how wide the space between them is."""

    left: str
    right: str
    width: int


def lanes(rows: list[LadderRow], width: int) -> Lanes:
    """The node on each side, in the order of their names."""
    seen: set[str] = set()
    for row in rows:
        seen |= {row.source, row.target} if isinstance(row, PacketRow) else {row.node}
    names = [*sorted(seen - {""}), "A", "B"]
    left = names[0]
    right = next(name for name in names if name != left)
    margin = _TIME + len(left) + len(right) + 6
    return Lanes(left, right, max(_NARROWEST, min(56, width - margin - _NOTE)))


def ladder(rows: list[LadderRow], width: int, now: int = -1) -> list[Line]:
    """One line a row; `▶` marks what the event `now` did."""
    drawn = lanes(rows, width)
    return [_rung(row, drawn, width, now) for row in rows]


def _rung(row: LadderRow, drawn: Lanes, width: int, now: int) -> Line:
    is_now = not isinstance(row, PlannedRow) and row.event == now
    moment = f"{row.at_ns // 1000}.{row.at_ns % 1000:03}"
    time = ("▶" if is_now else " ") + moment.rjust(_TIME - 1)
    line: Line = [(CURRENT if is_now else DIM, f"{time} "), *_body(row, drawn)]
    used = sum(len(text) for _, text in line[:-1])
    style, note = line[-1]
    return [*line[:-1], (style, cut(note, width - used))]


def _body(row: LadderRow, drawn: Lanes) -> Line:
    """The fragments after the time; the last one is the remark."""
    if isinstance(row, PacketRow):
        return _packet(row, drawn)
    if isinstance(row, MarkerRow):
        return _beside(row.node, row.sentence, drawn, (EVENT, f"ev {row.event}"), "")
    if row.plan in _SIGNS:
        who = f"{row.qp.partition('.')[2]} " if row.plan is Plan.LINE else ""
        return _beside(row.node, who + row.sentence, drawn, (DIM, "planned"), DIM, _SIGNS[row.plan])
    to_right = (row.node == drawn.left) is (row.plan is Plan.SEND)
    body = arrow(row.sentence, drawn.width, to_right=to_right, dash="┄", head="▷◁")
    return [
        ("", f"{drawn.left} "), (DIM, f"┊{body}┊"), ("", f" {drawn.right} "), (DIM, "planned")
    ]  # fmt: skip


def arrow(label: str, width: int, *, to_right: bool, dash: str, head: str, lost: int = 0) -> str:
    """`─ SEND_ONLY psn=3 ─────▶` in exactly `width` columns; `head` has both directions."""
    text = cut(f" {label} ", width - 3 - lost)
    shaft = dash * (width - 2 - lost - len(text))
    gap = " " * lost
    return (
        f"{dash}{text}{shaft}{head[0]}{gap}" if to_right else f"{gap}{head[-1]}{shaft}{text}{dash}"
    )


# --------------------------------------------------------------------------- packets
def _packet(row: PacketRow, drawn: Lanes) -> Line:
    flying, lost = row.fate is Fate.IN_FLIGHT, row.fate is Fate.LOST
    style = WARN if lost or row.fate in (Fate.DROPPED, Fate.REFUSED) else ""
    body = arrow(
        _label(row),
        drawn.width,
        to_right=row.source == drawn.left,
        dash="┄" if flying else "─",
        head="╳" if lost else "▷◁" if flying else "▶◀",
        lost=_LOST if lost else 0,
    )
    return [("", f"{drawn.left} ├"), (style, body), ("", f"┤ {drawn.right} "), _fate(row)]


def _label(row: PacketRow) -> str:
    origin = [] if row.origin is Origin.SENT else [row.origin.name.lower()]
    if row.psn is None:
        return " ".join([*origin, row.summary])
    parts = [*origin, row.label, f"psn={row.psn}"]
    parts += [f"timer={row.timer}"] if row.timer is not None else []
    parts += [f"{row.length}B"] if row.length else []
    parts += ["ack_req"] if row.ack_req else []
    parts += [f"dlid={row.dlid}"] if row.dlid is not None else []
    return " ".join(parts)


def _fate(row: PacketRow) -> Fragment:
    event = "  ".join([f"ev {row.event}", *row.troubles])
    if row.fate is Fate.RECEIVED:
        return EVENT, f"{event}  {row.remark}".rstrip()
    if row.fate is Fate.IN_FLIGHT:
        at = f"arrives at {fmt.clock(row.arrives_ns)}" if row.arrives_ns else "in flight"
        return DIM, f"{event} {at}"
    mark = "≁" if "malformed" in row.reason else "!"
    return WARN, shown(f"{event} {mark} {fmt.reason(row.reason)}")


# --------------------------------------------------------------------------- everything else
_TIMER = "⏲"
_SIGNS = {
    Plan.ACK_TIMER: _TIMER, Plan.RNR_TIMER: _TIMER, Plan.LOCAL: "·", Plan.LINE: "·",
    Plan.ACCIDENT: "!",
}  # fmt: skip


def _beside(
    node: str, sentence: str, drawn: Lanes, note: Fragment, style: str, sign: str = _TIMER
) -> Line:
    """`A ⏲ armed its RNR timer for 642.215us`."""
    room = drawn.width + len(drawn.right) + 2
    return [("", f"{node} "), (style, f"{sign} {sentence} ".ljust(room + 1)), note]


# --------------------------------------------------------------------------- one packet
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
