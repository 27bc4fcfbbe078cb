"""What the threads of another process do."""

import subprocess
import sys
import time

import pytest

from rdmalab.compat.c.program import sleeps_without_end

CASES = {
    "import sys; sys.stdin.read()": True,
    "import time; time.sleep(60)": False,
    "import select; select.poll().poll(60_000)": False,
    "import select; select.poll().poll()": True,
    "while True: pass": False,
}


@pytest.mark.parametrize(("program", "sleeps"), CASES.items())
def test_an_endless_sleep_differs_from_a_timed_one(program: str, sleeps: bool) -> None:
    words = [sys.executable, "-S", "-c", f"print('here', flush=True); {program}"]
    if program.startswith("while"):
        words[-1] = f"print('here', flush=True)\n{program}"
    running = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert running.stdout is not None
        running.stdout.readline()
        until_s = time.monotonic() + 5
        while sleeps_without_end(running.pid) != sleeps and time.monotonic() < until_s:
            time.sleep(0.01)
        assert sleeps_without_end(running.pid) == sleeps
    finally:
        running.kill()
        running.communicate()


def test_a_process_that_has_ended_sleeps() -> None:
    running = subprocess.Popen([sys.executable, "-S", "-c", ""])
    running.wait()
    assert sleeps_without_end(running.pid)
