"""The table of keys: a key runs a command of the shell, or an action of the panes.

The footer and the help of the panes are computed from it, and the keys that the prompt does not
use. Never bound: what tmux (^b), screen (^a), flow control (^s ^q), a desktop (F10 F11) takes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.tui.layout import STANDING_TABS
from rdmalab.tui.pane_table import TABS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rdmalab.tui.pane import Pane


class Key(NamedTuple):
    """Keys with one meaning. shown: what `?` prints for them; foot, label: what the footer does.

    does: Textual's names of keys → an action, or after a `>` a command of the shell. In the footer
    the first rows of the table stay longest.
    """

    shown: str
    meaning: str
    does: dict[str, str]
    foot: str = ""
    label: str = ""


_TAB_KEYS = {str(number): f"tab({number})" for number in range(1, len(TABS) + 1)}

KEYS: tuple[Key, ...] = (
    Key("Esc  i  :", "back to the prompt", {"escape colon i": "prompt"}, "Esc", "Prompt"),
    Key(
        "F6 / Tab", "next pane; Shift goes back",
        {"f6 tab": "turn(1)", "shift+f6 f18 shift+tab": "turn(-1)"}, "F6", "Next pane",
    ),
    Key(
        ", h  or F7", "back one step; a command in the past opens a branch",
        {"f7 comma h left": ">back"}, "F7", "Back",
    ),
    Key(
        ". l  or F8", "step, or the next note of a scenario",
        {"f8 full_stop l right": "go_on"}, "F8", "Step",
    ),
    Key("Space or F9", "run, or stop", {"f9 space": "run_or_stop"}, "F9", "Run/stop"),
    Key("?", "print this list", {"question_mark": "explain_keys"}, "?", "Keys"),
    Key(
        "j k  PgUp PgDn  g G", "move the mark, or the range of bytes",
        {
            "up k": "focused.move(-1)", "down j": "focused.move(1)",
            "pageup": "focused.page(-1)", "pagedown": "focused.page(1)",
            "g home": "focused.end(-1)", "G end": "focused.end(1)",
        }, "j k", "Move",
    ),
    Key(
        "Enter", "decode the marked packet; again: back to the list",
        {"enter": "focused.inspect"}, "Enter", "Open",
    ),
    Key("z", "zoom the pane; again: back", {"z": "zoom"}, "z", "Zoom"),
    Key(
        "b", "halt at packets like the marked one; a node: when its state changes",
        {"b": "break_here"}, "b", "Break",
    ),
    Key(
        "[ ]", "previous, next checkpoint; then the start, the end",
        {"left_square_bracket": "checkpoint(-1)", "right_square_bracket": "checkpoint(1)"},
        "[ ]", "Marks",
    ),
    Key(
        "o O", "the next, the previous object of this pane; a node: o QP, c CQ, m MR",
        {
            "o": "focused.other('', 1)", "O": "focused.other('', -1)",
            "c": "focused.other('cq', 1)", "m": "focused.other('mr', 1)",
        }, "o", "Other",
    ),
    Key(
        "/", "show only lines with a word; empty: all", {"slash": "focused.filter"}, "/", "Filter"
    ),
    Key("y", "copy the pane as text", {"y": "copy"}, "y", "Copy"),
    Key(
        f"1 … {len(STANDING_TABS)}", "bring a tab to the front",
        _TAB_KEYS, f"1-{len(STANDING_TABS)}", "Tab",
    ),
    Key("F1", "print the commands", {"f1": ">help"}, "F1", "Help"),
    Key("F2", "type the start of a save", {"f2": "type_in('save ')"}, "F2", "Save"),
    Key("^Z", "suspend; fg continues", {"ctrl+z": "suspend_process"}),
)  # fmt: skip

# Keys of the prompt itself that are worth a word in the footer.
PROMPT_KEYS = (("Tab", "Complete"), ("^R", "Search"), ("^C", "Stop"), ("^D", "Quit"))

ACTIONS = {
    name: action for key in KEYS for names, action in key.does.items() for name in names.split()
}
# Function keys and ^Z act at the prompt too, all others only in a pane.
EVERYWHERE = frozenset(name for name in ACTIONS if re.fullmatch(r"(shift\+)?f\d+|ctrl\+z", name))

Pairs = list[tuple[str, str]]


def footer(in_pane: bool, columns: int, going_on: str = "Step", own: Pairs | None = None) -> Pairs:
    """(key, label) pairs that fit the columns. own: keys of the focused pane."""
    pairs = [(key.foot, key.label) for key in KEYS if key.foot]
    if in_pane:
        names = [name for name, _ in own or ()]
        pairs = [pairs[0], *(own or ()), *(pair for pair in pairs[1:] if pair[0] not in names)]
    else:
        pairs = [*sorted(pair for pair in pairs if pair[0].lower() in EVERYWHERE), *PROMPT_KEYS]
    pairs = [(key, going_on if key == "F8" else label) for key, label in pairs]
    while pairs and sum(len(key) + len(label) + 3 for key, label in pairs) > columns:
        pairs.pop()
    return pairs


def explained(panes: Mapping[str, Pane]) -> Pairs:
    """Each key of the panes with its meaning, for `?`; then the keys that only one pane has."""
    own = [
        (f"{TABS[name]}: {' '.join(pane.OWN_KEYS)}", ", ".join(pane.OWN_KEYS.values()).lower())
        for name, pane in panes.items()
        if pane.OWN_KEYS
    ]
    return [*((key.shown, key.meaning) for key in KEYS), *own]
