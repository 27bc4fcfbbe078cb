"""SIGKILL at random moments while lines are typed: what was answered is there, and nothing else."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

from rdmalab.lab import Lab
from rdmalab.session.digest import digest
from tests.terminal import PATIENCE_S, Terminal

KILLS = 50
ROOT = Path(__file__).parents[2]
# The plain prompt, which tells before each question what the world is.
TALKER = """
import builtins
from rdmalab.lab import Lab
from rdmalab.session.digest import digest
from rdmalab.shell import repl

lab, ask = Lab(), builtins.input

def tell(prompt):
    world = lab.session.world
    print(f"<{world.event} {digest(world.trace)}>", flush=True)
    return ask(prompt)

builtins.input = tell
repl._plainly(lab)
"""
_TOLD = re.compile(r"<(-?\d+) ([0-9a-f]{64})>")
_ANSWERED = re.compile(r"ok \[ev|after [\d,]+ event")
_FIRST = "use rc_pair rnr_retry=7 min_rnr_timer=1"
_ENDLESS = "run"
_SPOILED = "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]"


class Told(NamedTuple):
    """What the process says of its world, and where in its output."""

    event: int
    digest: str
    start: int
    stop: int


class Life:
    """One process, from its first question to its end."""

    def __init__(self, state: Path) -> None:
        env = {"RDMALAB_STATE": str(state), "PYTHONPATH": str(ROOT)}
        self.terminal = Terminal([sys.executable, "-c", TALKER], cwd=ROOT, env=env)
        self.wait_for(1)

    @property
    def output(self) -> str:
        return self.terminal.raw.decode(errors="replace")

    def told(self) -> list[Told]:
        found = _TOLD.finditer(self.output)
        return [Told(int(m[1]), m[2], m.start(), m.end()) for m in found]

    def wait_for(self, questions: int) -> Told:
        deadline = time.monotonic() + PATIENCE_S
        while len(told := self.told()) < questions:
            assert time.monotonic() < deadline, self.output
            assert self.terminal.child.poll() is None, self.output
            self.terminal.screen()
            time.sleep(0.002)
        return told[questions - 1]

    def say(self, *lines: str) -> None:
        self.terminal.send("".join(f"{line}\n" for line in lines).encode())

    def kill(self) -> None:
        self.terminal.child.kill()
        self.terminal.wait_exit()
        self.terminal.screen()
        self.terminal.close()


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

    def go_on(self, line: str, told: Told) -> None:
        """One line more; of a run only the process can say how far it went."""
        moved = told.event - self.lab.session.world.event
        if line != _ENDLESS or moved:
            self.do(f"step {moved}" if line == _ENDLESS else line)

    def is_so(self, told: Told) -> bool:
        world = self.lab.session.world
        return (world.event, digest(world.trace)) == (told.event, told.digest)

    def check(self, told: Told) -> None:
        """The world that came back is that of what was answered, and perhaps of one line more."""
        if self.was_answered or not self.is_so(told):
            self.go_on(self.doubtful, told)
        assert self.is_so(told), (self.done, self.doubtful)

    def hear(self, life: Life, first: int, typed: list[str]) -> None:
        """What the dead process had answered; the first question was `first`."""
        told = life.told()[first - 1 :]
        for line, after in zip(typed, told[1:], strict=False):
            self.go_on(line, after)
            assert self.is_so(after), self.done
        left = typed[len(told) - 1 :]
        self.doubtful = left[0] if left else ""
        self.was_answered = bool(left and _ANSWERED.search(life.output[told[-1].stop :]))


def lines_of(chance: Random, number: int) -> list[str]:
    kinds = (
        f"alloc_pd A.pd{number}{{}}", "write A.mr0[0:4] abcd", "step", "step 7", "run 30us",
        _SPOILED, "show A.qp0", "frobnicate", "modify_qp A.qp0 state=INIT", "poll_cq A.cq0", "step",
    )  # fmt: skip
    many = chance.randint(1, 5)
    return [chance.choice(kinds).format(position) for position in range(many)]


def live(life: Life, chance: Random, number: int) -> list[str]:
    """Type, wait a moment, perhaps ^C, and die."""
    typed = lines_of(chance, number)
    runs = chance.random() < 0.4
    typed += [_ENDLESS] if runs else []
    life.say(*typed)
    if runs and chance.random() < 0.6:
        time.sleep(chance.uniform(0.02, 0.06))
        life.terminal.send(b"\x03")
    time.sleep(chance.uniform(0, 0.03) * (1 + len(typed) // 2))
    life.kill()
    return typed


def test_what_was_answered_is_there_however_the_process_ends(tmp_path: Path) -> None:
    chance = Random(20)
    life = Life(tmp_path)
    life.say(_FIRST, _SPOILED)
    story = Story(_FIRST, _SPOILED)
    asked = 3
    life.wait_for(asked)
    for number in range(KILLS):
        typed = live(life, chance, number)
        story.hear(life, asked, typed)
        if chance.random() < 0.2:  # it may be killed while it brings a session back, too
            life = Life(tmp_path)
            life.say("continue")
            time.sleep(chance.uniform(0, 0.05))
            life.kill()
        life = Life(tmp_path)
        life.say("continue")
        asked = 2
        story.check(life.wait_for(asked))
        assert "Continued: " in life.output
    assert len(story.done) > KILLS // 2
    life.kill()
