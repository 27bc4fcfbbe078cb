"""The enums and constants of mlx5: programs and tests read them when they are imported."""

from typing import TYPE_CHECKING, Any

from rdmalab.compat.enum_tables import fill

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # the enums and members, which are added below


fill(globals(), "mlx5", {})
