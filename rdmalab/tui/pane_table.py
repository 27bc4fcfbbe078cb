"""The table of panes: name, label of the tab, and where its class is. A new pane is a row here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdmalab.tui.pane import Pane
    from rdmalab.tui.world_view import WorldView

WIRE, WHY, NOTES, PACKET = "wire", "why", "notes", "packet"
APART = "apart"  # the pane of the packet where it is no tab


class PaneRow(NamedTuple):
    """A pane that has a tab, or a place of its own if `tab` is empty.

    made_in: module and class. The class takes (view, *, id): id is the name. help: what it shows.
    """

    name: str
    tab: str
    made_in: str
    help: str


_NODE = "One node: the queue pair that was used last, its requests, completions and memory."
_PACKET = "One packet: its fields, and the bytes of each."
PANES = (
    PaneRow(
        WIRE, "Wire", "wire:WirePane", "The packets between the nodes, timers, and what is next."
    ),
    PaneRow(WHY, "Why", "why:WhyPane", "The last answer of why: cause, evidence, fix."),
    PaneRow(NOTES, "Notes", "notes:NotesPane", "The lesson or the lab: its note, step and tasks."),
    PaneRow(PACKET, "Packet", "packet:PacketPane", _PACKET),
    PaneRow("memory", "Memory", "memory:MemoryPane", "The bytes of the regions used last."),
    PaneRow("cq", "CQ", "completions:CompletionsPane", "All completions, the newest first."),
    PaneRow("story", "Story", "past:StoryPane", "One sentence for each event."),
    PaneRow("log", "Log", "past:LogPane", "Every record of each event."),
    PaneRow("node-0", "", "node:NodePane", _NODE),
    PaneRow("node-1", "", "node:NodePane", _NODE),
    PaneRow("strip", "", "notes:StripPane", "The lesson or the lab: its note, and what is next."),
    PaneRow(APART, "", "packet:PacketPane", _PACKET),
)
TABS = {row.name: row.tab for row in PANES if row.tab}
"""The labels; the keys 1, 2, 3, … go to them in this order."""
ROWS = {row.name: row for row in PANES}


def made(name: str, view: WorldView) -> Pane:
    """A new pane; its module is imported when the first one is made."""
    module, _, pane = ROWS[name].made_in.partition(":")
    found: Callable[..., Pane] = vars(import_module(f"rdmalab.tui.panes.{module}"))[pane]
    return found(view, id=name)
