"""The colour of the terminal's ground: asked for once, and no key is lost by it."""

import os
import threading
from typing import Any

import pytest

from rdmalab.render.meanings import is_dark
from rdmalab.tui.driver import Ground, asked

STARTED = threading.Event()
STARTED.set()


class Pipe:
    """A terminal that has answered already."""

    def __init__(self, answer: bytes) -> None:
        self.fileno, self.end = os.pipe()
        os.write(self.end, answer)
        self.exit_event = threading.Event()
        self.posted: list[Ground] = []
        self.written = ""

    def write(self, data: str) -> None:
        self.written += data

    def flush(self) -> None:
        pass

    def post_message(self, message: Ground) -> None:
        self.posted.append(message)


@pytest.mark.parametrize(
    ("answer", "dark", "rest"),
    [
        (b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62;c", [False], b""),
        (b"ab\x1b]11;rgb:1c1c/1c1c/1c1c\x07c\x1b[?1;2cd", [True], b"abcd"),
        (b"ls\r\x1b[?1;2c", [], b"ls\r"),
        (b"\x1b[A", [], b"\x1b[A"),  # it does not answer at all
    ],
)
def test_the_answer_is_taken_and_the_keys_are_left(
    answer: bytes, dark: list[bool], rest: bytes
) -> None:
    pipe: Any = Pipe(answer)
    assert asked(pipe, pipe, STARTED) == rest
    assert [message.dark for message in pipe.posted] == dark
    assert pipe.written.startswith("\x1b]11;?")


def test_an_answer_before_the_start_is_no_key_however_late() -> None:
    pipe: Any = Pipe(b"a")
    late = threading.Timer(0.4, os.write, (pipe.end, b"\x1b]11;rgb:ff/ff/ff\x1b\\\x1b[?62;cb"))
    late.start()
    assert asked(pipe, pipe, threading.Event()) == b"ab"
    assert [message.dark for message in pipe.posted] == [False]


def test_dark_is_what_the_eye_calls_dark() -> None:
    assert is_dark(b"00", b"00", b"ff")
    assert not is_dark(b"ff", b"ff", b"00")
    assert is_dark(b"fdfd", b"00", b"00")
    assert not is_dark(b"f", b"f", b"f")
