"""pyverbs.cm_enums: the enums and constants of librdmacm."""

from typing import TYPE_CHECKING

from rdmalab.compat.enum_tables import bits, export, numbers

if TYPE_CHECKING:
    from enum import IntEnum

    def __getattr__(name: str) -> IntEnum: ...  # the members, which `export` adds


rdma_cm_event_type = numbers(
    "rdma_cm_event_type",
    "RDMA_CM_EVENT_",
    "ADDR_RESOLVED ADDR_ERROR ROUTE_RESOLVED ROUTE_ERROR CONNECT_REQUEST CONNECT_RESPONSE "
    "CONNECT_ERROR UNREACHABLE REJECTED ESTABLISHED DISCONNECTED DEVICE_REMOVAL "
    "MULTICAST_JOIN MULTICAST_ERROR ADDR_CHANGE TIMEWAIT_EXIT",
)
rdma_cm_join_mc_attr_mask = bits(
    "rdma_cm_join_mc_attr_mask", "RDMA_CM_JOIN_MC_ATTR_", "ADDRESS JOIN_FLAGS"
)
rdma_cm_mc_join_flags = numbers(
    "rdma_cm_mc_join_flags", "RDMA_MC_JOIN_FLAG_", "FULLMEMBER SENDONLY_FULLMEMBER"
)
rdma_port_space = numbers("rdma_port_space", "RDMA_PS_", "2 IPOIB 262 TCP 273 UDP 319 IB")

RAI_PASSIVE = 1
RAI_NUMERICHOST = 2
RAI_NOROUTE = 4
RAI_FAMILY = 8

RDMA_OPTION_ID = 0
RDMA_OPTION_ID_ACK_TIMEOUT = 3

export(globals())
