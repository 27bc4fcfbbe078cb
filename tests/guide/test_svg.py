"""What a drawing is written with."""

import re
from xml.etree import ElementTree as ET

import pytest

from rdmalab.guide import svg
from rdmalab.guide.svg import INKS, Point, Words

CORNERS: list[Point] = [(0, 0), (100, 0), (100, 50)]


def attribute(markup: str, name: str) -> str:
    return str(ET.fromstring(markup).get(name))


def test_text_and_attributes_of_svg_are_escaped() -> None:
    read = ET.fromstring(svg.text(Words(1, 2, '<b a="1">&')))
    assert read.text == '<b a="1">&'
    assert attribute(svg.element("g", {"data-x": '"<&>'}), "data-x") == '"<&>'
    assert svg.tooltip("a < b") == "<title>a &lt; b</title>"


def test_an_attribute_that_says_nothing_is_left_out() -> None:
    assert svg.element("g", {"class": "", "x": 0}) == '<g x="0"/>'


def test_corners_are_round_and_ends_are_exact() -> None:
    assert attribute(svg.line(CORNERS, "err"), "d") == "M0 0 L91 0 Q100 0 100 9 L100 50"
    assert attribute(svg.line([(0, 0), (6, 0), (6, 4)], "err"), "d") == "M0 0 L3 0 Q6 0 6 2 L6 4"


def test_a_line_ends_in_the_tip_of_its_colour() -> None:
    assert attribute(svg.line(CORNERS, "err"), "marker-end") == "url(#tip-err)"
    assert [m.get("id") for m in ET.fromstring(svg.tips(["err", "auto"]))] == [
        "tip-err",
        "tip-auto",
    ]


@pytest.mark.parametrize(("length", "offset"), [(20, 0.0), (13, 7.0), (17.5, 2.5)])
def test_dashes_count_from_the_end_of_a_line(length: float, offset: float) -> None:
    dashed = svg.dashed([(0, 0), (length, 0)], "auto")
    assert float(attribute(dashed, "stroke-dashoffset")) == offset


def test_dashes_know_how_long_a_round_corner_is() -> None:
    """Two lines that join before their end have their dashes at the same places."""
    offsets = []
    for start in (0, -40):
        dashed = svg.dashed([(start, 0), (100, 0), (100, 50)], "auto")
        offsets.append(float(attribute(dashed, "stroke-dashoffset")))
    assert offsets[0] == offsets[1]
    straight = 91 + 41 + 9 * 1.6232
    assert (offsets[0] + straight) % 10 == pytest.approx(0, abs=0.06)


def test_every_colour_is_used_by_day_and_by_night() -> None:
    day, _, night = svg.style().partition("@media")
    for name, ink in INKS.items() - {("violet", INKS["violet"])}:  # that of charts
        assert ink.day in day, name
        assert ink.night in night, name
    assert not re.search(r"\$\w", svg.style())


def test_a_document_has_its_size_its_title_and_its_paper() -> None:
    root = ET.fromstring(svg.document(30, 20.5, "a & b"))
    assert root.get("viewBox") == "0 0 30 20.5"
    assert [child.tag.rpartition("}")[2] for child in root] == ["title", "style", "rect"]
    assert root[0].text == "a & b"
