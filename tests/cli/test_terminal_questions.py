"""What a terminal answers, and terminals that answer nothing."""

import sys
import time

import pytest

from rdmalab.cli.terminal_questions import TerminalAnswers, answers, ask
from tests.terminal import Terminal

DARK = "\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\"
LIGHT = "\x1b]11;rgb:ff/ff/f0\x07"
WHO = "\x1b[?62;22;52c"
_ASKS = "from rdmalab.cli.terminal_questions import ask; print('found', ask(['a', '→']))"
PROGRAM = [sys.executable, "-c", _ASKS]


def test_all_answers() -> None:
    found = answers(f"\x1b[3;2R\x1b[3;3R{DARK}{WHO}", ["a", "→"])
    assert found == TerminalAnswers({"a": 1, "→": 2}, False, frozenset({62, 22, 52}))


@pytest.mark.parametrize(
    ("received", "expected"),
    [
        ("", TerminalAnswers({}, None, None)),
        (WHO, TerminalAnswers({}, None, frozenset({62, 22, 52}))),
        (f"\x1b[3;2R{LIGHT}{WHO}", TerminalAnswers({}, True, frozenset({62, 22, 52}))),
        ("\x1b[?c", TerminalAnswers({}, None, frozenset())),
    ],
)
def test_answers_that_are_missing(received: str, expected: TerminalAnswers) -> None:
    assert answers(received, ["a", "→"]) == expected


def test_without_a_terminal_nothing_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(["a"]) is None
    assert capsys.readouterr() == ("", "")


def test_a_terminal_is_asked_once_and_left_as_it_was() -> None:
    with Terminal(PROGRAM) as screen:
        screen.wait_until(lambda _rows: b"\x1b[c" in screen.raw)
        assert screen.raw.count(b"\x1b[6n") == 2
        screen.send(f"\x1b[1;2R\x1b[1;2R{LIGHT}{WHO}".encode())
        rows = "".join(screen.wait_for("attributes"))
        assert "found TerminalAnswers(widths={'a': 1, '→': 1}, light=True" in rows
        assert screen.wait_exit() == 0


def test_a_terminal_that_answers_nothing_costs_a_second() -> None:
    with Terminal(PROGRAM) as screen:
        screen.wait_until(lambda _rows: b"\x1b[c" in screen.raw)
        begun = time.monotonic()
        screen.wait_for("attributes=None")
        assert 0.5 < time.monotonic() - begun < 20


def test_a_dumb_terminal_is_not_asked() -> None:
    with Terminal(PROGRAM, env={"TERM": "dumb"}) as screen:
        screen.wait_for("found None")
        assert b"\x1b[c" not in screen.raw
