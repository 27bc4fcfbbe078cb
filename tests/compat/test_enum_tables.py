"""Rows of names that count."""

import pickle
from enum import IntEnum
from typing import Any

import pytest

from rdmalab.compat.enum_tables import bits, export, numbers, plain
from rdmalab.compat.pyverbs import libibverbs_enums as e


def test_a_row_counts_on_from_the_last_number() -> None:
    kind = numbers("kind", "K_", "ZERO ONE 8 EIGHT NINE -1 LESS")
    assert {name: member.value for name, member in kind.__members__.items()} == {
        "K_ZERO": 0, "K_ONE": 1, "K_EIGHT": 8, "K_NINE": 9, "K_LESS": -1,
    }  # fmt: skip


def test_flags_count_in_bits() -> None:
    assert [member.value for member in bits("kind", "K_", "A B 20 C")] == [1, 2, 1 << 20]


def test_members_stand_beside_their_enum_and_constants_too() -> None:
    module: dict[str, Any] = {
        "__name__": "there", "IntEnum": IntEnum, "kind": numbers("kind", "K_", "A B"),
    }  # fmt: skip
    export(module, plain("P_", "7 Q"))
    assert module["K_B"] is module["kind"](1)
    assert module["P_Q"] == 7
    assert module["kind"].__module__ == "there"


def test_members_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(e.IBV_QPT_UD)) is e.IBV_QPT_UD


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        _ = e.IBV_QPT_RCC
