"""Ports: what query_port returns, and entries of the GID table."""

from collections.abc import Mapping

from rdmalab.compat.pyverbs.addr import text_of
from rdmalab.compat.pyverbs.c_types import INT, U8, U16, U32, U64, UINT32, enum
from rdmalab.compat.pyverbs.device_attr import str_from_flags
from rdmalab.compat.pyverbs.struct import PORT_LINE, Number, Struct, members, table
from rdmalab.compat.pyverbs.utils import be64toh

__name__ = "rdmalab.compat.pyverbs.device"  # the module of pyverbs that has its names


class PortAttr(Struct):
    """`ibv_port_attr`."""

    __slots__ = ()
    state = Number(enum("ibv_port_state"), fixed=True)
    max_mtu = Number(enum("ibv_mtu"), fixed=True)
    active_mtu = Number(enum("ibv_mtu"), fixed=True)
    gid_tbl_len = Number(INT, fixed=True)
    port_cap_flags = Number(U32, fixed=True)
    max_msg_sz = Number(U32, fixed=True)
    bad_pkey_cntr = Number(U32, fixed=True)
    qkey_viol_cntr = Number(U32, fixed=True)
    pkey_tbl_len = Number(U16, fixed=True)
    lid = Number(U16, fixed=True)
    sm_lid = Number(U16, fixed=True)
    lmc = Number(U8, fixed=True)
    max_vl_num = Number(U8, fixed=True)
    sm_sl = Number(U8, fixed=True)
    subnet_timeout = Number(U8, fixed=True)
    init_type_reply = Number(U8, fixed=True)
    active_width = Number(U8, fixed=True)
    active_speed = Number(U8, fixed=True)
    phys_state = Number(U8, fixed=True)
    link_layer = Number(U8, fixed=True)
    flags = Number(U8, fixed=True)
    port_cap_flags2 = Number(U16, fixed=True)
    active_speed_ex = Number(U32, fixed=True)

    def __str__(self) -> str:
        return table((
            ("Port state", port_state_to_str(self.state)),
            ("Max MTU", translate_mtu(self.max_mtu)),
            ("Active MTU", translate_mtu(self.active_mtu)),
            ("SM lid", self.sm_lid),
            ("Port lid", self.lid),
            ("lmc", hex(self.lmc)),
            ("Link layer", translate_link_layer(self.link_layer)),
            ("Max message size", hex(self.max_msg_sz)),
            ("Port cap flags", translate_port_cap_flags(self.port_cap_flags)),
            ("Port cap flags 2", translate_port_cap_flags2(self.port_cap_flags2)),
            ("max VL num", self.max_vl_num),
            ("Bad Pkey counter", self.bad_pkey_cntr),
            ("Qkey violations counter", self.qkey_viol_cntr),
            ("GID table len", self.gid_tbl_len),
            ("Pkey table len", self.pkey_tbl_len),
            ("SM sl", self.sm_sl),
            ("Subnet timeout", self.subnet_timeout),
            ("Init type reply", self.init_type_reply),
            ("Active width", width_to_str(self.active_width)),
            ("Active speed", speed_to_str(self.active_speed, self.active_speed_ex)),
            ("Phys state", phys_state_to_str(self.phys_state)),
            ("Flags", self.flags),
        ), PORT_LINE)  # fmt: skip


class GIDEntry(Struct):
    """`ibv_gid_entry`."""

    __slots__ = ()
    gid_subnet_prefix = Number(U64, fixed=True)
    gid_interface_id = Number(U64, fixed=True)
    gid_index = Number(UINT32, fixed=True)
    port_num = Number(UINT32, fixed=True)
    gid_type = Number(UINT32, fixed=True)
    ndev_ifindex = Number(UINT32, fixed=True)

    def __init__(
        self, subnet_prefix: int = 0, interface_id: int = 0, gid_index: int = 0,
        port_num: int = 0, gid_type: int = 0, ndev_ifindex: int = 0,
    ) -> None:  # fmt: skip
        self._set(
            gid_subnet_prefix=subnet_prefix, gid_interface_id=interface_id, gid_index=gid_index,
            port_num=port_num, gid_type=gid_type, ndev_ifindex=ndev_ifindex,
        )  # fmt: skip

    def gid_str(self) -> str:
        return text_of(be64toh(self.gid_subnet_prefix) << 64 | be64toh(self.gid_interface_id))

    def __str__(self) -> str:
        return table((
            ("GID", self.gid_str()),
            ("GID Index", self.gid_index),
            ("Port number", self.port_num),
            ("GID type", translate_gid_type(self.gid_type)),
            ("Ndev ifindex", self.ndev_ifindex),
        ), PORT_LINE)  # fmt: skip


_GID_TYPES = {0: "IB", 1: "RoCEv1", 2: "RoCEv2"}
_PORT_STATES = {0: "NOP", 1: "Down", 2: "Init", 3: "Armed", 4: "Active", 5: "Defer"}
_MTUS = {1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}
_LAYERS = {0: "Unspecified", 1: "InfiniBand", 2: "Ethernet"}
_PHYS = {
    1: "Sleep", 2: "Polling", 3: "Disabled", 4: "Port configuration training", 5: "Link up",
    6: "Link error recovery", 7: "Phy test",
}  # fmt: skip
_WIDTHS = {1: "1X", 2: "4X", 4: "8X", 16: "2X"}
_SPEEDS = {
    0: "0.0", 1: "2.5", 2: "5.0", 4: "5.0", 8: "10.0", 16: "14.0", 32: "25.0", 64: "50.0",
    128: "100.0", 256: "200.0",
}  # fmt: skip


def _numbered(texts: Mapping[int, object], number: int, otherwise: str) -> str:
    return f"{texts[number]} ({number})" if number in texts else otherwise


def translate_gid_type(gid_type: int, /) -> str:
    return _GID_TYPES.get(gid_type, f"Unknown gid_type ({gid_type})")


def port_state_to_str(port_state: int, /) -> str:
    return _numbered(_PORT_STATES, port_state, f"Invalid state ({port_state})")


def translate_mtu(mtu: int, /) -> str:
    return _numbered(_MTUS, mtu, f"Invalid MTU ({mtu})")


def translate_link_layer(ll: int, /) -> str:
    return _LAYERS.get(ll, f"Invalid link layer ({ll})")


def phys_state_to_str(phys: int, /) -> str:
    return _numbered(_PHYS, phys, "Invalid physical state")


def width_to_str(width: int, /) -> str:
    return _numbered(_WIDTHS, width, "Invalid width")


def speed_to_str(active_speed: int, active_speed_ex: int = 0) -> str:
    """Of one lane; rdma-core 44 has only the first parameter, 64 takes the second if it is set."""
    rates = {code: f"{rate} Gbps" for code, rate in _SPEEDS.items()}
    return _numbered(rates, active_speed_ex or active_speed, "Invalid speed")


def translate_port_cap_flags(flags: int, /) -> str:
    return str_from_flags(flags, members("ibv_port_cap_flags"))


def translate_port_cap_flags2(flags: int, /) -> str:
    return str_from_flags(flags, members("ibv_port_cap_flags2"))
