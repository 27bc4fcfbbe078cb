"""A plot as text: braille, and its twin in ASCII."""

import itertools
from xml.etree import ElementTree as ET

import pytest

from rdmalab.sweep.charts import HEIGHT, WIDTH, svg, text
from rdmalab.sweep.plot import ChartRequest, plot
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


NS = "{http://www.w3.org/2000/svg}"


def test_a_point_has_a_tooltip_and_the_texts_are_escaped() -> None:
    root = ET.fromstring(svg(drawn()))
    assert root.findtext(f"{NS}title") == "a < b & c"
    tips = [tip.text for spot in root.iter(f"{NS}circle") for tip in spot.iter(f"{NS}title")]
    assert tips[0] == "n=1 x=1: y=11"
    assert len(tips) == 7
    crosses = [t for t in root.iter(f"{NS}text") if t.text == "×"]
    assert [cross.findtext(f"{NS}title") for cross in crosses] == ["n=2 x=4: <no>"]
    assert len(list(root.iter(f"{NS}polygon"))) == 3
    assert len(list(ET.fromstring(svg(drawn(seeds=1))).iter(f"{NS}polygon"))) == 0


def test_the_same_bytes_and_nothing_from_elsewhere() -> None:
    drawing = svg(drawn())
    assert drawing == svg(drawn())
    assert "prefers-color-scheme: dark" in drawing
    assert drawing.count("http") == 1
    assert "<script" not in drawing


def test_twenty_lines_differ_in_dash_or_colour_and_neighbours_in_both() -> None:
    rows = [row(n + 1, x=x, n=str(n)) for n in range(20) for x in "12"]
    root = ET.fromstring(svg(plot(rows, ChartRequest("t"))))
    strokes = [(p.get("class"), p.get("stroke-dasharray")) for p in root.iter(f"{NS}path")][:20]
    assert len(set(strokes)) == 20
    for (ink, dash), (other_ink, other_dash) in itertools.pairwise(strokes):
        assert ink != other_ink
        assert dash != other_dash


def test_everything_is_inside() -> None:
    for spot in ET.fromstring(svg(drawn())).iter(f"{NS}circle"):
        assert 0 <= float(spot.get("cx", -1)) <= WIDTH
        assert 0 <= float(spot.get("cy", -1)) <= HEIGHT
