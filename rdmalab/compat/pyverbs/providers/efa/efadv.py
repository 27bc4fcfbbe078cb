"""The direct verbs of EFA."""

from typing import TYPE_CHECKING

from rdmalab.compat.pyverbs.providers.efa import efa_enums as efa
from rdmalab.compat.pyverbs.unsupported import Absent, stand_ins

if TYPE_CHECKING:
    from collections.abc import Mapping

    def __getattr__(name: str) -> type[Absent]: ...


_CAPS = {
    efa.EFADV_DEVICE_ATTR_CAPS_RDMA_READ: "RDMA Read",
    2: "RNR Retry",  # of the device; efa_enums of pyverbs does not name it
    efa.EFADV_DEVICE_ATTR_CAPS_CQ_WITH_SGID: "CQ entries with source GID",
}


def bitmask_to_str(bits: int, values: "Mapping[int, str]") -> str:
    """The words of the bits in their order, what has no word in hex, and the number in hex."""
    words = [word for bit, word in sorted(values.items()) if bit & bits]
    unnamed = bits & ~sum(values)
    if unnamed:
        words.append(f"??({unnamed:x})")
    return f"{', '.join(words) or 'None'} ({bits:x})"


def dev_cap_to_str(flags: int) -> str:
    """Names of the capabilities of an EFA device."""
    return bitmask_to_str(flags, _CAPS)


stand_ins(
    globals(),
    "the lab's devices take no EFA direct verbs",
    {
        None: (
            "EfaAH EfaCQ EfaContext EfaDVAHAttr EfaDVCQInitAttr EfaDVDeviceAttr EfaDVMRAttr "
            "EfaDVRQDepthAttr EfaDVSQDepthAttr EfaMR EfaQPInitAttr "
            "SRDQP SRDQPEx"
        )
    },
)
