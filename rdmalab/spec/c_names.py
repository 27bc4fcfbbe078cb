"""Names of enum members as C writes them: the prefix that verbs.h and rdma_cma.h put before each."""

from enum import Enum, IntEnum, IntFlag

from rdmalab.spec.access import Access, MWType, Rereg
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.builders import InitMask
from rdmalab.spec.completions import WcEx
from rdmalab.spec.connections import CmEvent, RejectReason
from rdmalab.spec.flows import FlowFlags, FlowType
from rdmalab.spec.limits import AtomicCap, DeviceCap, LinkLayer, PhysState, PortState
from rdmalab.spec.srq import OpenFlag, SrqAttrMask, SrqType
from rdmalab.spec.states import MTU, Attr, MigState, QPState, QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import (
    Placement,
    Selectivity,
    SendFlags,
    SendOps,
    WCFlags,
    WCOpcode,
    WROpcode,
)

PREFIX: dict[type[IntEnum] | type[IntFlag], str] = {
    QPState: "IBV_QPS_", QPType: "IBV_QPT_", Attr: "IBV_QP_", MTU: "IBV_MTU_",
    MigState: "IBV_MIG_", WCStatus: "IBV_WC_", WCOpcode: "IBV_WC_", WCFlags: "IBV_WC_",
    WcEx: "IBV_WC_EX_WITH_", WROpcode: "IBV_WR_", SendFlags: "IBV_SEND_", Access: "IBV_ACCESS_",
    MWType: "IBV_MW_", Rereg: "IBV_REREG_MR_", Placement: "IBV_FLUSH_", Selectivity: "IBV_FLUSH_",
    AsyncEvent: "IBV_EVENT_", CmEvent: "RDMA_CM_EVENT_", RejectReason: "IB_CM_REJ_",
    PortState: "IBV_PORT_", AtomicCap: "IBV_ATOMIC_", DeviceCap: "IBV_DEVICE_",
    SrqType: "IBV_SRQT_", SrqAttrMask: "IBV_SRQ_", SendOps: "IBV_QP_EX_WITH_",
    InitMask: "IBV_QP_INIT_ATTR_",
}  # fmt: skip
PREFIX_OF_PART: dict[type[Enum], str] = {
    LinkLayer: "IBV_LINK_LAYER_", PhysState: "IB_PORT_PHYS_STATE_", FlowType: "IBV_FLOW_ATTR_",
    FlowFlags: "IBV_FLOW_ATTR_FLAGS_", OpenFlag: "",
}  # fmt: skip
"""Of enums whose members the lab names without a prefix, as parts of another word."""
ANY_PREFIX: dict[type, str] = {**PREFIX, **PREFIX_OF_PART}


def full_name(member: IntEnum | IntFlag) -> str:
    """As C writes it: `IBV_WC_SUCCESS`; `IBV_MTU_1024`."""
    name = str(member.octets) if isinstance(member, MTU) else member.name
    return f"{ANY_PREFIX[type(member)]}{name}"
