"""What compiled programs cost: the lab's process beside them, and their session played again.

`c_replay`: reading and playing the session file of 1,000 iterations of ibv_rc_pingpong, against the
same posts and polls at the same times by direct calls. `c_share`: CPU time of the lab's process
outside of the session and the world while it runs. Without the program or a compiler: no keys.
"""

import gc
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import wraps
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rdmalab.compat.c.execute import Command, Execution
from rdmalab.hca.wr import SGE, RecvWR, SendWR
from rdmalab.lab import Lab, open_session
from rdmalab.scenario.keeping import kept
from rdmalab.scenario.loader import load
from rdmalab.scenario.planned_step import Call
from rdmalab.scenario.runner import Runner
from rdmalab.session.session import Session
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.verbs.cq import poll_cq
from rdmalab.verbs.post import post_recv, post_send
from rdmalab.vocabulary import VOCABULARY
from rdmalab.world.world import World
from tests.bench import loads
from tests.compat.c.running import compiled, execute, free_port

RATIOS: dict[str, tuple[float, str]] = {"c_replay": (3, "at most"), "c_share": (0.5, "at most")}
ITERATIONS, OCTETS = 1_000, 4_096
_REPETITIONS = 3
_EMPTY_CALLS = 20_000
_NEEDED = ("gcc", "ibv_rc_pingpong")


def measure() -> dict[str, float]:
    """All keys, of a process of its own; none where a program is missing."""
    if not all(map(shutil.which, _NEEDED)):
        return {}
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_measured).result()


def _measured() -> dict[str, float]:
    gc.disable()
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the programs print
    inside = _Inside()
    runs = [_pingpong(inside) for _ in range(_REPETITIONS)]
    simpy = statistics.median(loads.simpy_timeout() for _ in range(_REPETITIONS))
    session = runs[-1][2]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kept.rdmalab"
        path.write_bytes(kept(session, path.name).octets)
        replays = [_replayed(path) / _typed(path) for _ in range(_REPETITIONS)]
    spent = statistics.median(run[0] for run in runs)
    return {
        "c_replay": round(statistics.median(replays), 2),
        "c_share": round(statistics.median(1 - run[1] / run[0] for run in runs), 2),
        "c_pingpong_simpy": round(spent / (2 * ITERATIONS) / simpy),
        "c_call_us": round(int(execute("--", compiled("calls")).out) / 1_000, 1),
    }


class _Inside:
    """CPU time in the session and in the world, of calls from any room, and how many they were."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.calls = 0
        self._is_inside = False
        for owner, name in ((Session, "perform"), (World, "step")):
            setattr(owner, name, self._timed(getattr(owner, name)))

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def timed(*arguments: object, **named: object) -> object:
            if self._is_inside:
                return function(*arguments, **named)
            self.calls += 1
            self._is_inside, start = True, time.thread_time()
            try:
                return function(*arguments, **named)
            finally:
                self.seconds += time.thread_time() - start
                self._is_inside = False

        return timed

    def own(self) -> tuple[float, float]:
        """CPU seconds that measuring a call takes: in all, and as part of `seconds`.

        Where the clock of a thread is a system call, it is a tenth of what is measured.
        """
        nothing, before, start = self._timed(lambda: None), self.seconds, time.process_time()
        for _ in range(_EMPTY_CALLS):
            nothing()
        spent, inside = time.process_time() - start, self.seconds - before
        return spent / _EMPTY_CALLS, inside / _EMPTY_CALLS


def _pingpong(inside: _Inside) -> tuple[float, float, Session]:
    """CPU seconds of the lab's process, those inside, and the session."""
    lab, port = Lab(), free_port()
    words = ("ibv_rc_pingpong", "-g", "1", "-n", str(ITERATIONS), "-s", str(OCTETS), "-p", port)
    commands = [Command(words, "A"), Command((*words, "localhost"), "B")]
    execution = Execution(lab, commands, lambda _: None)
    inside.seconds, inside.calls, start = 0.0, 0, time.process_time()
    code = execution.run(limit_s=300)
    spent, seconds, calls = time.process_time() - start, inside.seconds, inside.calls
    assert code == 0
    own, own_inside = inside.own()
    return spent - calls * own, seconds - calls * own_inside, lab.session


def _replayed(path: Path) -> float:
    """CPU seconds to read and to play a session file."""
    start = time.process_time()
    runner = Runner(load(str(path), VOCABULARY), open_session)
    runner.run()
    spent = time.process_time() - start
    assert runner.ok
    runner.session.dispose()
    return spent


def _typed(path: Path) -> float:
    """CPU seconds for its posts and polls by direct calls, at the same times."""
    steps = load(str(path), VOCABULARY).steps
    pair = loads.Pair(f"max_send_wr=2 max_recv_wr=500 cqe=501 length={OCTETS} mtu=1024")
    world, ends = pair.world, {"A": pair.a, "B": pair.b}
    calls = [call for step in steps for call in step.calls if call.invocation.name in _VERBS]
    todo = [(_VERBS[call.invocation.name], call.at_ns or 0, *ends[_node(call)]) for call in calls]
    start = time.process_time()
    for verb, at_ns, qp, cq, mr in todo:
        world.run(loads.FOREVER, at_ns)
        verb(world, qp, cq, SGE(mr.addr, OCTETS, mr.lkey))
    world.run(loads.FOREVER)
    return time.process_time() - start


def _node(call: Call) -> str:
    arguments = call.invocation.arguments
    return str((arguments.get("qp") or arguments["cq"]).node)


_RECV, _SEND, _POLL = post_recv.function, post_send.function, poll_cq.function
_VERBS: dict[str, Callable[..., object]] = {
    "post_recv": lambda world, qp, _, sge: _RECV(world, qp, wr=[RecvWR(1, [sge])]),
    "post_send": lambda world, qp, _, sge: _SEND(
        world, qp, wr=[SendWR(WROpcode.SEND, 2, [sge], SendFlags.SIGNALED)]
    ),
    "poll_cq": lambda world, _, cq, __: _POLL(world, cq, num_entries=2),
}
