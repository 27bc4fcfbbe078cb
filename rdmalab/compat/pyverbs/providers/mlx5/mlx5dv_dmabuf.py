"""mlx5: regions of a dma-buf."""

from typing import TYPE_CHECKING

from rdmalab.compat.pyverbs.unsupported import stand_ins

if TYPE_CHECKING:
    from rdmalab.compat.pyverbs.unsupported import Absent

    def __getattr__(name: str) -> type[Absent]: ...


globals().update(
    stand_ins(__name__, "the lab's devices take no mlx5 direct verbs", {None: "Mlx5DmaBufMR"})
)
