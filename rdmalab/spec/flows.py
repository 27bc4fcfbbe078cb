"""Flow rules: which arriving Ethernet frames a RAW_PACKET queue pair gets."""

from enum import IntEnum, IntFlag


class FlowType(IntEnum):
    """IBV_FLOW_ATTR_*, the kinds of rule."""

    NORMAL = 0
    ALL_DEFAULT = 1
    MC_DEFAULT = 2
    SNIFFER = 3


class FlowFlags(IntFlag):
    """IBV_FLOW_ATTR_FLAGS_*."""

    DONT_TRAP = 2


# In this order the steering asks, once no NORMAL rule has kept a frame; a SNIFFER gets a copy of
# every frame, whoever else takes it.
DEFAULTS = (FlowType.MC_DEFAULT, FlowType.ALL_DEFAULT)
