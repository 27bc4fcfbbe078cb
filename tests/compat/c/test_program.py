"""What the threads of another process do."""

import subprocess
import sys
import time

import pytest

from rdmalab.compat.c.program import link_of, listeners, sleeps_without_end

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


_LISTENS = {
    "poll": "p = select.poll(); p.register(s, select.POLLIN); p.poll()",
    "select": "select.select([s], [], [])",
    "epoll_wait": "p = select.epoll(); p.register(s, select.EPOLLIN); p.poll()",
}


@pytest.mark.parametrize("call", _LISTENS)
def test_the_descriptors_of_a_thread_in_poll_select_or_epoll_wait_are_found(call: str) -> None:
    made = "import select, socket; s, t = socket.socketpair(); print(s.fileno(), flush=True); "
    words = [sys.executable, "-S", "-c", made + _LISTENS[call]]
    running = subprocess.Popen(words, stdout=subprocess.PIPE)
    try:
        assert running.stdout is not None
        link = link_of(running.pid, int(running.stdout.readline()))
        until_s = time.monotonic() + 5
        while not (found := [*listeners(running.pid)]) and time.monotonic() < until_s:
            time.sleep(0.01)
        assert found == [(running.pid, call, [link])]
    finally:
        running.kill()
        running.communicate()


def test_a_process_that_has_ended_sleeps() -> None:
    running = subprocess.Popen([sys.executable, "-S", "-c", ""])
    running.wait()
    assert sleeps_without_end(running.pid)
