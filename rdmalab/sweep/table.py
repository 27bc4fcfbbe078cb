"""The table of a sweep: a row for each point, or one for all seeds of a point; CSV, JSON lines."""

import contextlib
import csv
import dataclasses
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeGuard, cast

from rdmalab.command import NotUnderstood
from rdmalab.jobs import result_file
from rdmalab.jobs.limits import Ending, Limits, Outcome, Pool
from rdmalab.scenario.loader import Scenario
from rdmalab.spec.row import dataclass
from rdmalab.sweep.measures import Measure, Value, quantile
from rdmalab.sweep.point import Ended, Experiment, Item, Point, Result, play

_END = ["events", "ended", "error"]
"""The last columns of every table; a file without them is not replaced."""


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


def columns(point: Point, measures: Sequence[Measure]) -> list[str]:
    """The columns of the table that has this point."""
    measured = [measure.name for measure in measures]
    return [*dict(point.values), "seeds" if _is_summed(measures) else "seed", *measured, *_END]


def columns_of(octets: bytes) -> list[str]:
    """The columns of a table, CSV or JSON lines, by its first line; empty: it is none."""
    first = octets.partition(b"\n")[0].decode(errors="replace")
    found: list[str] = []
    with contextlib.suppress(ValueError, csv.Error):
        found = list(json.loads(first)) if first.startswith("{") else next(csv.reader([first]), [])
    return found if found[-len(_END) :] == _END else []


def _is_summed(measures: Sequence[Measure]) -> bool:
    """Whether a row sums up all seeds of its values: a measure is a quantile."""
    return any(measure.percent is not None for measure in measures)


def rows(results: Iterable[tuple[Point, Result]], measures: Sequence[Measure]) -> list[Row]:
    """One row for each point, or for all seeds of its values if the measures are quantiles."""
    grouped: dict[tuple[object, ...], list[tuple[Point, Result]]] = {}
    summed = _is_summed(measures)
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


PART = ".part"
"""The suffix of the file with the results so far; it is removed with the last one."""


class Broken(Exception):  # noqa: N818
    """A point raised an exception, which is an error in rdmalab. Its text is the traceback."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """A sweep. out: the file of its table, beside which its results are kept; empty: none."""

    experiment: Experiment
    points: Sequence[Point]
    measures: Sequence[Measure]
    limits: Limits
    out: str = ""

    @property
    def part(self) -> str:
        """The file of the results so far."""
        return f"{self.out}{PART}" if self.out else ""

    def known(self) -> dict[int, Result]:
        """The results that the file has already, by the number of their point.

        Those that a limit of time or memory ended are not among them: the next run may be given
        more. Raises NotResults, and OSError if the file cannot be read.
        """
        rows = result_file.known(self.part) if self.part else {}
        keys = [Item(self.experiment, point).key(self.limits) for point in self.points]
        found = {n: _result(rows[key]) for n, key in enumerate(keys) if key in rows}
        return {n: result for n, result in found.items() if result.ended is not Ended.CUT}

    def results(
        self, pool: Pool, done: Mapping[int, Result], see: Callable[[int, Result], None]
    ) -> list[Result]:
        """The results of all points in order. done: those that are known; see: called for others.

        Every result is on the disk before `see` is called with it. Raises Broken, and OSError.
        """
        found = dict(done)
        todo = [n for n in range(len(self.points)) if n not in found]
        items = [Item(self.experiment, self.points[n]) for n in todo]
        with self._kept() as keep, contextlib.closing(pool.results(play, items)) as outcomes:
            for outcome in outcomes:
                result, number = _of(outcome), todo[outcome.number]
                keep(items[outcome.number].key(self.limits), result)
                found[number] = result
                see(number, result)
        return [found[n] for n in range(len(self.points))]

    def finish(self) -> None:
        """Remove the file of the results so far: the table is written."""
        if self.part:
            Path(self.part).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _kept(self) -> Iterator[Callable[[str, Result], None]]:
        if not self.part:
            yield lambda _key, _result: None
            return
        with result_file.ResultFile(self.part) as file:
            yield lambda key, result: file.add({result_file.KEY: key, **dataclasses.asdict(result)})


def _of(outcome: Outcome[Result]) -> Result:
    if outcome.ending is Ending.BROKEN:
        raise Broken(outcome.reason)
    if outcome.ending is Ending.CUT:
        return Result(Ended.CUT, error=outcome.reason)
    assert outcome.value is not None
    return outcome.value


def _result(row: result_file.Row) -> Result:
    values = cast("list[Value]", row["values"])
    return Result(Ended(str(row["ended"])), values, cast("int", row["events"]), str(row["error"]))


def require_condition(scenario: Scenario) -> None:
    """Raise NotUnderstood unless the scenario says when a point has done its work.

    Without that, the time until a deadlock is a time like any other, and looks plausible.
    """
    for step in scenario.steps:
        if step.expect or step.line.startswith(("until ", "run until ")) or step.step.within:
            return
    message = f"{scenario.path} has no until and no expect: a point that never ended has numbers"
    raise NotUnderstood(message, hint="end it with - run: until A.tx.state == DONE, or add expect:")
