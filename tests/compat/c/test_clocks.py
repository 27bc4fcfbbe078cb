"""Time of programs: none passes while one is stopped; with --clock virtual theirs is the lab's."""

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

from rdmalab.compat.c.server import Server
from rdmalab.lab import Lab
from tests.compat.c.running import both, compiled, execute, free_port
from tests.compat.c.test_robustness import start
from tests.tools import needs

TIMER_NS = 500_000_000  # timeout=17 is 537 ms
LINES = (
    "use rc_pair timeout=17",
    "fault drop A->B",
    "post_send A.qp0 wr_id=1 opcode=SEND flags=SIGNALED",
)  # fmt: skip
VIRTUAL = """\
sleep 100.00
usleep 0.0015
poll 0 5.00
select 0 3.00
epoll 0 2.00
looks 2.0
wall 1
"""


def serve(server: Server, is_over: Callable[[], bool], limit_s: float = 20.0) -> bool:
    """Serve until a condition holds; whether it does."""
    until_s = time.monotonic() + limit_s
    while not is_over() and time.monotonic() < until_s:
        server.turn()
    return is_over()


@needs("gcc")
def test_no_timer_strikes_while_a_program_is_stopped(tmp_path: Path) -> None:
    lab = Lab()
    world = lab.session.world
    server = Server(lab, tmp_path / "lab", lambda _: None)
    with start(tmp_path / "lab", compiled("lab_ends")) as program:
        try:
            assert serve(server, lambda: world.event > 5)
            os.kill(program.pid, signal.SIGSTOP)
            for line in LINES:
                assert not lab.do(line)[0].failed
            server.happened()
            assert not serve(server, lambda: world.now_ns > TIMER_NS, limit_s=0.8)
            os.kill(program.pid, signal.SIGCONT)
            assert serve(server, lambda: world.now_ns > TIMER_NS)
        finally:
            program.kill()
            server.close()


@needs("gcc")
def test_sleeps_and_timeouts_take_virtual_time() -> None:
    ended = execute("--clock", "virtual", "--node", "B", "--", compiled("clocks"), limit_s=30)
    assert (ended.code, ended.out) == (0, VIRTUAL), ended.err


@needs("ibv_rc_pingpong")
def test_a_pingpong_prints_what_its_messages_take_in_the_lab() -> None:
    line = ["-g", "1", "-n", "50", "-p", free_port()]
    words = both("ibv_rc_pingpong", *line, client=("localhost",))
    ended = execute("--clock", "virtual", *words)
    assert ended.code == 0, ended.err
    figures = [float(each) for each in re.findall(r"= ([0-9.]+) usec/iter", ended.out)]
    assert len(figures) == 2
    assert all(3 < each < 12 for each in figures)  # 2 x 4 KiB and two calls each at 100 Gbit/s
