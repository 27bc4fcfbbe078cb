"""The Textual application: keys, actions, themes, and how its screens follow each other."""

from __future__ import annotations

import asyncio
import gc
import os
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.screen import Screen
from textual.widgets import Static

from rdmalab.tui import themes
from rdmalab.tui.driver import Ground, driver_class, handle_signals, interrupting
from rdmalab.tui.face import Face
from rdmalab.tui.filters import Ascii, Colourless, ascii_wanted
from rdmalab.tui.keys import EVERYWHERE, IN_PANES, LINE_S, TO_FOCUS, Letter, bindings, shown
from rdmalab.tui.layouts import place
from rdmalab.tui.pacing import after
from rdmalab.workbench import settings

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from types import ModuleType

    from textual.binding import BindingType
    from textual.command import Provider
    from textual.driver import Driver
    from textual.filter import LineFilter

    from rdmalab.tui.app_model import AppModel
    from rdmalab.tui.console.prompt import Prompt
    from rdmalab.tui.pane import Pane
    from rdmalab.tui.screens.main import Main
    from rdmalab.tui.screens.page import Page
    from rdmalab.workbench.screen_words import ScreenRequest


def _finder() -> type[Provider]:
    """The palette's rows; made from the engine, so it is imported when the palette is opened."""
    from rdmalab.tui.palette import Finder

    return Finder


_READING = ("packet", "copy", "checkpoint", "command_palette")  # of the world; pages ask themselves


class Rdmalab(App[int]):
    """make: the main screen; it is called in a thread, because it imports the engine.

    face: where the app is shown, if that is not the terminal of this process.
    """

    TITLE = "rdmalab"
    CSS_PATH = "rdmalab.tcss"
    AUTO_FOCUS = None
    COMMAND_PALETTE_BINDING = "f2"
    HORIZONTAL_BREAKPOINTS = [(0, "-slim"), (60, "-narrow"), (110, "-medium"), (170, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (18, "-low"), (34, "-tall"), (50, "-high")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(EVERYWHERE, priority=True),
        *bindings(TO_FOCUS, priority=True),
        Binding(COMMAND_PALETTE_BINDING, "command_palette", "Palette", show=False, priority=True),
        *bindings(tuple(key for key in IN_PANES if key not in TO_FOCUS)),
    ]
    COMMANDS = {_finder}  # noqa: RUF012 (Textual has no ClassVar here)

    def __init__(self, make: Callable[[], Main], face: Face | None = None) -> None:
        self._make = make
        self.face = face or Face()
        self._settings = settings.read()
        self._main: Main | None = None
        self._early: list[str] = []  # lines said before the main screen is there
        self.letter: Letter | None = None  # the last key of a pane or page, if it may begin a line
        choice = os.environ.get("NO_COLOR")
        super().__init__()
        if choice is not None:  # Textual takes it away; the prompt asks for it, and so do children
            os.environ["NO_COLOR"] = choice
        for own in themes.own_themes():
            self.register_theme(own)
        # Before the start nothing is drawn that a change of theme would have to draw again.
        self.set_reactive(App.theme, self._theme_wanted(dark=True))
        for name, is_so in (("-dark-mode", True), ("-light-mode", False)):
            self.set_class(self.current_theme.dark is is_so, name, update=False)
        self.stylesheet.set_variables(self.get_css_variables())

    # ---- the terminal ---------------------------------------------------------------------------

    def get_driver_class(self) -> type[Driver]:
        """The terminal driver, extended: ^C cancels a computation from the input thread."""
        if self.face.driver_class is not None:
            return interrupting(self.face.driver_class, self.interrupt)
        asks = self._settings.theme == "auto" and self._settings.colours != "none"
        driver = driver_class(asks_ground=asks) or super().get_driver_class()
        return interrupting(driver, self.interrupt)

    def _theme_wanted(self, *, dark: bool) -> str:
        """The theme of the settings; else one for the ground of the terminal."""
        wanted, colours = self._settings.theme, self._settings.colours
        if colours == "truecolor":
            os.environ["COLORTERM"] = "truecolor"
        self.register_theme(themes.terminal_theme(dark=dark))
        known = themes.chosen(wanted, self.available_themes)
        return known or themes.first_theme(colours, dark=dark)

    def on_ground(self, event: Ground) -> None:
        """The ground of the terminal is known; F3 may have chosen a theme since the start."""
        self._settings = settings.read()
        self.theme = self._theme_wanted(dark=event.dark)

    def _settings_changed(self) -> None:
        """Theme and mouse change at once, all else with the next start."""
        self._settings = settings.read()
        self.theme = self._theme_wanted(dark=self.current_theme.dark)
        if (capture := getattr(self._driver, "capture_mouse", None)) is not None:
            capture(wanted=self._settings.mouse)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """The filters of output lines, for NO_COLOR and for ASCII."""
        is_bare = self._settings.colours == "none"
        found = list([Colourless()] if is_bare else super().get_line_filters())
        return [*found, Ascii()] if ascii_wanted(self._settings.ascii) else found

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Colours by meaning for themes that are not ours."""
        return themes.tones_of(self.current_theme)

    def get_key_display(self, binding: Binding) -> str:
        """F1, ^R, Tab."""
        return shown(binding.key)

    # ---- the start ------------------------------------------------------------------------------

    def get_default_screen(self) -> Start:
        """Screen that is shown until the engine is imported."""
        return Start()

    def on_mount(self) -> None:
        """Make the main screen in a thread, while the first one is drawn."""
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))
        handle_signals(self)
        self.run_worker(self._open_main(), name="start")

    async def _open_main(self) -> None:
        self._main = await asyncio.to_thread(self._make)
        from rdmalab.tui.screens.main import QUIET_S  # imported now

        conversation = self._main.model.conversation
        conversation.copy, conversation.screen = self.deliver, self._carry_out
        conversation.hand_out = self.face.hand_out
        conversation.settings_changed = self._settings_changed
        with self.batch_update():  # one frame when all is there, not one for each layout
            await self.push_screen(self._main)
            for line in self._early:
                self._main.prompt.say(line)
            self._read_keys()
        self._main.check_idle()
        self._main.call_after_refresh(after, self._main, QUIET_S, self._main.open_side)

    def _read_keys(self) -> None:
        """The prompt has the focus: read the keys typed since the start of the program."""
        if (ready := getattr(self._driver, "ready", None)) is not None:
            ready.set()
        if not gc.isenabled():  # `launch.main` disabled it for the start
            gc.freeze()  # what was imported stays; no collection looks at it again
            gc.enable()

    # ---- what actions and panes ask -------------------------------------------------------------

    @property
    def is_ready(self) -> bool:
        """Whether the main screen is there."""
        return self._main is not None and self._main.is_mounted

    @property
    def main(self) -> Main:
        """The main screen, also below a page."""
        assert self._main is not None
        return self._main

    @property
    def model(self) -> AppModel | None:
        """The session; None until the engine is imported."""
        return self._main.model if self._main is not None else None

    @property
    def prompt(self) -> Prompt:
        return self.main.prompt

    @property
    def is_busy(self) -> bool:
        """Whether a line is being evaluated."""
        return self.is_ready and self.prompt.busy

    def interrupt(self) -> None:
        """^C, in the thread that reads the terminal: cancel the computation."""
        if self.model is not None:
            self.model.interrupt()

    def action_say(self, line: str) -> None:
        """Carry out a line as if it had been typed."""
        if self.is_ready:
            self.prompt.say(line)
        else:
            self._early.append(line)

    def action_type_in(self, text: str) -> None:
        """Put a text into the prompt, if nothing is typed there."""
        self.prompt.type_in(text)
        self.prompt.focus()

    say, type_in = action_say, action_type_in

    async def on_event(self, event: events.Event) -> None:
        """Give a key or a paste to the prompt before it goes to a pane that has no use for it.

        A pane would decide later: of a line that comes at once it would keep the keys after.
        """
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            await self._let_go_if_no_line(event)
            if self.letter is not None or (self._takes_lines and self._begins_line(event)):
                await self._take_back_letter()
                self.prompt.focus()
            elif isinstance(event, events.Key) and await self._is_letter_of_pane(event):
                return
        await super().on_event(event)

    async def _is_letter_of_pane(self, event: events.Key) -> bool:
        """Whether a letter is a key of the focused pane: it acts, or waits for the next letter."""
        pane = self._pane if self._takes_lines else None
        character = event.character or ""
        if pane is None or not character.isalpha():
            return False
        self.letter = letter = Letter(event, pane, is_held=character in pane.COMMANDS)
        if letter.is_held:
            after(pane, LINE_S, partial(self._is_over, letter))
        else:
            await pane.press(event.key)
        return True

    async def _let_go_if_no_line(self, event: events.Key | events.Paste) -> None:
        """The letter before counts as a key of its pane, unless this one goes on with a line."""
        letter = self.letter
        if letter is not None and not letter.begins_line(event):
            self.letter = None
            await self._let_go(letter)

    async def _let_go(self, letter: Letter) -> None:
        """Give a letter that was held back to its pane; what follows may be text of the pane."""
        if letter.is_held and letter.pane is not None:
            await letter.pane.press(letter.event.key)

    def _is_over(self, letter: Letter) -> None:
        """Let the pane have the letter: no other key has come since."""
        if letter is self.letter:
            self.letter = None
            self.call_next(self._let_go, letter)

    async def _take_back_letter(self) -> None:
        """The letter before begins the line: it goes to the prompt, and its pane is as it was."""
        letter, self.letter = self.letter, None
        if letter is None:
            return
        if letter.is_switch and letter.pane is not None:
            await letter.pane.press(letter.event.key)
        self.prompt.take_key(letter.event.key, letter.character)

    @property
    def _takes_lines(self) -> bool:
        """Whether a line may begin: in a pane, or where a smaller window hid the focused pane."""
        pane = self._pane
        is_idle = self.focused is None if pane is None else not pane.is_typing
        return self.is_ready and self.screen is self.main and is_idle

    def _begins_line(self, event: events.Key | events.Paste) -> bool:
        """Whether it is text, and not a key of the pane; no command begins with a digit."""
        if isinstance(event, events.Paste):
            return True
        own = "" if self._pane is None else self._pane.COMMANDS  # also where they do nothing now
        begins = event.is_printable and event.key not in ("space", *own, *"0123456789")
        return begins and event.key not in self.screen.active_bindings

    @property
    def escape_to_minimize(self) -> bool:
        """Textual's own would leave the keys in a pane; Esc of a pane gives them back, too."""
        return self._pane is None and super().escape_to_minimize

    def tell_bug(self, bug: Exception) -> None:
        """Report that a pane has failed."""
        self.main.tell_bug(bug)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """False for what a screen replaces, and for keys of panes outside them (letters)."""
        if action in ("leave", "tab"):
            pane = self._pane if self.is_ready else None
            is_kept = pane is None or pane.is_typing or (parameters == (True,) and pane.is_begun)
            return not is_kept
        is_working = self.model is not None and self.model.conversation.work is not None
        if action in (*getattr(self.screen, "REPLACED", ()), *(_READING if is_working else ())):
            return False
        return super().check_action(action, parameters)

    # ---- time -----------------------------------------------------------------------------------

    def action_go_on(self) -> None:
        """Run `next` in a lesson, else `step`; under programs one event, and hold the rest."""
        if self.model is not None and not self.main.step_programs():
            self.prompt.say(lambda: self.main.model.way_on)  # after a `load` that is not at its end

    def action_run_or_stop(self) -> None:
        """Stop the current run; without one, run. Under programs: hold their world, or run it."""
        if self.is_busy:
            self.main.model.stop()
        elif not (self.is_ready and self.main.hold_or_run_programs()):
            self.say("run")

    def action_checkpoint(self, direction: int) -> None:
        """Go to the nearest mark; after the last one, to the end of the branch."""
        from rdmalab.tui.app_model import checkpoint_command

        self.say(checkpoint_command(self.main.model.session, direction))

    def action_help_quit(self) -> None:
        """^C in a pane: it stops a run, and does not exit."""
        if self.model is not None:
            self.model.stop()

    async def action_quit(self) -> None:
        """Stop the run and exit with status 0."""
        self.action_help_quit()
        self.exit(0)

    # ---- what is where --------------------------------------------------------------------------

    def action_leave(self, is_escape: bool = False) -> None:
        """The pane as small as before, the focus at the prompt; of a packet back to the wire."""
        from rdmalab.tui.pane_table import APART, PACKET, WIRE

        is_opened = self._pane is not None and self._pane.id in (PACKET, APART)
        if is_escape and is_opened and self.main.is_packet_of_wire:
            self.main.bring(WIRE, focus=True, is_alone=self.screen.maximized is not None)
            return
        if is_escape and self.main.tab == PACKET and not self.main.is_beside:
            self.main.bring(WIRE)
        if self.screen.maximized:
            self.screen.minimize()
        self.main.wanted = ""
        self.prompt.focus()

    def action_tab(self, number: int) -> None:
        """Show and focus a tab by its number, counted from 1."""
        from rdmalab.tui.pane_table import TABS

        self.main.bring(list(TABS)[number - 1], focus=True)

    def action_zoom(self) -> None:
        """Show what has the focus alone, or all panes again."""
        if self.screen.maximized:
            self.screen.minimize()
        elif self.focused is not None:
            self.screen.maximize(self.focused)

    def action_next_theme(self) -> None:
        """The next of our four themes."""
        names = [theme.name for theme in themes.own_themes()]
        at = names.index(self.theme) if self.theme in names else -1
        self.choose_theme(names[(at + 1) % len(names)])

    def choose_theme(self, name: str) -> None:
        """Take a theme and keep it in the settings."""
        self.theme = name
        try:
            kept = f"kept in {settings.write('theme', name.removeprefix(themes.PREFIX))}"
        except settings.WrongSetting as wrong:
            kept = str(wrong)
        self.notify(f"theme {name.removeprefix(themes.PREFIX)}, {kept}", timeout=3)

    # ---- answers --------------------------------------------------------------------------------

    def action_ask(self, name: str) -> None:
        """Ask why about a thing, in the prompt; where that costs points, Enter decides."""
        lab = self.main.model.exercise
        has_price = lab is not None and lab.lab.document.rules.doctor > 0
        (self.type_in if has_price else self.say)(f"why {name}")

    def action_command_palette(self) -> None:
        """Open the palette."""
        from rdmalab.tui.palette import Palette

        if not Palette.is_open(self):  # type: ignore[arg-type]
            self.push_screen(Palette())

    def action_help(self) -> None:
        """Help on what has the focus."""
        self._push(self._pages.help_page(self, self._pane))

    @property
    def _pane(self) -> Pane | None:
        """The pane that has the focus."""
        from rdmalab.tui.pane import Pane

        around = self.focused.ancestors_with_self if self.focused is not None else ()
        return next((each for each in around if isinstance(each, Pane)), None)

    def action_explain(self, word: str) -> None:
        """Open what the guide says about a word."""
        self.action_open(f"explain {word}")

    def action_event(self, number: int) -> None:
        """Open what happened in an event."""
        self._push(self._pages.event_page(self, number))

    def action_open(self, line: str) -> None:
        """Carry out a line that only reads, and show its whole answer."""
        self._push(self._pages.line_page(self, line))

    @property
    def _pages(self) -> ModuleType:
        from rdmalab.tui.screens import answers

        return answers

    def _push(self, made: Coroutine[None, None, Page]) -> None:
        async def push() -> None:
            await self.push_screen(await made)

        if self.main.model.conversation.running:
            made.close()
            self.notify("A line is being carried out; F9 stops it.", severity="warning")
        else:
            self.run_worker(push(), name="page")

    def action_lessons(self) -> None:
        """Open the list of lessons."""
        from rdmalab.tui.screens.lessons import Lessons

        self.push_screen(Lessons())

    def action_packet(self, number: int) -> None:
        """Show the packet of an event in its fields."""
        self.main.show_packet(number)

    def _carry_out(self, request: ScreenRequest) -> str:
        from rdmalab.tui.screen_requests import carried_out

        return carried_out(self, request)

    # ---- what leaves the app --------------------------------------------------------------------

    def deliver(self, text: str) -> str:
        """Copy a text to the terminal's clipboard and to a file; returns a sentence about it."""
        if self.face.copy is not None:
            return self.face.copy(text)
        from rdmalab.tui.screen_requests import copied

        return copied(text, super().copy_to_clipboard)

    def copy_to_clipboard(self, text: str) -> None:
        """Copy what the mouse or an input has selected, as `copy` does, and say where it is."""
        self.notify(self.deliver(text), timeout=4)

    def action_copy(self) -> None:
        """Copy the focused pane as text; at the prompt the last answer."""
        from rdmalab.tui.screen_requests import text

        pane = self._pane
        name = (pane.id or "") if pane is not None else "answer"
        self.copy_to_clipboard(text(self, name))


class Start(Screen[None]):
    """The bars and the frame of the prompt, in the places that they have on the main screen."""

    def compose(self) -> ComposeResult:
        """Nothing of it needs the engine."""
        place(self)
        yield Static(
            "[bold $on on $event] rdmalab [/] [$dim]the two nodes are being started[/]", id="head"
        )
        yield Static(id="tape")
        yield Static(id="caption")
        yield Container(id="body")
        with Container(id="bottom"):
            prompt = Static("[$dim]Keys typed now are kept.[/]", id="prompt", classes="framed")
            prompt.border_title = "Prompt"
            yield prompt
        keys = " ".join(
            f"[bold $event]{shown(key.keys)}[/] {key.label}" for key in EVERYWHERE if key.label
        )
        yield Static(keys, id="keys")
