"""Images of the world: new ones of what the log names, and all of it put back."""

from collections import deque
from copy import deepcopy
from dataclasses import dataclass

import pytest

from rdmalab import Lab
from rdmalab.world import snapshots
from tests.labs import still, well


def test_only_what_the_log_names_gets_a_new_image() -> None:
    lab = Lab()
    for line in ("use rc_pair", "use rc_pair"):
        well(lab, line)
    world = lab.session.world
    whole = snapshots.take(world, snapshots.all_keys(world), {})
    first = world.trace.latest + 1
    well(lab, "post_recv B.qp1 sg=B.mr0[0:64]")
    named = snapshots.named(world, world.trace.records[first:], whole)
    after = snapshots.take(world, named, whole)
    fresh = {key[:2] for key in after if after[key] is not whole.get(key)}
    assert ("B", "qp") in fresh
    assert ("A", "qp") not in fresh
    assert ("B", "table") not in fresh


def test_a_page_that_was_not_there_goes_again() -> None:
    lab = Lab()
    well(lab, "use rc_pair")
    world = lab.session.world
    memory = world.nodes["A"].memory
    before, as_it_was = snapshots.take(world, snapshots.all_keys(world), {}), still(world)
    first = world.trace.latest + 1
    well(lab, 'write A.mr0[0:5] "hello"')
    assert memory.pages
    changed = snapshots.named(world, world.trace.records[first:], before)
    snapshots.restore(world, before, before, changed)
    assert not memory.pages
    assert still(world) == as_it_was


def test_a_page_with_the_same_bytes_is_that_of_the_snapshot_before() -> None:
    lab = Lab()
    for line in ("use rc_pair", 'write A.mr0[0:5] "hello"'):
        well(lab, line)
    world = lab.session.world
    keys = snapshots.all_keys(world)
    (page,) = (key for key in keys if key[1] == "page")
    before = snapshots.take(world, keys, {})
    well(lab, 'write A.mr0[0:5] "hello"')
    assert snapshots.take(world, [page], before)[page] is before[page]
    well(lab, 'write A.mr0[0:5] "Hello"')
    assert snapshots.take(world, [page], before)[page] != before[page]


def test_completions_that_reset_takes_away_come_back() -> None:
    """Only mlx5 removes the CQEs of a queue pair that enters RESET."""
    lab = Lab(profile="mlx5")
    for line in ("use rc_pair", "post_send A.qp0 opcode=RDMA_WRITE flags=SIGNALED", "run"):
        well(lab, line)
    world = lab.session.world
    before, as_it_was = snapshots.take(world, snapshots.all_keys(world), {}), still(world)
    first = world.trace.latest + 1
    well(lab, "reset A.qp0")
    assert lab.look("A.cq0.count == 0")
    changed = snapshots.named(world, world.trace.records[first:], before)
    snapshots.restore(world, before, before, changed)
    assert lab.look("A.cq0.count == 1")
    assert still(world) == as_it_was


@pytest.mark.parametrize("then", ["run", "modify_qp B.qp0 state=ERR", "reset B.qp0"])
@pytest.mark.parametrize("bind", ["bind=B.mr0[0:8] bind_access=REMOTE_READ mw_rkey=0xba", ""])
def test_the_key_that_a_bind_takes_back_comes_back(bind: str, then: str) -> None:
    """A bind that is not executed leaves the window's key as it was before the post."""
    lab = Lab()
    for line in (
        "use rc_pair",
        "alloc_mw B.mw0 pd=B.pd0 type=TYPE_2",
        f"post_send B.qp0 opcode=BIND_MW mw=B.mw0 {bind}",
    ):
        well(lab, line)
    world = lab.session.world
    before, as_it_was = snapshots.take(world, snapshots.all_keys(world), {}), still(world)
    key, first = lab.look("B.mw0.rkey"), world.trace.latest + 1
    well(lab, then)
    assert lab.look("B.mw0.rkey") != key
    changed = snapshots.named(world, world.trace.records[first:], before)
    snapshots.restore(world, before, before, changed)
    assert lab.look("B.mw0.rkey") == key
    assert still(world) == as_it_was


@dataclass(slots=True)
class Inner:
    number: int


@dataclass(slots=True)
class Outer:
    inner: Inner
    some: list[Inner]
    waiting: deque[list[int]]
    by_name: dict[str, set[int]]
    octets: bytearray
    pair: tuple[Inner, int]


def outer() -> Outer:
    return Outer(Inner(1), [Inner(2)], deque([[3]]), {"a": {4}}, bytearray(b"five"), (Inner(6), 7))


def spoil(thing: Outer) -> None:
    thing.inner.number = 10
    thing.some[0].number = 20
    thing.some.append(Inner(21))
    thing.waiting[0].append(30)
    thing.by_name["a"].add(40)
    thing.octets[:] = b"50"
    thing.pair[0].number = 60
    thing.pair = (Inner(61), 70)


def test_all_that_an_object_holds_is_put_back_and_more_than_once() -> None:
    thing, as_it_was = outer(), deepcopy(outer())
    inner, first = thing.inner, thing.some[0]
    state = snapshots.capture_object(thing)
    for _ in range(2):
        spoil(thing)
        assert thing != as_it_was
        snapshots.restore_object(state)
        assert thing == as_it_was
    assert thing.inner is inner
    assert thing.some[0] is first


def test_snapshot_of_what_cannot_be_restored_raises_at_once() -> None:
    class Loose:
        pass

    @dataclass(slots=True)
    class Holder:
        held: Loose

    with pytest.raises(TypeError, match="no state of Loose"):
        snapshots.capture_object(Holder(Loose()))
