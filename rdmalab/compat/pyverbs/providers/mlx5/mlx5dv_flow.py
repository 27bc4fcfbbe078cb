"""mlx5: flow rules on any bits of a packet."""

from typing import TYPE_CHECKING

from rdmalab.compat.pyverbs.flow import Flow, FlowAction
from rdmalab.compat.pyverbs.unsupported import Absent, stand_ins

if TYPE_CHECKING:

    def __getattr__(name: str) -> type[Absent]: ...


stand_ins(
    globals(),
    "the lab's devices take no mlx5 direct verbs",
    {
        None: "Mlx5FlowActionAttr Mlx5FlowMatchParameters Mlx5FlowMatcher Mlx5FlowMatcherAttr",
        Flow: "Mlx5Flow",
        FlowAction: "Mlx5ModifyFlowAction Mlx5PacketReformatFlowAction",
    },
)
