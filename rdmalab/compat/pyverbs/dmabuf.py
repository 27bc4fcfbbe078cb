"""pyverbs.dmabuf: memory of a GPU."""

from typing import TYPE_CHECKING

from rdmalab.compat.pyverbs.unsupported import Absent, stand_ins

if TYPE_CHECKING:

    def __getattr__(name: str) -> type[Absent]: ...


stand_ins(globals(), "the lab has no GPU to take memory from", {None: "DmaBuf"})
