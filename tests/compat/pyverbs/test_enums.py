"""The enums and constants: every name and every number as pyverbs has it."""

import importlib

import pytest

from rdmalab.compat.pyverbs import libibverbs_enums as e
from rdmalab.compat.pyverbs.providers.mlx5 import mlx5_enums as dve
from tests.compat.newer import ENUM_MODULES, MOVED, enums, numbers
from tests.compat.real import OURS, needs_pyverbs, ours, real

# module → its enums in rdma-core 44
MODULES = {
    "enums": 56,
    "cm_enums": 4,
    "providers.mlx5.mlx5_enums": 44,
    "providers.efa.efa_enums": 0,
}


@needs_pyverbs
@pytest.mark.parametrize("module", MODULES)
def test_names_and_values_are_those_of_pyverbs(module: str) -> None:
    (theirs,), (mine,) = real(["numbers", module]), ours(["numbers", module])
    assert len(theirs["enums"]) == MODULES[module]
    for enum, members in theirs["enums"].items():
        newer = [row for row in mine["enums"][enum] if row not in members]
        assert [row for row in mine["enums"][enum] if row not in newer] == members
        assert dict(newer).items() <= enums(module)[enum].items()
    constants = mine["numbers"]
    constants.pop("TYPE_CHECKING", None)
    assert theirs["numbers"].items() <= constants.items()
    assert constants.keys() - theirs["numbers"].keys() <= numbers(module).keys()


@pytest.mark.parametrize("module", ENUM_MODULES)
def test_names_and_values_are_those_of_rdma_core_64(module: str) -> None:
    (mine,) = ours(["numbers", module])
    mine["numbers"].pop("TYPE_CHECKING", None)
    named = {name: row for name, row in enums(module).items() if name.strip("_")}
    assert {enum: dict(row) for enum, row in mine["enums"].items()} == named
    assert mine["numbers"] == numbers(module)


@pytest.mark.parametrize(("older", "newer"), MOVED.items())
def test_both_layouts_have_the_same_enums(older: str, newer: str) -> None:
    old, new = (vars(importlib.import_module(OURS + module)) for module in (older, newer))
    for enum in enums(newer):
        if enum.strip("_"):
            assert old[enum] is new[enum]


def test_members_are_those_of_the_enum() -> None:
    assert e.IBV_ACCESS_LOCAL_WRITE is e.ibv_access_flags(1)
    assert e.IBV_ACCESS_RELAXED_ORDERING in list(e.ibv_access_flags)
    assert e.IBV_QPT_RC.value == 2
    assert str(e.IBV_QPT_RC) == "2"


def test_two_names_of_one_number_are_one_member() -> None:
    assert dve.MLX5DV_SIG_MASK_CRC32C is dve.MLX5DV_SIG_MASK_CRC32
