"""The plan: at any size nothing overlaps, nothing sticks out, and the prompt is there."""

import pytest

from rdmalab.tui.layout import CONSOLE, FOOTER, HEADER, TAPE, PanePlace, Wish, plan
from rdmalab.tui.pane_table import (
    COMPLETIONS,
    LEFT,
    MEMORY,
    MEMORY_LEFT,
    NOTES,
    RIGHT,
    STORY,
    TABS,
    WIRE,
)  # fmt: skip

SIZES = [
    *[(1, 1), (10, 2), (20, 5), (59, 15), (60, 16), (79, 23), (80, 24), (100, 30), (119, 39)],
    *[(120, 40), (160, 24), (80, 60), (199, 59), (200, 60), (400, 120)],
]
WISHES = [Wish(), Wish(tab=MEMORY), Wish(zoomed=WIRE), Wish(has_notes=True), Wish(zoomed=LEFT)]


@pytest.mark.parametrize("wish", WISHES)
@pytest.mark.parametrize("size", SIZES)
def test_the_panes_fill_the_terminal_and_do_not_overlap(size: tuple[int, int], wish: Wish) -> None:
    places = plan(*size, wish)
    cells = [cell for place in places for cell in _cells(place)]
    assert len(cells) == len(set(cells))
    assert all(0 <= x < size[0] and 0 <= y < size[1] for x, y in cells)
    assert len(cells) == size[0] * size[1]


def _cells(place: PanePlace) -> list[tuple[int, int]]:
    columns = range(place.x, place.x + place.width)
    rows = range(place.y, place.y + place.height)
    return [(x, y) for x in columns for y in rows]


@pytest.mark.parametrize("size", SIZES)
def test_the_prompt_is_at_the_bottom_with_room_for_a_line(size: tuple[int, int]) -> None:
    (console,) = [place for place in plan(*size) if place.pane == CONSOLE]
    footer = [place for place in plan(*size) if place.pane == FOOTER]
    assert console.y + console.height == size[1] - len(footer)
    assert console.height >= min(8, size[1] // 3, 1 if size[1] < 3 else size[1])


def _panes(columns: int, rows: int, wish: Wish | None = None) -> list[str]:
    return [place.pane for place in plan(columns, rows, wish)]


def test_what_is_there_at_each_size() -> None:
    bars = [HEADER, FOOTER]
    assert _panes(50, 12) == [HEADER, CONSOLE]
    assert _panes(60, 16) == [*bars, WIRE, CONSOLE]
    assert _panes(80, 24) == [*bars, LEFT, RIGHT, WIRE, CONSOLE]
    bars = [HEADER, TAPE, FOOTER]
    assert _panes(120, 40) == [*bars, LEFT, RIGHT, WIRE, STORY, CONSOLE]
    large = [LEFT, WIRE, RIGHT, MEMORY_LEFT, "memory-right", COMPLETIONS, CONSOLE, STORY]
    assert _panes(200, 60) == [*bars, *large]


def test_notes_come_to_the_front_where_there_is_a_place_beside() -> None:
    wish = Wish(has_notes=True)
    assert NOTES not in _panes(80, 24, wish)
    assert NOTES in _panes(120, 40, wish)
    assert NOTES in _panes(200, 60, wish)
    assert _panes(120, 40, Wish(tab=NOTES, has_notes=True)).count(NOTES) == 1


def test_a_small_terminal_reaches_the_nodes_by_tabs() -> None:
    (pane,) = [place for place in plan(60, 16) if place.pane == WIRE]
    assert pane.tabs == tuple(TABS)
