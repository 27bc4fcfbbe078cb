"""Tables: a row for each seed, or quantiles of all seeds; a run that failed has no number."""

import csv
import dataclasses
import io
import json
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import TypeVar

import pytest

from rdmalab.command import NotUnderstood
from rdmalab.jobs.limits import Ending, Limits, Outcome, Work
from rdmalab.jobs.result_file import NotResults
from rdmalab.scenario.loader import loads
from rdmalab.sweep.measures import measures
from rdmalab.sweep.point import Ended, Experiment, Point, Result, over, points
from rdmalab.sweep.table import (
    Broken,
    Campaign,
    Row,
    as_csv,
    as_json_lines,
    require_condition,
    rows,
)
from rdmalab.vocabulary import VOCABULARY


def table(text: str, *values: object) -> list[Row]:
    """The seeds of one point; None is a run that failed."""
    results = [
        Result(Ended.FAILED, events=5, error="line 3: no, \"never\"") if value is None
        else Result(Ended.PASSED, [value], 5)  # type: ignore[list-item]
        for value in values
    ]  # fmt: skip
    points = [Point((("p", "1us"),), seed) for seed in range(len(values))]
    return rows(zip(points, results, strict=True), measures((text,)))


def test_a_row_for_each_seed() -> None:
    text = as_csv(table("m=now", 7, True, "RTS", None))
    assert text.splitlines()[0] == "p,seed,m,events,ended,error"
    found = list(csv.DictReader(io.StringIO(text)))
    assert [row["m"] for row in found] == ["7", "true", "RTS", ""]
    assert [row["ended"] for row in found] == ["passed"] * 3 + ["failed"]
    assert found[3]["error"] == 'line 3: no, "never"'


def test_quantiles_of_the_seeds() -> None:
    (row,) = table("p50(now)", 1, 5, 2)
    assert row.cells() == {
        "p": "1us", "seeds": 3, "p50(now)": 2, "events": 15, "ended": "passed", "error": ""
    }  # fmt: skip
    assert json.loads(as_json_lines([row]))["p50(now)"] == 2


def test_one_seed_without_a_number_is_an_error_for_all() -> None:
    (row,) = table("p50(now)", 1, None, 2)
    assert (row.measured["p50(now)"], row.ended) == (None, Ended.FAILED)
    assert row.error.startswith("1 of 3 seeds did not pass. seed 1: line 3")
    (row,) = table("p50(now)", 1, "RTS")
    assert (row.measured["p50(now)"], row.ended) == (None, Ended.ERROR)


I = TypeVar("I")  # noqa: E741
V = TypeVar("V")
TEXT = """\
rdmalab: 1
title: t
params:
  time: {default: 1us}
steps:
  - do: use rc_pair
    expect: [idle]
  - run: ${time}
"""


@dataclasses.dataclass
class Here:
    """A pool without processes. stop: how many items it does before ^C."""

    stop: int = 99
    done: int = 0

    def results(self, work: Work[I, V], items: Iterable[I]) -> Generator[Outcome[V], None, None]:
        for number, item in reversed(list(enumerate(items))):
            if self.done == self.stop:
                raise KeyboardInterrupt
            self.done += 1
            yield Outcome(number, Ending.DONE, work(item, Limits()))


def campaign(out: str, values: str = "1us,2us,3us") -> Campaign:
    grid = list(points([over(f"time={values}")], range(2)))
    experiment = Experiment("x.yaml", TEXT, ("time",))
    return Campaign(experiment, grid, measures(("time",)), Limits(), out)


def times(results: list[Result]) -> list[object]:
    return [result.values[0] for result in results]


def ignored(_number: int, _result: Result) -> None:
    """Not of interest."""


WHOLE = [1000, 1000, 2000, 2000, 3000, 3000]


def test_after_ctrl_c_and_a_torn_line_the_rest_is_done(tmp_path: Path) -> None:
    work = campaign(str(tmp_path / "x.csv"))
    with pytest.raises(KeyboardInterrupt):
        work.results(Here(stop=4), work.known(), ignored)
    part = Path(work.part)
    assert part.read_bytes().count(b"\n") == 4
    part.write_bytes(part.read_bytes() + b'{"key": "12')
    known = work.known()
    assert sorted(known) == [2, 3, 4, 5]
    rest = Here()
    assert times(work.results(rest, known, ignored)) == WHOLE
    assert rest.done == 2
    assert part.read_bytes().count(b"\n") == 6
    assert len(work.known()) == 6
    more = campaign(work.out, "2us,4us")
    assert sorted(more.known()) == [0, 1]
    work.finish()
    assert not part.exists()


def test_without_a_file_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    work = campaign("")
    assert times(work.results(Here(), work.known(), ignored)) == WHOLE
    work.finish()
    assert not list(tmp_path.iterdir())


def test_a_file_of_something_else_is_not_touched(tmp_path: Path) -> None:
    part = tmp_path / "x.csv.part"
    part.write_text("my notes\n")
    with pytest.raises(NotResults, match="is no list of results"):
        campaign(str(tmp_path / "x.csv")).known()
    assert part.read_text() == "my notes\n"


def _ends(outcome: Outcome[Result]) -> Callable[..., Generator[Outcome[Result], None, None]]:
    def results(_work: object, _items: object) -> Generator[Outcome[Result], None, None]:
        yield outcome

    return results


def test_a_cut_is_tried_again_and_an_exception_is_ours(tmp_path: Path) -> None:
    work = dataclasses.replace(campaign(str(tmp_path / "x.csv")), points=[campaign("").points[0]])
    pool = Here()
    pool.results = _ends(Outcome(0, Ending.CUT, reason="limit"))  # type: ignore[assignment,method-assign]
    (result,) = work.results(pool, work.known(), ignored)
    assert (result.ended, result.error) == (Ended.CUT, "limit")
    assert work.known() == {}
    pool.results = _ends(Outcome(0, Ending.BROKEN, reason="trace"))  # type: ignore[assignment,method-assign]
    with pytest.raises(Broken, match="trace"):
        work.results(pool, {}, ignored)


@pytest.mark.parametrize(
    ("steps", "fine"),
    [("  - run\n", False), ("  - run: until now > 3\n", True),
     ("  - do: alloc_pd A.pd0\n    expect: [idle]\n", True)],
)  # fmt: skip
def test_a_sweep_needs_a_condition(steps: str, fine: bool) -> None:
    scenario = loads(f"rdmalab: 1\ntitle: t\nsteps:\n{steps}", "x.yaml", VOCABULARY)
    if fine:
        require_condition(scenario)
    else:
        with pytest.raises(NotUnderstood, match=r"x\.yaml has no until and no expect"):
            require_condition(scenario)
