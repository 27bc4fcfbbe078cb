"""Rows of names that count."""

import pickle
from enum import IntEnum

import pytest

from rdmalab.compat.enum_tables import read
from rdmalab.compat.pyverbs import libibverbs_enums as e


def _kind(row: str) -> type[IntEnum]:
    return read(row)[0]["kind"]


def test_a_row_counts_on_from_the_last_number() -> None:
    kind = _kind("numbers kind K_ ZERO ONE 8 EIGHT\n   NINE -1 LESS")
    assert {name: member.value for name, member in kind.__members__.items()} == {
        "K_ZERO": 0, "K_ONE": 1, "K_EIGHT": 8, "K_NINE": 9, "K_LESS": -1,
    }  # fmt: skip


def test_flags_count_in_bits() -> None:
    assert [member.value for member in _kind("bits kind K_ A B 20 C")] == [1, 2, 1 << 20]


def test_constants_belong_to_no_enum() -> None:
    assert read("# a table\nnumbers - P_ 7 Q\nbits - R_ 34 S") == ({}, {"P_Q": 7, "R_S": 1 << 34})


def test_members_stand_beside_their_enum_and_constants_too() -> None:
    assert e.IBV_MTU_512 is e.ibv_mtu(2)
    assert e.IBV_WC_STANDARD_FLAGS == 0x7F
    assert e.ibv_mtu.__module__ == e.__name__


def test_members_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(e.IBV_QPT_UD)) is e.IBV_QPT_UD


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        _ = e.IBV_QPT_RCC
