"""Functions of libibverbs and librdmacm: those the C library has, and those it refuses.

Its version script and the functions that refuse are made of this table (compat/c/building.py), and
`rdmalab capabilities` lists it.
"""

from enum import Enum
from typing import NamedTuple

VERBS_VERSIONS = [f"1.{minor}" for minor in (0, 1, *range(5, 19))]
CM_VERSIONS = [f"1.{minor}" for minor in range(5)]
IBVERBS, RDMACM, PRIVATE = "IBVERBS_", "RDMACM_", "IBVERBS_PRIVATE_34"

EXPORTED: dict[str, str] = {
    "IBVERBS_1.0": "ibv_create_comp_channel ibv_destroy_comp_channel ibv_read_sysfs_file",
    "IBVERBS_1.1": """
        ibv_get_device_list ibv_free_device_list ibv_get_device_name ibv_get_device_guid
        ibv_open_device ibv_close_device ibv_query_device ibv_query_port ibv_query_gid
        ibv_query_pkey ibv_alloc_pd ibv_dealloc_pd ibv_reg_mr ibv_rereg_mr ibv_dereg_mr
        ibv_create_cq ibv_resize_cq ibv_destroy_cq ibv_get_cq_event ibv_ack_cq_events
        ibv_get_async_event ibv_ack_async_event ibv_create_srq ibv_modify_srq ibv_query_srq
        ibv_destroy_srq ibv_create_qp ibv_query_qp ibv_modify_qp ibv_destroy_qp ibv_create_ah
        ibv_init_ah_from_wc ibv_create_ah_from_wc ibv_destroy_ah ibv_attach_mcast ibv_detach_mcast
        ibv_fork_init""",
    "IBVERBS_1.5": "ibv_get_pkey_index",
    "IBVERBS_1.6": "ibv_qp_to_qp_ex",
    "IBVERBS_1.7": "ibv_reg_mr_iova",
    "IBVERBS_1.8": "ibv_reg_mr_iova2",
    "IBVERBS_1.9": "ibv_get_device_index",
    "IBVERBS_1.11": "_ibv_query_gid_ex _ibv_query_gid_table",
    "IBVERBS_1.13": "ibv_is_fork_initialized",
    "IBVERBS_1.14": "ibv_query_qp_data_in_order",
    PRIVATE: "ibv_query_gid_type",
    "RDMACM_1.0": """
        rdma_create_event_channel rdma_destroy_event_channel rdma_create_id rdma_destroy_id
        rdma_bind_addr rdma_resolve_addr rdma_resolve_route rdma_listen rdma_create_qp
        rdma_create_qp_ex rdma_destroy_qp rdma_create_srq rdma_create_srq_ex rdma_destroy_srq
        rdma_connect rdma_accept rdma_reject rdma_disconnect rdma_get_cm_event rdma_ack_cm_event
        rdma_get_src_port rdma_get_dst_port rdma_set_option rdma_notify rdma_migrate_id
        rdma_join_multicast rdma_leave_multicast rdma_get_devices rdma_free_devices
        rdma_getaddrinfo rdma_freeaddrinfo rdma_create_ep rdma_get_request rdma_destroy_ep""",
    "RDMACM_1.1": "rdma_join_multicast_ex",
    "RDMACM_1.2": "rdma_establish rdma_init_qp_attr",
    "RDMACM_1.3": "rdma_get_remote_ece rdma_reject_ece rdma_set_local_ece",
}
"""Functions that the library defines, by the node of its version script."""

BY_POINTER = """
    ibv_alloc_mw ibv_dealloc_mw ibv_bind_mw ibv_alloc_td ibv_dealloc_td ibv_alloc_parent_domain
    ibv_create_cq_ex ibv_poll_cq ibv_req_notify_cq ibv_start_poll ibv_next_poll ibv_end_poll
    ibv_wc_read_opcode ibv_wc_read_vendor_err ibv_wc_read_byte_len ibv_wc_read_imm_data
    ibv_wc_read_invalidated_rkey ibv_wc_read_qp_num ibv_wc_read_src_qp ibv_wc_read_wc_flags
    ibv_wc_read_slid ibv_wc_read_sl ibv_wc_read_dlid_path_bits ibv_wc_read_completion_ts
    ibv_wc_read_completion_wallclock_ns ibv_create_qp_ex ibv_open_qp ibv_post_send ibv_post_recv
    ibv_post_srq_recv ibv_create_srq_ex ibv_get_srq_num ibv_open_xrcd ibv_close_xrcd
    ibv_create_flow ibv_destroy_flow ibv_query_device_ex ibv_query_rt_values_ex ibv_query_gid_ex
    ibv_query_gid_table ibv_wr_start ibv_wr_complete ibv_wr_abort ibv_wr_send ibv_wr_send_imm
    ibv_wr_send_inv ibv_wr_send_tso ibv_wr_local_inv ibv_wr_rdma_read ibv_wr_rdma_write
    ibv_wr_rdma_write_imm ibv_wr_atomic_cmp_swp ibv_wr_atomic_fetch_add ibv_wr_atomic_write
    ibv_wr_bind_mw ibv_wr_set_sge ibv_wr_set_sge_list ibv_wr_set_inline_data
    ibv_wr_set_inline_data_list ibv_wr_set_ud_addr ibv_wr_set_xrc_srqn"""
"""Inline functions of verbs.h that call the library through pointers."""


REAL = """
    ibv_wc_status_str ibv_event_type_str ibv_port_state_str ibv_node_type_str rdma_event_str
    ibv_rate_to_mult ibv_rate_to_mbps mult_to_ibv_rate mbps_to_ibv_rate ibv_get_sysfs_path
    ibv_dofork_range ibv_dontfork_range"""
"""Functions of the real libraries, which stay loaded: these need no device."""


class Gives(Enum):
    """Return values of functions that refuse; errno is EOPNOTSUPP in each case."""

    ERRNO = "EOPNOTSUPP"
    MINUS_ONE = "-1"
    NULL = "0"
    NOTHING = ""


class Refusal(NamedTuple):
    """A function that is not there. node: of the version script; empty: an inline function."""

    node: str
    gives: Gives
    reason: str


_PROCESS = "a program cannot take over the objects of another process"
_DM = "the device has no memory of its own"
_RSS = "receive side scaling is not emulated"
_COUNTERS = "the counters of the lab are those of `show counters`"
_ESP = "the device does not encrypt"
_TM = "tag matching is not emulated"
_GPU = "there is no other device to share memory with"
_BUF = "memory that a program gives to a driver is not emulated"
_CNTR = "completion counters are not emulated"
_HINTS = "hints for caches of the processor have no effect here"
_RESOLVE = "only addresses are resolved, not names of the InfiniBand address service"

REFUSED: dict[str, Refusal] = {
    name: Refusal(node, gives, reason)
    for node, gives, reason, names in (
        ("IBVERBS_1.1", Gives.ERRNO, "Ethernet addresses are found by the device",
         "ibv_resolve_eth_l2_from_gid"),
        ("IBVERBS_1.10", Gives.NULL, _PROCESS, "ibv_import_device ibv_import_mr ibv_import_pd"),
        ("IBVERBS_1.10", Gives.NOTHING, _PROCESS, "ibv_unimport_mr ibv_unimport_pd"),
        ("IBVERBS_1.10", Gives.ERRNO, "the devices have no vendor, and no vendor's options",
         "ibv_query_ece ibv_set_ece"),
        ("IBVERBS_1.12", Gives.NULL, _GPU, "ibv_reg_dmabuf_mr"),
        ("IBVERBS_1.13", Gives.NULL, _DM, "ibv_import_dm"),
        ("IBVERBS_1.13", Gives.NOTHING, _DM, "ibv_unimport_dm"),
        ("IBVERBS_1.15", Gives.NULL, _HINTS, "ibv_alloc_dmah ibv_reg_mr_ex"),
        ("IBVERBS_1.15", Gives.ERRNO, _HINTS, "ibv_dealloc_dmah"),
        ("IBVERBS_1.16", Gives.MINUS_ONE, _DM, "ibv_dm_export_dmabuf_fd"),
        ("IBVERBS_1.16", Gives.ERRNO, "query_port gives the speed", "ibv_query_port_speed"),
        ("IBVERBS_1.17", Gives.NULL, _BUF, "ibv_alloc_buf ibv_reg_buf_mr"),
        ("IBVERBS_1.17", Gives.NOTHING, _BUF, "ibv_free_buf"),
        ("IBVERBS_1.18", Gives.MINUS_ONE, _BUF, "ibv_export_buf_dmabuf_fd"),
        ("IBVERBS_1.18", Gives.NULL, _CNTR, "ibv_create_comp_cntr"),
        ("IBVERBS_1.18", Gives.ERRNO, _CNTR, """
            _ibv_query_comp_cntr_caps ibv_destroy_comp_cntr ibv_inc_comp_cntr
            ibv_inc_err_comp_cntr ibv_qp_attach_comp_cntr ibv_read_comp_cntr
            ibv_read_err_comp_cntr ibv_set_comp_cntr ibv_set_err_comp_cntr"""),
        ("RDMACM_1.0", Gives.MINUS_ONE, "sockets over RDMA are not emulated", "rsocket"),
        ("RDMACM_1.4", Gives.MINUS_ONE, _RESOLVE, "rdma_query_addrinfo rdma_resolve_addrinfo"),
        ("RDMACM_1.4", Gives.MINUS_ONE, "events come from the lab alone", "rdma_write_cm_event"),
        ("", Gives.NULL, _DM, "ibv_alloc_dm ibv_reg_dm_mr"),
        ("", Gives.ERRNO, _DM, "ibv_free_dm ibv_memcpy_to_dm ibv_memcpy_from_dm"),
        ("", Gives.NULL, _RSS, "ibv_create_wq ibv_create_rwq_ind_table"),
        ("", Gives.ERRNO, _RSS,
         "ibv_modify_wq ibv_destroy_wq ibv_post_wq_recv ibv_destroy_rwq_ind_table"),
        ("", Gives.NULL, _COUNTERS, "ibv_create_counters"),
        ("", Gives.ERRNO, _COUNTERS,
         "ibv_destroy_counters ibv_read_counters ibv_attach_counters_point_flow"),
        ("", Gives.NULL, _ESP, "ibv_create_flow_action_esp"),
        ("", Gives.ERRNO, _ESP, "ibv_modify_flow_action_esp ibv_destroy_flow_action"),
        ("", Gives.ERRNO, _TM, "ibv_post_srq_ops ibv_wc_read_tm_info"),
        ("", Gives.ERRNO, "no packet of the lab has a VLAN tag that is taken off",
         "ibv_wc_read_cvlan"),
        ("", Gives.ERRNO, "no flow rule tags its packets", "ibv_wc_read_flow_tag"),
        ("", Gives.ERRNO, "pages are never paged", "ibv_advise_mr"),
        ("", Gives.NULL, "the device has no memory that discards", "ibv_alloc_null_mr"),
        ("", Gives.ERRNO, "completion events are not moderated", "ibv_modify_cq"),
        ("", Gives.ERRNO, "the link's rate is the only one: link rate=25Gbps",
         "ibv_modify_qp_rate_limit"),
        ("", Gives.NOTHING, "libibverbs before version 46 does not have it", "ibv_wr_flush"),
    )
    for name in names.split()
}  # fmt: skip
"""Functions that the library does not have. An inline function finds no pointer, and refuses."""


def present() -> list[str]:
    """The functions that programs can call, in the order of the tables."""
    exported = [name for names in EXPORTED.values() for name in names.split()]
    return [*exported, *BY_POINTER.split(), *REAL.split()]


def version_script(*, has_cm: bool) -> str:
    """The linker's version script: each function at the version that programs ask for."""
    families = [(IBVERBS, VERBS_VERSIONS), *([(RDMACM, CM_VERSIONS)] if has_cm else [])]
    lines = []
    for family, versions in families:
        before = ""
        for version in versions:
            node = family + version
            hidden = "" if before else " local: *;"
            names = [*EXPORTED.get(node, "").split(), *_refused_at(node)]
            lines.append(f"{node} {{ {_global(names)}{hidden} }}{before};")
            before = f" {node}"
    lines.append("RDMALAB { global: rdmalab_clock; rdmalab_pass; };")  # for clock.c
    return "\n".join([*lines, f"{PRIVATE} {{ {_global(EXPORTED[PRIVATE].split())} }};", ""])


def _global(names: list[str]) -> str:
    return f"global: {'; '.join(names)};" if names else ""


def _refused_at(node: str) -> list[str]:
    return [name for name, row in REFUSED.items() if row.node == node]


def refusing_functions(*, has_cm: bool) -> str:
    """C functions that refuse. Their parameters are left out: no calling convention needs them."""
    lines = ["#include <errno.h>", '#define API __attribute__((visibility("default")))']
    for name, (node, gives, _) in REFUSED.items():
        if not node or (node.startswith(RDMACM) and not has_cm):
            continue
        kind = {Gives.NULL: "void *", Gives.NOTHING: "void "}.get(gives, "int ")
        answer = f" return {gives.value};" if gives.value else ""
        lines.append(f"API {kind}{name}(void) {{ errno = EOPNOTSUPP;{answer} }}")
    return "\n".join([*lines, ""])
