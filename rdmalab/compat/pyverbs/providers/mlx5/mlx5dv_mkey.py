"""mlx5: memory keys over interleaved and signed memory."""

from typing import TYPE_CHECKING

from rdmalab.compat.pyverbs.unsupported import Absent, stand_ins

if TYPE_CHECKING:

    def __getattr__(name: str) -> type[Absent]: ...


stand_ins(
    globals(),
    "the lab's devices take no mlx5 direct verbs",
    {
        None: (
            "Mlx5Mkey Mlx5MkeyConfAttr Mlx5MkeyErr Mlx5MrInterleaved Mlx5SigBlockAttr "
            "Mlx5SigBlockDomain Mlx5SigCrc Mlx5SigErr Mlx5SigT10Dif"
        ),
    },
)
