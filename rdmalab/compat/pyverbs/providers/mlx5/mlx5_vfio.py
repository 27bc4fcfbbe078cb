"""An mlx5 device driven from user space through VFIO."""

from typing import TYPE_CHECKING

from rdmalab.compat.pyverbs.providers.mlx5.mlx5dv import Mlx5Context
from rdmalab.compat.pyverbs.unsupported import Absent, stand_ins

if TYPE_CHECKING:

    def __getattr__(name: str) -> type[Absent]: ...


stand_ins(
    globals(),
    "the lab's devices are on no PCI bus",
    {None: "Mlx5VfioAttr", Mlx5Context: "Mlx5VfioContext"},
)
