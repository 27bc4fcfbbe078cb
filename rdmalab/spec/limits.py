"""Device limits: the answers of `query_device` and `query_port` for each device model."""

from enum import IntEnum, IntFlag
from functools import reduce
from operator import or_

from rdmalab.spec.row import dataclass


class PortState(IntEnum):
    """IBV_PORT_*; only ACTIVE moves data."""

    NOP = 0
    DOWN = 1
    INIT = 2
    ARMED = 3
    ACTIVE = 4
    ACTIVE_DEFER = 5

    @property
    def text(self) -> str:
        """The text of `ibv_port_state_str`."""
        words = self.name.lower().replace("_", " ")
        return words if self else "no state change (NOP)"


class PhysState(IntEnum):
    """IB_PORT_PHYS_STATE_*: the physical state of the link, independent of the port's logical
    state.
    """

    SLEEP = 1
    POLLING = 2
    DISABLED = 3
    TRAINING = 4
    LINK_UP = 5
    LINK_ERROR_RECOVERY = 6

    @property
    def text(self) -> str:
        """The text of `ibv_devinfo -v`."""
        return self.name.lower().replace("_", " ")


class LinkLayer(IntEnum):
    """IBV_LINK_LAYER_*."""

    UNSPECIFIED = 0
    INFINIBAND = 1
    ETHERNET = 2

    @property
    def text(self) -> str:
        """The text of `ibv_devinfo`."""
        return "InfiniBand" if self is LinkLayer.INFINIBAND else self.name.capitalize()


LAYER_OF = {layer.text: layer for layer in LinkLayer if layer}
"""The link layers that a port can have, by their names."""

# What the cable does in each state of a port; that of DOWN is a cell of the profile.
PHYS_STATES: dict[PortState, PhysState] = {
    PortState.NOP: PhysState.SLEEP,
    PortState.INIT: PhysState.LINK_UP,
    PortState.ARMED: PhysState.LINK_UP,
    PortState.ACTIVE: PhysState.LINK_UP,
    PortState.ACTIVE_DEFER: PhysState.LINK_ERROR_RECOVERY,
}

# bad_pkey_cntr and qkey_viol_cntr are 16 bits wide and stay where they are full.
COUNTER_MAX = 0xFFFF


class AtomicCap(IntEnum):
    """IBV_ATOMIC_*: with respect to which other accesses an atomic operation is atomic."""

    NONE = 0
    HCA = 1
    GLOB = 2


class DeviceCap(IntFlag):
    """IBV_DEVICE_*, the bits of `device_cap_flags`."""

    RESIZE_MAX_WR = 1 << 0
    BAD_PKEY_CNTR = 1 << 1
    BAD_QKEY_CNTR = 1 << 2
    RAW_MULTI = 1 << 3
    AUTO_PATH_MIG = 1 << 4
    CHANGE_PHY_PORT = 1 << 5
    UD_AV_PORT_ENFORCE = 1 << 6
    CURR_QP_STATE_MOD = 1 << 7
    SHUTDOWN_PORT = 1 << 8
    INIT_TYPE = 1 << 9
    PORT_ACTIVE_EVENT = 1 << 10
    SYS_IMAGE_GUID = 1 << 11
    RC_RNR_NAK_GEN = 1 << 12
    SRQ_RESIZE = 1 << 13
    N_NOTIFY_CQ = 1 << 14
    MEM_WINDOW = 1 << 17
    UD_IP_CSUM = 1 << 18
    XRC = 1 << 20
    MEM_MGT_EXTENSIONS = 1 << 21
    MEM_WINDOW_TYPE_2A = 1 << 23
    MEM_WINDOW_TYPE_2B = 1 << 24
    RC_IP_CSUM = 1 << 25
    RAW_IP_CSUM = 1 << 26
    MANAGED_FLOW_STEERING = 1 << 29


_RXE_SETS = reduce(
    or_,
    (
        DeviceCap.BAD_PKEY_CNTR,
        DeviceCap.BAD_QKEY_CNTR,
        DeviceCap.AUTO_PATH_MIG,
        DeviceCap.CHANGE_PHY_PORT,
        DeviceCap.UD_AV_PORT_ENFORCE,
        DeviceCap.PORT_ACTIVE_EVENT,
        DeviceCap.SYS_IMAGE_GUID,
        DeviceCap.RC_RNR_NAK_GEN,
        DeviceCap.SRQ_RESIZE,
        DeviceCap.MEM_MGT_EXTENSIONS,
        DeviceCap.MEM_WINDOW,
        DeviceCap.MEM_WINDOW_TYPE_2B,
    ),
)


NO_LIMIT = 2**64 - 1  # as RLIM_INFINITY


@dataclass(slots=True, kw_only=True, frozen=True)
class DeviceCaps:
    """The limits of one device and its port; the defaults are those of strict, small on purpose.

    A node of a scenario overrides them by these names: `dataclasses.replace(caps, max_qp=4)`.
    """

    # query_device
    vendor_id: int = 0x020000  # an OUI of the locally administered kind: no maker owns it
    device_cap_flags: int = int(
        _RXE_SETS & ~DeviceCap.AUTO_PATH_MIG
        | DeviceCap.XRC
        | DeviceCap.UD_IP_CSUM
        | DeviceCap.RAW_IP_CSUM
        | DeviceCap.MANAGED_FLOW_STEERING
    )
    max_mr_size: int = 2**31
    page_size_cap: int = 0xFFFF_F000
    max_qp: int = 256
    max_qp_wr: int = 1024
    max_send_sge: int = 8
    max_recv_sge: int = 8
    max_sge_rd: int = 8
    max_cq: int = 256
    max_cqe: int = 4095
    max_mr: int = 1024
    max_mw: int = 256
    max_pd: int = 64
    max_qp_rd_atom: int = 16  # as responder: the limit of max_dest_rd_atomic
    max_qp_init_rd_atom: int = 16  # as initiator: the limit of max_rd_atomic
    max_res_rd_atom: int = 4096
    atomic_cap: int = AtomicCap.HCA
    max_mcast_grp: int = 16
    max_mcast_qp_attach: int = 8
    max_total_mcast_qp_attach: int = 128
    max_ah: int = 256
    max_srq: int = 64
    max_srq_wr: int = 4096  # rdma-core's XRC tests ask for 2000
    max_srq_sge: int = 8
    max_pkeys: int = 8
    local_ca_ack_delay: int = 4  # a timer code: answers come within 4.096 us * 2^4
    phys_port_cnt: int = 1
    max_tso: int = 2**18  # query_device_ex tso_caps: bytes of one TSO; 0: the device has none
    # no query tells these: found by trying, in ibv_context, or a right of the process
    max_inline_data: int = 256
    max_sq_bytes: int = NO_LIMIT  # memory that one send queue may take, see Capacity.sq_bytes
    memlock_limit: int = NO_LIMIT  # RLIMIT_MEMLOCK: bytes, whole pages, of all regions together
    max_tso_header: int = 512
    max_flow: int = 256
    cap_net_raw: int = 1  # 1: the process may make RAW_PACKET queue pairs and flow rules
    num_comp_vectors: int = 4
    # query_port; MTUs in bytes
    max_mtu: int = 4096
    active_mtu: int = 4096
    max_msg_sz: int = 2**31
    gid_tbl_len: int = 8
    pkey_tbl_len: int = 4  # one is usual on RoCE; more, so that partitions can be tried

    @property
    def max_path_mtu(self) -> int:
        """The IBV_MTU code of `active_mtu`."""
        return self.active_mtu.bit_length() - 8

    @property
    def max_port_mtu(self) -> int:
        """The IBV_MTU code of `max_mtu`."""
        return self.max_mtu.bit_length() - 8

    @property
    def max_pkey_index(self) -> int:
        """The last entry of the P_Key table."""
        return self.pkey_tbl_len - 1

    @property
    def max_sgid_index(self) -> int:
        """The last entry of the GID table."""
        return self.gid_tbl_len - 1


# Not in `ibv_device_attr`: what query_port tells, and what no query tells.
QUERIED_OTHERWISE = (
    "max_inline_data", "num_comp_vectors", "max_mtu", "active_mtu", "max_msg_sz", "gid_tbl_len",
    "pkey_tbl_len", "max_tso", "max_tso_header", "max_flow", "cap_net_raw", "max_sq_bytes",
    "memlock_limit",
)  # fmt: skip

# active_width and active_speed that the kernel makes of an Ethernet rate: up to bits per second.
ETHERNET_SPEEDS: tuple[tuple[int | None, int, int], ...] = (
    (10**9, 1, 1),
    (10 * 10**9, 1, 8),
    (20 * 10**9, 2, 2),
    (25 * 10**9, 1, 32),
    (40 * 10**9, 2, 8),
    (None, 2, 32),
)

# Limits that no verb refuses by, and why.
QUERY_ONLY: dict[str, str] = {
    "vendor_id": "it names the vendor; strict has a locally administered OUI, which belongs to no vendor",
    "device_cap_flags": "flags, not a limit; each feature has its own refusal rules",
    "page_size_cap": "memory of the lab has one page size, no verb takes a page size",
    "max_res_rd_atom": "a sum over all queue pairs, devices refuse nothing by it",
    "atomic_cap": "it states the scope of atomicity; there is one adapter per node",
    "max_pkeys": "the sum over all ports; an index is checked against pkey_tbl_len",
    "local_ca_ack_delay": "a hint for choosing timeout, not a limit",
    "max_mtu": "the maximum of the port; path_mtu is checked against active_mtu",
}

# rxe_param.h of the kernel; measured at the edge where the reference says so.
RXE_CAPS = DeviceCaps(
    vendor_id=0xFF_FFFF,
    device_cap_flags=int(_RXE_SETS),
    max_mr_size=2**64 - 1,
    max_qp=1_048_560,
    max_qp_wr=1_048_576,
    max_send_sge=32,
    max_recv_sge=32,
    max_sge_rd=32,
    max_cq=1_048_576,
    max_cqe=32_767,
    max_mr=524_287,
    max_mw=524_287,
    max_pd=1_048_576,
    max_qp_rd_atom=128,
    max_qp_init_rd_atom=128,
    max_res_rd_atom=258_048,
    max_mcast_grp=8_192,
    max_mcast_qp_attach=56,
    max_total_mcast_qp_attach=458_752,
    max_ah=32_767,
    max_srq=917_503,
    max_srq_wr=1_048_576,
    max_srq_sge=27,
    max_pkeys=64,
    local_ca_ack_delay=15,
    max_inline_data=512,
    max_tso=0,
    max_tso_header=0,
    max_flow=0,
    max_msg_sz=2**23,  # 0x800000; later kernels say 2^31. No verb and no packet is judged by it
    gid_tbl_len=1024,
    pkey_tbl_len=1,
)

# Typical of ConnectX; nothing here was measured, and the reference gives only a few of them.
MLX5_CAPS = DeviceCaps(
    vendor_id=0x02C9,
    device_cap_flags=int(
        _RXE_SETS & ~(DeviceCap.AUTO_PATH_MIG | DeviceCap.SRQ_RESIZE)
        | DeviceCap.XRC
        | DeviceCap.UD_IP_CSUM
        | DeviceCap.RAW_IP_CSUM
        | DeviceCap.MANAGED_FLOW_STEERING
    ),
    max_mr_size=2**64 - 1,
    page_size_cap=0xFFFF_FFFF_FFFF_F000,
    max_qp=131_072,
    max_qp_wr=32_768,
    max_send_sge=30,
    max_recv_sge=32,
    max_sge_rd=30,
    max_cq=16_777_216,
    max_cqe=4_194_303,
    max_mr=16_777_216,
    max_mw=16_777_216,
    max_pd=8_388_608,
    max_res_rd_atom=2_097_152,
    max_mcast_grp=2_097_152,
    max_mcast_qp_attach=240,
    max_total_mcast_qp_attach=503_316_480,
    max_ah=2**31 - 1,
    max_srq=8_388_608,
    max_srq_wr=32_767,
    max_srq_sge=31,
    max_pkeys=128,
    local_ca_ack_delay=16,
    max_flow=65_536,
    max_inline_data=956,
    max_msg_sz=2**30,
    gid_tbl_len=256,
    pkey_tbl_len=1,
)
