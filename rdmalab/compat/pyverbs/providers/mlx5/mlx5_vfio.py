"""An mlx5 device driven from user space through VFIO."""

from typing import TYPE_CHECKING

from rdmalab.compat.absent import stand_ins
from rdmalab.compat.pyverbs.providers.mlx5.mlx5dv import Mlx5Context

if TYPE_CHECKING:
    from rdmalab.compat.absent import Absent

    def __getattr__(name: str) -> type[Absent]: ...


globals().update(
    stand_ins(
        __name__,
        "the lab's devices are on no PCI bus",
        {
            None: "Mlx5VfioAttr",
            Mlx5Context: "Mlx5VfioContext",
        },
    )
)
