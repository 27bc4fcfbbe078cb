"""pyverbs.flow: flow rules; one can be described, none can be made yet."""

from typing import TYPE_CHECKING

from rdmalab.compat.pyverbs import libibverbs_enums as e
from rdmalab.compat.pyverbs.unsupported import Absent, stand_ins

if TYPE_CHECKING:
    from rdmalab.compat.pyverbs.spec import Spec

    def __getattr__(name: str) -> type[Absent]: ...


class FlowAttr:
    """Attributes of a flow rule: made before the device is asked, so they are not refused."""

    def __init__(
        self,
        num_of_specs: int = 0,
        flow_type: int = e.IBV_FLOW_ATTR_NORMAL,
        priority: int = 0,
        port: int = 1,
        flags: int = 0,
    ) -> None:
        """The caller appends to `specs`, and says in `num_of_specs` how many."""
        self.type = flow_type
        self.priority = priority
        self.num_of_specs = num_of_specs
        self.port = port
        self.flags = flags
        self._specs: list[Spec] = []

    @property
    def specs(self) -> "list[Spec]":
        """The headers to match, outermost first."""
        return self._specs


stand_ins(globals(), "this skin does not make flow rules", {None: "Flow FlowAction"})
