"""A lab that stays open, and programs that come to it from other processes."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rdmalab.compat.c.open_labs import NoSuchLab, new_place, place_of
from tests.compat.c.running import compiled, free_port
from tests.each import each
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
