"""mlx5: encryption of what is read and written."""

from typing import TYPE_CHECKING

from rdmalab.compat.pyverbs.unsupported import Absent, stand_ins

if TYPE_CHECKING:

    def __getattr__(name: str) -> type[Absent]: ...


stand_ins(
    globals(),
    "the lab's devices do not encrypt",
    {
        None: (
            "Mlx5CryptoAttr Mlx5CryptoExtLoginAttr Mlx5CryptoLogin Mlx5CryptoLoginAttr Mlx5DEK "
            "Mlx5DEKAttr Mlx5DEKInitAttr"
        ),
    },
)
