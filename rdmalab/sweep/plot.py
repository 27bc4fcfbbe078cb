"""What a plot of a sweep shows: medians, bands of quantiles, points without a number."""

from collections.abc import Sequence
from dataclasses import dataclass

from rdmalab.command import NotUnderstood
from rdmalab.grammar.hints import suggest
from rdmalab.sweep.axis import Axis, Scale, axis, scale_of
from rdmalab.sweep.measures import unit_of
from rdmalab.sweep.quantiles import quantile
from rdmalab.sweep.table import Row, is_number

LOW, MIDDLE, HIGH = 10, 50, 90
"""The quantiles over seeds of the band, of the line, of the band."""

MOST_LINES = 20


@dataclass(frozen=True, slots=True)
class Spot:
    """One point of a line. low, high: of the band; equal to y for one seed. text: of its tooltip.

    y None: a run did not pass, `text` is why.
    """

    x: float
    y: float | None
    low: float
    high: float
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its name, empty if it is the only one, and its points by x."""

    name: str
    spots: tuple[Spot, ...]

    @property
    def pieces(self) -> list[list[Spot]]:
        """The points with numbers, apart where one between them has none."""
        pieces: list[list[Spot]] = [[]]
        for spot in self.spots:
            if spot.y is None:
                pieces.append([])
            else:
                pieces[-1].append(spot)
        return [piece for piece in pieces if piece]


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot. seeds: runs of each point; more than 1 gives bands."""

    title: str
    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    seeds: int

    @property
    def caption(self) -> str:
        """What the line and the band are; empty for one seed."""
        return f"median and p{LOW}-p{HIGH} of {self.seeds} seeds" if self.seeds > 1 else ""

    @property
    def missing(self) -> int:
        """The number of points without a number."""
        return sum(spot.y is None for line in self.lines for spot in line.spots)


@dataclass(frozen=True, slots=True)
class Wish:
    """What to draw. x, y: names; empty: the first parameter that varies, the first measure.

    log: `auto`, `none`, or the letters of the logarithmic axes.
    """

    title: str
    x: str = ""
    y: str = ""
    log: str = "auto"


def check(wish: Wish, parameters: Sequence[str], measures: Sequence[str]) -> None:
    """Raise NotUnderstood for a plot that these parameters and measures do not allow."""
    _name(wish.x, list(parameters), "--x")
    _name(wish.y, list(measures), "--y")


def plot(table: Sequence[Row], wish: Wish) -> Plot:
    """The plot of a table; raises NotUnderstood if it cannot be drawn."""
    x_name = _name(wish.x, _varying(table), "--x")
    y_name = _name(wish.y, list(table[0].measured), "--y")
    scale = scale_of(dict(row.values)[x_name] for row in table)
    grouped: dict[str, dict[float, list[Row]]] = {}
    for row in table:
        name = " ".join(f"{k}={v}" for k, v in row.values if k != x_name and k in _varying(table))
        at = scale.numbers[dict(row.values)[x_name]]
        grouped.setdefault(name, {}).setdefault(at, []).append(row)
    if len(grouped) > MOST_LINES:
        raise NotUnderstood(f"{len(grouped)} lines in one plot", hint=f"at most {MOST_LINES}")
    lines = tuple(
        Line(name, tuple(_spot(at, rows, x_name, y_name) for at, rows in sorted(spots.items())))
        for name, spots in grouped.items()
    )
    seeds = max(len(rows) for spots in grouped.values() for rows in spots.values())
    return Plot(wish.title, *_axes(lines, (x_name, y_name), scale, wish.log), lines, seeds)


def _axes(
    lines: Sequence[Line], names: tuple[str, str], scale: Scale, log: str
) -> tuple[Axis, Axis]:
    spots = [spot for line in lines for spot in line.spots]
    heights = [n for spot in spots if spot.y is not None for n in (spot.low, spot.y, spot.high)]
    if not heights:
        raise NotUnderstood(f"no point has a number for {names[1]}", hint="see the column error")
    x = axis(names[0], [spot.x for spot in spots], log="x" in log, scale=scale)
    unit = unit_of(names[1])
    y_name = f"{names[1]}, {unit}" if unit else names[1]
    return x, axis(y_name, heights, log=None if log == "auto" else "y" in log)


def _spot(at: float, rows: list[Row], x_name: str, y_name: str) -> Spot:
    where = f"{x_name}={dict(rows[0].values)[x_name]}"
    found = [value for row in rows if is_number(value := row.measured[y_name])]
    if len(found) < len(rows):
        error = next((row.error for row in rows if row.error), f"{y_name} is no number")
        return Spot(at, None, 0, 0, f"{where}: {error}")
    ordered = sorted(found)
    low, middle, high = (quantile(ordered, percent) for percent in (LOW, MIDDLE, HIGH))
    return Spot(at, middle, low, high, f"{where}: {y_name}={middle:g}")


def _varying(table: Sequence[Row]) -> list[str]:
    """The parameters with more than one value; the first one if none has."""
    names = list(dict(table[0].values))
    varying = [name for name in names if len({dict(row.values)[name] for row in table}) > 1]
    return varying or names[:1]


def _name(wanted: str, names: list[str], option: str) -> str:
    if not names:
        raise NotUnderstood("a plot needs --over NAME=VALUES")
    if wanted and wanted not in names:
        raise NotUnderstood(f"{option} {wanted}: no such name", hint=suggest(wanted, names))
    return wanted or names[0]
