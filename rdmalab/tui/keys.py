"""The table of keys: a key runs a command of the shell, or moves in the panes.

The footer and the help of the panes are computed from it, and the keys that the prompt does not
use. Never bound: what tmux (^b), screen (^a), flow control (^s ^q), a desktop (F10 F11) takes.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

from rdmalab.tui import layout


class Where(Enum):
    """Where a key is active."""

    ANYWHERE = auto()
    PANES = auto()


class Key(NamedTuple):
    """names: those of Textual. shown: in the footer. says: a command, else does: an action."""

    names: tuple[str, ...]
    shown: str
    label: str
    says: str = ""
    does: str = ""
    where: Where = Where.PANES


_ANYWHERE = Where.ANYWHERE
NEXT = "next"
_TAB_NUMBERS = range(1, len(layout.TABS) + 1)
_TAB_KEYS = f"1-{len(layout.STANDING_TABS)}"  # the nodes have tabs in small terminals only

KEYS: tuple[Key, ...] = (
    Key(("f1",), "F1", "Help", says="help", where=_ANYWHERE),
    Key(("f2",), "F2", "Save", does="type_in('save ')", where=_ANYWHERE),
    Key(("f6",), "F6", "Next pane", does="turn(1)", where=_ANYWHERE),
    Key(("shift+f6", "f18"), "S-F6", "", does="turn(-1)", where=_ANYWHERE),
    Key(("f7",), "F7", "Back", says="back", where=_ANYWHERE),
    Key(("f8",), "F8", "Step", does="go_on", where=_ANYWHERE),
    Key(("f9",), "F9", "Run/stop", does="run_or_stop", where=_ANYWHERE),
    Key(("ctrl+z",), "^Z", "", does="suspend_process", where=_ANYWHERE),
    # ------------------------------------------------------------------ only in a pane
    Key(("up", "k"), "j k", "Move", does="move(-1)"),
    Key(("down", "j"), "", "", does="move(1)"),
    Key(("pageup",), "PgUp PgDn", "", does="page(-1)"),
    Key(("pagedown",), "", "", does="page(1)"),
    Key(("g", "home"), "g G", "", does="end(-1)"),
    Key(("G", "end"), "", "", does="end(1)"),
    Key(("enter",), "Enter", "Open", does="inspect"),
    Key(("o",), "o", "Other", does="other('', 1)"),
    Key(("O",), "", "", does="other('', -1)"),
    Key(("c",), "c", "", does="other('cq', 1)"),
    Key(("m",), "m", "", does="other('mr', 1)"),
    Key(("full_stop", "l", "right"), ".", "Step", does="go_on"),
    Key(("comma", "h", "left"), ",", "Back", says="back"),
    Key(("left_square_bracket",), "[ ]", "Marks", does="checkpoint(-1)"),
    Key(("right_square_bracket",), "", "", does="checkpoint(1)"),
    Key(("b",), "b", "Break", does="break_here"),
    Key(("space",), "Space", "Run/stop", does="run_or_stop"),
    *(Key((str(n),), _TAB_KEYS if n == 1 else "", "", does=f"tab({n})") for n in _TAB_NUMBERS),
    Key(("z",), "z", "Zoom", does="zoom"),
    Key(("slash",), "/", "Filter", does="filter"),
    Key(("y",), "y", "Copy", does="copy"),
    Key(("question_mark",), "?", "Keys", does="explain_keys"),
    Key(("tab",), "Tab", "", does="turn(1)"),
    Key(("shift+tab",), "", "", does="turn(-1)"),
    Key(("escape", "colon", "i"), "Esc", "Prompt", does="prompt"),
)

# Keys of the prompt itself that are worth a word in the footer.
PROMPT_KEYS = (("Tab", "Complete"), ("^R", "Search"), ("^C", "Stop"), ("^D", "Quit"))

BY_NAME = {name: key for key in KEYS for name in key.names}
EVERYWHERE = frozenset(name for name, key in BY_NAME.items() if key.where is _ANYWHERE)

# In this order they give way when the footer is narrow, the last first.
_FOOTER_PANE = (
    *(
        "Esc",
        "F6",
        "F7",
        "F8",
        "F9",
        "?",
        "j k",
        "Enter",
        "z",
        "b",
        "[ ]",
        "o",
        "/",
        "y",
        _TAB_KEYS,
    ),
    "F1",
)


Pairs = list[tuple[str, str]]


def footer(in_pane: bool, columns: int, going_on: str = "Step", own: Pairs | None = None) -> Pairs:
    """(key, label) pairs that fit the columns. own: keys of the focused pane."""
    by_shown = {key.shown: key for key in KEYS if key.shown}
    if in_pane:
        pairs = [(name, by_shown[name].label or "Tab") for name in _FOOTER_PANE]
        names = [name for name, _ in own or ()]
        pairs = [pairs[0], *(own or ()), *(pair for pair in pairs[1:] if pair[0] not in names)]
    else:
        everywhere = [key for key in KEYS if key.where is _ANYWHERE and key.label]
        pairs = [(key.shown, key.label) for key in everywhere] + list(PROMPT_KEYS)
    pairs = [(key, going_on if key == "F8" else label) for key, label in pairs]
    while pairs and sum(len(key) + len(label) + 3 for key, label in pairs) > columns:
        pairs.pop()
    return pairs


def explained() -> list[tuple[str, str]]:
    """Each key of the panes with what it does, for `?`."""
    return [
        ("F6 / Tab", "next pane; Shift goes back"),
        ("j k  PgUp PgDn  g G", "move the mark, or the range of bytes"),
        ("Enter", "decode the marked packet; again: back to the list"),
        ("o O", "the next, the previous object of this pane; a node: o QP, c CQ, m MR"),
        (_TAB_KEYS.replace("-", " … "), "bring a tab to the front"),
        ("/", "show only lines with a word; empty: all"),
        ("z", "zoom the pane; again: back"),
        ("y", "copy the pane as text"),
        (". l  or F8", "step, or the next note of a scenario"),
        (", h  or F7", "back one step; a command in the past opens a branch"),
        ("[ ]", "previous, next checkpoint; then the start, the end"),
        ("Space or F9", "run, or stop"),
        ("Why: Enter a e c", "go to the marked event, apply the fix, explain, checklist"),
        ("b", "halt at packets like the marked one; a node: when its state changes"),
        ("Esc  i  :", "back to the prompt"),
    ]
