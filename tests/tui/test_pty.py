"""The application in a real terminal: what a pilot cannot exercise."""

import re
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.terminal import Terminal

ROOT = Path(__file__).parents[2]
ARGV = [sys.executable, "-c", "import sys; from rdmalab.tui.launch import main; sys.exit(main())"]
AGAIN = b"post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64]\r"
_COLOUR = re.compile(rb"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")


def started(home: Path, **env: str) -> Terminal:
    size = {"COLUMNS": "", "LINES": ""}  # pytest-xdist sets them, and they would win
    kept = {"RDMALAB_STATE": str(home), "PYTHONPATH": str(ROOT), **size, **env}
    return Terminal(ARGV, columns=80, rows=24, cwd=ROOT, env=kept)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with started(tmp_path) as it:
        it.wait_for("A>")
        yield it


def calm(terminal: Terminal, seconds: float = 0.5) -> None:
    """History is read by a task of its own after each prompt; a person is never that fast."""
    terminal.rest(seconds)


def test_a_session_from_start_to_end(terminal: Terminal) -> None:
    terminal.send(b"poll_c")
    terminal.wait_for("Take up to")  # the menu
    terminal.send(b"\tA.cq0\r")
    terminal.wait_for("wr1 SEND SUCCESS")
    calm(terminal)
    terminal.send(b"\x1b[A")
    terminal.wait_until(lambda rows: sum("A> poll_cq A.cq0" in row for row in rows) == 2)
    terminal.send(b"\x03")
    terminal.wait_for("║^C")
    calm(terminal)
    terminal.send(b"\x12oll")
    terminal.wait_for("(reverse-i-search)`oll': poll_cq")
    terminal.send(b"\x07")
    terminal.wait_until(lambda rows: not any("reverse" in row for row in rows))
    terminal.send(b"\x1b[200~post_recv B.qp0 wr_id=5 sg=B.mr0[0:64]\rstep\x1b[201~\r")
    terminal.wait_for("idle: no packet")
    terminal.send(b"quit\r")
    assert terminal.wait_exit() == 0
    assert b"Traceback" not in terminal.raw
    assert b"\x1b[?1049l" in terminal.raw


def test_a_state_directory_that_vanishes_is_told_once_and_the_app_goes_on(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with started(state) as terminal:
        terminal.wait_for("A>")
        terminal.send(b"alloc_pd A.p1\r")
        terminal.wait_for("A.p1 created")
        shutil.rmtree(state)
        terminal.send(b"alloc_pd A.p2\r")
        terminal.wait_for("A.p2 created")
        terminal.send(b"alloc_pd A.p3\r")
        terminal.wait_for("A.p3 created")
        terminal.send(b"quit\r")
        assert terminal.wait_exit() == 0
        assert b"nothing is kept" in terminal.raw
        assert b"Traceback" not in terminal.raw


def test_it_hears_a_resize_and_an_interrupt_of_an_endless_run(terminal: Terminal) -> None:
    terminal.resize(120, 40)
    terminal.wait_for("║RTS║")
    terminal.send(AGAIN)
    terminal.wait_for("SQ 2/8.")
    terminal.send(b"run\r")
    terminal.wait_for("running")
    terminal.resize(100, 30)
    terminal.wait_until(lambda rows: len(rows[0].rstrip()) > 60 and "running" in rows[0])
    terminal.send(b"\x03")
    terminal.wait_for("stopped")
    terminal.send(b"\x04")
    assert terminal.wait_exit() == 0


STOP = {"^C": b"\x03", "F9": b"\x1b[20~"}


@pytest.mark.parametrize(("search", "key"), [(b"rewind\r", "^C"), (b"trace A.qp0.sq_psn\r", "F9")])
def test_a_search_through_the_past_is_stopped_at_once(
    terminal: Terminal, search: bytes, key: str
) -> None:
    terminal.send(AGAIN)
    terminal.wait_for("SQ 2/8.")
    terminal.send(b"run\r")
    terminal.wait_for("running")
    calm(terminal, 1.5)
    terminal.send(b"\x03")
    terminal.wait_for("stopped")
    terminal.send(b"watch B.mr0[100:105]\r")
    terminal.wait_for("1: watch")
    header = terminal.wait_for("1 break")[0]
    took = []
    for _ in range(3):
        calm(terminal)
        terminal.send(search)
        terminal.wait_for("searching")
        calm(terminal, 0.1)
        started = time.monotonic()
        terminal.send(STOP[key])
        terminal.wait_for("paused")
        took.append(time.monotonic() - started)
    assert min(took) < 0.1, took  # the shortest: the machine may be busy
    terminal.wait_until(lambda rows: rows[0] == header)
    terminal.send(b"\x04")
    assert terminal.wait_exit() == 0
    assert b"Traceback" not in terminal.raw


def test_what_takes_long_is_stopped_although_the_loop_is_busy(terminal: Terminal) -> None:
    terminal.send(AGAIN + b"step 100000\r")
    terminal.wait_for("ev 100021")
    calm(terminal)
    terminal.send(b"share\r")
    time.sleep(0.3)
    started_at = time.monotonic()
    terminal.send(b"\x03")
    terminal.wait_for("stopped: the command changed")
    assert time.monotonic() - started_at < 1
    assert not any("rdmalab:2:" in row for row in terminal.screen())
    terminal.send(b"poll_cq A.cq0\r")
    terminal.wait_for("wr1 SEND SUCCESS")


def test_panes_are_reached_and_left(terminal: Terminal) -> None:
    terminal.send(b"\x1b[17~")  # F6
    terminal.wait_for("╔═ A ")
    terminal.send(b"3")
    terminal.wait_for("[3 CQ]")
    terminal.send(b":")
    terminal.wait_for("╔═ REPL")
    terminal.send(b"\x1b[19~")  # F8
    terminal.wait_for("A> step")
    terminal.send(b"\x04")
    assert terminal.wait_exit() == 0


def test_no_colour_codes_leave_for_a_terminal_that_wants_none(tmp_path: Path) -> None:
    with started(tmp_path, NO_COLOR="1") as it:
        it.wait_for("A>")
        it.send(AGAIN + b"step 2\r\x1b[17~")
        it.wait_for("╔═ A ")
        it.send(b":")
        it.wait_for("╔═ REPL")
        it.send(b"\x04")
        assert it.wait_exit() == 0
        assert _COLOUR.findall(it.raw) == []


def test_a_console_that_cannot_draw_gets_letters(tmp_path: Path) -> None:
    with started(tmp_path, TERM="linux") as it:
        it.wait_for("A>")
        assert all(ord(c) < 0x80 for row in it.screen() for c in row)
        it.send(b"\x04")
        assert it.wait_exit() == 0


def test_what_was_typed_outlives_its_process(tmp_path: Path) -> None:
    with started(tmp_path) as first:
        first.wait_for("A>")
        first.send(b"alloc_pd A.pd7\r")
        first.wait_for("ok [ev")
        first.child.kill()
        first.wait_exit()
    with started(tmp_path) as second:
        second.wait_for("A session of 1 line was interrupted: continue restores it.")
        second.send(b"continue\r")
        second.wait_for("Continued: 1 line;")
        second.send(b"alloc_pd A.pd7\r")
        second.wait_for("A.pd7 exists already")
        second.send(b"quit\r")
        assert second.wait_exit() == 0
    with started(tmp_path) as third:
        third.wait_for("A>")
        assert b"cut off" not in third.raw
