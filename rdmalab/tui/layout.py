"""Layout of the panes for any terminal size: sizes in, rectangles out.

A terminal below 80x24 shows one pane and the prompt, below 60x16 the prompt and one line of status.
Above that, the width decides how many panes are side by side, and the height how many lines each
has; the prompt is always at the bottom.
"""

from __future__ import annotations

from typing import NamedTuple

from rdmalab.tui.pane_table import (
    COMPLETIONS,
    LEFT,
    MEMORY,
    MEMORY_LEFT,
    MEMORY_RIGHT,
    NOTES,
    RIGHT,
    STORY,
    TABS,
    WHY,
    WIRE,
)  # fmt: skip

HEADER, TAPE, FOOTER, CONSOLE = "header", "tape", "footer", "console"

STANDING_TABS = tuple(name for name in TABS if name not in (LEFT, RIGHT))
"""Those of any terminal: the nodes have tabs only where there is no other place for them."""


class Size(NamedTuple):
    """Columns and rows of a terminal."""

    columns: int
    rows: int


SMALL, MEDIUM, LARGE = Size(80, 24), Size(120, 40), Size(200, 60)
TINY = Size(60, 16)


class PanePlace(NamedTuple):
    """A pane and its rectangle. tabs: the panes that share it."""

    pane: str
    x: int
    y: int
    width: int
    height: int
    tabs: tuple[str, ...] = ()


class Wish(NamedTuple):
    """The choices of the user: the front tab, the zoomed pane.

    has_notes: a scenario was loaded. asks_why: why was run after that.
    """

    tab: str = WIRE
    zoomed: str = ""
    has_notes: bool = False
    asks_why: bool = False


def plan(columns: int, rows: int, wish: Wish | None = None) -> list[PanePlace]:
    """The panes to show, from the top left to the prompt."""
    wish = wish or Wish()
    size = Size(columns, rows)
    if not fits(size, TINY):
        return _prompt_only(size)
    if wish.zoomed:
        return _zoomed(size, wish)
    if not fits(size, SMALL):
        return _one_pane(size, wish)
    return _three_columns(size, wish) if fits(size, LARGE) else _two_columns(size, wish)


def fits(size: Size, wanted: Size) -> bool:
    """Whether a terminal has at least so many columns and rows."""
    return size.columns >= wanted.columns and size.rows >= wanted.rows


def _bars(size: Size) -> list[PanePlace]:
    bars = [PanePlace(HEADER, 0, 0, size.columns, 1)]
    bars += [PanePlace(TAPE, 0, 1, size.columns, 1)] if fits(size, MEDIUM) else []
    return [*bars, PanePlace(FOOTER, 0, size.rows - 1, size.columns, 1)]


def _between(size: Size) -> tuple[int, int]:
    """The first row between the bars, and how many there are."""
    count = len(_bars(size))
    return count - 1, size.rows - count


def _prompt_only(size: Size) -> list[PanePlace]:
    if size.rows < 3:
        return [PanePlace(CONSOLE, 0, 0, max(1, size.columns), max(1, size.rows))]
    return [
        PanePlace(HEADER, 0, 0, size.columns, 1),
        PanePlace(CONSOLE, 0, 1, size.columns, size.rows - 1),
    ]


def _one_pane(size: Size, wish: Wish) -> list[PanePlace]:
    height = (size.rows - 2) // 2
    return [
        *_bars(size),
        PanePlace(wish.tab, 0, 1, size.columns, height, tuple(TABS)),
        PanePlace(CONSOLE, 0, 1 + height, size.columns, size.rows - 2 - height),
    ]


def _zoomed(size: Size, wish: Wish) -> list[PanePlace]:
    console = min(size.rows // 3, max(6, size.rows // 5))
    top, rows = _between(size)
    height = rows - console
    if wish.zoomed == CONSOLE:
        return [*_bars(size), PanePlace(CONSOLE, 0, top, size.columns, rows)]
    tabs = STANDING_TABS if wish.zoomed in STANDING_TABS else ()
    return [
        *_bars(size),
        PanePlace(wish.zoomed, 0, top, size.columns, height, tabs),
        PanePlace(CONSOLE, 0, top + height, size.columns, console),
    ]


def _share(total: int, parts: tuple[tuple[int, int], ...]) -> list[int]:
    """`total` rows for (wanted, weight) parts: what is beyond the wanted goes by weight."""
    extra = total - sum(wanted for wanted, _ in parts)
    weights = sum(weight for _, weight in parts)
    heights = [wanted + extra * weight // weights for wanted, weight in parts]
    heights[-1] += total - sum(heights)
    return heights


def _two_columns(size: Size, wish: Wish) -> list[PanePlace]:
    """Two nodes side by side, the tabs below them, with a second pane beside if there is room."""
    is_tall = size.rows >= MEDIUM.rows
    wanted = ((15, 3), (11, 4), (11, 3)) if is_tall else ((8, 3), (6, 4), (8, 3))
    top, rows = _between(size)
    nodes, middle, console = _share(rows, wanted)
    half = size.columns // 2
    y = top + nodes
    return [
        *_bars(size),
        PanePlace(LEFT, 0, top, half, nodes),
        PanePlace(RIGHT, half, top, size.columns - half, nodes),
        *_tabs(size, y, middle, wish),
        PanePlace(CONSOLE, 0, y + middle, size.columns, console),
    ]


def _tabs(size: Size, y: int, height: int, wish: Wish) -> list[PanePlace]:
    tab = wish.tab if wish.tab in STANDING_TABS else WIRE
    if size.columns < MEDIUM.columns:
        return [PanePlace(tab, 0, y, size.columns, height, STANDING_TABS)]
    width = max(80, size.columns * 64 // 100)
    return [
        PanePlace(tab, 0, y, width, height, STANDING_TABS),
        PanePlace(_beside(tab, wish), width, y, size.columns - width, height),
    ]


def _beside(tab: str, wish: Wish) -> str:
    """The pane beside the front tab: why, the notes, or the story."""
    return next(name for name in (*_wanted(wish), STORY, COMPLETIONS) if name != tab)


def _wanted(wish: Wish) -> list[str]:
    """Panes with new content, the newest first."""
    return [WHY] * wish.asks_why + [NOTES] * wish.has_notes


def _three_columns(size: Size, wish: Wish) -> list[PanePlace]:
    """The full layout: the wire between the nodes, bytes and completions below, then the prompt."""
    first, rows = _between(size)
    top, middle, console = _share(rows, ((28, 4), (11, 2), (18, 3)))
    node, memory, side = (size.columns * percent // 100 for percent in (29, 38, 33))
    y, bottom = first + top, first + top + middle
    tabs = tuple(name for name in STANDING_TABS if name not in (WIRE, MEMORY, COMPLETIONS))
    tab = wish.tab if wish.tab in tabs else [*_wanted(wish), STORY][0]
    wide = size.columns - side
    return [
        *_bars(size),
        PanePlace(LEFT, 0, first, node, top),
        PanePlace(WIRE, node, first, size.columns - 2 * node, top),
        PanePlace(RIGHT, size.columns - node, first, node, top),
        PanePlace(MEMORY_LEFT, 0, y, memory, middle),
        PanePlace(MEMORY_RIGHT, memory, y, memory, middle),
        PanePlace(COMPLETIONS, 2 * memory, y, size.columns - 2 * memory, middle),
        PanePlace(CONSOLE, 0, bottom, wide, console),
        PanePlace(tab, wide, bottom, side, console, tabs),
    ]
