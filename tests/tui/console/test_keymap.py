import pytest
from prompt_toolkit.keys import Keys

from rdmalab.tui.console.pane import key_presses

ESC = Keys.Escape


@pytest.mark.parametrize(
    ("key", "character", "expected"),
    [
        ("a", "a", ["a"]),
        ("A", "A", ["A"]),
        ("space", " ", [" "]),
        ("plus", "+", ["+"]),
        ("+", "+", ["+"]),
        ("left_curly_bracket", "{", ["{"]),
        ("ä", "ä", ["ä"]),
        ("enter", "\r", [Keys.ControlM]),
        ("tab", "\t", [Keys.ControlI]),
        ("shift+tab", None, [Keys.BackTab]),
        ("backspace", "\x7f", [Keys.ControlH]),
        ("escape", "\x1b", [ESC]),
        ("delete", None, [Keys.Delete]),
        ("up", None, [Keys.Up]),
        ("shift+left", None, [Keys.ShiftLeft]),
        ("ctrl+left", None, [Keys.ControlLeft]),
        ("ctrl+shift+left", None, [Keys.ControlShiftLeft]),
        ("ctrl+a", "\x01", [Keys.ControlA]),
        ("ctrl+r", "\x12", [Keys.ControlR]),
        ("ctrl+shift+a", None, [Keys.ControlA]),
        ("ctrl+j", "\n", [Keys.ControlJ]),
        ("ctrl+at", "\x00", [Keys.ControlAt]),
        ("ctrl+underscore", "\x1f", [Keys.ControlUnderscore]),
        ("ctrl+backspace", None, [Keys.ControlW]),
        ("f3", None, [Keys.F3]),
        ("shift+f1", None, [Keys.F13]),
        ("shift+f7", None, [Keys.F19]),
        ("shift+f12", None, [Keys.F24]),
        ("ctrl+f3", None, [Keys.ControlF3]),
        ("ctrl+shift+f3", None, [Keys.ControlF15]),
        ("alt+d", None, [ESC, "d"]),
        ("alt+D", "D", [ESC, "D"]),
        ("alt+shift+d", None, [ESC, "D"]),
        ("alt+full_stop", None, [ESC, "."]),
        ("alt+less_than_sign", "<", [ESC, "<"]),
        ("alt+enter", None, [ESC, Keys.ControlM]),
        ("shift+enter", None, [ESC, Keys.ControlM]),
        ("alt+backspace", None, [ESC, Keys.ControlH]),
        ("alt+left", None, [ESC, Keys.Left]),
        ("ctrl+alt+f", None, [ESC, Keys.ControlF]),
        ("alt+ctrl+shift+end", None, [ESC, Keys.ControlShiftEnd]),
        ("ctrl+euro_sign", None, []),
        ("caps_lock", None, []),
    ],
)
def test_a_key_of_textual(key: str, character: str | None, expected: list[Keys | str]) -> None:
    assert [press.key for press in key_presses(key, character)] == expected


def test_enter_carries_what_a_terminal_would_have_sent() -> None:
    assert key_presses("enter", "\r")[0].data == "\r"
    assert key_presses("up", None)[0].data == "\x1b[A"
