"""Threads, children, a lab that ends, programs that are killed: nothing hangs or is lost."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from rdmalab.command import Noun
from rdmalab.compat.c.building import library
from rdmalab.compat.c.execute import Execution
from rdmalab.compat.c.server import Server
from rdmalab.lab import Lab
from tests.compat.c.running import compiled, execute, pair
from tests.each import ALL, chance_of, drawn_numbers
from tests.tools import needs

ALL_OF_THEM = bool(os.environ.get(ALL))


@pytest.fixture
def server() -> Iterator[tuple[Server, Path]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lab"
        made = Server(Lab(), path, lambda _: None)
        yield made, path
        made.close()


def start(
    path: Path, *words: str, stdout: int | IO[str] = subprocess.PIPE
) -> subprocess.Popen[str]:
    env = os.environ | {"LD_PRELOAD": str(library()), "RDMALAB_SOCKET": str(path)}
    env["RDMALAB_NODE"] = "A"
    return subprocess.Popen(words, env=env, stdout=stdout, text=True)


@needs("gcc")
@pytest.mark.parametrize(("word", "mode", "says"), [
    ("server", 0o755, "program server is not in PATH: write ./server"),
    ("./server.c", 0o644, "./server.c is no program: rdmalab cc ./server.c makes one"),
    ("./notes.txt", 0o644, "./notes.txt cannot be executed: chmod +x ./notes.txt"),
    ("./gone", None, "program ./gone is not found"),
])  # fmt: skip
def test_a_program_that_cannot_be_started_says_what_to_write(
    word: str, mode: int | None, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if mode is not None:
        Path(word).touch(mode=mode)
    ended = execute("--", word)
    assert ended.code == 2
    assert says in ended.err


def test_64_threads_on_two_devices_send_what_they_check() -> None:
    ended = execute("--why", "--node", "both", "--", compiled("threads"))
    assert (ended.code, ended.out) == (0, "640 messages\n"), ended.err
    assert "rdmalab:" not in ended.err


@needs("gcc")
def test_a_program_with_address_sanitizer_runs(tmp_path: Path) -> None:
    """Its runtime ends a program in which another library was loaded first."""
    ended = execute(*pair("right", tmp_path, "-fsanitize=address"))
    assert (ended.code, ended.err) == (0, ""), ended.err


@needs("gcc")
def test_a_child_is_a_program_of_its_own() -> None:
    ended = execute("--", compiled("forked"))
    assert (ended.code, ended.out) == (0, "child: 0\n"), ended.err


@needs("gcc")
def test_a_child_that_becomes_another_program_is_one_of_its_own() -> None:
    ended = execute("--", compiled("fork_exec"))
    assert (ended.code, ended.out) == (0, "failed: 0\n"), ended.err


@needs("gcc")
def test_a_program_that_closes_the_socket_of_the_library_stops_only_its_own_calls(
    tmp_path: Path,
) -> None:
    """Its descriptors are its own business; the numbers are those of other sockets afterwards."""
    right = pair("right", tmp_path)[1:]
    ended = execute(
        "--node", "A", "--node", "A", "--node", "B", "--", compiled("closes"), ":", *right
    )
    assert ended.code == 0, ended
    assert "alloc_pd: refused: Input/output error\n" in ended.out
    assert "dealloc_pd: Input/output error\n" in ended.out
    assert "sockets of the program with bytes of others: 0\n" in ended.out
    assert "Traceback" not in ended.err


def serve_until_end(made: Server, program: subprocess.Popen[str], limit_s: float) -> None:
    """Serve a process until it has ended; kill it after a while."""
    until_s = time.monotonic() + limit_s
    while program.poll() is None and time.monotonic() < until_s:
        made.turn()
    program.kill()


@needs("gcc")
@pytest.mark.parametrize("name", ["lab_ends", "after_end"])
def test_after_the_end_of_the_lab_each_verb_returns_eio(tmp_path: Path, name: str) -> None:
    made = Server(Lab(), tmp_path / "lab", lambda _: None)
    printed = tmp_path / "out"
    with printed.open("w") as out, start(tmp_path / "lab", compiled(name), stdout=out) as program:
        try:
            until_s = time.monotonic() + 20
            while "ready" not in printed.read_text() and time.monotonic() < until_s:
                made.turn()
            made.close()
            assert program.wait(timeout=20) == 0
        finally:
            program.kill()
    _, *lines = printed.read_text().splitlines()
    answers = dict(line.split(": ", 1) for line in lines)
    wrong = {verb: text for verb, text in answers.items() if "Input/output error" not in text}
    assert len(answers) > 1
    assert not wrong


def test_fuzzed_messages_leave_the_lab_and_other_programs_as_they_were(
    server: tuple[Server, Path],
) -> None:
    """A tenth of 100,000 in a usual run, each of them made of its number."""
    made, path = server
    witness = made.calls.join(os.getpid(), "B", "a witness")
    made.calls.make(witness, "alloc_pd", Noun.PD, "B")
    before = made.calls.session.names.all(Noun.PD)
    first = drawn_numbers("a tenth of the fuzzed messages", 1, 10)[0] if not ALL_OF_THEM else 0
    count = 100_000 if ALL_OF_THEM else 10_000
    words = (sys.executable, "-m", "tests.compat.c.fuzzer", str(path))
    with subprocess.Popen(
        [*words, str(first * 10_000), str(count)], stdout=subprocess.PIPE, text=True
    ) as program:
        serve_until_end(made, program, 1_500)
        out = program.stdout.read() if program.stdout is not None else ""
    assert program.returncode == 0
    _, answers = map(int, out.split())
    assert answers > count * 0.9
    until_s = time.monotonic() + 10
    while made.calls.programs != [witness] and time.monotonic() < until_s:
        made.turn()
    assert made.calls.programs == [witness]
    assert [name for name in before if name in made.calls.session.names.all(Noun.PD)] == before
    assert made.calls.make(witness, "create_cq", Noun.CQ, "B", cqe=4).number


def test_a_foreign_user_is_not_served(
    server: tuple[Server, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, path = server
    own = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    with socket.socket(socket.AF_UNIX) as foreign:
        foreign.settimeout(5)
        foreign.connect(str(path))
        made.turn()
        assert foreign.recv(1) == b""
    assert not made.sockets.connections


def test_no_other_user_reaches_the_socket_of_an_execution() -> None:
    """Its folder is closed to others; where this user is root, a process of another user tries."""
    execution = Execution(Lab(), [], lambda _: None)
    try:
        assert execution.path.parent.stat().st_mode & 0o777 == 0o700
        if os.getuid() == 0:
            script = (
                "import os, socket, sys\nos.setuid(65534)\n"
                "socket.socket(socket.AF_UNIX).connect(sys.argv[1])\n"
            )
            tried = subprocess.run(
                [sys.executable, "-c", script, str(execution.path)],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert "PermissionError" in tried.stderr
    finally:
        execution.run()


@needs("gcc")
def test_a_program_that_is_killed_at_any_moment_leaves_nothing(server: tuple[Server, Path]) -> None:
    made, path = server
    for number in drawn_numbers("killed programs", 5, 200):
        with start(path, "ibv_rc_pingpong", "-g", "1", "-p", "0") as program:
            until_s = time.monotonic() + chance_of("killed programs", number).random() * 0.3
            while time.monotonic() < until_s:
                made.turn()
            program.send_signal(signal.SIGKILL)
            program.communicate()
        until_s = time.monotonic() + 10
        while made.calls.programs and time.monotonic() < until_s:
            made.turn()
        assert not made.calls.programs
        hca = made.world.nodes["A"]
        assert not [*hca.pds.items, *hca.qps.items, *hca.cqs.items, *hca.mrs.items]


@needs("gcc")
@pytest.mark.parametrize(
    ("more", "text"),
    [((), "A: RDMA_CM_EVENT_CONNECT_REQUEST"), (("never",), "B: RDMA_CM_EVENT_REJECTED")],
)
def test_a_late_listener_gets_the_connect_request(
    tmp_path: Path, more: tuple[str, ...], text: str
) -> None:
    program, fifo = compiled("late_listener"), tmp_path / "fifo"
    os.mkfifo(fifo)
    ended = execute("--", program, str(fifo), "A", *more, ":", program, str(fifo), "B")
    assert text in ended.out, ended


@needs("gcc")
def test_an_event_of_a_destroyed_cm_id_is_not_returned() -> None:
    ended = execute("--", compiled("cm_gone_id"))
    assert ended.code == 0, ended
