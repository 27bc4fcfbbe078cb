"""How long a person waits: imports, the first frame, a key. Wall time, for information only."""

import os
import statistics
import subprocess
import sys
import time

from tests.bench import skin
from tests.terminal import Terminal

RUNS = 5
LINE = b"post_send A.qp0 "


def information() -> dict[str, object]:
    """`import_ms`, `first_frame_ms`, `key_to_paint_ms` (median, p95), and of the pyverbs skin."""
    frames, keys = [], []
    for _ in range(RUNS):
        frame, pressed = _screen()
        frames.append(frame)
        keys += pressed
    keys.sort()
    p95 = keys[int(len(keys) * 0.95) - 1]
    return {
        "import_ms": _import_ms(),
        "first_frame_ms": round(statistics.median(frames)),
        "pyverbs_pingpong_wr_per_s": round(1 / skin.pingpong()),
        "key_to_paint_ms": {"median": round(statistics.median(keys), 1), "p95": round(p95, 1)},
    }


def _import_ms() -> float:
    """`rdmalab --version` above a bare interpreter."""
    ours = statistics.median(_wall_ms("-m", "rdmalab", "--version") for _ in range(RUNS))
    bare = statistics.median(_wall_ms("-c", "pass") for _ in range(RUNS))
    return round(ours - bare)


def _wall_ms(*arguments: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return (time.perf_counter() - start) * 1e3


def _screen() -> tuple[float, list[float]]:
    """The app in a terminal of its own: its first whole frame, then keys until the row changes."""
    start = time.perf_counter()
    env = {**os.environ, "TERM": "xterm-256color"}
    with Terminal([sys.executable, "-m", "rdmalab"], columns=120, rows=40, env=env) as terminal:
        terminal.wait_for("A>", timeout=30)
        frame = (time.perf_counter() - start) * 1e3
        pressed = [_press(terminal, LINE[n % len(LINE) : n % len(LINE) + 1]) for n in range(8)]
        return frame, pressed


def _press(terminal: Terminal, key: bytes) -> float:
    before = terminal.screen()
    start = time.perf_counter()
    terminal.send(key)
    terminal.wait_until(lambda lines: lines != before, timeout=5)
    return (time.perf_counter() - start) * 1e3
