"""Threads, children, a lab that ends, programs that are killed: nothing hangs or is lost."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdmalab.compat.c.building import library
from rdmalab.compat.c.server import Server
from rdmalab.lab import Lab
from tests.compat.c.running import compiled, execute
from tests.each import chance_of, drawn_numbers
from tests.tools import needs


@pytest.fixture
def server() -> Iterator[tuple[Server, Path]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lab"
        made = Server(Lab(), path, lambda _: None)
        yield made, path
        made.close()


def start(path: Path, *words: str) -> subprocess.Popen[str]:
    env = os.environ | {"LD_PRELOAD": str(library()), "RDMALAB_SOCKET": str(path)}
    env["RDMALAB_NODE"] = "A"
    return subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True)


@needs("gcc")
def test_sixteen_threads_on_two_devices_send_what_they_check() -> None:
    ended = execute("--why", "--node", "both", "--", compiled("threads"))
    assert (ended.code, ended.out) == (0, "160 messages\n"), ended.err
    assert "rdmalab:" not in ended.err


@needs("gcc")
def test_a_child_is_a_program_of_its_own() -> None:
    ended = execute("--", compiled("forked"))
    assert (ended.code, ended.out) == (0, "child: 0\n"), ended.err


@needs("gcc")
def test_after_the_end_of_the_lab_each_verb_returns_eio(tmp_path: Path) -> None:
    made = Server(Lab(), tmp_path / "lab", lambda _: None)
    with start(tmp_path / "lab", compiled("lab_ends")) as program:
        until_s = time.monotonic() + 20
        while made.world.event < 3 and time.monotonic() < until_s:
            made.turn()
        made.close()
        out, _ = program.communicate(timeout=20)
    assert "query_gid: Input/output error" in out
    assert "alloc_pd: refused: Input/output error" in out


@needs("gcc")
def test_a_program_that_is_killed_at_any_moment_leaves_nothing(
    server: tuple[Server, Path],
) -> None:
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
