"""`rdmalab exec --tui`: the app holds and steps the world under programs that run."""

import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdmalab.compat.c.execute import Command, Execution
from rdmalab.compat.c.live import LivePrograms
from rdmalab.compat.c.source_lines import Caller, thread_name
from rdmalab.lab import Lab
from tests.compat.c.running import compiled, free_port
from tests.terminal import Terminal
from tests.tools import needs

F7, F8, F9, CTRL_D = b"\x1b[18~", b"\x1b[19~", b"\x1b[20~", b"\x04"
PINGPONG = ["ibv_rc_pingpong", "-g", "1", "-n", "5"]


def on_terminal(*words: str, columns: int = 120, rows: int = 40) -> Terminal:
    size = {"COLUMNS": "", "LINES": ""}  # pytest-xdist sets them, and they would win
    kept = {**os.environ, **size}
    argv = [sys.executable, "-m", "rdmalab", "exec", "--tui", *words]
    return Terminal(argv, columns=columns, rows=rows, env=kept)


def event_of(terminal: Terminal) -> int:
    """The number of the last event, as the head shows it."""
    found = re.search(r" ev (\d+)", terminal.screen()[0])
    return int(found[1]) if found else -1


@needs("ibv_rc_pingpong")
def test_a_world_is_held_stepped_and_run_under_its_programs() -> None:
    line = [*PINGPONG, "-p", free_port()]
    with on_terminal("--", *line, ":", *line, "localhost") as terminal:
        terminal.wait_for("held: F8 is one event")
        terminal.wait_for("sends wr2 SEND 4096 B")
        terminal.wait_for("poll_cq found no completion, called by ibv_rc_pingpong (")
        terminal.send(F8)
        terminal.wait_for("B.qp0 sent SEND_FIRST")
        stepped = event_of(terminal)
        terminal.send(F7)
        terminal.wait_for("PAST")
        assert event_of(terminal) == stepped - 1
        terminal.send(F9)
        terminal.wait_for("LIVE")
        assert event_of(terminal) == stepped  # the calls have waited
        terminal.send(F9)
        terminal.wait_for("All programs have ended")
        terminal.wait_for("5 iters in")
        terminal.send(b"show story last=3\r")
        terminal.wait_for(".pd0, called by ibv_rc_pingpong (")
        terminal.send(CTRL_D)
        assert terminal.wait_exit() == 0


@needs("gcc")
def test_in_the_app_each_line_of_two_programs_begins_with_its_node() -> None:
    program = compiled("talks")
    with on_terminal("--", program, "server", ":", program, "client") as terminal:
        terminal.wait_for("All programs have ended")
        terminal.wait_for("A | server complains")
        terminal.wait_for("B | client speaks")
        terminal.send(CTRL_D)
        assert terminal.wait_exit() == 0


@needs("ibv_rc_pingpong")
def test_ctrl_c_holds_the_world_of_programs() -> None:
    line = ["ibv_rc_pingpong", "-g", "1", "-n", "100000", "-p", free_port()]
    with on_terminal("--", *line, ":", *line, "localhost") as terminal:
        terminal.wait_for("held: F8 is one event")
        terminal.wait_for("sends wr2 SEND 4096 B")
        terminal.send(F9)
        terminal.wait_for("running: ^C or F9 holds")
        terminal.send(b"\x03")
        terminal.wait_until(lambda rows: sum("held: F8 is one" in row for row in rows) == 2)
        time.sleep(0.3)  # calls are answered: a program posts what it was about to post
        held = event_of(terminal)
        time.sleep(0.3)
        assert event_of(terminal) == held
        terminal.send(CTRL_D)
        terminal.wait_exit()


@needs("ibv_rc_pingpong")
def test_why_answers_for_programs_that_poll_in_vain() -> None:
    line = ["ibv_rc_pingpong", "-g", "1", "-p", free_port(), "-n"]
    with on_terminal("--", *line, "100", ":", *line, "3", "localhost") as terminal:
        terminal.wait_for("held: F8 is one event")
        terminal.send(F9)
        terminal.wait_for("NEVER  A.cq0")
        terminal.send(b"why\r")
        terminal.wait_until(lambda rows: any("✗ NEVER" in row for row in rows))
        assert not any("WELL" in row for row in terminal.screen())
        terminal.send(CTRL_D)
        terminal.wait_exit()


@needs("gcc")
def test_programs_get_eio_when_the_app_is_left(tmp_path: Path) -> None:
    program, kept = compiled("lab_ends"), tmp_path / "out"
    with on_terminal("--", "sh", "-c", f"exec {program} > {kept}", columns=80, rows=24) as terminal:
        terminal.wait_for("called by lab_ends (")
        terminal.send(CTRL_D)
        assert terminal.wait_exit() == 0
    assert "query_gid: Input/output error" in kept.read_text("utf-8")


@pytest.fixture
def programs() -> Iterator[LivePrograms]:
    lab = Lab()
    commands = [Command((compiled("lab_ends"),), "A")]
    made = LivePrograms(Execution(lab, commands, lambda _: None))
    yield made
    made.leave()


def served(programs: LivePrograms) -> list[str]:
    """Serve them until they have ended; what was printed."""
    programs.hold(is_held=False)
    lines, until_s = list[str](), time.monotonic() + 30
    while not programs.is_over and time.monotonic() < until_s:
        programs.serve()
        lines += programs.printed()
    assert programs.is_over
    return lines


@needs("gcc")
def test_programs_end_when_their_time_is_over(programs: LivePrograms) -> None:
    programs.execution.bound(0.3, end_stuck=False)
    assert "rdmalab: the programs are ended: the time is over" in served(programs)
    assert programs.execution.code == 128 + signal.SIGTERM


@needs("gcc")
def test_programs_that_hang_are_ended(tmp_path: Path) -> None:
    program, place = compiled("deadlock"), str(tmp_path / "s")
    commands = [Command((program, place, "serve"), "A"), Command((program, place, "ask"), "B")]
    made = LivePrograms(Execution(Lab(), commands, lambda _: None))
    made.execution.bound(None, end_stuck=True)
    assert "rdmalab: the programs are ended: they hang" in served(made)
    made.leave()


def test_an_open_lab_ends_for_others_when_its_time_is_over(tmp_path: Path) -> None:
    path = tmp_path / "lab"
    made = LivePrograms(Execution(Lab(), [], lambda _: None, path))
    made.execution.bound(0.1, end_stuck=False)
    with socket.socket(socket.AF_UNIX) as other:
        other.connect(str(path))
        served(made)
        assert other.recv(1) == b""
    made.leave()


@needs("gcc")
def test_the_options_that_end_programs_hold_in_the_app() -> None:
    with on_terminal("--limit", "1", "--", compiled("lab_ends")) as terminal:
        terminal.wait_for("the programs are ended: the time is over")
        terminal.send(CTRL_D)
        assert terminal.wait_exit() == 128 + signal.SIGTERM


def lab_of(programs: LivePrograms) -> Lab:
    return programs.execution.lab


@needs("gcc")
def test_the_calls_of_programs_wait_while_the_world_is_in_the_past(programs: LivePrograms) -> None:
    session = programs.session
    while session.world.event < 3:
        programs.serve()
    assert programs.is_served
    lab_of(programs).do("goto 1")
    assert not programs.is_served
    assert not programs.serve()
    assert session.world.event == 1
    lab_of(programs).do("goto end")
    while session.world.event < 6:
        assert programs.is_served
        programs.serve()


def test_a_thread_is_named_beside_its_process() -> None:
    found: list[str] = []
    thread = threading.Thread(
        target=lambda: found.append(thread_name(os.getpid(), threading.get_native_id()))
    )
    thread.start()
    thread.join()
    assert found[0].startswith(f"{thread.native_id} ")
    assert Caller("server (7)", found[0], ()).text == f"server (7), thread {found[0]}"
    assert thread_name(os.getpid(), os.getpid()) == ""
