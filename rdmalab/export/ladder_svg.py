"""The ladder as SVG: a line for each node, an arrow for each packet, remarks at the sides.

Arrows slant from the row in which a packet left to the row in which it arrived, so packets that
pass each other cross. No colour stands alone: a lost packet ends in a cross, a NAK has its name.
"""

import math
import textwrap
from collections.abc import Iterator, Mapping
from functools import cached_property

from rdmalab.export.ladder_plan import Arrow, LadderPlan, plan
from rdmalab.export.ladder_words import meaning, moment
from rdmalab.guide.svg import INKS, Words, coloured, day_and_night, element, straight, text, tooltip
from rdmalab.render.meanings import APPEARANCES, Tone
from rdmalab.session.names import Names
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt
from rdmalab.views.columns import words
from rdmalab.views.fates import Fate
from rdmalab.views.ladder import LABEL, PacketRow
from rdmalab.views.transit_effects import Origin
from rdmalab.world.world import World

NAME = "rdmalab-ladder"
"""The class of every drawing; its rules concern nothing else on a page."""

RULES = """
.NAME text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
  fill: $ink }
.NAME .node { font-size: 15px; font-weight: 700 }
.NAME .life { stroke: $quiet; stroke-width: 1.5 }
.NAME .time { font-size: 11.5px; fill: $quiet; font-variant-numeric: tabular-nums }
.NAME .label { font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  paint-order: stroke; stroke: $paper; stroke-width: 4px; stroke-linejoin: round }
.NAME .remark { paint-order: stroke; stroke: $paper; stroke-width: 3px }
.NAME .remark.bad { fill: $err } .NAME .remark.odd { fill: $auto }
.NAME .remark.good { fill: $step }
.NAME .remark.program { fill: $quiet;
  font: 11.5px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace }
.NAME .gap { font-style: italic; fill: $quiet; paint-order: stroke; stroke: $paper;
  stroke-width: 8px }
.NAME .wire { stroke: $reset; stroke-width: 1.8; fill: none } .NAME .head { fill: $reset }
.NAME .good .wire { stroke: $step } .NAME .good .head { fill: $step }
.NAME .bad .wire { stroke: $err } .NAME .bad .head { fill: $err }
.NAME .odd .wire { stroke: $auto } .NAME .odd .head { fill: $auto }
.NAME .lost .wire, .NAME .flying .wire { stroke-dasharray: 6 4 }
.NAME .cross { stroke: $err; stroke-width: 2.2; fill: none }
""".replace("NAME", NAME)
"""The style sheet; `$ink` and the like are names of INKS."""


def style(colours: Mapping[str, str] | None = None) -> str:
    """The rules with these colours by name; None: those of day, and of night for a dark screen."""
    return day_and_night(RULES) if colours is None else coloured(RULES, colours)


def paper_rules() -> str:
    """The background by night; `!important`, because the element has one for the day."""
    night = f".{NAME} .paper {{ fill: {INKS['paper'].night} !important }}"
    return f"@media (prefers-color-scheme: dark) {{ {night} }}\n"


_TIME, _SIDE, _LANE = 84, 256, 330  # px: times, remarks at one side, from node to node
_TOP, _STEP, _LINE, _GAP = 44, 26, 15, 30
_LETTERS = 35  # of a remark in a line, in a wide font such as DejaVu Sans
_LABEL_LETTER = 7.3  # px: one of a label, in a wide font such as DejaVu Sans Mono
_PROGRAM_LETTERS = 34
_MOST_LINES = 3
_HEAD = 9
_STEEP = 2  # rows
_SHORT, _LONG = 0.62, 0.85  # of the way: where a lost packet ends, and one in flight


@dataclass
class Ladder:
    """A drawing of packets; Jupyter shows it as SVG, and a terminal as its lines."""

    plan: LadderPlan

    @cached_property
    def part(self) -> str:
        """The svg element for a page that has the rules of `style`."""
        return _drawn(self.plan, "")

    @property
    def svg(self) -> str:
        """A whole SVG file with its own rules and background."""
        return _drawn(self.plan, element("style", {}, style()))

    @property
    def text(self) -> str:
        """The drawing in words, a line for each fact."""
        return "\n".join(self.plan.lines())

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return self.text


def ladder(world: World, names: Names, first: int = 0, most: int = 0) -> Ladder:
    """The drawing of all packets since record `first`; most: as for `plan`."""
    return Ladder(plan(world, names, first, most=most))


def _drawn(planned: LadderPlan, rules: str) -> str:
    canvas = _Canvas(planned)
    frame: dict[str, object] = {
        "xmlns": "http://www.w3.org/2000/svg", "class": NAME, "role": "img",
        "viewBox": f"0 0 {canvas.width} {canvas.height}",
        "width": canvas.width, "height": canvas.height,
    }  # fmt: skip
    title = planned.title if planned.rows else "no packet yet"
    fill = f"fill:{INKS['paper'].day}"  # a viewer without media queries
    paper = element("rect", {"class": "paper", "width": "100%", "height": "100%", "style": fill})
    rules = rules.replace("</style>", f"{paper_rules()}</style>") + paper if rules else ""
    return element("svg", frame, tooltip(title), rules, *canvas.parts())


class _Canvas:
    """Positions of all parts. y: of each row; the arrows use the first line of a row."""

    def __init__(self, planned: LadderPlan) -> None:
        self.plan = planned
        self.has_labels_outside = any(map(_is_steep, planned.arrows))
        outside = planned.arrows if self.has_labels_outside else ()
        letters = max((len(_label(arrow.packet)) for arrow in outside), default=0)
        side = max(_SIDE, math.ceil(letters * _LABEL_LETTER) + 16)
        left = _TIME + side
        self.x = {node: left + _LANE * number for number, node in enumerate(planned.nodes)}
        self.width = left + _LANE * max(1, len(planned.nodes) - 1) + side
        self.remarks = [self._folded(number) for number in range(len(planned.rows))]
        for arrow in outside:
            if arrow.start is not None:
                label = ([_label(arrow.packet)], "label")
                self.remarks[arrow.start].setdefault(arrow.packet.source, []).insert(0, label)
        self.y: list[int] = []
        open_ended = {arrow.start for arrow in planned.arrows if not arrow.ends}
        y = _TOP
        for number, (row, remarks) in enumerate(zip(planned.rows, self.remarks, strict=True)):
            y += _GAP if row.gap else _STEP
            self.y.append(y)
            tallest = max((sum(len(lines) for lines, _ in side) for side in remarks.values()),
                          default=1)  # fmt: skip
            y += max(_LINE * (tallest - 1), _LINE if number in open_ended else 0)
        self.height = y + 24

    def _folded(self, number: int) -> dict[str, list[tuple[list[str], str]]]:
        """By node the lines of each remark of a row, and its class."""
        found: dict[str, list[tuple[list[str], str]]] = {}
        for remark in self.plan.rows[number].remarks:
            letters = _PROGRAM_LETTERS if remark.css == "program" else _LETTERS
            lines = textwrap.wrap(remark.text, letters, subsequent_indent=" ") or [""]
            if len(lines) > _MOST_LINES:
                lines = [*lines[: _MOST_LINES - 1], lines[_MOST_LINES - 1][: letters - 1] + "…"]
            found.setdefault(remark.node, []).append((lines, remark.css))
        return found

    def parts(self) -> Iterator[str]:
        """The drawing from the back to the front."""
        bottom = self.height - 10
        for node, x in self.x.items():
            yield element("line", {"class": "life", "x1": x, "y1": 34, "x2": x, "y2": bottom})
            yield text(Words(x, 24, node, "node", "middle"))
        arrows = [self._arrow(arrow) for arrow in self.plan.arrows]
        yield from arrows
        yield from self._times()
        for number in range(len(self.plan.rows)):
            yield from self._remarks(number)

    def _times(self) -> Iterator[str]:
        last = -1
        middle = (min(self.x.values()) + max(self.x.values())) / 2
        for row, y in zip(self.plan.rows, self.y, strict=True):
            if row.gap:
                yield text(Words(middle, y, row.gap, "gap", "middle"))
            elif row.at_ns != last:
                yield text(Words(_TIME - 10, y, moment(row.at_ns), "time", "end"))
                last = row.at_ns

    def _remarks(self, number: int) -> Iterator[str]:
        nodes = list(self.x)
        for node, remarks in self.remarks[number].items():
            if node not in self.x:  # of the cable: below the time
                continue
            is_left = node == nodes[0]
            x = self.x[node] + (-12 if is_left else 12)
            y = self.y[number]
            for lines, css in remarks:
                for line in lines:
                    anchor = "end" if is_left else "start"
                    sort = css if css == "label" else f"remark {css}".strip()
                    yield text(Words(x, y, line.strip(), sort, anchor))
                    y += _LINE

    # ------------------------------------------------------------------ arrows
    def _arrow(self, arrow: Arrow) -> str:
        packet = arrow.packet
        parts = [tooltip(f"{packet.text} ({packet.fate_text})")]
        x = self.x.get(packet.source, 0)
        for node, row in arrow.ends:
            parts += self._arrived(arrow, x, self.x.get(node, x), row)
        if not arrow.ends:
            parts += self._unfinished(arrow, x, self.x.get(self._target(packet), x))
        if arrow.start is not None and not self.has_labels_outside:
            parts.append(self._label(arrow, x))
        return element("g", {"class": _css(packet)}, *parts)

    def _target(self, packet: PacketRow) -> str:
        """Target of a packet that did not arrive: its node, else the next one."""
        if packet.target in self.x:
            return packet.target
        return next((node for node in self.x if node != packet.source), packet.source)

    def _unfinished(self, arrow: Arrow, x1: float, x2: float) -> Iterator[str]:
        """A packet that was lost, or is in flight when the drawing ends."""
        y1 = float(self.y[arrow.start or 0])
        is_lost = arrow.packet.fate is Fate.LOST
        x2, y2 = x1 + (x2 - x1) * (_SHORT if is_lost else _LONG), y1 + _STEP * 0.5
        yield straight("wire", x1, y1, x2, y2)
        if is_lost:
            yield _cross(x2, y2)
            yield self._lost(arrow, x1, x2, y2)

    def _arrived(self, arrow: Arrow, x1: float, x2: float, row: int) -> Iterator[str]:
        y2 = self.y[row] - 4.0
        if arrow.start is None:  # it left before the drawing begins
            x1, y1 = (x1 + x2) / 2, y2 - _STEP * 0.4
        else:
            y1 = float(self.y[arrow.start])
        if x1 == x2:  # to its own port
            loop = f"M{x1:g} {y1:g} C{x1 + 80:g} {y1:g} {x1 + 80:g} {y2:g} {x1 + _HEAD:g} {y2:g}"
            yield element("path", {"class": "wire", "d": loop})
            yield _head(x1 + 40, y2, x1, y2)
            return
        yield straight("wire", x1, y1, x2, y2)
        yield _head(x1, y1, x2, y2)
        if arrow.packet.fate is Fate.DROPPED:
            yield _cross(x2 + (14 if x1 > x2 else -14), y2 - 1)

    def _lost(self, arrow: Arrow, x1: float, x2: float, y: float) -> str:
        side = 1 if x2 > x1 else -1
        reason = f"lost: {fmt.reason(arrow.packet.reason)}"
        reason = reason if len(reason) < 24 else "lost"
        anchor = "start" if side > 0 else "end"
        return text(Words(x2 + 12 * side, y + 5, reason, "remark bad", anchor))

    def _label(self, arrow: Arrow, x: float) -> str:
        packet = arrow.packet
        side = -1 if self._goes_left(arrow) else 1
        anchor = "start" if side > 0 else "end"
        y = self.y[arrow.start or 0] - 5
        return text(Words(x + 10 * side, y, _label(packet), "label", anchor))

    def _goes_left(self, arrow: Arrow) -> bool:
        nodes = [node for node, _ in arrow.ends] or [self._target(arrow.packet)]
        return self.x.get(nodes[0], 0) < self.x.get(arrow.packet.source, 0)


def _is_steep(arrow: Arrow) -> bool:
    """Whether it passes rows of other arrows, so that it would cross their labels."""
    return any(row - (arrow.start or row) > _STEEP for _, row in arrow.ends)


_LABEL = tuple(title for title in LABEL if title != "ack_req")


def _label(packet: PacketRow) -> str:
    """`SEND_ONLY psn=0 64 B`; the tooltip has the rest."""
    troubles = f" ({', '.join(packet.troubles)})" if packet.troubles else ""
    return textwrap.shorten(words(packet, only=_LABEL), 48, placeholder=" …") + troubles


def _css(packet: PacketRow) -> str:
    tone = APPEARANCES[meaning(packet)].tone
    sort = Tone.ODD if packet.origin is not Origin.SENT else "" if tone is Tone.BUSY else tone
    ended = {Fate.LOST: "lost", Fate.IN_FLIGHT: "flying"}.get(packet.fate, "")
    return f"packet {sort} {ended}".strip()


def _head(x1: float, y1: float, x2: float, y2: float) -> str:
    """The tip of an arrow at (x2, y2)."""
    length = max(1.0, ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5)
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    back = (x2 - dx * _HEAD, y2 - dy * _HEAD)
    half = _HEAD * 0.45
    points = [(x2, y2), (back[0] - dy * half, back[1] + dx * half),
              (back[0] + dy * half, back[1] - dx * half)]  # fmt: skip
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return element("polygon", {"class": "head", "points": text})


def _cross(x: float, y: float) -> str:
    return element("path", {"class": "cross", "d": f"M{x - 5:g} {y - 5:g} l10 10 m0 -10 l-10 10"})
