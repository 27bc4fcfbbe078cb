"""The Textual application: panes above, the prompt below, one event loop, one world."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual.app import App

from rdmalab.shell import show_timeline
from rdmalab.shell.interrupt import LEAVING
from rdmalab.shell.prompt import colour_wanted
from rdmalab.shell.prompt_setup import kept_history, no_history
from rdmalab.shell.styled_text import fold, plain, shown
from rdmalab.tui import layout, stylesheet
from rdmalab.tui.app_model import CARD, AppModel
from rdmalab.tui.driver import driver_class
from rdmalab.tui.interrupt import interrupting
from rdmalab.tui.keys import BY_NAME, EVERYWHERE, Where, explained
from rdmalab.tui.no_colour import Colourless
from rdmalab.tui.pane import Appearance, Pane
from rdmalab.tui.panes.completions import CompletionsPane
from rdmalab.tui.panes.memory import MemoryPane
from rdmalab.tui.panes.node import NodePane
from rdmalab.tui.panes.notes import NotesPane
from rdmalab.tui.panes.past import PastPane
from rdmalab.tui.panes.why import WhyPane
from rdmalab.tui.panes.wire import WirePane
from rdmalab.tui.repl import Repl
from rdmalab.tui.status_bars import Bar, footer_line, header_line
from rdmalab.tui.world_view import WorldView
from rdmalab.views import timeline
from rdmalab.workbench.bug_reports import called, report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from prompt_toolkit.history import History
    from textual import events
    from textual.driver import Driver
    from textual.filter import LineFilter
    from textual.widget import Widget

    from rdmalab.doctor.report import Report
    from rdmalab.scenario.runner import Runner
    from rdmalab.shell.styled_text import Line
    from rdmalab.tui.console.pane import Console

FRAME_S = 0.1  # panes are painted at most so often; by CPU time, so that a busy machine draws less
_LONGEST_S = 0.3  # and seldom less often than so
_SHARE = 10  # of the time one part at most goes into painting
_HEAR_S = 0.02  # keys are heard so often
_LEAVE_S = 5.0  # so long a signal waits for the terminal to be restored
_HOPS = 12  # turns of the loop that a key needs from the terminal to whoever hears it


class Seen(NamedTuple):
    """The state at the last painting of the panes."""

    walk: Runner | None
    step: int
    answer: Report | None


class Rdmalab(App[int]):
    """Layout, keys and painting; the scene evaluates the commands."""

    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None
    TITLE = "rdmalab"
    CSS = """
    Screen { overflow: hidden; background: ansi_default; color: ansi_default; }
    """
    BINDINGS: ClassVar[list[Any]] = []

    def __init__(
        self, scene: AppModel, *, ascii_only: bool = False, history: History | None = None
    ) -> None:
        self._colour = colour_wanted()
        wish = os.environ.get("NO_COLOR")
        super().__init__(ansi_color=True)
        if wish is not None:  # Textual takes it away; the prompt asks for it, and so do children
            os.environ["NO_COLOR"] = wish
        self.theme = "ansi-dark"
        self.scene = scene
        self.stage = WorldView(scene)
        styles = stylesheet.sheet(colour=self._colour)
        self.look = Appearance(styles, colour=self._colour, ascii_only=ascii_only)
        self.history = history or no_history()
        self.wish = layout.Wish()
        self.panes: dict[str, Pane] = {}
        self.script: list[str] = []
        scene.talk.copy = self.copy_to_clipboard
        self._seen = self._seen_now()
        # While something runs: not before this CPU second, but by that second of the wall.
        self._paint_at = self._painted_by = 0.0
        self._heard_at = 0.0
        self._told: set[str] = set()  # bugs of panes
        self._columns = 0

    def get_driver_class(self) -> type[Driver]:
        """The terminal driver, extended: ^C cancels a computation from the input thread."""
        return interrupting(driver_class() or super().get_driver_class(), self._interrupt)

    def _interrupt(self) -> None:
        self.scene.interrupt()  # there is none yet when the driver is chosen

    def get_line_filters(self) -> Sequence[LineFilter]:
        """The filters of output lines; without colour only bold, underline and reverse remain."""
        return super().get_line_filters() if self._colour else [Colourless()]

    # ---- what there is --------------------------------------------------------------------------

    def compose(self) -> Iterable[Widget]:
        """Make the bars, the panes and the prompt."""
        self.panes = {pane.id or "": pane for pane in self._made_panes()}
        yield Bar(layout.HEADER, self.look, self._header)
        yield Bar(layout.TAPE, self.look, self._tape)
        yield from self.panes.values()
        keys = EVERYWHERE | {"ctrl+q"}
        yield Repl(self.scene, self.look, self._evaluate, leave_keys=keys, history=self.history)
        yield Bar(layout.FOOTER, self.look, self._footer)

    def _made_panes(self) -> list[Pane]:
        given = (self.stage, self.look)
        return [
            NodePane(layout.LEFT, *given, 0),
            NodePane(layout.RIGHT, *given, 1),
            WirePane(layout.WIRE, *given),
            MemoryPane(layout.MEMORY, *given, (0, 1)),
            MemoryPane(layout.MEMORY_LEFT, *given, (0,)),
            MemoryPane(layout.MEMORY_RIGHT, *given, (1,)),
            CompletionsPane(layout.COMPLETIONS, *given),
            PastPane(layout.STORY, *given, "story"),
            PastPane(layout.LOG, *given, "log"),
            NotesPane(layout.NOTES, *given),
            WhyPane(layout.WHY, *given),
        ]

    @property
    def repl(self) -> Repl:
        return self.query_one(Repl)

    @property
    def console_pane(self) -> Console:
        return self.repl.console

    def on_mount(self) -> None:
        """Arrange the panes, focus the prompt, run the script, handle signals."""
        self.app_resume_signal.subscribe(self, self._return)
        self.arrange()
        self.console_pane.focus()
        for sentence in self.script:
            self.console_pane.say(sentence)
        offer = [plain(self.scene.offer, "class:dim")] if self.scene.offer else []
        for line in [*(() if self.script else CARD), *offer]:
            for row in fold(line, self.repl.inner_width):
                self._emit(row)
        self._obey_signals()
        self.call_after_refresh(self._hear)

    def _hear(self) -> None:
        """The prompt has the focus: read the keys typed since the start of the program."""
        ready = getattr(self._driver, "ready", None)
        if ready is not None:
            ready.set()

    def _obey_signals(self) -> None:
        """SIGTERM and SIGHUP exit with the terminal restored; SIGINT is the key ^C."""
        if self.is_headless or os.name != "posix":
            return
        loop = asyncio.get_running_loop()
        for number in LEAVING:
            loop.add_signal_handler(number, self._leave, 128 + number)
        loop.add_signal_handler(signal.SIGINT, self._press_interrupt)

    def _leave(self, code: int) -> None:
        """Exit; the wait is limited, because threads of a closed terminal may not end."""
        last = threading.Timer(_LEAVE_S, os._exit, (code,))
        last.daemon = True
        last.start()
        self.scene.stop()
        self.exit(code, return_code=code)

    def _press_interrupt(self) -> None:
        if self.console_pane.busy:
            self._interrupt()
        else:
            self.console_pane.press("ctrl+c")

    def _return(self, _app: App[Any]) -> None:
        """Set up the terminal again after ^Z and fg."""
        for widget in self.screen.walk_children():
            widget.refresh()

    # ---- where it stands ------------------------------------------------------------------------

    def on_resize(self, event: events.Resize) -> None:
        """Place the panes for the new size (columns, rows)."""
        self.arrange(event.size.width, event.size.height)

    def arrange(self, columns: int = 0, rows: int = 0) -> None:
        """Place every pane according to the plan for this size."""
        if not self.panes:
            return
        columns, rows = columns or self.size.width, rows or self.size.height
        self._columns = columns  # `size` still is the old one while a resize is told
        self.wish = self.wish._replace(has_notes=self.scene.walk is not None)
        plan = {place.pane: place for place in layout.plan(columns, rows, self.wish)}
        for bar in self.query(Bar):
            _put(bar, plan.get(bar.id or ""))
        for name, pane in self.panes.items():
            pane.place = plan.get(name)
            pane.tab_names = [self._tab_name(tab) for tab in pane.place.tabs] if pane.place else []
            _put(pane, pane.place)
        self.repl.put(plan[layout.CONSOLE])
        _put(self.repl, plan[layout.CONSOLE])
        self.scene.resize(self.repl.inner_width)
        focused = self.focused
        if focused is not None and not focused.display:
            self.console_pane.focus()
        self.repaint()

    def _tab_name(self, tab: str) -> str:
        number = list(layout.TABS).index(tab) + 1
        name = layout.TABS[tab]
        if tab in (layout.LEFT, layout.RIGHT):
            name = self.stage.node(0 if tab == layout.LEFT else 1)
        return f"{number} {name}"

    def shown_panes(self) -> list[Pane]:
        """The visible panes, from the top left."""
        found = [pane for pane in self.panes.values() if pane.place is not None]
        return sorted(
            found, key=lambda pane: (pane.place.y, pane.place.x) if pane.place else (0, 0)
        )

    # ---- painting -------------------------------------------------------------------------------

    def repaint(self, *, search: bool = False) -> None:
        """Read the views again; only differences are written to the terminal.

        During a search through the past only the bars are updated; the panes would show
        intermediate moments, each of which needs a replay.
        """
        if self._has_news():
            return
        started = time.process_time()
        with self.stage.frame():
            for pane in () if search else self.shown_panes():
                self._draw(pane.redraw)
            for bar in self.query(Bar):
                if bar.display:
                    self._draw(partial(bar.redraw, self._columns))
            self.repl.redraw()
        took = time.process_time() - started
        self._paint_at = started + max(FRAME_S, _SHARE * took)
        self._painted_by = time.monotonic() + _LONGEST_S

    def _draw(self, draw: Callable[[], None]) -> None:
        """Draw a part; a part that raises is not redrawn, and each bug is reported once."""
        try:
            draw()
        except Exception as bug:  # noqa: BLE001  (no pane may end a session)
            said = called(bug)
            if said not in self._told:
                self._told.add(said)
                self._emit(plain(shown(f"{said}; {report(bug)}"), "class:error"))

    def _has_news(self) -> bool:
        """Whether new content needs a pane; then the layout was recomputed."""
        before, self._seen = self._seen, self._seen_now()
        walk, step, answer = self._seen
        is_walked = (walk, step) != before[:2]
        if walk is not before.walk:
            self._show(layout.NOTES if walk is not None else "", asks_why=False)
        elif answer is not before.answer and answer is not None and not is_walked:
            self._show(layout.WHY if self._is_roomy else "", asks_why=True)
        elif is_walked and self.wish.asks_why:
            self._show("", asks_why=False)
        else:
            return False
        return True

    def _seen_now(self) -> Seen:
        walk = self.scene.walk
        return Seen(walk, walk.position if walk is not None else 0, self.scene.diagnosis)

    @property
    def _is_roomy(self) -> bool:
        """Whether there is room for a reply beside the wire; if not, only the prompt shows it."""
        return layout.fits(layout.Size(*self.size), layout.MEDIUM)

    def _show(self, name: str, *, asks_why: bool) -> None:
        """Show it beside the front tab, or as the front tab."""
        self.wish = self.wish._replace(asks_why=asks_why)
        self.arrange()
        if name and self.panes[name].place is None:
            self.wish = self.wish._replace(tab=name)
            self.arrange()

    def _header(self, width: int) -> Line:
        return header_line(self.stage, self.scene, width)

    def _tape(self, width: int) -> Line:
        session = self.scene.session
        cells = show_timeline.cells_for(width)
        row = timeline.tape_row(session.history, session.names, session.checkpoints, cells)
        return show_timeline.bar(row, width)

    def _footer(self, width: int) -> Line:
        return footer_line(self.scene, width, self._focused_pane)

    def on_descendant_focus(self) -> None:
        """Repaint, because frames and the footer show the focus."""
        self.repaint()

    # ---- the conversation -----------------------------------------------------------------------

    def _emit(self, line: Line) -> None:
        self.console_pane.write(list(line))

    async def _evaluate(self, text: str) -> bool:
        try:
            return await self.scene.evaluate(text, self._emit, self._pause)
        finally:
            self.repaint()

    async def _pause(self) -> None:
        """Between two slices of a run: paint at intervals, and handle keys."""
        now = time.monotonic()
        if time.process_time() >= self._paint_at or now >= self._painted_by:
            self.repaint(search=self.scene.talk.searching)
        elif now - self._heard_at < _HEAR_S:
            return
        for _ in range(_HOPS):
            await asyncio.sleep(0)
        self._heard_at = time.monotonic()

    def on_console_interrupted(self) -> None:
        """Stop the run after ^C at the prompt."""
        self.scene.stop()

    def on_console_closed(self) -> None:
        """Exit with status 0 when the session has ended (^D or a command)."""
        self.exit(0)

    # ---- keys -----------------------------------------------------------------------------------

    async def on_key(self, event: events.Key) -> None:
        """Send a key to the focused pane first, then run its command or action, if it has one."""
        pane = self._focused_pane
        if pane is not None and (pane.heard(event) or self._says(pane, event.key)):
            event.stop()
            event.prevent_default()
            return
        key = BY_NAME.get(event.key)
        if key is None or (key.where is Where.PANES and pane is None):
            return
        event.stop()
        event.prevent_default()
        if key.says:
            self.console_pane.say(key.says)
        else:
            await self.run_action(key.does)

    @property
    def _focused_pane(self) -> Pane | None:
        return self.focused if isinstance(self.focused, Pane) else None

    def _says(self, pane: Pane, key: str) -> bool:
        """Whether it is a key of this pane; then its command is run."""
        if key not in {shown.lower() for shown, _ in pane.own_keys()}:
            return False
        self.console_pane.say(pane.says(key))
        return True

    async def action_quit(self) -> None:
        """Stop the run and exit with status 0."""
        self.scene.stop()
        self.exit(0)

    def action_help_quit(self) -> None:
        """^C in a pane: it stops a run, and does not exit."""
        self.scene.stop()

    def action_go_on(self) -> None:
        """Run `next` in a scenario, else `step`."""
        self.console_pane.say(self.scene.way_on)

    def action_checkpoint(self, direction: int) -> None:
        """Go to the nearest mark; after the last one, to the end of the branch."""
        session = self.scene.session
        here = session.world.event
        marks = [
            mark
            for mark in timeline.mark_rows(session.history, session.checkpoints)
            if mark.mark is timeline.Mark.CHECKPOINT and (mark.event - here) * direction > 0
        ]
        self.console_pane.say(_goto(marks, direction, session.history.branch.name))

    def action_break_here(self) -> None:
        """Set a breakpoint at the marked row; without one, print a hint."""
        if isinstance(self.focused, Pane) and (sentence := self.focused.breakpoint()):
            self.console_pane.say(sentence)
        else:
            self._emit(plain("no event here for a breakpoint; help break", "class:dim"))

    def action_run_or_stop(self) -> None:
        """Stop the current run; without one, run."""
        if self.console_pane.busy:
            self.scene.stop()
        else:
            self.console_pane.say("run")

    def action_type_in(self, text: str) -> None:
        """Type the start of a command; text already typed is kept."""
        self.console_pane.type_in(text)
        self.console_pane.focus()

    def action_turn(self, direction: int) -> None:
        """Focus the next (1) or previous (-1) of the prompt and the visible panes."""
        ring: list[Widget] = [self.console_pane, *self.shown_panes()]
        at = ring.index(self.focused) if self.focused in ring else 0
        ring[(at + direction) % len(ring)].focus()

    def action_prompt(self) -> None:
        """Go back one level in the focused pane; at its top level focus the prompt."""
        pane = self.focused
        if isinstance(pane, Pane) and pane.escape():
            pane.redraw()
        else:
            self.console_pane.focus()

    def action_tab(self, number: int) -> None:
        """Show and focus a tab by its number, counted from 1."""
        name = list(layout.TABS)[number - 1]
        if name == layout.MEMORY and self.panes[layout.MEMORY_LEFT].place is not None:
            name = layout.MEMORY_LEFT
        if self.panes[name].place is None or self.wish.zoomed:
            zoomed = name if self.wish.zoomed else ""
            self.wish = self.wish._replace(tab=name, zoomed=zoomed)
            self.arrange()
        self.panes[name].focus()

    def action_zoom(self) -> None:
        """Show the focused pane alone, or all panes again."""
        pane = self.focused
        name = pane.id or "" if isinstance(pane, Pane) else ""
        self.wish = self.wish._replace(zoomed="" if self.wish.zoomed else name)
        self.arrange()
        if isinstance(pane, Pane) and pane.place is not None:
            pane.focus()

    def action_copy(self) -> None:
        """Copy the text of the focused pane to the clipboard."""
        if isinstance(self.focused, Pane):
            text = self.focused.text()
            self.copy_to_clipboard(text)
            count = text.count("\n") + 1
            says = "  ".join(self.focused.sentences())
            self._emit(plain(f"copied {count} lines; the command for them: {says}", "class:dim"))

    def action_explain_keys(self) -> None:
        """Print all keys and their meanings above the prompt."""
        width, hang = self.scene.talk.voice.width, 22
        for key, meaning in explained():
            line: Line = [("bold", f"  {key:<{hang - 2}}"), ("", meaning)]
            for row in fold(line, width, hang - 2):  # behind the margin of the line
                self._emit(row)

    def _of_pane(self, what: str, *given: Any) -> None:
        if isinstance(self.focused, Pane):
            getattr(self.focused, what)(*given)

    def action_move(self, rows: int) -> None:
        """Move the mark of the focused pane by `rows` rows, or scroll it."""
        self._of_pane("move", rows)

    def action_page(self, direction: int) -> None:
        """Scroll the focused pane by a page: down (1) or up (-1)."""
        self._of_pane("page", direction)

    def action_end(self, direction: int) -> None:
        """Scroll the focused pane to its last (1) or first (-1) line."""
        self._of_pane("end", direction)

    def action_inspect(self) -> None:
        """Show or close the details of the marked row in the focused pane."""
        self._of_pane("inspect")

    def action_other(self, noun: str, direction: int) -> None:
        """Show the next (1) or previous (-1) object of a noun in the focused pane."""
        self._of_pane("other", noun, direction)

    def action_filter(self) -> None:
        """Start to type a filter in the focused pane."""
        self._of_pane("ask_filter")


def _goto(marks: list[timeline.MarkRow], direction: int, branch: str) -> str:
    """The command that goes to the first or the last of these marks on this branch."""
    if not marks:
        return "goto start" if direction < 0 else "goto end"
    nearest = marks[0] if direction > 0 else marks[-1]
    return f"goto @{nearest.name}" if nearest.branch == branch else f"goto {nearest.event}"


def _put(widget: Widget, place: layout.PanePlace | None) -> None:
    widget.display = place is not None
    if place is not None:
        widget.styles.offset = (place.x, place.y)
        widget.styles.width, widget.styles.height = place.width, place.height


def build(
    profile: str | None = None,
    seed: int = 0,
    path: str | None = None,
    history: History | None = None,
    shared: str | None = None,
) -> Rdmalab:
    """The application with its world: a finished SEND, a scenario, or a shared session.

    profile: of all devices; None: that of the scenario, else strict.
    """
    ascii_only = stylesheet.ascii_wanted()
    scene = AppModel(profile or "strict", seed, ascii_only=ascii_only)
    app = Rdmalab(scene, ascii_only=ascii_only, history=history)
    other = f" profile={profile}" if profile else ""
    app.script += [f'load "{path}"{other}'] if path is not None else []
    app.script += [f"open {shared}{other}"] if shared is not None else []
    if not app.script:
        scene.begin()
    return app


def main(
    profile: str | None = None, seed: int = 0, path: str | None = None, shared: str | None = None
) -> int:
    """Run the application; returns the exit code."""
    app = build(profile, seed, path, shared=shared)
    diary = app.scene.keep()
    app.history = kept_history(diary.report)
    app.run()
    if app.return_code == 0:
        diary.leave()
    return app.return_code or 0
