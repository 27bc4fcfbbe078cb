"""The screen against what it is made of: start, keys, runs under it, and rest.

first_frame_ratio: the first frame against that of a Textual app with one prompt_toolkit session.
ready_ratio: the first answered line against the same frame. key_to_paint_ratio: a key until it is
on the screen, against the same prompt in a bare terminal. run_under_screen: CPU time of a run at
a prompt without a screen, as a share of that in the app with every pane open. idle_cpu: per cent
of a core that the app takes while nothing happens.

Both sides of a ratio are measured one after the other, so that a busy machine slows both; the
median of all repetitions counts. Bytecode is cached, as it is after the first start.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rdmalab.tui.pane_table import TABS
from tests.bench.long import LOADS
from tests.terminal import Terminal

RATIOS: dict[str, tuple[float, str]] = {
    "first_frame_ratio": (1.5, "at most"),
    "ready_ratio": (2.2, "at most"),
    "key_to_paint_ratio": (2, "at most"),
    "run_under_screen": (0.85, "at least"),
    "idle_cpu": (0.5, "at most"),
}
RUNS = 5
_APP = [sys.executable, "-m", "rdmalab"]
_REPL = [*_APP, "repl"]
_BARE = [sys.executable, "-m", "tests.bench.bare_app"]
_LINE, _ANSWER = b"node A\r", "qp0 now means A.qp0"
_KEYS = b"post_send A.qp0 opcode=SEND "
_ROOT = Path(__file__).parents[2]
_MEDIUM, _LARGE = (120, 40), (200, 60)
_EVENTS = 100_000
_IDLE_S = 10
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAIR = "use rc_pair"


@contextmanager
def terminal(argv: list[str], size: tuple[int, int] = _MEDIUM) -> Iterator[Terminal]:
    """A program in a terminal and a state directory of its own, with cached bytecode."""
    with tempfile.TemporaryDirectory() as state:
        environment = {
            "RDMALAB_STATE": state, "PYTHONPATH": str(_ROOT), "PROMPT_TOOLKIT_NO_CPR": "1",
            "PYTHONDONTWRITEBYTECODE": "",
        }  # fmt: skip
        with Terminal(argv, columns=size[0], rows=size[1], env=environment) as shown:
            yield shown


def _first_frame(shown: Terminal, start: float) -> float:
    """Seconds until anything is on the screen."""
    shown.wait_until(lambda rows: any(row.strip() for row in rows))
    return time.perf_counter() - start


def _started(argv: list[str]) -> tuple[float, float]:
    """Seconds until the first frame, and until the answer to the first line; bare: no answer."""
    start = time.perf_counter()
    with terminal(argv) as shown:
        frame = _first_frame(shown, start)
        if argv == _BARE:
            return frame, frame
        shown.wait_for("A>")
        shown.send(_LINE)
        shown.wait_for(_ANSWER)
        return frame, time.perf_counter() - start


def start_ratios() -> dict[str, float]:
    """first_frame_ratio and ready_ratio."""
    _started(_APP), _started(_BARE)  # the bytecode is cached now
    frames, answers = [], []
    for _ in range(RUNS):
        (frame, answer), (bare, _) = _started(_APP), _started(_BARE)
        frames.append(frame / bare)
        answers.append(answer / bare)
    return {
        "first_frame_ratio": statistics.median(frames),
        "ready_ratio": statistics.median(answers),
    }


def _press(shown: Terminal, key: bytes) -> float:
    before = shown.screen()
    start = time.perf_counter()
    shown.send(key)
    shown.wait_until(lambda rows: rows != before)
    return time.perf_counter() - start


def key_ratio() -> float:
    """key_to_paint_ratio: each key is pressed in both terminals."""
    with terminal(_APP) as app, terminal(_REPL) as prompt:
        for shown in (app, prompt):
            shown.wait_for("A>")
            shown.rest(1)  # what starts after the first frame has started
        pairs = []
        for key in _KEYS * 2:
            pairs.append((_press(app, bytes([key])), _press(prompt, bytes([key]))))
            app.rest(0.05)
            prompt.rest(0.05)
    ours, theirs = zip(*pairs, strict=True)
    return float(statistics.median(ours) / statistics.median(theirs))


def _cpu_s(pid: int) -> float:
    """CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def _prompt_s() -> float:
    """CPU seconds of the run at a prompt without a screen, in a process of its own."""
    code = (
        "import asyncio, sys, time; from rdmalab.lab import Lab\n"
        "from rdmalab.shell.conversation import Conversation\n"
        "from rdmalab.shell.script import pause\n"
        "talk = Conversation(Lab()); said = []\n"
        "def do(line): asyncio.run(talk.evaluate(line, said.append, pause))\n"
        "for line in sys.argv[1:-1]: do(line)\n"
        "start = time.process_time(); do(sys.argv[-1]); print(time.process_time() - start)"
    )
    command = [sys.executable, "-c", code, _PAIR, LOADS["write"], f"step {_EVENTS}"]
    done = subprocess.run(command, capture_output=True, check=True, text=True, cwd=_ROOT)
    return float(done.stdout)


def _screen_s() -> float:
    """CPU seconds of the run in the app: every tab was opened, the log is in front."""
    with terminal(_APP, _LARGE) as shown:
        shown.wait_for("A>")
        shown.send(b"\x1b[17~")  # F6: the keys go to a pane
        for tab in range(1, len(TABS) + 1):
            shown.send(b"%d" % tab)
            shown.rest(0.3)
        shown.send(b"\x1b")
        shown.rest(0.5)
        shown.send(f"new; {_PAIR}; {LOADS['write']}\r".encode())
        shown.wait_for("B.qp0 is in RTS")
        shown.rest(1)
        before = _cpu_s(shown.child.pid)
        shown.send(f"step {_EVENTS}\r".encode())
        shown.wait_for(f"after {_EVENTS:,} events", timeout=300)
        return _cpu_s(shown.child.pid) - before


def run_ratio() -> float:
    """run_under_screen."""
    return statistics.median(_prompt_s() / _screen_s() for _ in range(3))


def idle_per_cent() -> float:
    """idle_cpu: of a core, after the first screen, in which nothing moves."""
    with terminal(_APP) as shown:
        shown.wait_for("A>")
        shown.rest(3)
        before = _cpu_s(shown.child.pid)
        shown.rest(_IDLE_S)
        return 100 * (_cpu_s(shown.child.pid) - before) / _IDLE_S


def measure() -> dict[str, float]:
    """All keys of this file."""
    found = start_ratios() | {
        "key_to_paint_ratio": key_ratio(),
        "run_under_screen": run_ratio(),
        "idle_cpu": idle_per_cent(),
    }
    return {key: round(found[key], 2) for key in RATIOS}
