"""Universal truths of going back and forth, with losses, accidents and programs in progress."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab import Lab
from rdmalab.session import history
from rdmalab.session.branch import TimePoint
from tests.each import examples
from tests.labs import everything, fingerprint, still
from tests.machine.sessions import random_lab, say_something

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=examples(40), derandomize=True)
BUSY = (
    "use rc_pair timeout=6 max_send_wr=16 max_recv_wr=16 cqe=64 mtu=256",
    "fault drop A->B p=5%", "fault duplicate B->A p=5%", "fault corrupt A->B p=2% byte=70",
    "fault reorder A->B p=5% behind=2",
    "program B.rx pace=300ns lines={loop; try post_recv B.qp0 sg=B.mr0[0:1024]; sleep 900ns; end}",
    "program A.tx lines={loop; try post_send A.qp0 opcode=SEND sg=A.mr0[0:900] flags=SIGNALED; "
    "try post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:600] remote=B.mr0[64] flags=SIGNALED; "
    "sleep 2us; poll_cq A.cq0 num_entries=8; end}",
    "program B.cq lines={loop; poll_cq B.cq0 num_entries=16; sleep 3us; end}",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _close_together(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("EVENTS_APART", 16), ("RECENT", 12), ("OLD", 4), ("HOT", 3)):
        monkeypatch.setattr(history, name, value)


def moment(lab: Lab) -> Any:
    """All there is here: the world, what is called how, and all that was logged so far."""
    names = lab.session.names
    return still(lab.session.world), repr(names.thing_of), set(names.retired), fingerprint(lab)


@few
@given(seeds, st.integers(1, 120))
def test_run_equals_step(seed: int, events: int) -> None:
    ran, stepped = (random_lab(Random(seed)) for _ in range(2))
    assert everything(ran) == everything(stepped)
    ran.do(f"step {events}")
    for _ in range(events):
        stepped.do("step")
    assert everything(ran) == everything(stepped)


@few
@given(seeds, st.integers(1, 60))
def test_step_n_and_back_n(seed: int, steps: int) -> None:
    lab = random_lab(Random(seed))
    before, event = everything(lab), lab.session.world.event
    lab.do(f"step {steps}")
    went = lab.session.world.event - event
    for _ in range(went):
        lab.do("back")
    assert everything(lab) == before
    lab.do("goto end")
    lab.do(f"back {went}" if went else "goto end")
    assert everything(lab) == before


@few
@given(seeds, st.lists(st.integers(0, 10**6), min_size=1, max_size=12))
def test_goto_restores_every_moment(seed: int, jumps: list[int]) -> None:
    chance = Random(seed)
    lab = random_lab(chance, words=0)
    been = {lab.session.history.here: moment(lab)}
    for _ in range(20):
        say_something(lab, chance)
        been[lab.session.history.here] = moment(lab)
    places = list(been)
    for jump in jumps:
        place = places[jump % len(places)]
        lab.session.history.seek(place)
        assert moment(lab) == been[place]


@few
@given(seeds, seeds)
def test_branches_are_independent(seed: int, other: int) -> None:
    chance = Random(seed)
    lab = random_lab(chance)
    past, ends = lab.session.history, {}
    for turn in range(4):
        ends[past.branch.name] = everything(lab)
        lab.do(f"goto {Random(other + turn).randrange(past.end.event + 1)}")
        for _ in range(3):
            say_something(lab, chance)
        lab.do("goto end")
    ends[past.branch.name] = everything(lab)
    for name, whole in ends.items():
        lab.do(f"switch {name}")
        assert everything(lab) == whole


def visited(lab: Lab, events: int, every: int) -> Iterator[tuple[TimePoint, Any]]:
    while lab.session.world.event < events:
        lab.do(f"step {every}")
        yield lab.session.history.here, moment_of_world(lab)


def moment_of_world(lab: Lab) -> Any:
    """Without the log, which is compared once at the end."""
    return still(lab.session.world), lab.session.world.trace.latest


def test_goto_a_hundred_times_in_a_long_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots as far apart as they really are; old ones thinned out, most of the log recalled."""
    for name, value in (("EVENTS_APART", 256), ("RECENT", 16), ("OLD", 4), ("HOT", 4)):
        monkeypatch.setattr(history, name, value)
    lab = Lab(seed=11)
    for line in BUSY:
        assert not lab.do(line)[-1].failed
    been = dict(visited(lab, 12_000, 97))
    whole, end = fingerprint(lab), lab.session.history.here
    assert lab.session.world.trace.first > 0
    chance = Random(5)
    for _ in range(100):
        place = chance.choice(list(been))
        lab.session.history.seek(place)
        assert moment_of_world(lab) == been[place], place
    lab.session.history.seek(end)
    assert fingerprint(lab) == whole
