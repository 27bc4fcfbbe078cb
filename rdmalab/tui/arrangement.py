"""Where the panes are: choices of the user, and what a scenario or `why` brings to the front."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rdmalab.tui import layout
from rdmalab.tui.pane_table import LEFT, MEMORY, MEMORY_LEFT, NOTES, RIGHT, TABS, WHY

if TYPE_CHECKING:
    from textual.widget import Widget

    from rdmalab.classroom.lab_session import LabSession
    from rdmalab.doctor.report import Report
    from rdmalab.scenario.runner import Runner
    from rdmalab.tui.app_model import AppModel
    from rdmalab.tui.pane import Pane
    from rdmalab.tui.repl import Repl
    from rdmalab.tui.status_bars import Bar
    from rdmalab.tui.world_view import WorldView


class Seen(NamedTuple):
    """The state at the last painting of the panes."""

    walk: Runner | LabSession | None
    step: int
    answer: Report | None


class Arrangement:
    """Places the widgets for the size of the terminal and for `wish`."""

    def __init__(
        self, scene: AppModel, stage: WorldView, panes: dict[str, Pane], bars: list[Bar], repl: Repl
    ) -> None:
        self.wish = layout.Wish()
        self.size = layout.Size(0, 0)
        self.panes = panes
        self._scene = scene
        self._stage = stage
        self._bars = bars
        self._repl = repl
        self._seen = self._seen_now()

    def place(self) -> None:
        """Place every widget according to the plan for this size."""
        self.wish = self.wish._replace(has_notes=_told(self._scene) is not None)
        plan = {place.pane: place for place in layout.plan(*self.size, self.wish)}
        for bar in self._bars:
            _put(bar, plan.get(bar.id or ""))
        for name, pane in self.panes.items():
            pane.place = plan.get(name)
            pane.tab_names = [self._tab_name(tab) for tab in pane.place.tabs] if pane.place else []
            _put(pane, pane.place)
        self._repl.put(plan[layout.CONSOLE])
        _put(self._repl, plan[layout.CONSOLE])
        self._scene.resize(self._repl.inner_width)

    def _tab_name(self, tab: str) -> str:
        number = list(TABS).index(tab) + 1
        name = TABS[tab]
        if tab in (LEFT, RIGHT):
            name = self._stage.node(0 if tab == LEFT else 1)
        return f"{number} {name}"

    def shown(self) -> list[Pane]:
        """The visible panes, from the top left."""
        placed = [(pane.place.y, pane.place.x, pane) for pane in self.panes.values() if pane.place]
        return [pane for *_, pane in sorted(placed, key=lambda each: each[:2])]

    def follow_news(self) -> bool:
        """Whether new content needed a pane; then the widgets were placed again."""
        before, self._seen = self._seen, self._seen_now()
        walk, step, answer = self._seen
        is_walked = (walk, step) != before[:2]
        if walk is not before.walk:
            self._show(NOTES if walk is not None else "", asks_why=False)
        elif answer is not before.answer and answer is not None and not is_walked:
            # Without room for a reply beside the wire only the prompt shows it.
            self._show(WHY if layout.fits(self.size, layout.MEDIUM) else "", asks_why=True)
        elif is_walked and self.wish.asks_why:
            self._show("", asks_why=False)
        else:
            return False
        return True

    def _seen_now(self) -> Seen:
        walk = self._scene.walk
        position = walk.position if walk is not None else 0
        return Seen(_told(self._scene), position, self._scene.diagnosis)

    def _show(self, name: str, *, asks_why: bool) -> None:
        """Show it beside the front tab, or as the front tab."""
        self.wish = self.wish._replace(asks_why=asks_why)
        self.place()
        if name and self.panes[name].place is None:
            self.wish = self.wish._replace(tab=name)
            self.place()

    def bring(self, number: int) -> Pane:
        """The pane of a tab, counted from 1; now it is visible."""
        name = list(TABS)[number - 1]
        if name == MEMORY and self.panes[MEMORY_LEFT].place is not None:
            name = MEMORY_LEFT
        if self.panes[name].place is None or self.wish.zoomed:
            zoomed = name if self.wish.zoomed else ""
            self.wish = self.wish._replace(tab=name, zoomed=zoomed)
            self.place()
        return self.panes[name]

    def zoom(self, name: str) -> None:
        """Show one pane alone, or all panes again."""
        self.wish = self.wish._replace(zoomed="" if self.wish.zoomed else name)
        self.place()


def _put(widget: Widget, place: layout.PanePlace | None) -> None:
    widget.display = place is not None
    if place is not None:
        widget.styles.offset = (place.x, place.y)
        widget.styles.width, widget.styles.height = place.width, place.height


def _told(scene: AppModel) -> Runner | LabSession | None:
    """What the pane of notes is about: the lab that is open, or the loaded scenario."""
    return scene.walk if scene.exercise is None else scene.exercise
