"""pyverbs.enums: the enums and constants of libibverbs."""

from typing import TYPE_CHECKING

from rdmalab.compat.enum_tables import bits, export, numbers, plain

if TYPE_CHECKING:
    from enum import IntEnum

    def __getattr__(name: str) -> IntEnum: ...  # the members, which `export` adds


ibv_access_flags = bits(
    "ibv_access_flags",
    "IBV_ACCESS_",
    "LOCAL_WRITE REMOTE_WRITE REMOTE_READ REMOTE_ATOMIC MW_BIND ZERO_BASED ON_DEMAND HUGETLB "
    "20 RELAXED_ORDERING",
)
ibv_atomic_cap = numbers("ibv_atomic_cap", "IBV_ATOMIC_", "NONE HCA GLOB")
ibv_counter_description = numbers("ibv_counter_description", "IBV_COUNTER_", "PACKETS BYTES")
ibv_cq_init_attr_mask = bits("ibv_cq_init_attr_mask", "IBV_CQ_INIT_ATTR_MASK_", "FLAGS PD")
ibv_create_cq_attr_flags = bits(
    "ibv_create_cq_attr_flags", "IBV_CREATE_CQ_ATTR_", "SINGLE_THREADED IGNORE_OVERRUN"
)
ibv_create_cq_wc_flags = bits(
    "ibv_create_cq_wc_flags",
    "IBV_WC_EX_WITH_",
    "BYTE_LEN IMM QP_NUM SRC_QP SLID SL DLID_PATH_BITS COMPLETION_TIMESTAMP CVLAN FLOW_TAG "
    "TM_INFO COMPLETION_TIMESTAMP_WALLCLOCK",
)
ibv_device_cap_flags = bits(
    "ibv_device_cap_flags",
    "IBV_DEVICE_",
    "RESIZE_MAX_WR BAD_PKEY_CNTR BAD_QKEY_CNTR RAW_MULTI AUTO_PATH_MIG CHANGE_PHY_PORT "
    "UD_AV_PORT_ENFORCE CURR_QP_STATE_MOD SHUTDOWN_PORT INIT_TYPE PORT_ACTIVE_EVENT "
    "SYS_IMAGE_GUID RC_RNR_NAK_GEN SRQ_RESIZE N_NOTIFY_CQ 17 MEM_WINDOW UD_IP_CSUM 20 XRC "
    "MEM_MGT_EXTENSIONS 23 MEM_WINDOW_TYPE_2A MEM_WINDOW_TYPE_2B RC_IP_CSUM RAW_IP_CSUM 29 "
    "MANAGED_FLOW_STEERING",
)
ibv_event_type = numbers(
    "ibv_event_type",
    "IBV_EVENT_",
    "CQ_ERR QP_FATAL QP_REQ_ERR QP_ACCESS_ERR COMM_EST SQ_DRAINED PATH_MIG PATH_MIG_ERR "
    "DEVICE_FATAL PORT_ACTIVE PORT_ERR LID_CHANGE PKEY_CHANGE SM_CHANGE SRQ_ERR "
    "SRQ_LIMIT_REACHED QP_LAST_WQE_REACHED CLIENT_REREGISTER GID_CHANGE WQ_FATAL",
)
ibv_flow_attr_type = numbers(
    "ibv_flow_attr_type", "IBV_FLOW_ATTR_", "NORMAL ALL_DEFAULT MC_DEFAULT SNIFFER"
)
ibv_flow_flags = bits("ibv_flow_flags", "IBV_FLOW_ATTR_FLAGS_", "1 DONT_TRAP EGRESS")
ibv_flow_spec_type = numbers(
    "ibv_flow_spec_type",
    "IBV_FLOW_SPEC_",
    "32 ETH 48 IPV4 IPV6 IPV4_EXT 52 ESP 64 TCP UDP 80 VXLAN_TUNNEL GRE 96 MPLS 256 INNER "
    "4096 ACTION_TAG ACTION_DROP ACTION_HANDLE ACTION_COUNT",
)
ibv_fork_status = numbers("ibv_fork_status", "IBV_FORK_", "DISABLED ENABLED UNNEEDED")
ibv_gid_type = numbers("ibv_gid_type", "IBV_GID_TYPE_", "IB ROCE_V1 ROCE_V2")
ibv_gid_type_sysfs = numbers("ibv_gid_type_sysfs", "IBV_GID_TYPE_SYSFS_", "IB_ROCE_V1 ROCE_V2")
ibv_mig_state = numbers("ibv_mig_state", "IBV_MIG_", "MIGRATED REARM ARMED")
ibv_mtu = numbers("ibv_mtu", "IBV_", "1 MTU_256 MTU_512 MTU_1024 MTU_2048 MTU_4096")
ibv_mw_type = numbers("ibv_mw_type", "IBV_MW_", "1 TYPE_1 TYPE_2")
ibv_node_type = numbers(
    "ibv_node_type", "IBV_NODE_", "-1 UNKNOWN 1 CA SWITCH ROUTER RNIC USNIC USNIC_UDP UNSPECIFIED"
)
ibv_odp_general_caps = bits("ibv_odp_general_caps", "IBV_ODP_", "SUPPORT SUPPORT_IMPLICIT")
ibv_odp_transport_cap_bits = bits(
    "ibv_odp_transport_cap_bits", "IBV_ODP_SUPPORT_", "SEND RECV WRITE READ ATOMIC SRQ_RECV"
)
ibv_ops_flags = bits("ibv_ops_flags", "IBV_OPS_", "SIGNALED TM_SYNC")
ibv_ops_wr_opcode = numbers("ibv_ops_wr_opcode", "IBV_WR_TAG_", "ADD DEL SYNC")
ibv_parent_domain_init_attr_mask = bits(
    "ibv_parent_domain_init_attr_mask", "IBV_PARENT_DOMAIN_INIT_ATTR_", "ALLOCATORS PD_CONTEXT"
)
ibv_port_cap_flags = bits(
    "ibv_port_cap_flags",
    "IBV_PORT_",
    "1 SM NOTICE_SUP TRAP_SUP OPT_IPD_SUP AUTO_MIGR_SUP SL_MAP_SUP MKEY_NVRAM PKEY_NVRAM "
    "LED_INFO_SUP 11 SYS_IMAGE_GUID_SUP PKEY_SW_EXT_PORT_TRAP_SUP 14 EXTENDED_SPEEDS_SUP "
    "CAP_MASK2_SUP CM_SUP SNMP_TUNNEL_SUP REINIT_SUP DEVICE_MGMT_SUP VENDOR_CLASS_SUP "
    "DR_NOTICE_SUP CAP_MASK_NOTICE_SUP BOOT_MGMT_SUP LINK_LATENCY_SUP CLIENT_REG_SUP "
    "IP_BASED_GIDS",
)
ibv_port_cap_flags2 = bits(
    "ibv_port_cap_flags2",
    "IBV_PORT_",
    "SET_NODE_DESC_SUP INFO_EXT_SUP VIRT_SUP SWITCH_PORT_STATE_TABLE_SUP LINK_WIDTH_2X_SUP "
    "LINK_SPEED_HDR_SUP 10 LINK_SPEED_NDR_SUP",
)
ibv_port_state = numbers("ibv_port_state", "IBV_PORT_", "NOP DOWN INIT ARMED ACTIVE ACTIVE_DEFER")
ibv_qp_attr_mask = bits(
    "ibv_qp_attr_mask",
    "IBV_QP_",
    "STATE CUR_STATE EN_SQD_ASYNC_NOTIFY ACCESS_FLAGS PKEY_INDEX PORT QKEY AV PATH_MTU "
    "TIMEOUT RETRY_CNT RNR_RETRY RQ_PSN MAX_QP_RD_ATOMIC ALT_PATH MIN_RNR_TIMER SQ_PSN "
    "MAX_DEST_RD_ATOMIC PATH_MIG_STATE CAP DEST_QPN 25 RATE_LIMIT",
)
ibv_qp_create_flags = bits(
    "ibv_qp_create_flags",
    "IBV_QP_CREATE_",
    "1 BLOCK_SELF_MCAST_LB 8 SCATTER_FCS CVLAN_STRIPPING SOURCE_QPN PCI_WRITE_END_PADDING",
)
ibv_qp_create_send_ops_flags = bits(
    "ibv_qp_create_send_ops_flags",
    "IBV_QP_EX_WITH_",
    "RDMA_WRITE RDMA_WRITE_WITH_IMM SEND SEND_WITH_IMM RDMA_READ ATOMIC_CMP_AND_SWP "
    "ATOMIC_FETCH_AND_ADD LOCAL_INV BIND_MW SEND_WITH_INV TSO 12 ATOMIC_WRITE",
)
ibv_qp_init_attr_mask = bits(
    "ibv_qp_init_attr_mask",
    "IBV_QP_INIT_ATTR_",
    "PD XRCD CREATE_FLAGS MAX_TSO_HEADER IND_TABLE RX_HASH SEND_OPS_FLAGS",
)
ibv_qp_state = numbers("ibv_qp_state", "IBV_QPS_", "RESET INIT RTR RTS SQD SQE ERR UNKNOWN")
ibv_qp_type = numbers(
    "ibv_qp_type", "IBV_QPT_", "2 RC UC UD 8 RAW_PACKET XRC_SEND XRC_RECV 255 DRIVER"
)
ibv_raw_packet_caps = bits(
    "ibv_raw_packet_caps", "IBV_RAW_PACKET_CAP_", "CVLAN_STRIPPING SCATTER_FCS IP_CSUM DELAY_DROP"
)
ibv_read_counters_flags = bits(
    "ibv_read_counters_flags", "IBV_READ_COUNTERS_ATTR_", "PREFER_CACHED"
)
ibv_rereg_mr_err_code = numbers(
    "ibv_rereg_mr_err_code",
    "IBV_REREG_MR_ERR_",
    "-1 INPUT -2 DONT_FORK_NEW -3 DO_FORK_OLD -4 CMD -5 CMD_AND_DO_FORK_NEW",
)
ibv_rereg_mr_flags = bits("ibv_rereg_mr_flags", "IBV_REREG_MR_CHANGE_", "TRANSLATION PD ACCESS")
ibv_rx_hash_fields = bits(
    "ibv_rx_hash_fields",
    "IBV_RX_HASH_",
    "SRC_IPV4 DST_IPV4 SRC_IPV6 DST_IPV6 SRC_PORT_TCP DST_PORT_TCP SRC_PORT_UDP DST_PORT_UDP",
)
ibv_rx_hash_function_flags = bits("ibv_rx_hash_function_flags", "IBV_RX_HASH_FUNC_", "TOEPLITZ")
ibv_send_flags = bits("ibv_send_flags", "IBV_SEND_", "FENCE SIGNALED SOLICITED INLINE IP_CSUM")
ibv_srq_attr_mask = bits("ibv_srq_attr_mask", "IBV_SRQ_", "MAX_WR LIMIT")
ibv_srq_init_attr_mask = bits("ibv_srq_init_attr_mask", "IBV_SRQ_INIT_ATTR_", "TYPE PD XRCD CQ TM")
ibv_srq_type = numbers("ibv_srq_type", "IBV_SRQT_", "BASIC XRC TM")
ibv_tm_cap_flags = bits("ibv_tm_cap_flags", "IBV_TM_CAP_", "RC")
ibv_tmh_op = numbers("ibv_tmh_op", "IBV_TMH_", "NO_TAG RNDV FIN EAGER")
ibv_transport_type = numbers(
    "ibv_transport_type", "IBV_TRANSPORT_", "-1 UNKNOWN IB IWARP USNIC USNIC_UDP"
)
ibv_values_mask = bits("ibv_values_mask", "IBV_VALUES_MASK_", "RAW_CLOCK")
ibv_wc_flags = bits(
    "ibv_wc_flags", "IBV_WC_", "GRH WITH_IMM IP_CSUM_OK WITH_INV TM_SYNC_REQ TM_MATCH TM_DATA_VALID"
)
ibv_wc_opcode = numbers(
    "ibv_wc_opcode",
    "IBV_WC_",
    "SEND RDMA_WRITE RDMA_READ COMP_SWAP FETCH_ADD BIND_MW LOCAL_INV TSO 9 ATOMIC_WRITE 128 "
    "RECV RECV_RDMA_WITH_IMM TM_ADD TM_DEL TM_SYNC TM_RECV TM_NO_TAG 136 DRIVER2 DRIVER3",
)
ibv_wc_status = numbers(
    "ibv_wc_status",
    "IBV_WC_",
    "SUCCESS LOC_LEN_ERR LOC_QP_OP_ERR LOC_EEC_OP_ERR LOC_PROT_ERR WR_FLUSH_ERR MW_BIND_ERR "
    "BAD_RESP_ERR LOC_ACCESS_ERR REM_INV_REQ_ERR REM_ACCESS_ERR REM_OP_ERR RETRY_EXC_ERR "
    "RNR_RETRY_EXC_ERR LOC_RDD_VIOL_ERR REM_INV_RD_REQ_ERR REM_ABORT_ERR INV_EECN_ERR "
    "INV_EEC_STATE_ERR FATAL_ERR RESP_TIMEOUT_ERR GENERAL_ERR TM_ERR TM_RNDV_INCOMPLETE",
)
ibv_wq_attr_mask = bits("ibv_wq_attr_mask", "IBV_WQ_ATTR_", "STATE CURR_STATE FLAGS")
ibv_wq_flags = bits(
    "ibv_wq_flags", "IBV_WQ_FLAGS_", "CVLAN_STRIPPING SCATTER_FCS DELAY_DROP PCI_WRITE_END_PADDING"
)
ibv_wq_init_attr_mask = bits("ibv_wq_init_attr_mask", "IBV_WQ_INIT_ATTR_", "FLAGS")
ibv_wq_state = numbers("ibv_wq_state", "IBV_WQS_", "RESET RDY ERR UNKNOWN")
ibv_wq_type = numbers("ibv_wq_type", "IBV_WQT_", "RQ")
ibv_wr_opcode = numbers(
    "ibv_wr_opcode",
    "IBV_WR_",
    "RDMA_WRITE RDMA_WRITE_WITH_IMM SEND SEND_WITH_IMM RDMA_READ ATOMIC_CMP_AND_SWP "
    "ATOMIC_FETCH_AND_ADD LOCAL_INV BIND_MW SEND_WITH_INV TSO 15 ATOMIC_WRITE",
)
ibv_xrcd_init_attr_mask = bits(
    "ibv_xrcd_init_attr_mask", "IBV_XRCD_INIT_ATTR_", "FD OFLAGS RESERVED"
)

# Macros, and values of C enums too wide for an int: pyverbs sets an underscore before them.
_IBV_DEVICE_RAW_SCATTER_FCS = 1 << 34
_IBV_DEVICE_PCI_WRITE_END_PADDING = 1 << 36
_IBV_ALLOCATOR_USE_DEFAULT = (1 << 64) - 1
_IBV_ADVISE_MR_ADVICE_PREFETCH = 0
_IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE = 1
_IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT = 2
_IBV_ADVISE_MR_FLAG_FLUSH = 1

IBV_QPF_GRH_REQUIRED = 1
IBV_WC_STANDARD_FLAGS = 0x7F

export(globals(), plain("IBV_LINK_LAYER_", "UNSPECIFIED INFINIBAND ETHERNET"))
