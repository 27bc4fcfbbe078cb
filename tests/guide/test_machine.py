"""The drawn state machine: all that the tables have, nothing else, nothing on top of another."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest

from rdmalab.guide.machine import state_machine
from rdmalab.guide.phrases import attribute_names
from rdmalab.spec.states import AUTOMATIC, MOVES, STATES, QPState, QPType

SVG = "{http://www.w3.org/2000/svg}"
TYPES = pytest.mark.parametrize("qp_type", QPType, ids=lambda t: t.name)
# Height of the letters of a class, in px; widths are 0.6 of it, more than any usual font has.
SIZES = {"title": 20, "name": 16, "small": 12, "mono": 12, "letter": 11}
Pair = tuple[QPState, QPState]


class Area(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Area") -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def drawing(qp_type: QPType) -> ET.Element:
    return ET.fromstring(state_machine(qp_type))


def groups(root: ET.Element, what: str) -> dict[str, ET.Element]:
    found = [g for g in root.iter(f"{SVG}g") if g.get(f"data-{what}")]
    named = {str(g.get(f"data-{what}")): g for g in found}
    assert len(named) == len(found)
    return named


def pairs(named: dict[str, ET.Element]) -> dict[Pair, ET.Element]:
    return {tuple(QPState[s] for s in name.split()): g for name, g in named.items()}  # type: ignore[misc]


def words(group: ET.Element, css: str) -> str:
    return " ".join(str(t.text) for t in group.iter(f"{SVG}text") if css in str(t.get("class")))


def area_of_text(text: ET.Element) -> Area:
    css = str(text.get("class")).split()
    size = next((SIZES[name] for name in css if name in SIZES), 13)
    width = 0.6 * size * len(str(text.text))
    before = {"start": 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor", "start")]
    x, y = float(text.get("x", "")) - before * width, float(text.get("y", ""))
    return Area(x, y - 0.75 * size, x + width, y + 0.2 * size)


def area_of_box(group: ET.Element) -> Area:
    rect = group.find(f"{SVG}rect")
    assert rect is not None
    x, y, width, height = (float(rect.get(name, "")) for name in ("x", "y", "width", "height"))
    return Area(x, y, x + width, y + height)


def points(group: ET.Element) -> list[tuple[float, float]]:
    """The ends of the straight parts of a line."""
    path = group.find(f"{SVG}path")
    assert path is not None
    return [(float(x), float(y)) for x, y in re.findall(r"([-\d.]+) ([-\d.]+)", path.get("d", ""))]


def lines(root: ET.Element) -> Iterator[Area]:
    for what in ("move", "automatic"):
        for group in groups(root, what).values():
            for (ax, ay), (bx, by) in pairwise(points(group)):
                yield Area(min(ax, bx), min(ay, by), max(ax, bx), max(ay, by))


@TYPES
def test_every_move_of_the_type_is_drawn_once_and_no_other(qp_type: QPType) -> None:
    drawn = pairs(groups(drawing(qp_type), "move"))
    moves = {(now, to): move for (kind, now, to), move in MOVES.items() if kind is qp_type}
    assert set(drawn) == set(moves)
    for pair, move in moves.items():
        assert words(drawn[pair], "need") == attribute_names(move.required)
        assert words(drawn[pair], "may") == attribute_names(move.optional)


@TYPES
def test_automatic_transitions_are_dashed_and_lettered(qp_type: QPType) -> None:
    root = drawing(qp_type)
    drawn = pairs(groups(root, "automatic"))
    rows = [row for row in AUTOMATIC if qp_type in row.types]
    assert set(drawn) == {(now, r.to) for r in rows for now in r.origins if now is not r.to}
    for (now, to), group in drawn.items():
        path, title = group.find(f"{SVG}path"), group.findtext(f"{SVG}title")
        assert path is not None
        assert path.get("stroke-dasharray")
        why = [row.mishap.value for row in rows if now in row.origins and to is row.to]
        assert title == f"{now.name} → {to.name} automatically: {'; '.join(why)}"
        assert len(words(group, "letter").split()) == len(why)
    asked = [g.find(f"{SVG}path") for g in groups(root, "move").values()]
    assert not any(path is not None and path.get("stroke-dasharray") for path in asked)


@TYPES
def test_every_state_is_a_box_and_those_that_are_never_entered_say_so(qp_type: QPType) -> None:
    root = drawing(qp_type)
    states = groups(root, "state")
    assert set(states) == {state.name for state in QPState}
    for name, group in states.items():
        assert words(group, "name") == name
        assert STATES[QPState[name]].note in str(group.findtext(f"{SVG}title"))
    never = {name for name, group in states.items() if group.get("class") == "never"}
    unreliable = {QPType.UC, QPType.UD, QPType.RAW_PACKET}
    assert never == (set() if qp_type in unreliable else {"SQE"})
    assert any("ever enters it" in str(t.text) for t in root.iter(f"{SVG}text")) is bool(never)


@TYPES
def test_every_line_begins_and_ends_at_its_boxes(qp_type: QPType) -> None:
    root = drawing(qp_type)
    boxes = {QPState[name]: area_of_box(g) for name, g in groups(root, "state").items()}
    for what in ("move", "automatic"):
        for (now, to), group in pairs(groups(root, what)).items():
            first, *_, last = points(group)
            for (x, y), box in ((first, boxes[now]), (last, boxes[to])):
                inside = box.left <= x <= box.right and box.top <= y <= box.bottom
                assert inside, (now, to)
                assert x in (box.left, box.right) or y in (box.top, box.bottom), (now, to)


@TYPES
def test_nothing_is_written_over_anything_or_off_the_paper(qp_type: QPType) -> None:
    root = drawing(qp_type)
    _, _, width, height = map(float, str(root.get("viewBox")).split())
    texts = [(str(t.text), area_of_text(t)) for t in root.iter(f"{SVG}text")]
    for text, area in texts:
        assert area.left >= 0, text
        assert area.right <= width, text
        assert area.bottom <= height, text
    for (one, here), (other, there) in combinations(texts, 2):
        assert not here.meets(there), (one, other)
    letters = {str(t.text) for t in root.iter(f"{SVG}text") if t.get("class") == "letter"}
    boxes = [area_of_box(group) for group in groups(root, "state").values()]
    outside = [(t, a) for t, a in texts if not any(a.meets(box) for box in boxes)]
    assert len(texts) - len(outside) == 3 * len(boxes)
    for text, area in outside:
        assert text in letters or not any(area.meets(line) for line in lines(root)), text


@TYPES
def test_no_line_runs_through_a_box(qp_type: QPType) -> None:
    root = drawing(qp_type)
    boxes = [area_of_box(group) for group in groups(root, "state").values()]
    assert not [line for line in lines(root) for box in boxes if line.meets(box)]


@TYPES
def test_it_needs_no_other_file_and_has_colours_for_day_and_night(qp_type: QPType) -> None:
    text = state_machine(qp_type)
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]
    assert "href" not in text
    used = set(re.findall(r"url\(#([\w-]+)\)", text))
    assert used <= {str(m.get("id")) for m in drawing(qp_type).iter(f"{SVG}marker")}
    assert "prefers-color-scheme: dark" in text
    assert "$" not in text


def test_it_is_the_same_every_time() -> None:
    code = (
        "import hashlib; from rdmalab.guide.machine import state_machine; "
        "from rdmalab.spec.states import QPType; "
        "print(hashlib.sha256(''.join(map(state_machine, QPType)).encode()).hexdigest())"
    )
    by_name = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(by_name) == 1
