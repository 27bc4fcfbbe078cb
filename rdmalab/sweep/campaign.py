"""All points of a sweep through a pool, with the results on the disk as they come."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from rdmalab.command import NotUnderstood
from rdmalab.jobs import result_file
from rdmalab.jobs.limits import Limits
from rdmalab.jobs.outcome import Ending, Outcome, Pool
from rdmalab.scenario.loader import Scenario
from rdmalab.sweep.measures import Measure, Value
from rdmalab.sweep.point import Ended, Experiment, Item, Point, Result, play

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
