"""A walk through time: words of all kinds, jumps and branches; each place is what it was before."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.lab import Lab
from rdmalab.session import history
from tests.labs import everything, fingerprint, played_again
from tests.machine.sessions import random_lab, say_something

TRIPS = (
    "back", "back 3", "back packet", "back cqe", "back state", "back timer", "step", "step 4",
    "run 2us", "step packet", "rewind", "rewind 1us", "goto start", "goto end", "goto @x",
    "goto @y", "run 1ms",
)  # fmt: skip
LOOKS = (
    "diff start", "diff start end", "diff @x @y", "trace wire.count()", "checkpoint x", "branches",
    "checkpoint y", "break A.qp0.state == ERR", "watch wire.count(from=A)", "delete", "changes",
)  # fmt: skip
# What is known only from the whole past, kept as totals on the way.
FOLDS = (
    "wire.count()", "wire.count(from=A)", "log.count()", "A.cq0.total()", "A.qp0.sq.max_used",
    "A.cq0.overruns", "A.counters.tx_packets",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _close_together(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("EVENTS_APART", 16), ("RECENT", 12), ("OLD", 4), ("HOT", 3)):
        monkeypatch.setattr(history, name, value)


def folds(lab: Lab) -> list[Any]:
    found: list[Any] = []
    for question in FOLDS:
        try:
            found.append(lab.look(question))
        except Exception as wrong:  # noqa: BLE001  (what means nothing here means nothing there)
            found.append(str(wrong))
    return found


class Walk:
    """been: the log at each place of each branch, as it was when one first came there."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.lab = random_lab(chance, words=8)
        self.been: dict[tuple[str, tuple[int, int]], str] = {}

    def go_on(self) -> None:
        lab, kind = self.lab, self.chance.random()
        if kind < 0.5:
            line = self.chance.choice((*TRIPS, f"goto {self.chance.randrange(80)}"))
            lab.do(line)
        elif kind < 0.6:
            lab.do(f"switch {self.chance.choice(list(lab.session.history.branches))}")
        elif kind < 0.75:
            self.look()
        else:
            say_something(lab, self.chance)
        self.compare()

    def look(self) -> None:
        before = everything(self.lab), self.lab.session.history.branch.name
        self.lab.do(self.chance.choice(LOOKS))
        assert before == (everything(self.lab), self.lab.session.history.branch.name)

    def compare(self) -> None:
        past = self.lab.session.history
        now = fingerprint(self.lab)
        assert self.been.setdefault((past.branch.name, past.here), now) == now
        assert past.start <= past.here <= past.end


@settings(max_examples=25, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_wherever_one_has_been_it_is_as_it_was(seed: int) -> None:
    walk = Walk(Random(seed))
    for _ in range(30):
        walk.go_on()


@settings(max_examples=25, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_totals_are_those_of_a_session_that_never_went_back(seed: int) -> None:
    walk = Walk(Random(seed))
    for _ in range(12):
        walk.go_on()
        folds(walk.lab)
    lab = walk.lab
    lab.do("goto end")
    profiles = {node: hca.profile for node, hca in lab.session.world.nodes.items()}
    twin = played_again(lab, Lab(profiles, seed=lab.session.seed))
    assert fingerprint(twin) == fingerprint(lab)
    assert folds(twin) == folds(lab)
