"""kill -9 while lines are typed, with an exact account of those that were answered."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from rdmalab.recovery.write_ahead_log import LogHeader, WriteAheadLog
from tests.hostile.account import Account
from tests.hostile.faces import FACES, answered, started
from tests.shell.prompts import Prompt

_MOST = 4  # lines answered before a kill
_LATER_S = 0.03  # the kill comes so long after the last line at most
_HEAD = LogHeader({"A": "strict", "B": "strict"})


def attack(chance: Random, count: int, account: Account) -> None:
    """Kill so many processes, each face in turn, and count what comes back of each."""
    faces = list(FACES)
    first = chance.randrange(len(faces))
    for number in range(count):
        face = faces[(first + number) % len(faces)]
        known, typed = chance.randint(0, _MOST), chance.randint(1, 2)
        account.tries += 1
        with TemporaryDirectory(prefix="rdmalab-killed-") as folder:
            state = Path(folder) / "state"
            known += _killed(face, state, known, typed, chance.uniform(0, _LATER_S))
            back = kept(state)
        account.checked(face)
        account.checked("lines answered", known)
        whole = [f"A.k{line}" for line in range(len(back))]
        if back != whole or not known <= len(back) <= known + typed:
            account.failed(f"{face}: {known} answered, {typed} more typed, {back} came back")


def _killed(face: str, state: Path, known: int, typed: int, later_s: float) -> int:
    """Type `known` lines and wait for their answers, then `typed`; how many of these have one."""
    with started(face, state) as terminal:
        for line in range(known):
            answered(terminal, f"A.k{line}")
        more = range(known, known + typed)
        terminal.send("".join(f"alloc_pd A.k{line}\r" for line in more).encode())
        time.sleep(later_s)
        terminal.child.kill()
        terminal.wait_exit()
        rows = terminal.screen()
        return sum(any(f"A.k{line} created." in row for row in rows) for line in more)


@contextmanager
def _continued(state: Path) -> Iterator[Prompt]:
    """A session that goes on with what was left there."""
    with closing(_Closed(WriteAheadLog(_HEAD, state / "sessions"))) as it:
        prompt = Prompt(width=400, log=it.log)
        prompt.ask("continue")
        yield prompt


class _Closed:
    """A diary that has a `close`, as its process has."""

    def __init__(self, log: WriteAheadLog) -> None:
        self.log = log

    def close(self) -> None:
        self.log.leave()


def kept(state: Path) -> list[str]:
    """The PDs A.k0, A.k1 ... that come back."""
    with _continued(state) as prompt:
        names = prompt.lab.session.names
        tried = (f"A.k{line}" for line in range(_MOST + 3))
        return [name for name in tried if names.find(name) is not None]
