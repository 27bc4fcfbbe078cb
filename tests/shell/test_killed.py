"""SIGKILL at random moments while lines are typed: what was answered is there, and nothing else."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from rdmalab.lab import Lab
from tests.digest import digest
from tests.terminal import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

SEEDS, KILLS = (0, 2), 10  # each is brought back so often; all its runs are replayed each time
ROOT = Path(__file__).parents[2]
# The plain prompt, which tells before each question what the world is. Each is a fork of a process
# that has imported everything, for fifty starts of Python would be most of what this test takes.
NURSERY = """
import builtins, os, signal, sys
from rdmalab.lab import Lab
from tests.digest import digest
from rdmalab.shell import repl, face_requests
from rdmalab.scenario import runner

def live(terminal):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    line = os.open(terminal, os.O_RDWR)
    for number in range(3):
        os.dup2(line, number)
    sys.stdin, sys.stdout = open(0), open(1, "w", buffering=1)
    lab, ask = Lab(), builtins.input

    def tell(prompt):
        world = lab.session.world
        print(f"<{world.event} {digest(world.trace)}>", flush=True)
        return ask(prompt)

    builtins.input = tell
    repl._plainly(lab)
    os._exit(0)

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while terminal := sys.stdin.readline().strip():
    pid = os.fork()
    if not pid:
        live(terminal)
    print(pid, flush=True)
"""
_TOLD = re.compile(r"<(-?\d+) ([0-9a-f]{64})>")
_ANSWERED = re.compile(r"ok \[ev|after [\d,]+ event")
_UNHEARD = "^C clears the line"
_FIRST = "use rc_pair rnr_retry=7 min_rnr_timer=1"
_ENDLESS = "run 10000s"
_SPOILED = "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]"


class Restored(NamedTuple):
    """What the process says of its world, and where in its output."""

    event: int
    digest: str
    start: int
    stop: int


class Nursery:
    """The process whose forks live and are killed."""

    def __init__(self, state: Path) -> None:
        env = {**os.environ, "RDMALAB_STATE": str(state), "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", NURSERY],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=env,
        )  # fmt: skip

    def born(self, terminal: str) -> int:
        """The number of a new process at this terminal."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{terminal}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate(timeout=PATIENCE_S)


class Life:
    """One process, from its first question to its end."""

    def __init__(self, nursery: Nursery) -> None:
        self.raw = b""
        self.terminal, line = os.openpty()
        try:
            self.pid = nursery.born(os.ttyname(line))
            self.wait_for(1)
        finally:
            os.close(line)

    @property
    def output(self) -> str:
        return self.raw.decode(errors="replace")

    def told(self) -> list[Restored]:
        found = _TOLD.finditer(self.output)
        return [Restored(int(m[1]), m[2], m.start(), m.end()) for m in found]

    def wait_for(self, questions: int) -> Restored:
        while len(answer := self.told()) < questions:
            assert self._hear(), self.output
        return answer[questions - 1]

    def _hear(self) -> bool:
        """What it says next; False when it is gone."""
        assert select.select([self.terminal], [], [], PATIENCE_S)[0], self.output
        try:
            received = os.read(self.terminal, 65536)
        except OSError:  # Linux says so when nobody is at the other end any more
            return False
        self.raw += received
        return bool(received)

    def type(self, keys: str) -> None:
        os.write(self.terminal, keys.encode())

    def say(self, *lines: str) -> None:
        self.type("".join(f"{line}\n" for line in lines))

    def kill(self) -> None:
        with suppress(ProcessLookupError):  # ^C between two questions ends it, too
            os.kill(self.pid, signal.SIGKILL)
        while self._hear():
            pass
        os.close(self.terminal)


class Story:
    """What must be there. doubtful: typed, and nobody knows whether it was carried out."""

    def __init__(self, *lines: str) -> None:
        self.lab = Lab()
        self.done: list[str] = []
        self.doubtful = ""
        self.was_answered = False
        for line in lines:
            self.do(line)

    def do(self, line: str) -> None:
        self.done.append(line)
        self.lab.do(line)

    def go_on(self, line: str, answer: Restored) -> None:
        """One line more; of a run only the process can say how far it went."""
        moved = answer.event - self.lab.session.world.event
        if line != _ENDLESS or moved:
            self.do(f"step {moved}" if line == _ENDLESS else line)

    def is_so(self, answer: Restored) -> bool:
        world = self.lab.session.world
        return (world.event, digest(world.trace)) == (answer.event, answer.digest)

    def check(self, answer: Restored) -> None:
        """The world that came back is that of what was answered, and perhaps of one line more."""
        if self.was_answered or not self.is_so(answer):
            self.go_on(self.doubtful, answer)
        assert self.is_so(answer), (self.done, self.doubtful)

    def hear(self, life: Life, first: int, typed: list[str]) -> None:
        """What the dead process had answered; the first question was `first`."""
        answer = life.told()[first - 1 :]
        for line, before, after in zip(typed, answer, answer[1:], strict=False):
            if _UNHEARD in life.output[before.stop : after.start]:
                break  # ^C came before `run` was read, and the terminal has dropped that line
            self.go_on(line, after)
            assert self.is_so(after), (self.done, life.output)
        left = typed[len(answer) - 1 :]
        self.doubtful = left[0] if left else ""
        self.was_answered = bool(left and _ANSWERED.search(life.output[answer[-1].stop :]))


def lines_of(chance: Random, number: int) -> list[str]:
    kinds = (
        f"alloc_pd A.pd{number}{{}}", "write A.mr0[0:4] abcd", "step", "step 7", "run 30us",
        _SPOILED, "show A.qp0", "frobnicate", "modify_qp A.qp0 state=INIT", "poll_cq A.cq0", "step",
    )  # fmt: skip
    many = chance.randint(1, 5)
    return [chance.choice(kinds).format(position) for position in range(many)]


def live(life: Life, chance: Random, number: int, asked: int) -> list[str]:
    """Type, wait a moment, perhaps ^C, and die."""
    typed = lines_of(chance, number)
    runs = chance.random() < 0.4
    life.say(*typed)
    if chance.random() < 0.7:  # however slow the machine is, most get something done
        life.wait_for(asked + 1)
    if runs and chance.random() < 0.6:
        life.wait_for(asked + len(typed))  # ^C drops what was typed ahead
        life.say(_ENDLESS)
        time.sleep(chance.uniform(0.02, 0.06))
        life.type("\x03")
    elif runs:
        life.say(_ENDLESS)
    typed += [_ENDLESS] if runs else []
    time.sleep(chance.uniform(0, 0.03) * (1 + len(typed) // 2))
    life.kill()
    return typed


@pytest.fixture
def nursery(tmp_path: Path) -> Iterator[Nursery]:
    with closing(Nursery(tmp_path)) as it:
        yield it


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_answered_is_there_however_the_process_ends(seed: int, nursery: Nursery) -> None:
    chance = Random(seed)
    life = Life(nursery)
    life.say(_FIRST, _SPOILED)
    story = Story(_FIRST, _SPOILED)
    asked = 3
    life.wait_for(asked)
    for number in range(KILLS):
        typed = live(life, chance, number, asked)
        story.hear(life, asked, typed)
        if chance.random() < 0.2:  # it may be killed while it brings a session back, too
            life = Life(nursery)
            life.say("continue")
            time.sleep(chance.uniform(0, 0.05))
            life.kill()
        life = Life(nursery)
        life.say("continue")
        asked = 2
        story.check(life.wait_for(asked))
        assert "Continued: " in life.output
    assert len(story.done) > KILLS // 2
    life.kill()
