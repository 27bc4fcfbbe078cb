"""pyverbs.wq: work queues and tables that spread what arrives."""

from typing import TYPE_CHECKING

from rdmalab.compat.pyverbs.unsupported import Absent, stand_ins

if TYPE_CHECKING:

    def __getattr__(name: str) -> type[Absent]: ...


stand_ins(
    globals(),
    "the lab's devices do not spread what arrives over work queues (RSS)",
    {None: "RwqIndTable RwqIndTableInitAttr RxHashConf WQ WQAttr WQInitAttr"},
)
