"""pyverbs.dmabuf: memory of a GPU."""

from typing import TYPE_CHECKING

from rdmalab.compat.pyverbs.unsupported import stand_ins

if TYPE_CHECKING:
    from rdmalab.compat.pyverbs.unsupported import Absent

    def __getattr__(name: str) -> type[Absent]: ...


globals().update(
    stand_ins(
        __name__,
        "the lab has no GPU to take memory from",
        {None: "DmaBuf"},
    )
)
