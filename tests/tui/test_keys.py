"""The table of keys."""

from collections import Counter

import pytest

from rdmalab.tui.app import Rdmalab
from rdmalab.tui.keys import ACTIONS, EVERYWHERE, KEYS, explained, footer
from rdmalab.tui.pane import Pane
from rdmalab.vocabulary import VOCABULARY
from tests.tui.playing import first

FORBIDDEN = {"ctrl+a", "ctrl+b", "ctrl+s", "ctrl+q", "f10", "f11", "f12", "shift+left"}


def test_no_key_means_two_things() -> None:
    names = Counter(name for key in KEYS for each in key.does for name in each.split())
    assert [name for name, count in names.items() if count > 1] == []


def test_no_key_is_taken_from_a_terminal_or_a_desktop() -> None:
    assert not FORBIDDEN & ACTIONS.keys()


def test_a_command_of_a_key_is_a_command_of_the_shell() -> None:
    said = [action[1:] for action in ACTIONS.values() if action.startswith(">")]
    assert said
    assert [line for line in said if line.split()[0] not in VOCABULARY] == []


def test_each_action_exists() -> None:
    for action in ACTIONS.values():
        if not action.startswith(">"):
            target, _, name = action.partition("(")[0].rpartition(".")
            assert hasattr(Pane if target else Rdmalab, f"action_{name}"), action


def test_only_function_keys_and_suspend_are_taken_from_the_prompt() -> None:
    assert {name.rpartition("+")[2][0] for name in EVERYWHERE - {"ctrl+z"}} == {"f"}


@pytest.mark.parametrize("columns", [0, 1, 20, 60, 80, 120, 200])
@pytest.mark.parametrize("in_pane", [True, False])
def test_the_footer_fits(columns: int, in_pane: bool) -> None:
    pairs = footer(in_pane, columns)
    assert sum(len(key) + len(label) + 3 for key, label in pairs) <= columns
    assert pairs or columns < 20


def test_the_footer_knows_what_goes_on() -> None:
    assert ("F8", "Next note") in footer(False, 80, "Next note")
    assert footer(True, 80)[0] == ("Esc", "Prompt")


def test_each_key_of_the_panes_is_explained() -> None:
    _, panes = first()
    told = " ".join(keys for keys, _ in explained(panes))
    for shown in ("F6", "j k", "Enter", "o", "z", "/", "y", "F8", "F9", "Esc"):
        assert shown in told
    assert ("Why: Enter a e c", "go there, apply, explain, checklist") in explained(panes)
