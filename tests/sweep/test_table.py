"""Tables: a row for each seed, or quantiles of all seeds; a run that failed has no number."""

import csv
import io
import json

from rdmalab.sweep.measures import measures
from rdmalab.sweep.point import Ended, Point, Result
from rdmalab.sweep.table import CSV_END, Row, as_csv, as_json_lines, rows


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
    assert text.splitlines()[0] == f"p,seed,m,{CSV_END}"
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
