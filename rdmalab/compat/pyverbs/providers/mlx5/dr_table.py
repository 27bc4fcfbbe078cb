"""mlx5 direct rules: matchers of one level."""

from typing import TYPE_CHECKING

from rdmalab.compat.pyverbs.unsupported import Absent, stand_ins

if TYPE_CHECKING:

    def __getattr__(name: str) -> type[Absent]: ...


stand_ins(globals(), "the lab's devices take no mlx5 direct rules", {None: "DrTable"})
