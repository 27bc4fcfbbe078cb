"""Data of a plot of a sweep: medians, bands of quantiles, points without a number."""

import math
import re
from collections.abc import Iterable, Sequence

from rdmalab.command import NOWHERE, NotUnderstood, Unit
from rdmalab.grammar.hints import suggest
from rdmalab.grammar.quantities import SCALES, any_quantity, spelled
from rdmalab.spec.row import dataclass
from rdmalab.sweep.measures import quantile, unit_of
from rdmalab.sweep.table import Row, is_number

Label = tuple[float, str]
"""A value and its text."""

_ENDING = re.compile(r"(%|[a-zµμ]*)$")
_UNITS = (Unit.NS, Unit.BITS_PER_S, Unit.PPM, Unit.BYTES)
_MOST_LABELS = 8
_SAME = 1e-9  # values that differ by less are one
_LOG_FROM = 1_000.0
"""An axis is logarithmic by default if its values differ by this factor."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from `low` to `high`, which are logarithms if `log`. labels: in ascending order."""

    name: str
    low: float
    high: float
    log: bool
    labels: tuple[Label, ...]

    def place(self, value: float) -> float:
        """Place of a value: 0 at the beginning of the axis, 1 at its end."""
        scaled = math.log10(value) if self.log else value
        return (scaled - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Scale:
    """The values of a parameter as numbers. unit: of all of them. names: of values without order.

    A parameter that has no numbers is drawn with equal distances, in the order given.
    """

    numbers: dict[str, float]
    unit: Unit = Unit.NUMBER
    names: tuple[str, ...] = ()


def scale_of(texts: Iterable[str]) -> Scale:
    """The scale of values as they are typed: `1us`, `0.4%`, `16`."""
    given = list(dict.fromkeys(texts))
    found: dict[str, float] = {}
    units: set[Unit] = set()
    for text in given:
        number = _number(text)
        if number is None:
            return Scale({each: float(n) for n, each in enumerate(given)}, names=tuple(given))
        found[text] = number
        if (unit := _unit(text)) is not Unit.NUMBER:
            units.add(unit)
    if len(units) > 1:
        return Scale({each: float(n) for n, each in enumerate(given)}, names=tuple(given))
    return Scale(found, units.pop() if units else Unit.NUMBER)


def _number(text: str) -> float | None:
    try:
        return float(any_quantity(text, NOWHERE))
    except NotUnderstood:
        pass
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _unit(text: str) -> Unit:
    ending = _ENDING.search(text.strip().lower())
    named = ending[0] if ending else ""
    return next((unit for unit in _UNITS if named in SCALES[unit]), Unit.NUMBER)


def axis(name: str, values: list[float], *, log: bool | None, scale: Scale | None = None) -> Axis:
    """An axis for these values. log None: if they differ by a factor of 1,000.

    scale: of a parameter; None for a measure, whose axis begins at 0 unless it is logarithmic.
    Raises NotUnderstood for a value of 0 or less on a logarithmic axis.
    """
    least, most = min(values), max(values)
    if log is None:
        log = scale is None and least > 0 and most / least >= _LOG_FROM
    if log and least <= 0:
        message = f"a logarithmic axis has no place for {name} = {short(least)}"
        raise NotUnderstood(message, hint="write --log none")
    if log:
        return _logarithmic(name, values, scale)
    low, high = (least, most) if scale is not None else (min(0.0, least), max(0.0, most))
    if high - low <= _SAME * max(abs(low), abs(high)):
        half = max(0.5, abs(low) / 2_000)
        low, high = low - half, high + half
    if scale is not None and scale.names:
        return Axis(name, low, high, False, tuple(enumerate(scale.names)))
    step = _step(low, high)
    if scale is None:
        high = math.ceil(high / step - 1e-9) * step
    marks = [n * step for n in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)]
    return Axis(name, low, high, False, tuple((mark, _label(mark, scale)) for mark in marks))


def _logarithmic(name: str, values: list[float], scale: Scale | None) -> Axis:
    low, high = math.log10(min(values)), math.log10(max(values))
    if scale is None:
        low, high = math.floor(low), math.ceil(high)
    if high - low <= _SAME:
        low, high = low - 0.5, high + 0.5
    exponents = range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)
    marks = [10.0**n for n in exponents][:: max(1, len(exponents) // _MOST_LABELS)]
    distinct = sorted(set(values))
    if scale is not None and len(distinct) <= _MOST_LABELS:
        marks = distinct
    return Axis(name, low, high, True, tuple((mark, _label(mark, scale)) for mark in marks))


def _step(low: float, high: float) -> float:
    """1, 2 or 5 times a power of ten, so that there are at most _MOST_LABELS labels."""
    power = 10.0 ** math.floor(math.log10((high - low) / _MOST_LABELS))
    return next(power * n for n in (1, 2, 5, 10) if (high - low) / (power * n) <= _MOST_LABELS)


def _label(value: float, scale: Scale | None) -> str:
    if scale is None or scale.unit in (Unit.NUMBER, Unit.BYTES):
        return short(value)
    return spelled(round(value), scale.unit)


def short(value: float) -> str:
    """`1.5`, `68.3k`, `90G`."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"


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
        """Legend of the line and the band; empty for one seed."""
        return f"median and p{LOW}-p{HIGH} of {self.seeds} seeds" if self.seeds > 1 else ""

    @property
    def missing(self) -> int:
        """The number of points without a number."""
        return sum(spot.y is None for line in self.lines for spot in line.spots)


@dataclass(frozen=True, slots=True)
class ChartRequest:
    """Axes of a plot. x, y: names; empty: the first parameter that varies, the first measure.

    log: `auto`, `none`, or the letters of the logarithmic axes.
    """

    title: str
    x: str = ""
    y: str = ""
    log: str = "auto"


def check(choice: ChartRequest, parameters: Sequence[str], measures: Sequence[str]) -> None:
    """Raise NotUnderstood for a plot that these parameters and measures do not allow."""
    _name(choice.x, list(parameters), "--x")
    _name(choice.y, list(measures), "--y")


def plot(table: Sequence[Row], choice: ChartRequest) -> Plot:
    """The plot of a table; raises NotUnderstood if it cannot be drawn."""
    x_name = _name(choice.x, _varying(table), "--x")
    y_name = _name(choice.y, list(table[0].measured), "--y")
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
    return Plot(choice.title, *_axes(lines, (x_name, y_name), scale, choice.log), lines, seeds)


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
