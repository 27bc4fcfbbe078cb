"""Rows of tables are shared by what is copied; `dataclass` does what that of the library does."""

import dataclasses
from copy import copy, deepcopy
from typing import Any, ClassVar

import pytest

from rdmalab.spec.row import dataclass
from rdmalab.spec.states import STATES
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.spec.work import WORK


def _classes(make: Any) -> dict[str, Any]:
    """The same classes, made by one of the two decorators."""

    @make(slots=True)
    class Point:
        x: int
        y: int = 2
        unit: ClassVar[str] = "ns"

    @make(frozen=True, slots=True)
    class Fixed:
        x: int
        aside: int = dataclasses.field(default=0, compare=False, repr=False)

    @make(slots=True)
    class Farther(Point):
        z: list[int] = dataclasses.field(default_factory=list)

    @make(slots=True, eq=False)
    class Single:
        x: int

    @make(slots=True, unsafe_hash=True)
    class Hashed:
        x: int

    @make
    class Bare:
        pass

    @make(slots=True)
    class Own:
        x: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    kinds = (Point, Fixed, Farther, Single, Hashed, Bare, Own)
    for each in kinds:
        each.__qualname__ = each.__name__
    return {each.__name__: each for each in kinds}


OURS, THEIRS = _classes(dataclass), _classes(dataclasses.dataclass)
ARGUMENTS: dict[str, list[tuple[Any, ...]]] = {
    "Point": [(1,), (1, 2), (1, 3)], "Fixed": [(1,), (1, 5), (2,)], "Single": [(1,), (1,)],
    "Farther": [(1,), (1, 2, [3]), (1, 2, [])], "Hashed": [(1,), (1,), (2,)], "Bare": [(), ()],
    "Own": [(1,), (2,)],
}  # fmt: skip


@pytest.mark.parametrize("name", OURS)
def test_text_and_equality_are_those_of_the_library(name: str) -> None:
    ours = [OURS[name](*each) for each in ARGUMENTS[name]]
    theirs = [THEIRS[name](*each) for each in ARGUMENTS[name]]
    assert [[a == b for b in ours] for a in ours] == [[a == b for b in theirs] for a in theirs]
    if name != "Single":  # the text of one has its address in the library, too
        assert list(map(repr, ours)) == list(map(repr, theirs))
    assert all(copy(each) == each == deepcopy(each) or name == "Single" for each in ours)
    assert ours[0] != theirs[0] or name == "Own"  # another class


@pytest.mark.parametrize("name", OURS)
def test_what_can_be_hashed_is_what_the_library_makes_so(name: str) -> None:
    assert (OURS[name].__hash__ is None) == (THEIRS[name].__hash__ is None)
    if OURS[name].__hash__ is not None and name != "Single":
        one, same, *others = (OURS[name](*each) for each in ARGUMENTS[name])
        assert hash(one) == hash(same)
        assert all(hash(one) != hash(other) for other in others)


def test_a_frozen_one_is_not_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        OURS["Fixed"](1).x = 2


def test_one_that_holds_itself_is_printed() -> None:
    one = OURS["Farther"](1)
    one.z.append(one)
    assert repr(one) == "Farther(x=1, y=2, z=[...])"


def test_a_copy_of_what_holds_a_row_holds_the_same_row() -> None:
    for table in (STATES, TRANSPORTS, WORK):
        held = [list(table.values())]
        (copied,) = deepcopy(held)
        assert copied is not held[0]
        assert all(one is other for one, other in zip(copied, held[0], strict=True))
