"""The parts of an SVG file: elements, text, lines with round corners, one sheet of style."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

# How wide a letter of class `mono` is, in px; a little more than any common font has.
MONO = 7.3
_CORNER = 9
_DASH, _SPACE = 6, 4
_CURVE = 1.6232  # length of a rounded corner that takes 1 off both lines

Point = tuple[float, float]


class Ink(NamedTuple):
    """The colours of one sort of thing, on white and on black paper."""

    day: str
    night: str


INKS: dict[str, Ink] = {
    "paper": Ink("#ffffff", "#0d1117"),
    "panel": Ink("#f6f8fa", "#161b22"),
    "ink": Ink("#1f2328", "#e6edf3"),
    "quiet": Ink("#59636e", "#9198a1"),
    "step": Ink("#1a7f37", "#3fb950"),
    "reset": Ink("#0969da", "#58a6ff"),
    "err": Ink("#cf222e", "#ff7b72"),
    "auto": Ink("#9a6700", "#d29922"),
    "violet": Ink("#8250df", "#bc8cff"),
}

_RULES = """
text { font: 13px -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; fill: $ink }
.title { font-size: 20px; font-weight: 600 }
.small { font-size: 12px; fill: $quiet }
.mono { font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace }
.need { font-weight: 600 } .may { fill: $quiet }
.name { font-size: 16px; font-weight: 700 }
.paper { fill: $paper }
.box { fill: $panel; stroke: $ink; stroke-width: 1.6 }
.box.reset { stroke: $reset } .box.err { stroke: $err } .box.step { stroke: $step }
.never .box { stroke: $quiet; stroke-dasharray: 2 4 } .never text { fill: $quiet }
.line { fill: none; stroke: $quiet; stroke-width: 1.5 }
.line.step { stroke: $step; stroke-width: 2.2 }
.line.reset { stroke: $reset } .line.err { stroke: $err }
.line.auto { stroke: $auto }
.tip.quiet { fill: $quiet } .tip.step { fill: $step } .tip.reset { fill: $reset }
.tip.err { fill: $err } .tip.auto { fill: $auto }
.badge { fill: $paper; stroke: $auto; stroke-width: 1.3 }
.letter { font-size: 11px; font-weight: 600; fill: $auto }
"""


def rules(colours: Mapping[str, str]) -> Iterator[str]:
    """The rules one by one, with these values of the names of INKS."""
    for rule in re.findall(r"[^{}]+{[^{}]*}", _RULES):
        yield coloured(rule, colours).strip()


def coloured(sheet: str, colours: Mapping[str, str]) -> str:
    """Rules with these values of the names of INKS, each written `$name`."""
    for name, colour in colours.items():
        sheet = sheet.replace(f"${name}", colour)
    return sheet


def day_and_night(sheet: str) -> str:
    """Rules with the colours of INKS by day and, where the reader's screen is dark, by night."""
    day = coloured(sheet, {name: ink.day for name, ink in INKS.items()})
    night = coloured(sheet, {name: ink.night for name, ink in INKS.items()})
    return f"{day}@media (prefers-color-scheme: dark) {{{night}}}\n"


def style() -> str:
    """The sheet of style of a drawing with `line` and `tips`."""
    return element("style", {}, day_and_night(_RULES))


def element(name: str, attributes: dict[str, object], *inside: str) -> str:
    """One element; what is inside is markup already."""
    given = [(key, value) for key, value in attributes.items() if value != ""]
    written = "".join(f" {key}={_quoted(str(value))}" for key, value in given)
    return f"<{name}{written}>{''.join(inside)}</{name}>" if inside else f"<{name}{written}/>"


class Words(NamedTuple):
    """Words at a place; `anchor` says which end of them is there."""

    x: float
    y: float
    text: str
    css: str = ""
    anchor: str = "start"


def _quoted(value: str) -> str:
    """The value of an attribute. xml.sax has such a function, and imports urllib and email."""
    return f'"{escape(value, quote=False).replace(chr(34), "&quot;")}"'


def text(words: Words) -> str:
    """A line of text at its place."""
    attributes = {"x": f"{words.x:g}", "y": f"{words.y:g}", "class": words.css}
    if words.anchor != "start":
        attributes["text-anchor"] = words.anchor
    return element("text", dict(attributes), escape(words.text, quote=False))


def tooltip(words: str) -> str:
    """The tooltip of an element."""
    return element("title", {}, escape(words, quote=False))


def straight(css: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """A straight line between two points."""
    ends = {"x1": f"{x1:g}", "y1": f"{y1:g}", "x2": f"{x2:g}", "y2": f"{y2:g}"}
    return element("line", {"class": css, **ends})


def line(points: Sequence[Point], css: str) -> str:
    """A line through these points, its corners rounded, with an arrow's tip at its end."""
    return element("path", _line(points, css))


def dashed(points: Sequence[Point], css: str) -> str:
    """A dashed line. Dashes count from its end, so that those of joined lines coincide."""
    offset = -_length(points) % (_DASH + _SPACE)
    dashes = {"stroke-dasharray": f"{_DASH} {_SPACE}", "stroke-dashoffset": f"{offset:.1f}"}
    return element("path", {**_line(points, css), **dashes})


def _line(points: Sequence[Point], css: str) -> dict[str, object]:
    return {"class": f"line {css}", "d": _rounded(points), "marker-end": f"url(#tip-{css})"}


def _length(points: Sequence[Point]) -> float:
    straight = sum(abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in pairwise(points))
    saved = 0.0
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        saved += sum(_cut(corner, other) for other in (before, after)) * (1 - _CURVE / 2)
    return straight - saved


def _rounded(points: Sequence[Point]) -> str:
    parts = [f"M{_xy(points[0])}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        parts.append(f"L{_xy(_towards(corner, before))}")
        parts.append(f"Q{_xy(corner)} {_xy(_towards(corner, after))}")
    return " ".join([*parts, f"L{_xy(points[-1])}"])


def _towards(corner: Point, other: Point) -> Point:
    """A point on the way from a corner: no further than half of it."""
    dx, dy = other[0] - corner[0], other[1] - corner[1]
    share = _cut(corner, other) / (abs(dx) + abs(dy))  # all lines run along an axis
    return corner[0] + dx * share, corner[1] + dy * share


def _cut(corner: Point, other: Point) -> float:
    """Length of a line that its corner takes away, in px."""
    return min(_CORNER, (abs(other[0] - corner[0]) + abs(other[1] - corner[1])) / 2)


def _xy(point: Point) -> str:
    return f"{point[0]:g} {point[1]:g}"


def tips(sorts: Iterable[str]) -> str:
    """The tips of arrows, one a colour."""
    frame: dict[str, object] = {
        "viewBox": "0 0 10 10", "refX": 9, "refY": 5, "markerWidth": 9, "markerHeight": 9,
        "markerUnits": "userSpaceOnUse", "orient": "auto",
    }  # fmt: skip
    shape = "M0 0.8 L10 5 L0 9.2 z"

    def marker(sort: str) -> str:
        tip = element("path", {"class": f"tip {sort}", "d": shape})
        return element("marker", {"id": f"tip-{sort}", **frame}, tip)

    return element("defs", {}, *map(marker, sorts))


def document(width: float, height: float, title: str, *inside: str) -> str:
    """A whole SVG file with its own background. It needs no other file."""
    frame: dict[str, object] = {
        "xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width:g} {height:g}",
        "width": f"{width:g}", "height": f"{height:g}", "role": "img",
    }  # fmt: skip
    paper = element("rect", {"class": "paper", "width": "100%", "height": "100%"})
    return element("svg", frame, "\n", "\n".join([tooltip(title), style(), paper, *inside]), "\n")
