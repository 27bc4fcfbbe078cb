"""A lab that stays open, and programs that come to it from other processes."""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rdmalab.compat.c.execute import Command, Execution
from rdmalab.compat.c.open_labs import LivePrograms, NoSuchLab, new_place, place_of
from rdmalab.compat.c.source_lines import Caller, thread_name
from rdmalab.lab import Lab
from tests.compat.c.running import compiled, free_port
from tests.each import each
from tests.terminal import Terminal
from tests.tools import needs

EXEC = [sys.executable, "-m", "rdmalab", "exec"]


@pytest.fixture(autouse=True)
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short directory of this test alone: a path of a socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="rl-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


class OpenLab:
    """`rdmalab exec` without programs. told: what it has printed so far."""

    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen([*EXEC, *words], stderr=subprocess.PIPE, text=True)
        self.told = ""
        self.timer = threading.Timer(60, self.process.kill)  # a line that never comes
        self.timer.start()

    def until(self, text: str) -> None:
        """Read until a line has this text."""
        assert self.process.stderr is not None
        while text not in (line := self.process.stderr.readline()):
            assert line, self.told
            self.told += line
        self.told += line

    def end(self) -> int:
        """End it as ^C does; returns its exit code."""
        self.process.send_signal(signal.SIGINT)
        _, rest = self.process.communicate(timeout=60)
        self.told += rest
        return self.process.returncode


@contextmanager
def opened(*words: str) -> Iterator[OpenLab]:
    lab = OpenLab(*words)
    try:
        lab.until("--node B --")
        yield lab
    finally:
        lab.timer.cancel()
        lab.process.kill()
        lab.process.communicate()


@pytest.fixture
def course(runtime: Path) -> Iterator[OpenLab]:
    assert runtime.exists()
    with opened("--name", "course") as lab:
        yield lab


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*EXEC, *words], capture_output=True, text=True, timeout=60, check=False)


@needs("ibv_rc_pingpong")
def test_two_programs_come_from_other_processes(tmp_path: Path) -> None:
    saved = tmp_path / "kept.rdmalab.yaml"
    line = ["ibv_rc_pingpong", "-g", "1", "-n", "5", "-p", free_port()]
    with opened("--name", "course", "--save", str(saved)) as lab:
        assert "rdmalab exec --in course --node A -- PROGRAM" in lab.told
        server = subprocess.Popen([*EXEC, "--in", "course", "--", *line], stdout=subprocess.PIPE)
        lab.until("runs on A")
        while run("--in", "course", "--", *line, "localhost").returncode:
            assert server.poll() is None  # it does not listen yet
        out, _ = server.communicate(timeout=60)
        assert server.returncode == 0
        assert b"5 iters in" in out
        lab.until("has left")
        assert lab.end() == 0
    assert "runs on B" in lab.told
    assert "every program waits" not in lab.told
    assert "post_send B.qp0" in saved.read_text("utf-8")


@needs("gcc")
def test_a_program_gets_eio_when_the_lab_ends() -> None:
    with opened("--name", "short") as lab:
        words = [*EXEC, "--in", "short", "--node", "B", "--", compiled("lab_ends")]
        program = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        lab.until("runs on B")
        assert program.stdout is not None
        program.stdout.readline()
        assert lab.end() == 0
        out, _ = program.communicate(timeout=60)
    assert "query_gid: Input/output error" in out


@needs("gcc")
@each("words, sentence", [
    (["--in", "none", "--", "true"], "Error: no lab named none is open; open are: course"),
    (["--name", "course"],
     "Error: a lab named course is open already; choose another: --name NAME"),
    (["--name", "a/b"], "Error: 'a/b' is no name of a lab: up to 32 letters, digits, . _ -"),
    (["--in", "course"], "--in needs a program: rdmalab exec --in NAME -- PROGRAM [ARG]..."),
    (["--in", "course", "--save", "x", "--", "true"],
     "--save is for who opens the lab, not beside --in"),
])  # fmt: skip
def test_a_name_or_option_of_an_open_lab_is_refused_in_one_sentence(
    words: list[str], sentence: str, course: OpenLab
) -> None:
    ended = run(*words)
    assert course.process.poll() is None
    assert ended.returncode
    assert sentence in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_socket_that_a_killed_lab_has_left_is_replaced() -> None:
    place = new_place("left")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place))
        listening.listen()
        with pytest.raises(NoSuchLab, match="open already"):
            new_place("left")
        assert place_of("left") == place
    assert new_place("left") == place
    assert not place.exists()


def test_a_directory_of_another_user_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    own = os.getuid()
    new_place("own").parent.rename(new_place("own").parent.parent / f"rdmalab-{own + 1}")
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    with pytest.raises(NoSuchLab, match="belongs to another user"):
        place_of("own")


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
        terminal.wait_for("the session of the programs was not kept: exec --save FILE")
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
