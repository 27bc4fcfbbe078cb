"""Lines that programs print tell their programs, where a person reads them."""

import os
import sys
import threading
import time
from contextlib import ExitStack

import pytest

from rdmalab.compat.c.outputs import Outputs, labels
from tests.compat.c.running import compiled, execute
from tests.terminal import Terminal
from tests.tools import needs


def on_terminal(*words: str) -> Terminal:
    kept = {**os.environ, "COLUMNS": "", "LINES": "", "NO_COLOR": "1"}
    argv = [sys.executable, "-m", "rdmalab", "exec", *words]
    return Terminal(argv, columns=100, rows=30, env=kept)


def two(*more: str) -> list[str]:
    talks = compiled("talks")
    return ["--", talks, "server", *more, ":", talks, "client"]


@pytest.mark.parametrize(("nodes", "expected"), [
    (["A", "B"], ["A | ", "B | "]), (["A"], ["A | "]), (["", "B"], ["AB | ", "B  | "]),
    (["A", "B", "A"], ["A1 | ", "B  | ", "A2 | "]), (["?", "?"], ["1 | ", "2 | "]),
])  # fmt: skip
def test_each_program_has_a_label_of_its_own(nodes: list[str], expected: list[str]) -> None:
    assert [label.decode() for label in labels(nodes)] == expected


def test_in_colours_only_the_label_has_one() -> None:
    assert labels(["A", "B"], colours=True) == [b"\x1b[36mA |\x1b[m ", b"\x1b[33mB |\x1b[m "]


@needs("gcc")
def test_at_a_terminal_each_line_begins_with_its_node() -> None:
    with on_terminal(*two()) as terminal:
        assert terminal.wait_exit() == 0
        rows = {row.rstrip() for row in terminal.screen()}
    lines = ("A | server speaks", "A | server complains", "B | client speaks")
    assert {*lines, "B | client complains"} <= rows


@needs("gcc")
@pytest.mark.parametrize("words", [("--no-prefix", *two()), ("--", compiled("talks"), "server")],
                         ids=["--no-prefix", "a program that is alone"])  # fmt: skip
def test_without_a_prefix_the_terminal_is_that_of_the_program(words: tuple[str, ...]) -> None:
    with on_terminal(*words) as terminal:
        assert terminal.wait_exit() == 0
        rows = {row.rstrip() for row in terminal.screen()}
    assert {"server speaks", "server complains"} <= rows


@needs("gcc")
def test_elsewhere_the_bytes_are_those_of_the_programs() -> None:
    ended = execute(*two())
    assert sorted(ended.out.splitlines()) == ["client speaks", "server speaks"]
    assert sorted(ended.err.splitlines()) == ["client complains", "server complains"]


@needs("gcc")
def test_a_prefix_that_is_asked_for_is_there_elsewhere_on_each_stream() -> None:
    ended = execute("--prefix", *two())
    assert sorted(ended.out.splitlines()) == ["A | server speaks", "B | client speaks"]
    assert sorted(ended.err.splitlines()) == ["A | server complains", "B | client complains"]


@needs("gcc")
def test_a_question_is_shown_while_its_program_waits() -> None:
    with on_terminal(*two("waits")) as terminal:
        terminal.wait_for("A | a question?")
        terminal.send(b"\x03")
        terminal.wait_exit()


def printed(*turns: tuple[int, bytes], pause_s: float = 0.0) -> bytes:
    """What comes of these outputs of two programs, each looked at before the next."""
    written = bytearray()

    def write(_: int, text: bytes) -> int:
        written.extend(text[:7])  # a terminal takes less at once
        return len(text[:7])

    outputs = Outputs(labels(["A", "B"]), {1: 1}, write)
    with ExitStack() as stack:
        slaves = [stack.enter_context(outputs.opened(number))["stdout"] for number in (0, 1)]
        for number, text in turns:
            os.write(slaves[number], text)
            outputs.wait(10)
            outputs.copy()
            time.sleep(pause_s)
            outputs.copy()
        outputs.close()
    return bytes(written)


@pytest.mark.parametrize(("turns", "pause_s", "expected"), [
    ([(0, b"one\ntwo\n"), (1, b"three\n")], 0, b"A | one\nA | two\nB | three\n"),
    ([(0, b"o"), (1, b"three\n"), (0, b"ne\n")], 0, b"B | three\nA | one\n"),
    ([(0, b"one? "), (0, b"yes\n")], 0.15, b"A | one? yes\n"),
    ([(0, b"one? "), (1, b"two\n"), (0, b"yes\n")], 0.15, b"A | one? \nB | two\nA | yes\n"),
    ([(0, b"\x00\xff\r50 %\r\n")], 0, b"A | \x00\xff\r50 %\r\n"),
    ([(0, b"no end")], 0, b"A | no end"),
])  # fmt: skip
def test_no_line_is_mixed_with_that_of_another_program(
    turns: list[tuple[int, bytes]], pause_s: float, expected: bytes
) -> None:
    assert printed(*turns, pause_s=pause_s) == expected


def of_one_program() -> tuple[bytearray, Outputs]:
    """The outputs of a program on A, and what has come of them."""
    got = bytearray()

    def write(_: int, text: bytes) -> int:
        got.extend(text)
        return len(text)

    return got, Outputs([b"A | "], {1: 1}, write)


def test_what_was_printed_before_the_end_is_not_lost() -> None:
    got, outputs = of_one_program()
    with outputs.opened(0) as streams:
        os.write(streams["stdout"], b"x" * 1_000 + b"\nlast\n")
    until_s = time.monotonic() + 10
    while outputs.sources and time.monotonic() < until_s:
        outputs.copy()
    assert bytes(got) == b"A | " + b"x" * 1_000 + b"\nA | last\n"
    assert not outputs.sources
    outputs.close()


def test_what_the_kernel_hands_over_after_the_end_is_not_lost() -> None:
    got, outputs = of_one_program()
    with outputs.opened(0) as streams:
        late = os.dup(streams["stdout"])

    def print_late() -> None:
        time.sleep(0.1)
        os.write(late, b"late\n")
        os.close(late)

    thread = threading.Thread(target=print_late)
    thread.start()
    outputs.close()
    thread.join()
    assert bytes(got) == b"A | late\n"
