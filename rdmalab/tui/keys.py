"""The table of keys: bindings, footer, help and palette are made from it.

Never bound: what tmux (^B), screen (^A), flow control (^S), an editor or a desktop (F10 F11) takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textual import events
from textual.binding import Binding

from rdmalab.tui.pane_table import TABS

if TYPE_CHECKING:
    from rdmalab.tui.pane import Pane

LINE_S = 0.4
"""Letters that follow each other so soon are a line that is typed, seconds."""


class Key(NamedTuple):
    """keys: names of Textual. word: the command that does the same, as people type it.

    label: in the footer; empty: it is not there.
    """

    keys: str
    action: str
    label: str
    meaning: str
    word: str = ""


EVERYWHERE = (
    Key("f1", "help", "Help", "help on what has the focus", "help keys"),
    Key("f8", "go_on", "Step", "one step, or the next note of a lesson", "step"),
    Key("f7", "say('back')", "Back", "back one step; a command then opens a branch", "back"),
    Key("f9", "run_or_stop", "Run", "run, or stop the run", "run"),
    Key("f4", "say('why')", "Why", "what has failed, was lost or hangs, and its cause", "why"),
    Key("f5", "zoom", "Zoom", "enlarge the prompt or the pane; again: back", "zoom"),
    Key("f6", "focus_next", "Pane", "the next pane", "pane NAME"),
    Key("shift+f6,f18", "focus_previous", "", "the previous pane", "pane NAME"),
    Key("f3", "next_theme", "", "the next theme", "settings theme"),
    Key("shift+f8,f20", "say('step')", "", "one event, in a lesson too", "step"),
    Key("ctrl+z", "suspend_process", "", "suspend; fg continues"),
)
"""Keys that act at the prompt, too."""
TO_FOCUS = (
    Key("escape", "leave(True)", "", "end what the pane has begun, else back to the prompt"),
    Key("colon", "leave", "", "back to the prompt"),
    *(
        Key(str(number), f"tab({number})", "", f"the tab {label}", f"pane {name}")
        for number, (name, label) in enumerate(TABS.items(), 1)
    ),
)
"""Keys of panes that act before the next key is read: what is typed after them goes there."""
IN_PANES = (
    Key("tab", "focus_next", "", "the next pane", "pane NAME"),
    Key("shift+tab", "focus_previous", "", "the previous pane", "pane NAME"),
    Key("z", "zoom", "", "enlarge the pane; again: back", "zoom"),
    Key("y", "copy", "", "copy the pane as text", "copy"),
    Key("question_mark", "help", "", "help on the pane", "help keys"),
    Key("left_square_bracket", "checkpoint(-1)", "", "the previous checkpoint", "goto @NAME"),
    Key("right_square_bracket", "checkpoint(1)", "", "the next checkpoint", "goto @NAME"),
    *TO_FOCUS,
)
"""Keys that are letters at the prompt."""
AT_PROMPT = (
    Key("tab", "press('tab')", "Complete", "complete the word at the cursor"),
    Key("ctrl+r", "press('ctrl+r')", "", "search the lines typed before"),
    Key("ctrl+c", "press('ctrl+c')", "Stop", "stop the run, clear the line, copy the selection"),
    Key("ctrl+d", "press('ctrl+d')", "Quit", "leave, on an empty line", "quit"),
)  # fmt: skip
_NAMES = {
    "escape": "Esc", "question_mark": "?", "colon": ":", "slash": "/", "full_stop": ".",
    "left_square_bracket": "[", "right_square_bracket": "]", "pageup": "PgUp", "pagedown": "PgDn",
}  # fmt: skip


class Letter(NamedTuple):
    """A letter that is a key of a pane or page, and with which a typed line may begin.

    pane: None: the letter has closed a page. is_held: the pane has not got it yet, because its
    command could not be taken back.
    """

    event: events.Key
    pane: Pane | None
    is_held: bool

    @property
    def character(self) -> str:
        """The character that it writes."""
        return self.event.character or ""

    @property
    def is_switch(self) -> bool:
        """Whether the pane has got it, and the same letter takes back what it did."""
        given = None if self.is_held else self.pane
        return given is not None and self.character in given.SWITCHES

    def begins_line(self, event: events.Key | events.Paste) -> bool:
        """Whether the next key comes soon, and a command begins with both letters."""
        from rdmalab.vocabulary import VOCABULARY  # the engine, which the first frame does not need

        if not isinstance(event, events.Key) or event.time - self.event.time > LINE_S:
            return False
        text = self.character + (event.character or "?")
        is_typing = self.pane is not None and self.pane.is_typing
        return not is_typing and any(word.startswith(text) for word in VOCABULARY)


def bindings(keys: tuple[Key, ...], *, priority: bool = False) -> list[Binding]:
    """The bindings of a part of the table. priority: before what has the focus gets the key."""
    return [
        Binding(
            key.keys, key.action, key.label or key.meaning, show=bool(key.label),
            priority=priority, tooltip=key.meaning,
        )
        for key in keys
    ]  # fmt: skip


def shown(key: str) -> str:
    """A key of Textual as people write it: F1, ^R, Shift-F6, Esc."""
    if key.startswith("ctrl+"):
        return f"^{key[-1].upper()}"
    *held, name = key.split("+")
    name = _NAMES.get(name, name.title() if name[1:] else name)
    return "-".join([*map(str.title, held), name])
