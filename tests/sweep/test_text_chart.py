"""A plot as text: braille, and its twin in ASCII."""

import pytest

from rdmalab.sweep.plot import ChartRequest, plot
from rdmalab.sweep.text_chart import text
from tests.sweep.charts import drawn, row


def test_the_ascii_twin() -> None:
    rows = [row(y, x=str(x)) for x, y in enumerate((0, 5, 10))]
    assert text(plot(rows, ChartRequest("t")), 40, 6, ascii_only=True).splitlines() == [
        "t",
        "      10 |                      *****",
        "       8 |                  *****",
        "       6 |             *****",
        "       4 |         *****",
        "       2 |    *****",
        "       0 |*****",
        "          0     0.5    1      1.5    2",
        "          x; the other axis is y",
    ]


@pytest.mark.parametrize("width", [20, 40, 80, 120])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_it_fits_and_says_what_is_missing(width: int, ascii_only: bool) -> None:
    lines = text(drawn(), width, 12, ascii_only=ascii_only).splitlines()
    assert all(len(line) <= max(width, 30) for line in lines[2:14])
    assert lines[-1].strip() == "1 points have no number: see the column error"
    signs = "*+" if ascii_only else ""
    assert [line.strip() for line in lines[-3:-1]] == [
        f"{letter}: {f'{signs[n]} ' if signs else ''}n={n + 1}" for n, letter in enumerate("ab")
    ]
    body = "".join(lines[2:14])
    assert body.isascii() is ascii_only
    assert ("*" in body and "+" in body) if ascii_only else any("⠀" < c <= "⣿" for c in body)
