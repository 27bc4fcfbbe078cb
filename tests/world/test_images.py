"""Images: put back, everything is as it was, and it is the very same objects."""

from collections import deque
from copy import deepcopy
from dataclasses import dataclass

import pytest

from rdmalab import Lab
from rdmalab.world import images
from tests.labs import still, well


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
    image = images.portray(thing)
    for _ in range(2):
        spoil(thing)
        assert thing != as_it_was
        images.put_back(image)
        assert thing == as_it_was
    assert thing.inner is inner
    assert thing.some[0] is first


def test_what_could_not_be_put_back_is_told_at_once() -> None:
    class Loose:
        pass

    @dataclass(slots=True)
    class Holder:
        held: Loose

    with pytest.raises(TypeError, match="no image of Loose"):
        images.portray(Holder(Loose()))


def test_only_what_the_log_names_gets_a_new_image() -> None:
    lab = Lab()
    for line in ("use rc_pair", "use rc_pair"):
        well(lab, line)
    world = lab.session.world
    whole = images.take(world, images.all_keys(world), {})
    first = world.trace.latest + 1
    well(lab, "post_recv B.qp1 sg=B.mr0[0:64]")
    named = images.named(world, world.trace.records[first:], whole)
    after = images.take(world, named, whole)
    fresh = {key[:2] for key in after if after[key] is not whole.get(key)}
    assert ("B", "qp") in fresh
    assert ("A", "qp") not in fresh
    assert ("B", "table") not in fresh


def test_a_page_that_was_not_there_goes_again() -> None:
    lab = Lab()
    well(lab, "use rc_pair")
    world = lab.session.world
    memory = world.nodes["A"].memory
    before, as_it_was = images.take(world, images.all_keys(world), {}), still(world)
    first = world.trace.latest + 1
    well(lab, 'write A.mr0[0:5] "hello"')
    assert memory.pages
    changed = images.named(world, world.trace.records[first:], before)
    images.restore(world, before, before, changed)
    assert not memory.pages
    assert still(world) == as_it_was
