"""One axis of a plot: where a value is, and which values are written beside it."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from rdmalab.command import NOWHERE, NotUnderstood, Unit
from rdmalab.grammar.quantities import SCALES, any_quantity, spelled

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
        """Where a value is: 0 at the beginning of the axis, 1 at its end."""
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
