"""What a million events cost a person: memory of the app, and how soon ^C gives the prompt back.

Two loads: the first experiment, a SEND that waits for a receive for ever, and a program that writes
and polls. The app runs in a terminal of its own. Memory is what the process has resident, above the
first screen; the engine's is its peak.
"""

import os
import re
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from rdmalab.lab import Lab
from tests.bench.memory import peak_kb
from tests.terminal import Terminal

RATIOS: dict[str, tuple[float, str]] = {
    "stop_ms_after_1m": (200, "at most"),
    "app_mb_per_million_events": (120, "at most"),
    "engine_mb_per_million_events_rnr": (100, "at most"),
}
LOADS = {
    "rnr": "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64]",
    "write": (
        "program A.tx lines={loop; post_send A.qp0 wr_id=5 opcode=RDMA_WRITE sg=A.mr0[0:4096]"
        " remote=B.mr0[0] flags=SIGNALED; poll A.cq0; end}"
    ),
}
MILLION = 1_000_000
_NEARLY = 950_000  # a run ends at a million of itself
_LONGEST_S = 600
_ARGV = [sys.executable, "-m", "rdmalab"]
_CTRL_C = b"\x03"
_EVENT = re.compile(r"\bev (\d+)\b")
_MB = 1 << 20


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / _MB


def _event(rows: list[str]) -> int:
    found = _EVENT.search(rows[0])
    return int(found[1]) if found else -1


class App:
    """The app with one load posted; its memory at the first screen."""

    def __init__(self, terminal: Terminal, load: str) -> None:
        self.terminal = terminal
        terminal.wait_for("A>")
        time.sleep(1)  # what starts after the first frame has started
        self.first_mb = _resident_mb(terminal.child.pid)
        terminal.send(LOADS[load].encode() + b"\r")
        terminal.wait_for("Next:")

    def run(self, events: int) -> None:
        """Start a run, and wait until so many events have happened."""
        self.terminal.send(b"run 10000s\r")
        self.terminal.wait_until(lambda rows: _event(rows) >= events, _LONGEST_S, "event")

    def stop(self) -> float:
        """Milliseconds from ^C to the prompt."""
        start = time.perf_counter()
        self.terminal.send(_CTRL_C)
        self.terminal.wait_until(_is_asking, _LONGEST_S, "prompt")
        return (time.perf_counter() - start) * 1e3

    def asked_and_stopped(self, line: str) -> float:
        """The same while a command computes."""
        self.terminal.send(line.encode() + b"\r")
        time.sleep(0.3)
        return self.stop()

    @property
    def mb(self) -> float:
        """Resident now, above the first screen."""
        return _resident_mb(self.terminal.child.pid) - self.first_mb


def _is_asking(rows: list[str]) -> bool:
    """The prompt stands there, empty, and the header says that nothing runs."""
    return "running" not in rows[0] and any(row.strip("║ ").startswith("A>") and
                                            not row.strip("║ ").removeprefix("A>").strip()
                                            for row in rows)  # fmt: skip


def in_the_app(load: str) -> dict[str, float]:
    """One load: a million events in the app, stopped near the end, and then asked about."""
    with tempfile.TemporaryDirectory() as state:
        env = {**os.environ, "TERM": "xterm-256color", "RDMALAB_STATE": state}
        with Terminal(_ARGV, columns=120, rows=40, env=env) as terminal:
            app = App(terminal, load)
            app.run(_NEARLY)
            stops = [app.stop()]
            time.sleep(1)
            events, mb = _event(terminal.screen()), app.mb
            stops += [app.asked_and_stopped("share"), app.asked_and_stopped("goto 300000")]
            return {
                "stop_ms_after_1m": max(stops),
                "app_mb_per_million_events": mb * MILLION / events,
            }


def in_the_engine(millions: int) -> float:
    """Peak MB per million events of the first experiment, nothing printed."""
    lab = Lab()
    for line in ("use rc_pair rnr_retry=7", LOADS["rnr"]):
        lab.do(line)
    before = peak_kb() / 1024
    lab.session.max_events = millions * MILLION
    lab.do("run 10000s")
    assert lab.session.world.event >= millions * MILLION
    return (peak_kb() / 1024 - before) / millions


def measure() -> dict[str, float]:
    """All keys of this file: of both loads, and of one and three million events, the worse."""
    found = [in_the_app(load) for load in LOADS]
    fresh = get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh, max_tasks_per_child=1) as processes:
        engine = max(processes.map(in_the_engine, (1, 3)))
    worst = {key: max(each[key] for each in found) for key in found[0]}
    worst["engine_mb_per_million_events_rnr"] = engine
    return {key: round(worst[key], 1) for key in RATIOS}
