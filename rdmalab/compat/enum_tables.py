"""Enums of C as rows of text: a prefix, and names that count upwards from the last number.

The enums of libibverbs and librdmacm stand here once, with the names and numbers of rdma-core 64;
those that `spec` has are read there.
pyverbs keeps them in `libibverbs_enums` and `librdmacm_enums` since rdma-core 59, and kept them in
`enums` and `cm_enums` up to rdma-core 58: both pairs of modules are made from these tables.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum, IntFlag
from typing import Any

from rdmalab.spec.access import Access
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.builders import InitMask
from rdmalab.spec.completions import WcEx
from rdmalab.spec.connections import CmEvent
from rdmalab.spec.flows import FlowType
from rdmalab.spec.limits import AtomicCap, DeviceCap, PortState
from rdmalab.spec.srq import SrqAttrMask, SrqType
from rdmalab.spec.states import Attr, MigState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import Placement, Selectivity, SendFlags, SendOps, WCOpcode, WROpcode

Enum = type[IntEnum]
Rows = Mapping[str, tuple[str, str]]  # name of the enum → prefix of its members, row
Members = Mapping[str, tuple[str, type[IntEnum] | type[IntFlag]]]  # prefix in C, enum of the lab


def numbers(name: str, prefix: str, row: str) -> Enum:
    """An enum whose members count: `1 A B 8 C` is A=1, B=2, C=8."""
    return _enum(name, dict(_counted(prefix, row)))


def bits(name: str, prefix: str, row: str) -> Enum:
    """An enum of flags, counted in bits: `A B 4 C` is A=1, B=2, C=16."""
    return _enum(name, {member: 1 << bit for member, bit in _counted(prefix, row)})


def plain(prefix: str, row: str) -> dict[str, int]:
    """Constants that belong to no named enum."""
    return dict(_counted(prefix, row))


def export(module: dict[str, object], *constants: Mapping[str, int]) -> None:
    """Put the members of a module's enums beside them, as C does, and constants without an enum."""
    enums = [it for it in module.values() if isinstance(it, type) and issubclass(it, IntEnum)]
    for enum in enums:
        if enum is not IntEnum:
            if enum.__module__ == __name__:  # without a module that names it, it is not pickled
                enum.__module__ = str(module["__name__"])
            module.update(enum.__members__)
    for names in constants:
        module.update(names)


def _enum(name: str, members: dict[str, int]) -> Enum:
    made: Any = IntEnum
    kind: Enum = made(name, members, module=__name__)
    return kind


def _counted(prefix: str, row: str) -> Iterator[tuple[str, int]]:
    number = 0
    for word in row.split():
        if word.lstrip("-").isdigit():
            number = int(word)
        else:
            yield prefix + word, number
            number += 1


def made(make: Callable[[str, str, str], Enum], rows: Rows) -> dict[str, Enum]:
    """The enum of each row, by its name."""
    return {name: make(name, *row) for name, row in rows.items()}


_VENDOR = "DRIVER1"  # pyverbs has none


def copied(rows: Members) -> dict[str, Enum]:
    """Enums that the lab has member for member, by the names that they have in C."""
    return {
        name: _enum(name, {prefix + it: int(kind[it]) for it in kind.__members__ if it != _VENDOR})
        for name, (prefix, kind) in rows.items()
    }


_OF_THE_LAB: Members = {
    "ibv_access_flags": ("IBV_ACCESS_", Access),
    "ibv_atomic_cap": ("IBV_ATOMIC_", AtomicCap),
    "ibv_create_cq_wc_flags": ("IBV_WC_EX_WITH_", WcEx),
    "ibv_device_cap_flags": ("IBV_DEVICE_", DeviceCap),
    "ibv_event_type": ("IBV_EVENT_", AsyncEvent),
    "ibv_flow_attr_type": ("IBV_FLOW_ATTR_", FlowType),
    "ibv_mig_state": ("IBV_MIG_", MigState),
    "ibv_placement_type": ("IBV_FLUSH_", Placement),
    "ibv_port_state": ("IBV_PORT_", PortState),
    "ibv_qp_attr_mask": ("IBV_QP_", Attr),
    "ibv_qp_create_send_ops_flags": ("IBV_QP_EX_WITH_", SendOps),
    "ibv_qp_init_attr_mask": ("IBV_QP_INIT_ATTR_", InitMask),
    "ibv_selectivity_level": ("IBV_FLUSH_", Selectivity),
    "ibv_send_flags": ("IBV_SEND_", SendFlags),
    "ibv_srq_attr_mask": ("IBV_SRQ_", SrqAttrMask),
    "ibv_srq_type": ("IBV_SRQT_", SrqType),
    "ibv_wc_status": ("IBV_WC_", WCStatus),
    "ibv_wc_opcode": ("IBV_WC_", WCOpcode),
    "ibv_wr_opcode": ("IBV_WR_", WROpcode),
}

VERBS = {
    **copied(_OF_THE_LAB),
    **made(
        numbers,
        {
            "ibv_counter_description": ("IBV_COUNTER_", "PACKETS BYTES"),
            "ibv_flow_spec_type": (
                "IBV_FLOW_SPEC_",
                "32 ETH 48 IPV4 IPV6 IPV4_EXT 52 ESP 64 TCP UDP 80 VXLAN_TUNNEL GRE 96 MPLS 256 "
                "INNER 4096 ACTION_TAG ACTION_DROP ACTION_HANDLE ACTION_COUNT",
            ),
            "ibv_fork_status": ("IBV_FORK_", "DISABLED ENABLED UNNEEDED"),
            "ibv_gid_type": ("IBV_GID_TYPE_", "IB ROCE_V1 ROCE_V2"),
            "ibv_gid_type_sysfs": ("IBV_GID_TYPE_SYSFS_", "IB_ROCE_V1 ROCE_V2"),
            "ibv_mtu": ("IBV_", "1 MTU_256 MTU_512 MTU_1024 MTU_2048 MTU_4096"),
            "ibv_mw_type": ("IBV_MW_", "1 TYPE_1 TYPE_2"),
            "ibv_node_type": (
                "IBV_NODE_",
                "-1 UNKNOWN 1 CA SWITCH ROUTER RNIC USNIC USNIC_UDP UNSPECIFIED",
            ),
            "ibv_ops_wr_opcode": ("IBV_WR_TAG_", "ADD DEL SYNC"),
            "ibv_qp_state": ("IBV_QPS_", "RESET INIT RTR RTS SQD SQE ERR UNKNOWN"),
            "ibv_qp_type": ("IBV_QPT_", "2 RC UC UD 8 RAW_PACKET XRC_SEND XRC_RECV 255 DRIVER"),
            "ibv_rereg_mr_err_code": (
                "IBV_REREG_MR_ERR_",
                "-1 INPUT -2 DONT_FORK_NEW -3 DO_FORK_OLD -4 CMD -5 CMD_AND_DO_FORK_NEW",
            ),
            "ibv_tmh_op": ("IBV_TMH_", "NO_TAG RNDV FIN EAGER"),
            "ibv_tph_mem_type": ("IBV_TPH_MEM_TYPE_", "VM PM"),
            "ibv_transport_type": ("IBV_TRANSPORT_", "-1 UNKNOWN IB IWARP USNIC USNIC_UDP"),
            "ibv_wq_state": ("IBV_WQS_", "RESET RDY ERR UNKNOWN"),
            "ibv_wq_type": ("IBV_WQT_", "RQ"),
        },
    ),
    **made(
        bits,
        {
            "ibv_cq_init_attr_mask": ("IBV_CQ_INIT_ATTR_MASK_", "FLAGS PD"),
            "ibv_create_cq_attr_flags": ("IBV_CREATE_CQ_ATTR_", "SINGLE_THREADED IGNORE_OVERRUN"),
            "ibv_dmah_init_attr_mask": ("IBV_DMAH_INIT_ATTR_MASK_", "CPU_ID PH TPH_MEM_TYPE"),
            "ibv_flow_flags": ("IBV_FLOW_ATTR_FLAGS_", "1 DONT_TRAP EGRESS"),
            "ibv_mr_init_attr_mask": ("IBV_REG_MR_MASK_", "IOVA ADDR FD FD_OFFSET DMAH BUF"),
            "ibv_odp_general_caps": ("IBV_ODP_", "SUPPORT SUPPORT_IMPLICIT"),
            "ibv_odp_transport_cap_bits": (
                "IBV_ODP_SUPPORT_",
                "SEND RECV WRITE READ ATOMIC SRQ_RECV FLUSH ATOMIC_WRITE",
            ),
            "ibv_ops_flags": ("IBV_OPS_", "SIGNALED TM_SYNC"),
            "ibv_parent_domain_init_attr_mask": (
                "IBV_PARENT_DOMAIN_INIT_ATTR_",
                "ALLOCATORS PD_CONTEXT ALLOW_CC_UNPROTECTED_ALLOC",
            ),
            "ibv_port_cap_flags": (
                "IBV_PORT_",
                "1 SM NOTICE_SUP TRAP_SUP OPT_IPD_SUP AUTO_MIGR_SUP SL_MAP_SUP MKEY_NVRAM "
                "PKEY_NVRAM LED_INFO_SUP 11 SYS_IMAGE_GUID_SUP PKEY_SW_EXT_PORT_TRAP_SUP 14 "
                "EXTENDED_SPEEDS_SUP CAP_MASK2_SUP CM_SUP SNMP_TUNNEL_SUP REINIT_SUP "
                "DEVICE_MGMT_SUP VENDOR_CLASS_SUP DR_NOTICE_SUP CAP_MASK_NOTICE_SUP BOOT_MGMT_SUP "
                "LINK_LATENCY_SUP CLIENT_REG_SUP IP_BASED_GIDS",
            ),
            "ibv_port_cap_flags2": (
                "IBV_PORT_",
                "SET_NODE_DESC_SUP INFO_EXT_SUP VIRT_SUP SWITCH_PORT_STATE_TABLE_SUP "
                "LINK_WIDTH_2X_SUP LINK_SPEED_HDR_SUP 10 LINK_SPEED_NDR_SUP",
            ),
            "ibv_qp_create_flags": (
                "IBV_QP_CREATE_",
                "1 BLOCK_SELF_MCAST_LB 8 SCATTER_FCS CVLAN_STRIPPING SOURCE_QPN "
                "PCI_WRITE_END_PADDING",
            ),
            "ibv_query_qp_data_in_order_caps": (
                "IBV_QUERY_QP_DATA_IN_ORDER_",
                "WHOLE_MSG ALIGNED_128_BYTES",
            ),
            "ibv_query_qp_data_in_order_flags": ("IBV_QUERY_QP_DATA_IN_ORDER_", "RETURN_CAPS"),
            "ibv_raw_packet_caps": (
                "IBV_RAW_PACKET_CAP_",
                "CVLAN_STRIPPING SCATTER_FCS IP_CSUM DELAY_DROP",
            ),
            "ibv_read_counters_flags": ("IBV_READ_COUNTERS_ATTR_", "PREFER_CACHED"),
            "ibv_rereg_mr_flags": ("IBV_REREG_MR_CHANGE_", "TRANSLATION PD ACCESS"),
            "ibv_rx_hash_fields": (
                "IBV_RX_HASH_",
                "SRC_IPV4 DST_IPV4 SRC_IPV6 DST_IPV6 SRC_PORT_TCP DST_PORT_TCP SRC_PORT_UDP "
                "DST_PORT_UDP",
            ),
            "ibv_rx_hash_function_flags": ("IBV_RX_HASH_FUNC_", "TOEPLITZ"),
            "ibv_srq_init_attr_mask": ("IBV_SRQ_INIT_ATTR_", "TYPE PD XRCD CQ TM"),
            "ibv_tm_cap_flags": ("IBV_TM_CAP_", "RC"),
            "ibv_values_mask": ("IBV_VALUES_MASK_", "RAW_CLOCK"),
            "ibv_wc_flags": (
                "IBV_WC_",
                "GRH WITH_IMM IP_CSUM_OK WITH_INV TM_SYNC_REQ TM_MATCH TM_DATA_VALID",
            ),
            "ibv_wq_attr_mask": ("IBV_WQ_ATTR_", "STATE CURR_STATE FLAGS"),
            "ibv_wq_flags": (
                "IBV_WQ_FLAGS_",
                "CVLAN_STRIPPING SCATTER_FCS DELAY_DROP PCI_WRITE_END_PADDING",
            ),
            "ibv_wq_init_attr_mask": ("IBV_WQ_INIT_ATTR_", "FLAGS"),
            "ibv_xrcd_init_attr_mask": ("IBV_XRCD_INIT_ATTR_", "FD OFLAGS RESERVED"),
        },
    ),
}

CM = {
    **copied({"rdma_cm_event_type": ("RDMA_CM_EVENT_", CmEvent)}),
    **made(
        numbers,
        {
            "rdma_cm_mc_join_flags": ("RDMA_MC_JOIN_FLAG_", "FULLMEMBER SENDONLY_FULLMEMBER"),
            "rdma_port_space": ("RDMA_PS_", "2 IPOIB 262 TCP 273 UDP 319 IB"),
        },
    ),
    **made(bits, {"rdma_cm_join_mc_attr_mask": ("RDMA_CM_JOIN_MC_ATTR_", "ADDRESS JOIN_FLAGS")}),
}

# Macros, anonymous enums, and values of C enums too wide for an int: pyverbs sets an underscore
# before the last.
VERBS_CONSTANTS = {
    **plain("IBV_LINK_LAYER_", "UNSPECIFIED INFINIBAND ETHERNET"),
    "IBV_QPF_GRH_REQUIRED": 1,
    "IBV_WC_STANDARD_FLAGS": 0x7F,
    "_IBV_DEVICE_RAW_SCATTER_FCS": 1 << 34,
    "_IBV_DEVICE_PCI_WRITE_END_PADDING": 1 << 36,
    "_IBV_DEVICE_CC_DMA_BOUNCE": 1 << 41,
    "_IBV_ALLOCATOR_USE_DEFAULT": (1 << 64) - 1,
    **plain("_IBV_ADVISE_MR_ADVICE_", "PREFETCH PREFETCH_WRITE PREFETCH_NO_FAULT"),
    "_IBV_ADVISE_MR_FLAG_FLUSH": 1,
}
CM_CONSTANTS = {
    "RAI_PASSIVE": 1, "RAI_NUMERICHOST": 2, "RAI_NOROUTE": 4, "RAI_FAMILY": 8, "RAI_SA": 16,
    "RAI_DNS": 32, "RDMA_OPTION_ID": 0, "RDMA_OPTION_ID_ACK_TIMEOUT": 3,
}  # fmt: skip
