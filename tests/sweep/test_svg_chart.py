"""The SVG of a plot: well-formed, harmless, the same each time, lines told apart without colour."""

import itertools
from xml.etree import ElementTree as ET

from rdmalab.sweep.plot import ChartRequest, plot
from rdmalab.sweep.svg_chart import HEIGHT, WIDTH, svg
from tests.sweep.charts import drawn, row

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
