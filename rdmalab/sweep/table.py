"""The table of a sweep: a row for each point, or one for all seeds of a point; CSV, JSON lines."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from rdmalab.sweep.measures import Measure, Value, quantile
from rdmalab.sweep.point import Ended, Point, Result

CSV_END = "events,ended,error"
"""The end of the first line of every table; a file that begins otherwise is not replaced."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row. seeds: its own, or if summed those that it sums up.

    measured: by name, all None unless it PASSED.
    """

    values: tuple[tuple[str, str], ...]
    seeds: tuple[int, ...]
    summed: bool
    measured: dict[str, Value]
    events: int
    ended: Ended
    error: str

    def cells(self) -> dict[str, Value]:
        """The columns in order; `seed`, or if summed the number of `seeds`."""
        one = len(self.seeds) == 1 and not self.summed
        seeds: dict[str, Value] = {"seed": self.seeds[0]} if one else {"seeds": len(self.seeds)}
        end: dict[str, Value] = {
            "events": self.events,
            "ended": str(self.ended),
            "error": self.error,
        }
        return {**dict(self.values), **seeds, **self.measured, **end}


def rows(results: Iterable[tuple[Point, Result]], measures: Sequence[Measure]) -> list[Row]:
    """One row for each point, or for all seeds of its values if the measures are quantiles."""
    grouped: dict[tuple[object, ...], list[tuple[Point, Result]]] = {}
    summed = any(measure.percent is not None for measure in measures)
    for point, result in results:
        key = (point.values,) if summed else (point.values, point.seed)
        grouped.setdefault(key, []).append((point, result))
    return [_row(group, measures, summed=summed) for group in grouped.values()]


def _row(group: list[tuple[Point, Result]], measures: Sequence[Measure], *, summed: bool) -> Row:
    point, result = next((each for each in group if each[1].ended is not Ended.PASSED), group[0])
    measured: dict[str, Value] = dict.fromkeys(measure.name for measure in measures)
    ended, error = result.ended, result.error
    if ended is Ended.PASSED:
        try:
            measured = {m.name: _value(m, n, group) for n, m in enumerate(measures)}
        except TypeError as wrong:
            ended, error = Ended.ERROR, str(wrong)
    elif len(group) > 1:
        bad = sum(each.ended is not Ended.PASSED for _, each in group)
        error = f"{bad} of {len(group)} seeds did not pass. seed {point.seed}: {error}"
    events = sum(each.events for _, each in group)
    seeds = tuple(point.seed for point, _ in group)
    return Row(point.values, seeds, summed, measured, events, ended, error)


def _value(measure: Measure, number: int, group: list[tuple[Point, Result]]) -> Value:
    found = [result.values[number] for _, result in group]
    if measure.percent is None:
        return found[0]
    numbers = [value for value in found if is_number(value)]
    if len(numbers) < len(found):
        raise TypeError(f"{measure.name}: {measure.text} is not a number for every seed")
    return quantile(sorted(numbers), measure.percent)


def is_number(value: Value) -> TypeGuard[int | float]:
    """Whether a plot can show it."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_csv(table: Sequence[Row]) -> str:
    """The table with its names in the first line."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for number, row in enumerate(table):
        cells = row.cells()
        if not number:
            writer.writerow(cells)
        writer.writerow([_cell(value) for value in cells.values()])
    return stream.getvalue()


def _cell(value: Value) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def as_json_lines(table: Sequence[Row]) -> str:
    """One JSON object a row."""
    return "".join(json.dumps(row.cells(), ensure_ascii=False) + "\n" for row in table)
