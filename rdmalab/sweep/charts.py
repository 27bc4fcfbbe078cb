"""A plot as SVG, and as text: braille, two by four dots in a cell, or ASCII, a sign a line.

Lines differ in dash as well as in colour. Each point has a tooltip.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rdmalab.guide.svg import Words, day_and_night, element, straight, tooltip
from rdmalab.guide.svg import text as text_at
from rdmalab.sweep.plot import Line, Plot, Spot

WIDTH, HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 24, 56, 56
_LEGEND = 150  # px at the right, if there are several lines
_ROW = 20
_INKS = ("reset", "err", "step", "auto", "violet")
_DASHES = ("", "8 4", "2 4", "10 4 2 4")  # four and five colours: twenty pairs
_LATIN = 6.6  # px of a letter, for names in the legend


def svg(plot: Plot) -> str:
    """The file."""
    # Not matplotlib: it takes 120 MB and 1 s to import, and its SVG differs each time it is saved.
    chart = _Chart(plot)
    frame: dict[str, object] = {
        "xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {WIDTH} {HEIGHT}",
        "width": WIDTH, "height": HEIGHT, "role": "img",
    }  # fmt: skip
    return element("svg", frame, "\n", "\n".join(chart.parts()), "\n") + "\n"


_SHEET = """
text { font: 13px -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: $ink }
.title { font-size: 16px; font-weight: 600 } .small { font-size: 12px; fill: $quiet }
.paper { fill: $paper } .grid { stroke-width: 1; stroke: $quiet; stroke-opacity: .35 }
.line { fill: none; stroke-width: 2 } .band { stroke: none; fill-opacity: .18 }
""" + "".join(
    f".c{number} {{ stroke: ${ink} }} .f{number} {{ fill: ${ink} }}\n"
    for number, ink in enumerate(_INKS)
)


class _Chart:
    """The parts of one plot."""

    def __init__(self, plot: Plot) -> None:
        self.plot = plot
        named = [line.name for line in plot.lines if line.name]
        longest = max((len(name) for name in named), default=0)
        legend = max(_LEGEND, 44 + longest * _LATIN) if named else 0
        self.right = WIDTH - _RIGHT - legend
        self.bottom = HEIGHT - _BOTTOM

    def parts(self) -> Iterator[str]:
        plot = self.plot
        yield tooltip(plot.title)
        yield element("style", {}, day_and_night(_SHEET))
        yield element("rect", {"class": "paper", "width": "100%", "height": "100%"})
        yield text_at(Words(_LEFT, 26, plot.title, "title"))
        if plot.caption:
            yield text_at(Words(_LEFT, 44, plot.caption, "small"))
        yield from self._axes()
        for number, line in enumerate(plot.lines):
            yield from self._band(number, line)
        for number, line in enumerate(plot.lines):
            yield from self._line(number, line)
        yield from self._legend()

    def _x(self, value: float) -> float:
        return round(_LEFT + self.plot.x.place(value) * (self.right - _LEFT), 1)

    def _y(self, value: float) -> float:
        return round(self.bottom - self.plot.y.place(value) * (self.bottom - _TOP), 1)

    def _axes(self) -> Iterator[str]:
        for value, label in self.plot.y.labels:
            at = self._y(value)
            yield straight("grid", _LEFT, at, self.right, at)
            yield text_at(Words(_LEFT - 8, at + 4, label, "small", "end"))
        for value, label in self.plot.x.labels:
            at = self._x(value)
            yield straight("grid", at, self.bottom, at, self.bottom + 5)
            yield text_at(Words(at, self.bottom + 20, label, "small", "middle"))
        yield straight("grid", _LEFT, self.bottom, self.right, self.bottom)
        middle = (_LEFT + self.right) / 2
        yield text_at(Words(middle, HEIGHT - 14, self.plot.x.name, "", "middle"))
        up = (_TOP + self.bottom) / 2
        turned = {"transform": f"rotate(-90 18 {up:g})"}
        yield element("g", dict(turned), text_at(Words(18, up, self.plot.y.name, "", "middle")))

    def _band(self, number: int, line: Line) -> Iterator[str]:
        for piece in line.pieces if self.plot.seeds > 1 else ():
            edge = [(spot.x, spot.high) for spot in piece]
            edge += [(spot.x, spot.low) for spot in reversed(piece)]
            points = " ".join(f"{self._x(x):g},{self._y(y):g}" for x, y in edge)
            yield element("polygon", {"class": f"band f{number % len(_INKS)}", "points": points})

    def _line(self, number: int, line: Line) -> Iterator[str]:
        ink = number % len(_INKS)
        for piece in line.pieces:
            yield element("path", {**_stroke(number), "d": self._path(piece)})
        for spot in line.spots:
            inside = tooltip(f"{line.name} {spot.text}".strip())
            if spot.y is None:
                place = {"x": f"{self._x(spot.x):g}", "y": f"{self.bottom - 4:g}"}
                cross = {**place, "class": f"f{ink}", "text-anchor": "middle"}
                yield element("text", dict(cross), "×", inside)
            else:
                place = {"cx": f"{self._x(spot.x):g}", "cy": f"{self._y(spot.y):g}"}
                yield element("circle", {"class": f"f{ink}", "r": 3.2, **place}, inside)

    def _path(self, piece: Sequence[Spot]) -> str:
        points = [f"{self._x(s.x):g} {self._y(s.y):g}" for s in piece if s.y is not None]
        return "M" + " L".join(points)

    def _legend(self) -> Iterator[str]:
        left = self.right + 18
        for number, line in enumerate(self.plot.lines):
            if line.name:
                at = _TOP + 8 + number * min(_ROW, (self.bottom - _TOP) / len(self.plot.lines))
                yield element(
                    "path", {**_stroke(number), "d": f"M{left:g} {at:g} L{left + 26:g} {at:g}"}
                )
                yield text_at(Words(left + 34, at + 4, line.name, "small"))


def _stroke(number: int) -> dict[str, object]:
    dash = _DASHES[number % len(_DASHES)]
    return {"class": f"line c{number % len(_INKS)}", "stroke-dasharray": dash}


_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BRAILLE = 0x2800
_SIGNS = "*+ox#@%&"
_LETTERS = "abcdefghijklmnopqrst"
_MARGIN = 9
_STEPS = 400  # of a line between two points: more than any terminal has dots


def text(plot: Plot, width: int = 80, height: int = 16, *, ascii_only: bool = False) -> str:
    """The plot in so many columns and rows, with its title, axes and legend around it."""
    columns = max(16, width - _MARGIN - 4)
    drawn = _ascii(plot, columns, height) if ascii_only else _braille(plot, columns, height)
    rows = [plot.title, *([f"  {plot.caption}"] if plot.caption else [])]
    labels = {_row(plot.y.place(value), height): label for value, label in plot.y.labels}
    side = "|" if ascii_only else "┤"
    ends = _ends(plot, height)
    rows += [
        f"{labels.get(n, ''):>{_MARGIN - 1}} {side}{line} {ends.get(n, '')}".rstrip()
        for n, line in enumerate(drawn)
    ]
    rows += _below(plot, columns, ascii_only=ascii_only)
    return "\n".join(rows)


def _braille(plot: Plot, columns: int, height: int) -> list[str]:
    cells = [[0] * columns for _ in range(height)]
    for line in plot.lines:
        for x, y in _dots(plot, line):
            column = min(2 * columns - 1, int(x * 2 * columns))
            row = min(4 * height - 1, int((1 - y) * 4 * height))
            cells[row // 4][column // 2] |= _DOTS[row % 4][column % 2]
    return ["".join(chr(_BRAILLE + cell) if cell else " " for cell in row) for row in cells]


def _ascii(plot: Plot, columns: int, height: int) -> list[str]:
    cells = [[" "] * columns for _ in range(height)]
    for number, line in enumerate(plot.lines):
        for x, y in _dots(plot, line):
            column = min(columns - 1, int(x * columns))
            cells[_row(y, height)][column] = _SIGNS[number % len(_SIGNS)]
    return ["".join(row) for row in cells]


def _row(y: float, height: int) -> int:
    return min(height - 1, int((1 - y) * height))


def _dots(plot: Plot, line: Line) -> Iterator[tuple[float, float]]:
    """Places on the line, from 0 to 1 on each axis."""
    for piece in line.pieces:
        places = [(plot.x.place(s.x), plot.y.place(s.y)) for s in piece if s.y is not None]
        yield from places
        for (x0, y0), (x1, y1) in pairwise(places):
            for n in range(1, _STEPS):
                part = n / _STEPS
                yield x0 + (x1 - x0) * part, y0 + (y1 - y0) * part


def _ends(plot: Plot, height: int) -> dict[int, str]:
    """The letters of the lines, each in the row in which the line ends."""
    found: dict[int, str] = {}
    for letter, line in zip(_LETTERS, plot.lines, strict=False):
        if line.name and line.pieces and (y := line.pieces[-1][-1].y) is not None:
            row = _row(plot.y.place(y), height)
            found[row] = found.get(row, "") + letter
    return found


def _below(plot: Plot, columns: int, *, ascii_only: bool) -> Iterator[str]:
    ruler, lead = [" "] * (columns + 1), " " * (_MARGIN + 1)
    for value, label in plot.x.labels:
        at = min(int(plot.x.place(value) * columns), columns + 1 - len(label))
        if at >= 0 and all(sign == " " for sign in ruler[max(0, at - 1) : at + len(label) + 1]):
            ruler[at : at + len(label)] = label
    yield f"{lead}{''.join(ruler)}".rstrip()
    yield f"{lead}{plot.x.name}; the other axis is {plot.y.name}{' (log)' * plot.y.log}"
    for number, line in enumerate(plot.lines):
        if line.name:
            sign = f"{_SIGNS[number % len(_SIGNS)]} " if ascii_only else ""
            yield f"{lead}{_LETTERS[number]}: {sign}{line.name}"
    if plot.missing:
        yield f"{lead}{plot.missing} points have no number: see the column error"
