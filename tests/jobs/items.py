"""Work for the tests of pools: numbers, and words that do harm."""

import os
import signal
import time
from pathlib import Path

from rdmalab.jobs.limits import Cut, Limits

KEPT: list[bytes] = []


def work(item: object, limits: Limits) -> object:
    """Squares of numbers; of words what they mean. A pair is (word, file)."""
    if isinstance(item, int):
        return item * item, os.getpid()
    word, _, file = str(item).partition(" ")
    return _WORDS[word](file, limits)


def _spin(_file: str, _limits: Limits) -> object:
    while True:
        pass


def _sleep(_file: str, _limits: Limits) -> object:
    time.sleep(600)
    return None


def _eat(_file: str, _limits: Limits) -> object:
    while True:
        KEPT.append(bytes(16 << 20))


def _once(file: str, _limits: Limits) -> object:
    """End the process the first time; the file says that it happened."""
    there = Path(file)
    if there.exists():
        there.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return "second"


def _exit(_file: str, _limits: Limits) -> object:
    os._exit(7)


def _events(_file: str, limits: Limits) -> object:
    raise Cut(f"limit of {limits.events} events")


def _wrong(_file: str, _limits: Limits) -> object:
    raise KeyError("wrong")


def _write(file: str, _limits: Limits) -> object:
    Path(file).write_text("x" * 100)
    return "written"


def _interrupt(_file: str, _limits: Limits) -> object:
    os.kill(os.getpid(), signal.SIGINT)
    return "ignored"


_WORDS = {
    "spin": _spin, "sleep": _sleep, "eat": _eat, "once": _once, "exit": _exit, "events": _events,
    "wrong": _wrong, "write": _write, "interrupt": _interrupt,
}  # fmt: skip
