"""The enums and constants of mlx5: programs and tests read them when they are imported."""

from typing import TYPE_CHECKING, Any

from rdmalab.compat.enum_tables import bits, export, made, numbers, plain

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # the enums and members, which are added below


_NUMBERS = {
    "mlx5dv_block_size": ("MLX5DV_BLOCK_", "SIZE_512 SIZE_520 SIZE_4048 SIZE_4096 SIZE_4160"),
    "mlx5dv_crypto_key_purpose": ("MLX5DV_CRYPTO_KEY_PURPOSE_", "AES_XTS"),
    "mlx5dv_crypto_key_size": ("MLX5DV_CRYPTO_KEY_", "SIZE_128 SIZE_256"),
    "mlx5dv_crypto_login_state": ("MLX5DV_CRYPTO_LOGIN_STATE_", "VALID NO_LOGIN INVALID"),
    "mlx5dv_crypto_standard": ("MLX5DV_CRYPTO_STANDARD_", "AES_XTS"),
    "mlx5dv_dc_type": ("MLX5DV_DCTYPE_", "1 DCT DCI"),
    "mlx5dv_dek_state": ("MLX5DV_DEK_STATE_", "READY ERROR"),
    "mlx5dv_dr_action_dest_type": ("MLX5DV_DR_ACTION_", "DEST DEST_REFORMAT"),
    "mlx5dv_dr_domain_type": ("MLX5DV_DR_DOMAIN_TYPE_", "NIC_RX NIC_TX FDB"),
    "mlx5dv_flow_action_type": (
        "MLX5DV_FLOW_ACTION_",
        "DEST_IBV_QP DROP IBV_COUNTER IBV_FLOW_ACTION TAG DEST_DEVX COUNTERS_DEVX "
        "DEFAULT_MISS COUNTERS_DEVX_WITH_OFFSET",
    ),
    "mlx5dv_mkey_err_type": (
        "MLX5DV_MKEY_",
        "NO_ERR SIG_BLOCK_BAD_GUARD SIG_BLOCK_BAD_REFTAG SIG_BLOCK_BAD_APPTAG",
    ),
    "mlx5dv_sig_crc_type": ("MLX5DV_SIG_CRC_TYPE_", "CRC32 CRC32C CRC64_XP10"),
    "mlx5dv_sig_mask": (
        "MLX5DV_SIG_MASK_",
        "192 T10DIF_GUARD 48 T10DIF_APPTAG 15 T10DIF_REFTAG 240 CRC32 240 CRC32C 255 CRC64_XP10",
    ),
    "mlx5dv_sig_t10dif_bg_type": ("MLX5DV_SIG_T10DIF_", "CRC CSUM"),
    "mlx5dv_sig_type": ("MLX5DV_SIG_TYPE_", "T10DIF CRC"),
    "mlx5dv_signature_crypto_order": (
        "MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_",
        "AFTER_CRYPTO_ON_TX BEFORE_CRYPTO_ON_TX",
    ),
    "mlx5dv_wc_opcode": ("MLX5DV_WC_", "135 UMR RAW_WQE MEMCPY"),
}
_BITS = {
    "mlx5dv_context_attr_comp_mask": ("MLX5DV_CONTEXT_ATTR_MASK_", "FD_ARRAY"),
    "mlx5dv_context_attr_flags": ("MLX5DV_CONTEXT_FLAGS_", "DEVX"),
    "mlx5dv_context_comp_mask": (
        "MLX5DV_CONTEXT_MASK_",
        "CQE_COMPRESION SWP STRIDING_RQ TUNNEL_OFFLOADS DYN_BFREGS CLOCK_INFO_UPDATE "
        "FLOW_ACTION_FLAGS DC_ODP_CAPS 9 NUM_LAG_PORTS SIGNATURE_OFFLOAD DCI_STREAMS "
        "WR_MEMCPY_LENGTH CRYPTO_OFFLOAD MAX_DC_RD_ATOM 16 OOO_RECV_WRS",
    ),
    "mlx5dv_context_flags": (
        "MLX5DV_CONTEXT_FLAGS_",
        "CQE_V1 2 MPW_ALLOWED ENHANCED_MPW CQE_128B_COMP CQE_128B_PAD "
        "PACKET_BASED_CREDIT_MODE REAL_TIME_TS BLUEFLAME",
    ),
    "mlx5dv_cq_init_attr_flags": ("MLX5DV_CQ_INIT_ATTR_FLAGS_", "CQE_PAD RESERVED"),
    "mlx5dv_cq_init_attr_mask": ("MLX5DV_CQ_INIT_ATTR_MASK_", "COMPRESSED_CQE FLAGS CQE_SIZE"),
    "mlx5dv_cqe_comp_res_format": ("MLX5DV_CQE_RES_FORMAT_", "HASH CSUM CSUM_STRIDX"),
    "mlx5dv_crypto_caps_flags": (
        "MLX5DV_CRYPTO_CAPS_",
        "CRYPTO WRAPPED_CRYPTO_OPERATIONAL WRAPPED_CRYPTO_GOING_TO_COMMISSIONING",
    ),
    "mlx5dv_crypto_engines_caps": (
        "MLX5DV_CRYPTO_ENGINES_CAP_",
        "AES_XTS AES_XTS_SINGLE_BLOCK AES_XTS_MULTI_BLOCK",
    ),
    "mlx5dv_crypto_wrapped_import_method_caps": (
        "MLX5DV_CRYPTO_WRAPPED_IMPORT_METHOD_CAP_",
        "AES_XTS",
    ),
    "mlx5dv_dek_init_attr_mask": ("MLX5DV_DEK_INIT_ATTR_", "CRYPTO_LOGIN"),
    "mlx5dv_devx_create_event_channel_flags": (
        "MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_",
        "OMIT_EV_DATA",
    ),
    "mlx5dv_dr_action_flags": ("MLX5DV_DR_ACTION_FLAGS_", "ROOT_LEVEL"),
    "mlx5dv_dr_domain_sync_flags": ("MLX5DV_DR_DOMAIN_SYNC_FLAGS_", "SW HW MEM"),
    "mlx5dv_dr_matcher_layout_flags": ("MLX5DV_DR_MATCHER_LAYOUT_", "RESIZABLE NUM_RULE"),
    "mlx5dv_flow_action_cap_flags": (
        "MLX5DV_FLOW_ACTION_FLAGS_ESP_",
        "AES_GCM AES_GCM_REQ_METADATA AES_GCM_SPI_STEERING AES_GCM_FULL_OFFLOAD "
        "AES_GCM_TX_IV_IS_ESN",
    ),
    "mlx5dv_flow_matcher_attr_mask": ("MLX5DV_FLOW_MATCHER_MASK_", "FT_TYPE IB_PORT"),
    "mlx5dv_mkey_init_attr_flags": (
        "MLX5DV_MKEY_INIT_ATTR_FLAGS_",
        "INDIRECT BLOCK_SIGNATURE CRYPTO 4 REMOTE_INVALIDATE",
    ),
    "mlx5dv_obj_type": ("MLX5DV_OBJ_", "QP CQ SRQ RWQ DM AH PD"),
    "mlx5dv_qp_comp_mask": ("MLX5DV_QP_MASK_", "UAR_MMAP_OFFSET RAW_QP_HANDLES RAW_QP_TIR_ADDR"),
    "mlx5dv_qp_create_flags": (
        "MLX5DV_QP_CREATE_",
        "TUNNEL_OFFLOADS TIR_ALLOW_SELF_LOOPBACK_UC TIR_ALLOW_SELF_LOOPBACK_MC "
        "DISABLE_SCATTER_TO_CQE ALLOW_SCATTER_TO_CQE PACKET_BASED_CREDIT_MODE "
        "SIG_PIPELINING OOO_DP",
    ),
    "mlx5dv_qp_create_send_ops_flags": (
        "MLX5DV_QP_EX_WITH_",
        "MR_INTERLEAVED MR_LIST MKEY_CONFIGURE RAW_WQE MEMCPY",
    ),
    "mlx5dv_qp_init_attr_mask": (
        "MLX5DV_QP_INIT_ATTR_MASK_",
        "QP_CREATE_FLAGS DC SEND_OPS_FLAGS DCI_STREAMS",
    ),
    "mlx5dv_sched_elem_attr_flags": ("MLX5DV_SCHED_ELEM_ATTR_FLAGS_", "BW_SHARE MAX_AVG_BW"),
    "mlx5dv_sig_block_attr_flags": ("MLX5DV_SIG_BLOCK_ATTR_FLAG_", "COPY_MASK"),
    "mlx5dv_sig_t10dif_flags": ("MLX5DV_SIG_T10DIF_FLAG_", "REF_REMAP APP_ESCAPE APP_REF_ESCAPE"),
    "mlx5dv_srq_comp_mask": ("MLX5DV_SRQ_MASK_", "SRQN"),
    "mlx5dv_sw_parsing_offloads": ("MLX5DV_", "SW_PARSING SW_PARSING_CSUM SW_PARSING_LSO"),
    "mlx5dv_tunnel_offloads": (
        "MLX5DV_RAW_PACKET_CAP_TUNNELED_OFFLOAD_",
        "VXLAN GRE GENEVE CW_MPLS_OVER_GRE CW_MPLS_OVER_UDP",
    ),
    "mlx5dv_vfio_context_attr_flags": ("MLX5DV_VFIO_CTX_FLAGS_", "INIT_LINK_DOWN"),
}
globals().update(made(numbers, _NUMBERS) | made(bits, _BITS))


export(
    globals(),
    plain("_MLX5DV_RES_TYPE_", "4294967297 QP RWQ DBR SRQ"),
    plain("_MLX5DV_PP_ALLOC_FLAGS_", "1 DEDICATED_INDEX"),
    plain("_MLX5DV_UAR_ALLOC_TYPE_", "BF NC"),
    plain(
        "MLX5DV_QUERY_PORT_VPORT_", "2 VHCA_ID_ 4 STEERING_ICM_RX_ 8 STEERING_ICM_TX_ 16 REG_C0_"
    ),
    plain("MLX5DV_QUERY_PORT_", "1 VPORT_ 32 ESW_OWNER_VHCA_ID_"),
    plain(
        "MLX5DV_FLOW_TABLE_TYPE_",
        "NIC_RX_ NIC_TX_ FDB_ RDMA_RX_ RDMA_TX_ RDMA_TRANSPORT_RX_ RDMA_TRANSPORT_TX_",
    ),
    plain(
        "MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_",
        "L2_TUNNEL_TO_L2_ L2_TO_L2_TUNNEL_ L3_TUNNEL_TO_L2_ L2_TO_L3_TUNNEL_",
    ),
    plain("MLX5DV_UMEM_MASK_", "1 DMABUF"),
    plain("MLX5DV_REG_DMABUF_ACCESS_", "1 DATA_DIRECT_"),
    plain("MLX5DV_VAR_ALLOC_FLAG_", "1 TLP_"),
    plain(
        "MLX5_CQE_",
        "REQ RESP_WR_IMM RESP_SEND RESP_SEND_IMM RESP_SEND_INV RESIZE_CQ NO_PACKET "
        "12 SIG_ERR REQ_ERR RESP_ERR INVALID 1 OWNER_MASK",
    ),
    plain(
        "MLX5_OPCODE_",
        "NOP SEND_INVAL 8 RDMA_WRITE RDMA_WRITE_IMM SEND SEND_IMM 14 TSO 16 RDMA_READ ATOMIC_CS "
        "ATOMIC_FA 20 ATOMIC_MASKED_CS ATOMIC_MASKED_FA 25 FMR 27 LOCAL_INVAL 31 CONFIG_CMD "
        "37 UMR 40 TAG_MATCHING 47 MMO",
    ),
    plain("MLX5_", "RCV_DBR SND_DBR 6 SEND_WQE_SHIFT 64 SEND_WQE_BB"),
    plain("MLX5_WQE_CTRL_", "2 SOLICITED 8 CQ_UPDATE 32 INITIATOR_SMALL_FENCE 128 FENCE"),
)
