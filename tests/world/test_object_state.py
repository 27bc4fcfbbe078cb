"""Portraits: put back, everything is as it was, and it is the very same objects."""

from collections import deque
from copy import deepcopy
from dataclasses import dataclass

import pytest

from rdmalab.world import object_state


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
    state = object_state.capture_object(thing)
    for _ in range(2):
        spoil(thing)
        assert thing != as_it_was
        object_state.restore_object(state)
        assert thing == as_it_was
    assert thing.inner is inner
    assert thing.some[0] is first


def test_what_could_not_be_put_back_is_told_at_once() -> None:
    class Loose:
        pass

    @dataclass(slots=True)
    class Holder:
        held: Loose

    with pytest.raises(TypeError, match="no state of Loose"):
        object_state.capture_object(Holder(Loose()))
