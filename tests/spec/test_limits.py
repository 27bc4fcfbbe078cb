"""Device limits: the recorded ones of rxe, and limits that fit together on every device."""

from dataclasses import FrozenInstanceError, fields, replace

import pytest

from rdmalab.spec.limits import MLX5_CAPS, RXE_CAPS, AtomicCap, DeviceCap, DeviceCaps, PortState

DEVICES = {"lab": DeviceCaps(), "rxe": RXE_CAPS, "mlx5": MLX5_CAPS}


def test_rxe_says_what_rxe_param_h_says() -> None:
    by_name = {
        "vendor_id": 0xFFFFFF,
        "max_mr_size": 2**64 - 1,
        "page_size_cap": 0xFFFFF000,
        "max_qp": 1048560,
        "max_qp_wr": 1048576,
        "max_send_sge": 32,
        "max_recv_sge": 32,
        "max_sge_rd": 32,
        "max_cq": 1048576,
        "max_cqe": 32767,
        "max_mr": 524287,
        "max_mw": 524287,
        "max_pd": 1048576,
        "max_qp_rd_atom": 128,
        "max_qp_init_rd_atom": 128,
        "max_res_rd_atom": 258048,
        "atomic_cap": 1,
        "max_mcast_grp": 8192,
        "max_mcast_qp_attach": 56,
        "max_total_mcast_qp_attach": 458752,
        "max_ah": 32767,
        "max_srq": 2**20 - 0x20001,
        "max_srq_wr": 1048576,
        "max_srq_sge": 27,
        "max_pkeys": 64,
        "local_ca_ack_delay": 15,
        "phys_port_cnt": 1,
        "max_inline_data": 512,
        "max_msg_sz": 0x800000,
        "gid_tbl_len": 1024,
        "pkey_tbl_len": 1,
    }
    assert {name: getattr(RXE_CAPS, name) for name in by_name} == by_name


def test_rxe_sets_the_flags_it_sets() -> None:
    text = (
        "BAD_PKEY_CNTR BAD_QKEY_CNTR AUTO_PATH_MIG CHANGE_PHY_PORT UD_AV_PORT_ENFORCE"
        " PORT_ACTIVE_EVENT SYS_IMAGE_GUID RC_RNR_NAK_GEN SRQ_RESIZE MEM_MGT_EXTENSIONS"
        " MEM_WINDOW MEM_WINDOW_TYPE_2B"
    )
    flags = DeviceCap(RXE_CAPS.device_cap_flags)
    assert {flag.name for flag in flags} == set(text.split())


def test_the_lab_is_as_small_as_agreed() -> None:
    by_name = {
        "max_mr_size": 2147483648,
        "max_qp": 256,
        "max_qp_wr": 1024,
        "max_send_sge": 8,
        "max_recv_sge": 8,
        "max_cq": 256,
        "max_cqe": 4095,
        "max_mr": 1024,
        "max_mw": 256,
        "max_pd": 64,
        "max_srq_wr": 4096,
        "max_srq_sge": 8,
        "num_comp_vectors": 4,
        "max_inline_data": 256,
        "max_qp_rd_atom": 16,
        "max_qp_init_rd_atom": 16,
    }
    assert {name: getattr(DeviceCaps(), name) for name in by_name} == by_name


def test_the_vendor_id_of_the_lab_belongs_to_no_maker() -> None:
    """rdma-core's test_query_device asserts that it is not 0; bit 1 of an OUI: no IEEE maker."""
    assert DeviceCaps().vendor_id >> 16 & 0b11 == 0b10


def test_mlx5_is_as_typical_as_the_reference() -> None:
    typical = ("vendor_id", "max_qp_wr", "max_send_sge", "max_cqe", "max_qp_rd_atom", "max_msg_sz")
    values = [getattr(MLX5_CAPS, name) for name in typical]
    assert values == [0x02C9, 32768, 30, 4194303, 16, 2**30]


@pytest.mark.parametrize("caps", DEVICES.values(), ids=DEVICES)
def test_limits_are_whole_numbers_that_fit_together(caps: DeviceCaps) -> None:
    assert all(isinstance(getattr(caps, field.name), int) for field in fields(caps))
    assert caps.active_mtu <= caps.max_mtu <= 4096
    assert caps.max_pkey_index == caps.pkey_tbl_len - 1 < caps.max_pkeys
    assert caps.max_sgid_index == caps.gid_tbl_len - 1 >= 0
    assert max(caps.max_qp_rd_atom, caps.max_qp_init_rd_atom) <= 255  # the attributes have 8 bits
    assert caps.max_qp <= 2**24


def test_an_override_leaves_the_table_alone() -> None:
    small = replace(RXE_CAPS, max_qp=4)
    assert (small.max_qp, RXE_CAPS.max_qp) == (4, 1048560)
    with pytest.raises(FrozenInstanceError):
        RXE_CAPS.max_qp = 4  # type: ignore[misc]


def test_cap_flags_are_the_bits_of_verbs_h() -> None:
    bits = {cap.name: cap.value.bit_length() - 1 for cap in DeviceCap}
    assert bits == {
        "RESIZE_MAX_WR": 0,
        "BAD_PKEY_CNTR": 1,
        "BAD_QKEY_CNTR": 2,
        "RAW_MULTI": 3,
        "AUTO_PATH_MIG": 4,
        "CHANGE_PHY_PORT": 5,
        "UD_AV_PORT_ENFORCE": 6,
        "CURR_QP_STATE_MOD": 7,
        "SHUTDOWN_PORT": 8,
        "INIT_TYPE": 9,
        "PORT_ACTIVE_EVENT": 10,
        "SYS_IMAGE_GUID": 11,
        "RC_RNR_NAK_GEN": 12,
        "SRQ_RESIZE": 13,
        "N_NOTIFY_CQ": 14,
        "MEM_WINDOW": 17,
        "UD_IP_CSUM": 18,
        "XRC": 20,
        "MEM_MGT_EXTENSIONS": 21,
        "MEM_WINDOW_TYPE_2A": 23,
        "MEM_WINDOW_TYPE_2B": 24,
        "RC_IP_CSUM": 25,
        "RAW_IP_CSUM": 26,
        "MANAGED_FLOW_STEERING": 29,
    }
    assert [cap.value for cap in AtomicCap] == [0, 1, 2]


def test_port_states_speak_as_libibverbs_does() -> None:
    assert {state.value: state.text for state in PortState} == {
        0: "no state change (NOP)",
        1: "down",
        2: "init",
        3: "armed",
        4: "active",
        5: "active defer",
    }
