"""mlx5 direct rules: what happens to a packet."""

from typing import TYPE_CHECKING

from rdmalab.compat.pyverbs.unsupported import Absent, stand_ins

if TYPE_CHECKING:

    def __getattr__(name: str) -> type[Absent]: ...


ACTION_SIZE = 8

stand_ins(
    globals(),
    "the lab's devices take no mlx5 direct rules",
    {
        None: "DrAction DrActionDestAttr DrFlowMeterAttr DrFlowSamplerAttr",
        "DrAction": (
            "DrActionDefMiss DrActionDestArray DrActionDestTable DrActionDestTir DrActionDrop "
            "DrActionFlowCounter DrActionFlowMeter DrActionFlowSample DrActionIBPort "
            "DrActionModify DrActionPacketReformat DrActionPopVLan DrActionPushVLan DrActionQp "
            "DrActionTag DrActionVPort"
        ),
    },
)
