"""State that cannot be written: a full disk, a directory that vanishes, a history that is none."""

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from subprocess import TimeoutExpired
from tempfile import TemporaryDirectory

from tests.hostile.account import Account, printed
from tests.hostile.faces import FACES, answered, started
from tests.terminal import Terminal

_FULL = 700  # bytes: less than a diary of a few lines
Trouble = Callable[[Path], None]


def _history_is_a_directory(state: Path) -> None:
    (state / "history").mkdir(parents=True)


def _vanishes(state: Path) -> None:
    shutil.rmtree(state)


def _nothing(state: Path) -> None:
    del state


# What happens before the start, what while the face runs, and how long a file may be.
TROUBLES: dict[str, tuple[Trouble, Trouble, int]] = {
    "disk full": (_nothing, _nothing, _FULL),
    "state vanishes": (_nothing, _vanishes, 0),
    "history is a directory": (_history_is_a_directory, _nothing, 0),
}


CASES = [(face, trouble) for face in FACES for trouble in TROUBLES]


def attack(chance: Random, count: int, account: Account) -> None:
    """Run each face in each trouble, at most so many of these."""
    for face, trouble in chance.sample(CASES, min(count, len(CASES))):
        account.tries += 1
        account.checked(trouble)
        if problem := examined(face, trouble):
            account.failed(f"{face}, {trouble}: {problem}")


def examined(face: str, trouble: str) -> str | None:
    """What is wrong with a session in this trouble: each line is answered, and it ends with 0."""
    before, during, most = TROUBLES[trouble]
    with TemporaryDirectory(prefix="rdmalab-disk-") as folder:
        state = Path(folder) / "state"
        before(state)
        try:
            with started(face, state, most) as terminal:
                answered(terminal, "A.first")
                during(state)
                return _typed(terminal)
        except (AssertionError, OSError, TimeoutExpired) as silent:
            return f"no answer: {silent}"


def _typed(terminal: Terminal) -> str | None:
    for line in range(8):
        answered(terminal, f"A.then{line}")
    terminal.send(b"quit\r")
    if code := terminal.wait_exit():
        return f"exit code {code}"
    return printed("\n".join(terminal.screen()))
