"""The Textual application: panes above, the prompt below, one event loop, one world."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import App

from rdmalab.shell.prompt import colour_wanted
from rdmalab.shell.prompt_setup import no_history
from rdmalab.shell.styled_text import fold, plain
from rdmalab.tui import layout, stylesheet
from rdmalab.tui.app_model import CARD, AppModel, checkpoint_command
from rdmalab.tui.arrangement import Arrangement
from rdmalab.tui.driver import driver_class
from rdmalab.tui.interrupt import interrupting
from rdmalab.tui.keys import ACTIONS, EVERYWHERE, explained
from rdmalab.tui.no_colour import Colourless
from rdmalab.tui.painter import Painter
from rdmalab.tui.pane import Appearance, Pane
from rdmalab.tui.pane_table import made_panes
from rdmalab.tui.repl import Repl
from rdmalab.tui.signals import handle_signals
from rdmalab.tui.status_bars import Bar, footer_line, header_line, tape_line
from rdmalab.tui.world_view import WorldView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from prompt_toolkit.history import History
    from textual import events
    from textual.driver import Driver
    from textual.filter import LineFilter
    from textual.widget import Widget

    from rdmalab.shell.styled_text import Line
    from rdmalab.tui.console.pane import Console


class Rdmalab(App[int]):
    """Layout, keys and painting; the scene evaluates the commands."""

    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None
    TITLE = "rdmalab"
    CSS = """
    Screen { overflow: hidden; background: ansi_default; color: ansi_default; }
    """
    BINDINGS: ClassVar = []

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
        self.panes: dict[str, Pane] = {}
        self.script: list[str] = []
        scene.talk.copy = self.copy_to_clipboard
        self.painter = Painter(self._emit)

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
        self.panes = made_panes(self.stage, self.look)
        keys = EVERYWHERE | {"ctrl+q"}
        repl = Repl(self.scene, self.look, self._evaluate, leave_keys=keys, history=self.history)
        drawn: dict[str, Callable[[int], Line]] = {
            layout.HEADER: partial(header_line, self.stage, self.scene),
            layout.TAPE: lambda width: tape_line(self.scene.session, width),
            layout.FOOTER: lambda width: footer_line(self.scene, width, self.focused_pane),
        }
        bars = [Bar(name, self.look, draw) for name, draw in drawn.items()]
        self.arrangement = Arrangement(self.scene, self.stage, self.panes, bars, repl)
        yield from (*bars[:2], *self.panes.values(), repl, *bars[2:])

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
        handle_signals(self)
        self.call_after_refresh(self._hear)

    def _hear(self) -> None:
        """The prompt has the focus: read the keys typed since the start of the program."""
        if (ready := getattr(self._driver, "ready", None)) is not None:
            ready.set()

    def _return(self, _app: App[int]) -> None:
        """Set up the terminal again after ^Z and fg."""
        for widget in self.screen.walk_children():
            widget.refresh()

    # ---- where it stands ------------------------------------------------------------------------

    def on_resize(self, event: events.Resize) -> None:
        """Place the panes for the new size (columns, rows)."""
        self.arrange(event.size.width, event.size.height)

    def arrange(self, columns: int = 0, rows: int = 0) -> None:
        """Place every pane. 0: `size`, which is the old one during a resize."""
        if not self.panes:
            return
        self.arrangement.size = layout.Size(columns or self.size.width, rows or self.size.height)
        self.arrangement.place()
        self._settle()

    def _settle(self) -> None:
        """Repaint; the prompt gets the focus of a pane that is hidden now."""
        focused = self.focused
        if focused is not None and not focused.display:
            self.console_pane.focus()
        self.repaint()

    # ---- painting -------------------------------------------------------------------------------

    def repaint(self, *, search: bool = False) -> None:
        """Read the views again; only differences are written to the terminal.

        During a search through the past only the bars are updated; the panes would show
        intermediate moments, each of which needs a replay.
        """
        if self.arrangement.follow_news():
            self._settle()
            return
        with self.stage.frame():
            panes = () if search else self.arrangement.shown()
            bars = [bar for bar in self.query(Bar) if bar.display]
            columns = self.arrangement.size.columns
            self.painter.paint(
                [pane.redraw for pane in panes] + [partial(bar.redraw, columns) for bar in bars]
            )
            self.repl.redraw()

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
        """Between two slices of a run."""
        await self.painter.pause(partial(self.repaint, search=self.scene.talk.searching))

    def on_console_interrupted(self) -> None:
        """Stop the run after ^C at the prompt."""
        self.scene.stop()

    def on_console_closed(self) -> None:
        """Exit with status 0 when the session has ended (^D or a command)."""
        self.exit(0)

    # ---- keys -----------------------------------------------------------------------------------

    async def on_key(self, event: events.Key) -> None:
        """Run the command or action of a key; keys of the focused pane come first."""
        pane = self.focused_pane
        if event.key not in EVERYWHERE and pane is None:
            return
        action = ACTIONS.get(event.key, "")
        if pane is not None and event.key in {key.lower() for key, _ in pane.own_keys()}:
            action = f">{pane.says(event.key)}"
        if not action:
            return
        event.stop()
        event.prevent_default()
        if action.startswith(">"):
            self.console_pane.say(action[1:])
        else:
            await self.run_action(action)

    @property
    def focused_pane(self) -> Pane | None:
        return self.focused if isinstance(self.focused, Pane) else None

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
        self.console_pane.say(checkpoint_command(self.scene.session, direction))

    def action_break_here(self) -> None:
        """Set a breakpoint at the marked row; without one, print a hint."""
        if self.focused_pane is not None and (sentence := self.focused_pane.breakpoint()):
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
        ring: list[Widget] = [self.console_pane, *self.arrangement.shown()]
        at = ring.index(self.focused) if self.focused in ring else 0
        ring[(at + direction) % len(ring)].focus()

    def action_prompt(self) -> None:
        """Go back one level in the focused pane; at its top level focus the prompt."""
        pane = self.focused_pane
        if pane is not None and pane.escape():
            pane.redraw()
        else:
            self.console_pane.focus()

    def action_tab(self, number: int) -> None:
        """Show and focus a tab by its number, counted from 1."""
        pane = self.arrangement.bring(number)
        self._settle()
        pane.focus()

    def action_zoom(self) -> None:
        """Show the focused pane alone, or all panes again."""
        pane = self.focused_pane
        self.arrangement.zoom(pane.id or "" if pane is not None else "")
        self._settle()
        if pane is not None and pane.place is not None:
            pane.focus()

    def action_copy(self) -> None:
        """Copy the text of the focused pane to the clipboard."""
        if (pane := self.focused_pane) is not None:
            text = pane.text()
            self.copy_to_clipboard(text)
            told = f"copied {text.count(chr(10)) + 1} lines; the command for them: "
            self._emit(plain(told + "  ".join(pane.sentences()), "class:dim"))

    def action_explain_keys(self) -> None:
        """Print all keys and their meanings above the prompt."""
        width, hang = self.scene.talk.voice.width, 22
        for key, meaning in explained(self.panes):
            line: Line = [("bold", f"  {key:<{hang - 2}}"), ("", meaning)]
            for row in fold(line, width, hang - 2):  # behind the margin of the line
                self._emit(row)
