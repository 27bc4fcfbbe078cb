"""mlx5: the insides of objects of the verbs."""

from typing import TYPE_CHECKING

from rdmalab.compat.pyverbs.unsupported import Absent, stand_ins

if TYPE_CHECKING:

    def __getattr__(name: str) -> type[Absent]: ...


stand_ins(
    globals(),
    "the lab's devices take no mlx5 direct verbs",
    {None: "Mlx5DvCQ Mlx5DvObj Mlx5DvPD Mlx5DvQP Mlx5DvSRQ"},
)
