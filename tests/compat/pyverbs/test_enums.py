"""The enums and constants: every name and every number as pyverbs has it."""

import pytest

from rdmalab.compat.pyverbs import enums as e
from rdmalab.compat.pyverbs.providers.mlx5 import mlx5_enums as dve
from tests.compat.real import needs_pyverbs, ours, real

# module → its enums
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
    assert len(mine["enums"]) == MODULES[module]
    assert mine["enums"] == theirs["enums"]
    constants = mine["numbers"]
    constants.pop("TYPE_CHECKING", None)
    assert constants == theirs["numbers"]


def test_members_are_those_of_the_enum() -> None:
    assert e.IBV_ACCESS_LOCAL_WRITE is e.ibv_access_flags(1)
    assert e.IBV_ACCESS_RELAXED_ORDERING in list(e.ibv_access_flags)
    assert e.IBV_QPT_RC.value == 2
    assert str(e.IBV_QPT_RC) == "2"


def test_two_names_of_one_number_are_one_member() -> None:
    assert dve.MLX5DV_SIG_MASK_CRC32C is dve.MLX5DV_SIG_MASK_CRC32
