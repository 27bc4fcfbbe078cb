"""What a plot shows of a table."""

import pytest

from rdmalab.command import NotUnderstood
from rdmalab.sweep.plot import MOST_LINES, ChartRequest, plot
from tests.sweep.charts import drawn, row, table


def test_lines_are_medians_and_a_run_without_number_is_a_gap() -> None:
    found = drawn(log="y")
    assert [line.name for line in found.lines] == ["n=1", "n=2"]
    first, second = found.lines
    assert [(s.x, s.y) for s in first.spots] == [(1, 11), (2, 101), (4, 10001), (5, 100001)]
    assert (first.spots[0].low, first.spots[0].high) == (10.2, 11.8)
    assert [[s.x for s in piece] for piece in second.pieces] == [[1, 2], [5]]
    assert (found.missing, found.seeds, found.caption) == (1, 3, "median and p10-p90 of 3 seeds")
    assert "<no>" in second.spots[2].text


def test_one_line_has_no_name_and_the_axes_can_be_chosen() -> None:
    rows = [row(5, x=str(x), n="1") for x in (1, 2)]
    assert [line.name for line in plot(rows, ChartRequest("t")).lines] == [""]
    assert drawn(x="n").x.name == "n"
    assert len(drawn(x="n", log="none").lines) == 4


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (ChartRequest("t", x="m"), "--x m: no such name"),
        (ChartRequest("t", y="z"), "--y z: no such name"),
    ],
)
def test_names_that_do_not_exist(choice: ChartRequest, message: str) -> None:
    with pytest.raises(NotUnderstood, match=message):
        plot(table(), choice)


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(NotUnderstood, match="no point has a number for y"):
        plot([row(None, x="1")], ChartRequest("t"))
    with pytest.raises(NotUnderstood, match="a plot needs --over"):
        plot([row(3)], ChartRequest("t"))
    many = [row(1, x=x, n=str(n)) for n in range(MOST_LINES + 1) for x in "12"]
    with pytest.raises(NotUnderstood, match="21 lines in one plot"):
        plot(many, ChartRequest("t"))
