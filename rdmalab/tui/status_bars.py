"""The first and the last line of the screen: virtual time, and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.strip import Strip
from textual.widget import Widget

from rdmalab.shell import show_timeline
from rdmalab.shell.styled_text import shown, text_of
from rdmalab.tui.keys import footer
from rdmalab.views import fmt, timeline
from rdmalab.views.ports import LinkRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdmalab.session.history import History
    from rdmalab.session.session import Session
    from rdmalab.shell.styled_text import Line
    from rdmalab.tui.app_model import AppModel
    from rdmalab.tui.pane import Appearance, Pane
    from rdmalab.tui.world_view import WorldView

BAR, BAR_KEY, ALERT = "class:bar", "class:bar.key", "class:bar.alert"
PAST = "class:bar.past"


class Bar(Widget):
    """One line over the whole width."""

    DEFAULT_CSS = "Bar { position: absolute; height: 1; }"

    def __init__(self, name: str, look: Appearance, draw: Callable[[int], Line]) -> None:
        super().__init__(id=name)
        self.look = look
        self._draw = draw
        self._shown = Strip([])

    def redraw(self, width: int) -> None:
        """Draw the line for `width` columns; an equal line is not painted again."""
        strip = self.look.strip(self.look.spelled(self._draw(width))).crop_extend(0, width, None)
        if strip != self._shown:
            self._shown = strip
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The line if `y` is 0, else empty."""
        return self._shown if y == 0 else Strip([])


def header_line(stage: WorldView, scene: AppModel, width: int) -> Line:
    """`rdmalab  t=9.210us  ev 24/31 PAST  branch-1 of 2  …`.

    The least important part is dropped.
    """
    session = stage.session
    world = session.world
    link = next(row for row in stage.look("show link").rows if isinstance(row, LinkRow))
    running = scene.talk.running
    parts: list[Line] = [
        [(BAR_KEY, " rdmalab ")],
        [(BAR, f" t={fmt.clock(world.now_ns)}")],
        _moment(session.history),
        [(ALERT, f" {_doing(scene)}, ^C stops ")] if running else [],
        _branch(session.history),
        _count(len(session.breakpoints.by_number), "break", BAR),
        _link(link),
        _count(len(link.faults), "fault", ALERT, "! "),
        _lesson(scene),
        [] if running else [(BAR, "paused")],
        [(BAR, f"seed={session.seed}")],
        [(BAR, _next(world.agenda.next_ns()))],
        [(BAR, "/".join(dict.fromkeys(h.profile.name for h in world.nodes.values())))],
        [(BAR, f"{fmt.duration(link.latency_ns)} one way, {fmt.rate(link.rate_bps)}")],
    ]
    line: Line = []
    for part in parts:
        if part and len(text_of(line)) + len(text_of(part)) + 2 <= width:
            line += [*part, (BAR, "  ")]
    return [*line, (BAR, " " * width)]


def _doing(scene: AppModel) -> str:
    return "searching" if scene.talk.searching else "running"


def _moment(history: History) -> Line:
    """`ev 31 LIVE`, `ev 24/31 PAST`: PAST has its own style."""
    stands = fmt.ev(history.here.event, "start")
    if history.live:
        return [(BAR, f"{stands} LIVE")]
    return [(BAR, f"{stands}/{history.end.event} "), (PAST, " PAST ")]


def _branch(history: History) -> Line:
    """Nothing while there is only one."""
    many, name = len(history.branches), history.branch.name
    said = name if name.startswith("branch") else f"branch {name}"
    return [(BAR, f"{said} of {many}")] if many > 1 else []


def _count(count: int, noun: str, style: str, mark: str = "") -> Line:
    return [(style, f"{mark}{count} {noun}{'s' if count > 1 else ''}")] if count else []


def _link(link: LinkRow) -> Line:
    return [(BAR, "link "), (BAR, "UP") if link.up else (ALERT, "! DOWN")]


def _lesson(scene: AppModel) -> Line:
    walk = scene.walk
    if walk is None:
        return []
    name = walk.scenario.path.rpartition("/")[2].removesuffix(".yaml").removesuffix(".rdmalab")
    return [(BAR, f"{shown(name)} {walk.position}/{len(walk.scenario.steps)}")]


def _next(at_ns: int | None) -> str:
    return "nothing planned" if at_ns is None else f"next {fmt.clock(at_ns)}"


def tape_line(session: Session, width: int) -> Line:
    """The branch of time with its marks, as one bar."""
    cells = show_timeline.cells_for(width)
    row = timeline.tape_row(session.history, session.names, session.checkpoints, cells)
    return show_timeline.bar(row, width)


def footer_line(scene: AppModel, width: int, pane: Pane | None) -> Line:
    """Keys and their labels, those of the focused pane included. pane: None at the prompt."""
    own = pane.own_keys() if pane is not None else []
    going_on = "Next note" if scene.way_on == "next" else "Step"
    line: Line = []
    for key, label in footer(pane is not None, width, going_on, own):
        line += [(BAR_KEY, f" {key}"), (BAR, f" {label} ")]
    return [*line, (BAR, " " * width)]
