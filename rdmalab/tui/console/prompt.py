"""The prompt of the main screen: a Console, help in its frame, and the colours of the theme."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from prompt_toolkit.styles import BaseStyle, merge_styles
from prompt_toolkit.styles import Style as Sheet
from textual.color import Color

from rdmalab.shell.prompt import Evaluate, colour_wanted
from rdmalab.shell.prompt_setup import Offer, ask_session
from rdmalab.shell.signature import signature
from rdmalab.shell.styled_text import text_of
from rdmalab.shell.styles import prompt_style
from rdmalab.tui.console.pane import Console
from rdmalab.tui.content import STYLES
from rdmalab.tui.keys import AT_PROMPT, bindings
from rdmalab.tui.pacing import after
from rdmalab.views import fmt

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import History
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output
    from textual import events
    from textual.binding import BindingType

    from rdmalab.tui.app import Rdmalab
    from rdmalab.tui.app_model import AppModel

_EVENT = re.compile(r"\bev (\d+)")
_LEADS_ON = re.compile(r"more: (why -v.*)$")  # the last row of a short answer of `why`
_SOON_S = 0.05  # the frame is no part of what one waits for after a key


_CORNERS = 4  # columns of the frame that the title leaves free
_MENU, _CHOSEN = "noreverse $plain on $panel", "noreverse bold $on on $busy"
_PROMPT = {
    "note": "noitalic",
    "prompt": "bold $event", "prompt.continuation": "$dim", "auto-suggestion": "italic $dim",
    "completion-menu": _MENU, "completion-menu.completion": _MENU,
    "completion-menu.completion.current": _CHOSEN, "completion-menu.meta.completion": _MENU,
    "completion-menu.meta.completion.current": _CHOSEN, "scrollbar.background": _MENU,
    "completion-menu.multi-column-meta": _MENU, "scrollbar.button": _CHOSEN,
    "completion-menu.completion fuzzymatch.outside": "$plain",
    "completion-menu.completion.current fuzzymatch.outside": "$on",
    "completion-menu.completion.current fuzzymatch.inside": "bold $on",
}  # fmt: skip
_NAMES = {"default": "", "white": "ansigray", "brightwhite": "ansiwhite"}


class Prompt(Console):
    """The console of a model. Its upper border explains the argument at the cursor."""

    app: Rdmalab
    ALLOW_MAXIMIZE = True
    BORDER_TITLE = "Prompt"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(AT_PROMPT)]

    def __init__(self, model: AppModel, evaluate: Evaluate, history: History) -> None:
        self._model = model
        self._history = history
        self._timer: asyncio.TimerHandle | None = None
        self.is_choosing = False  # a menu was opened for the line that is typed
        super().__init__(self._session, evaluate, id="prompt")

    def _session(self, *, input: Input, output: Output, embedded: bool) -> PromptSession[str]:  # noqa: A002
        session = ask_session(
            self._model.lab, history=self._history, input=input, output=output, embedded=embedded
        )
        session.bottom_toolbar = None  # the frame says it
        return session

    def on_mount(self) -> None:
        """Take the colours of the theme; keep the frame up to date."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self._dye())
        self._dye()
        self.live.session.app.after_render += lambda _: self._frame_soon()
        self.watch(self, "scroll_y", lambda _: self._frame_soon(), init=False)

    def _dye(self) -> None:
        self.dye(sheet(self.app.theme_variables, colour=colour_wanted()))

    @property
    def text(self) -> str:
        """Text of the line that is being typed."""
        return self.live.session.default_buffer.text

    def take_key(self, key: str, character: str | None) -> bool:
        """Send a key to the prompt, as Console does; keys typed during a line go to the frame."""
        took = super().take_key(key, character)
        if self.busy:
            self._frame_soon()
        return took

    def on_click(self, event: events.Click) -> None:
        """A click on an event opens what happened in it."""
        text, column = self.text_at(event)
        for found in _EVENT.finditer(text):
            if found.start() <= column < found.end():
                self.app.action_event(int(found[1]))

    def action_press(self, key: str) -> None:
        """Press a key of the prompt: a click in the footer. ^C copies what is selected."""
        if key == "ctrl+c" and self.screen.get_selected_text():
            self.screen.action_copy_text()
            self.screen.clear_selection()
        elif not self._takes(key):
            self.press(key)

    def on_key(self, event: events.Key) -> None:
        """Keys that mean something else at an empty prompt."""
        if not self._has_selection() and self._takes(event.key):
            event.stop()
            event.prevent_default()

    def _takes(self, key: str) -> bool:
        """Tab at an empty prompt takes the line that comes next; ^C holds the world of programs."""
        if key == "ctrl+c" and self._model.take_interrupt() and not self.busy:
            return True  # the key comes when what it has stopped is over
        if key == "ctrl+c" and not (self.busy or self.text):
            return self.app.main.hold_programs()
        return key == "tab" and self._take_offer()

    @property
    def _offer(self) -> str:
        """The line for Tab at an empty prompt: what comes next, or all of a shortened answer."""
        if offered := self._model.offered:
            return offered
        answer = self.app.main.answer
        found = _LEADS_ON.search(text_of(answer[-1])) if answer else None
        return found[1] if found is not None else ""

    def _take_offer(self) -> bool:
        line = "" if self.busy or self.text.strip() else self._offer
        self.type_in(line)
        return bool(line)

    # ---- the frame ----------------------------------------------------------------------------

    def _frame_soon(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = after(self, _SOON_S, self._frame)

    def _frame(self) -> None:
        was, self.is_choosing = self.is_choosing, self.live.menu_met
        if was != self.is_choosing:
            self.app.main.frame_soon()
        title, text = self._title(), self._help().replace("[", r"\[")
        both = f"{title}  {text}".rstrip()
        is_short = title.partition("  ")[2].startswith("PgUp")  # it says least
        has_room = len(both) <= self.size.width - _CORNERS and not self.text
        title = f"Prompt  {text}" if text and is_short and not has_room else both
        name, gap, rest = title.partition("  ")
        title = f"{name}[not bold]{gap}{rest}[/]" if rest else name
        if title != self.border_title:
            self.border_title = title

    def _title(self) -> str:
        above = int(self.scroll_y)
        if doing := self._model.conversation.doing:
            return f"Prompt  {doing.partition(' ')[0]}, ^C or F9 stops"
        if above and self.scroll_y < self.max_scroll_y:
            below = fmt.count(int(self.max_scroll_y) - above, "row")
            return f"Prompt  {below} below, PgDn"
        return f"Prompt  PgUp: {fmt.count(above, 'row')} above" if above else "Prompt"

    def _help(self) -> str:
        """Legal values of the argument at the cursor; of a row chosen in the menu, what it is."""
        if self.busy:
            typed = self.live.typed_ahead
            return f"after the run: {typed}" if typed else ""
        buffer = self.live.session.default_buffer
        text = buffer.text
        state = buffer.complete_state
        if state is not None and isinstance(state.current_completion, Offer):
            return state.current_completion.about
        if not text.strip() or "\n" in text:
            again = f"Enter: {self._model.repeated}" if self._model.repeated else ""
            line = "" if text else self._offer
            word = "the line that comes next" if line == self._model.offered else line
            offer = f"Tab: {word}" if line else ""
            return "   ".join(filter(None, (offer, again)))
        return signature(self._model.session, text, buffer.cursor_position)


def sheet(variables: Mapping[str, str], *, colour: bool) -> BaseStyle:
    """The style sheet of the prompt. variables: of the theme; colour: False if none is wanted."""
    if not colour:
        return prompt_style()
    rules = {name: _rule(markup, variables) for name, markup in {**STYLES, **_PROMPT}.items()}
    return merge_styles([prompt_style(), Sheet.from_dict(rules)])


def _rule(markup: str, variables: Mapping[str, str]) -> str:
    """`bold $on on $busy` as prompt_toolkit writes it: `bold #0e1420 bg:#70b7ff`."""
    words: list[str] = []
    ground = ""
    for word in markup.split():
        if word == "on":
            ground = "bg:"
            continue
        text = _colour(variables.get(word[1:], "")) if word.startswith("$") else word
        words += [ground + text] if text else ["reverse"] if ground else []
    return " ".join(words)


def _colour(text: str) -> str:
    """A colour of the theme; empty for the terminal's own ground."""
    name = text.partition(" ")[0]  # those of the terminal may have an opacity behind them
    if name.startswith("ansi_"):
        word = name.removeprefix("ansi_").replace("_", "")
        return _NAMES.get(word, f"ansi{word}")
    return Color.parse(name).hex6.lower() if name else ""
