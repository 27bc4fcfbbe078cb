"""The demo in a real terminal: what a pilot cannot exercise, above all signals."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.terminal import Terminal

ROOT = Path(__file__).parents[3]
ARGV = [sys.executable, "-m", "tests.tui.console.demo_app"]
PASTE = b"\x1b[200~one\rtwo\x1b[201~"


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    with Terminal(ARGV, columns=100, rows=20, cwd=ROOT) as it:
        it.wait_for("A> ")
        yield it


def test_resize_before_during_and_after_a_line(terminal: Terminal) -> None:
    terminal.wait_for("100 columns")
    terminal.resize(60, 20)
    terminal.wait_for("60 columns")
    terminal.send(b"hello\r")
    terminal.wait_for("heard 1 line(s)")
    terminal.resize(110, 24)
    terminal.wait_for("110 columns")
    terminal.send(b"\x03")  # a prompt that ends by ^C gives the signal back too
    terminal.wait_for("^D on an empty line exits")
    terminal.resize(90, 24)
    terminal.wait_for("90 columns")
    terminal.send(b"forever\r")
    terminal.wait_for("A> forever")
    terminal.resize(70, 24)
    lines = terminal.wait_for("70 columns")
    assert len(lines) == 24


def test_paste_interrupt_and_a_clean_exit(terminal: Terminal) -> None:
    terminal.send(PASTE)
    terminal.wait_for("... two")
    terminal.send(b"\x03")
    terminal.wait_for("^C")
    terminal.send(PASTE + b"\r")
    terminal.wait_for("heard 2 line(s)")
    terminal.send(b"\x04")
    assert terminal.wait_exit() == 0
    assert b"Traceback" not in terminal.raw
    assert b"\x1b[?1049l" in terminal.raw  # the screen that was there before is back
