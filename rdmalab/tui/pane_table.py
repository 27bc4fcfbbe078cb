"""The table of panes: the name of each, its tab, and how it is made. A new pane is a row here."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.tui.panes.completions import CompletionsPane
from rdmalab.tui.panes.memory import MemoryPane
from rdmalab.tui.panes.node import NodePane
from rdmalab.tui.panes.notes import NotesPane
from rdmalab.tui.panes.past import PastPane
from rdmalab.tui.panes.why import WhyPane
from rdmalab.tui.panes.wire import WirePane

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdmalab.tui.pane import Appearance, Pane
    from rdmalab.tui.world_view import WorldView

LEFT, RIGHT = "left", "right"
WIRE, MEMORY, COMPLETIONS, WHY = "wire", "memory", "cq", "why"
STORY, NOTES, LOG = "story", "notes", "log"
MEMORY_LEFT, MEMORY_RIGHT = "memory-left", "memory-right"


class PaneRow(NamedTuple):
    """A pane. tab: its label, the key is its place among those with one; empty: it has no tab.

    is_titled: the label also stands in the border where the pane is in no row of tabs.
    """

    name: str
    make: Callable[[str, WorldView, Appearance], Pane]
    tab: str = ""
    is_titled: bool = True


PANES = (
    PaneRow(WIRE, WirePane, "Wire"),
    PaneRow(MEMORY, partial(MemoryPane, positions=(0, 1)), "Mem"),
    PaneRow(COMPLETIONS, CompletionsPane, "CQ"),
    PaneRow(WHY, WhyPane, "Why"),
    PaneRow(STORY, partial(PastPane, what="story"), "Story"),
    PaneRow(NOTES, NotesPane, "Notes"),
    PaneRow(LOG, partial(PastPane, what="log"), "Log"),
    PaneRow(LEFT, partial(NodePane, position=0), "Left", is_titled=False),
    PaneRow(RIGHT, partial(NodePane, position=1), "Right", is_titled=False),
    PaneRow(MEMORY_LEFT, partial(MemoryPane, positions=(0,))),
    PaneRow(MEMORY_RIGHT, partial(MemoryPane, positions=(1,))),
)
TABS = {row.name: row.tab for row in PANES if row.tab}
"""What the keys 1, 2, 3, … go to, and what the tabs are called."""


def made_panes(stage: WorldView, look: Appearance) -> dict[str, Pane]:
    """All panes by name."""
    panes = {row.name: row.make(row.name, stage, look) for row in PANES}
    for row in PANES:
        panes[row.name].heading = row.tab if row.is_titled else ""
    return panes
