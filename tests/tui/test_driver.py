"""The terminal under the app and the prompts: keys typed early, bytes of no text, signals."""

import os
import signal
import sys
import termios
import time
from pathlib import Path

import pytest

from rdmalab.tui.driver import driver_class
from tests.terminal import Terminal

ROOT = Path(__file__).parents[2]
FACES = {"app": (), "prompt": ("repl",), "plain": ("repl", "--plain")}
FULL_SCREEN = (b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?1003l", b"\x1b[?1006l", b"\x1b[?25h")


def started(state: Path, face: str, *arguments: str, code: str = "", **more: str) -> Terminal:
    size = {"COLUMNS": "", "LINES": ""}
    env = {"RDMALAB_STATE": str(state), "PYTHONPATH": str(ROOT), **size, **more}
    program = ["-c", code] if code else ["-m", "rdmalab", *FACES[face]]
    argv = [sys.executable, *program, *arguments]
    return Terminal(argv, columns=100, rows=30, cwd=ROOT, env=env)


def modes(terminal: Terminal) -> list[object]:
    """The settings of the terminal: echo, whole lines, translation of Enter."""
    attributes = termios.tcgetattr(terminal._master)
    return [attributes[:4], attributes[6][termios.VMIN]]


@pytest.mark.parametrize(
    ("face", "gap_s"), [("app", 0), ("app", 0.04), ("prompt", 0.04), ("plain", 0)]
)
def test_what_is_typed_before_the_first_screen_is_kept(
    face: str, gap_s: float, tmp_path: Path
) -> None:
    with started(tmp_path, face) as it:
        for key in b"alloc_pd A.pd7\ralloc_pd A.pd8":
            it.send(bytes([key]))
            time.sleep(gap_s)
            it.screen()
        it.wait_for("A.pd7 created")
        it.wait_until(lambda rows: any("A> alloc_pd A.pd8" in row for row in rows))
        it.send(b"\r")
        it.wait_for("A.pd8 created")
        it.rest()
        it.send(b"\x04")
        assert it.wait_exit() == 0


@pytest.mark.parametrize("face", FACES)
def test_a_byte_that_is_not_utf8_ends_nothing(face: str, tmp_path: Path) -> None:
    with started(tmp_path, face) as it:
        it.wait_for("A>")
        it.rest()
        it.send(b"caf\xe9 \xff\r")
        it.wait_for("not understood")
        it.rest()
        it.send(b"alloc_pd A.pd7\r")
        it.wait_for("A.pd7 created")
        it.send(b"quit\r")
        assert it.wait_exit() == 0
        assert b"Traceback" not in it.raw


@pytest.mark.parametrize(
    ("face", "number"),
    [("app", signal.SIGTERM), ("app", signal.SIGHUP), ("prompt", signal.SIGHUP),
     ("plain", signal.SIGTERM)],
)  # fmt: skip
def test_a_signal_leaves_a_terminal_as_it_was(face: str, number: int, tmp_path: Path) -> None:
    with started(tmp_path, face) as it:
        before = modes(it)
        it.wait_for("A>")
        it.send(b"alloc_pd A.pd7\r")
        it.wait_for("A.pd7 created")
        it.child.send_signal(number)
        assert it.wait_exit() == 128 + number
        assert modes(it) == before
        assert b"Traceback" not in it.raw
        assert (b"\x1b[?2004h" in it.raw) == (b"\x1b[?2004l" in it.raw)
        if face == "app":
            assert all(it.raw.rindex(code) > 1_000 for code in FULL_SCREEN)
    with started(tmp_path, face) as again:
        again.wait_for("was interrupted: continue")


_NOTED = """
import signal, threading, time
from rdmalab.shell import repl

def note() -> None:
    while signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        time.sleep(0.1)
    time.sleep(3)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

threading.Thread(target=note).start()
repl.main(plain=True)
"""


def test_a_signal_that_interrupts_no_read_ends_the_plain_prompt(tmp_path: Path) -> None:
    """As one does that comes between two calls: the read begins after it was noted."""
    with started(tmp_path, "plain", code=_NOTED) as it:
        it.wait_for("A>")
        assert it.wait_exit(timeout=20) == 128 + signal.SIGTERM


@pytest.mark.parametrize("face", ["app", "prompt"])
def test_a_signal_during_a_run_leaves_too(face: str, tmp_path: Path) -> None:
    with started(tmp_path, face) as it:
        before = modes(it)
        it.wait_for("A>")
        it.send(b"" if face == "app" else b"use rc_pair\r")
        it.wait_until(lambda rows: face == "app" or any("B.qp0 is in RTS" in row for row in rows))
        it.send(b"post_send A.qp0 opcode=SEND sg=A.mr0[0:64]; run\r")
        it.rest(1)
        it.child.send_signal(signal.SIGTERM)
        assert it.wait_exit() == 128 + signal.SIGTERM
        assert modes(it) == before


_SIGNAL_IN_RAW_MODE = """
import os, runpy, signal, sys, termios
set_modes = termios.tcsetattr

def set_and_signal(descriptor, when, modes):
    set_modes(descriptor, when, modes)
    if not modes[3] & termios.ECHO:
        termios.tcsetattr = set_modes
        os.kill(os.getpid(), signal.SIGTERM)

termios.tcsetattr = set_and_signal
sys.argv = ["rdmalab", "repl"]
runpy.run_module("rdmalab", run_name="__main__")
"""


def test_a_signal_while_the_terminal_changes_its_mode(tmp_path: Path) -> None:
    with started(tmp_path, "prompt", code=_SIGNAL_IN_RAW_MODE) as it:
        before = modes(it)
        assert it.wait_exit() == 128 + signal.SIGTERM
        assert modes(it) == before
        assert b"Traceback" not in it.raw


def test_a_closed_terminal_ends_the_app(tmp_path: Path) -> None:
    it = started(tmp_path, "app")
    it.wait_for("A>")
    os.close(it._master)
    it._master = -1
    assert it.child.wait(timeout=30) in (128 + signal.SIGHUP, -signal.SIGHUP, 1)


@pytest.mark.parametrize("face", FACES)
def test_an_interrupt_from_outside_is_the_key(face: str, tmp_path: Path) -> None:
    with started(tmp_path, face) as it:
        it.wait_for("A>")
        it.rest()
        it.send(b"alloc")
        it.rest()
        it.child.send_signal(signal.SIGINT)
        it.wait_for("^C")
        it.rest()
        it.send(b"alloc_pd A.pd7\r")
        it.wait_for("A.pd7 created")
        it.send(b"quit\r")
        assert it.wait_exit() == 0


def test_another_driver_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert driver_class() is not None
    monkeypatch.setenv("TEXTUAL_DRIVER", "a.module:Driver")
    assert driver_class() is None


# --------------------------------------------------------------------------- how it is started
SEND = "scenarios/rc/send.rdmalab.yaml"
PINNED = """rdmalab: 1
title: A pinned one
nodes:
  A: {profile: rxe}
  B: {profile: rxe}
steps:
  - note: the first note
  - use rc_pair
"""


def test_a_file_opens_in_the_app(tmp_path: Path) -> None:
    with started(tmp_path, "app", SEND) as it:
        it.wait_for("send 2 of 15")
        it.send(b"quit\r")
        assert it.wait_exit() == 0


def test_a_file_with_a_profile_opens_with_it_and_comes_back_so(tmp_path: Path) -> None:
    path = tmp_path / "p.rdmalab.yaml"
    path.write_text(PINNED, encoding="utf-8")
    with started(tmp_path, "app", "--profile", "mlx5", str(path)) as it:
        it.wait_until(lambda rows: "mlx5" in rows[0])
        it.wait_for("replaces the profiles")
        it.child.kill()
        it.wait_exit()
    with started(tmp_path, "app") as it:
        it.wait_for("was interrupted: continue")
        it.send(b"continue\r")
        it.wait_until(lambda rows: "mlx5" in rows[0])


def test_the_app_has_a_profile_also_for_files_that_name_none(tmp_path: Path) -> None:
    with started(tmp_path, "app", "--profile", "rxe") as it:
        it.wait_until(lambda rows: "rxe" in rows[0])
        it.wait_for("A>")
        it.send(f"load {SEND}\r".encode())
        it.wait_for("send 2 of 15")
        assert "rxe" in it.screen()[0]


def test_a_dumb_terminal_gets_the_plain_prompt_and_a_message(tmp_path: Path) -> None:
    with started(tmp_path, "app", TERM="dumb") as it:
        it.wait_for("TERM=dumb: the plain prompt")
        it.wait_for("A>")
        it.send(b"alloc_pd A.pd7\r")
        it.wait_for("A.pd7")
        it.send(b"quit\r")
        assert it.wait_exit() == 0
        assert b"\x1b[?1049h" not in it.raw


def test_the_first_screen_suggests_work_that_completes(tmp_path: Path) -> None:
    with started(tmp_path, "app") as it:
        it.wait_for("sg=A.mr0[0:64] flags=SIGNALED")
