"""Ports: what query_port returns, and entries of the GID table."""

from collections.abc import Mapping

from rdmalab.compat.pyverbs.addr import text_of
from rdmalab.compat.pyverbs.c_types import INT, U8, U16, U32, U64, UINT32, enum
from rdmalab.compat.pyverbs.device_attr import str_from_flags
from rdmalab.compat.pyverbs.struct import PORT_LINE, Number, Struct, members
from rdmalab.compat.pyverbs.utils import be64toh

__name__ = "rdmalab.compat.pyverbs.device"  # the module of pyverbs that has its names


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
    """`IB`, `RoCEv1` or `RoCEv2` for a type of ibv_query_gid_ex."""
    return _GID_TYPES.get(gid_type, f"Unknown gid_type ({gid_type})")


def port_state_to_str(port_state: int, /) -> str:
    """`Active (4)` and the like for an ibv_port_state."""
    return _numbered(_PORT_STATES, port_state, f"Invalid state ({port_state})")


def translate_mtu(mtu: int, /) -> str:
    """`1024 (3)` for an ibv_mtu: bytes, then the number."""
    return _numbered(_MTUS, mtu, f"Invalid MTU ({mtu})")


def translate_link_layer(ll: int, /) -> str:
    """`InfiniBand`, `Ethernet` or `Unspecified` for an IBV_LINK_LAYER number."""
    return _LAYERS.get(ll, f"Invalid link layer ({ll})")


def phys_state_to_str(phys: int, /) -> str:
    """`Link up (5)` and the like for PortAttr.phys_state."""
    return _numbered(_PHYS, phys, "Invalid physical state")


def width_to_str(width: int, /) -> str:
    """`4X (2)` and the like: the number of lanes."""
    return _numbered(_WIDTHS, width, "Invalid width")


def speed_to_str(active_speed: int, active_speed_ex: int = 0) -> str:
    """`25.0 Gbps (32)` and the like: the rate of one lane.

    rdma-core 44 has the first parameter only. 64 uses the second one if it is not 0.
    """
    rates = {code: f"{rate} Gbps" for code, rate in _SPEEDS.items()}
    return _numbered(rates, active_speed_ex or active_speed, "Invalid speed")


def translate_port_cap_flags(flags: int, /) -> str:
    """The IBV_PORT_ names of PortAttr.port_cap_flags, one a line."""
    return str_from_flags(flags, members("ibv_port_cap_flags"))


def translate_port_cap_flags2(flags: int, /) -> str:
    """The IBV_PORT_ names of PortAttr.port_cap_flags2, one a line."""
    return str_from_flags(flags, members("ibv_port_cap_flags2"))


class PortAttr(Struct):
    """`ibv_port_attr`: what `Context.query_port` returns."""

    __slots__ = ()
    _LINE = PORT_LINE
    state = Number(enum("ibv_port_state"), "Port state", port_state_to_str, fixed=True)
    max_mtu = Number(enum("ibv_mtu"), "Max MTU", translate_mtu, fixed=True)
    active_mtu = Number(enum("ibv_mtu"), "Active MTU", translate_mtu, fixed=True)
    sm_lid = Number(U16, "SM lid", fixed=True)
    lid = Number(U16, "Port lid", fixed=True)
    lmc = Number(U8, "lmc", hex, fixed=True)
    link_layer = Number(U8, "Link layer", translate_link_layer, fixed=True)
    max_msg_sz = Number(U32, "Max message size", hex, fixed=True)
    port_cap_flags = Number(U32, "Port cap flags", translate_port_cap_flags, fixed=True)
    port_cap_flags2 = Number(U16, "Port cap flags 2", translate_port_cap_flags2, fixed=True)
    max_vl_num = Number(U8, "max VL num", fixed=True)
    bad_pkey_cntr = Number(U32, "Bad Pkey counter", fixed=True)
    qkey_viol_cntr = Number(U32, "Qkey violations counter", fixed=True)
    gid_tbl_len = Number(INT, "GID table len", fixed=True)
    pkey_tbl_len = Number(U16, "Pkey table len", fixed=True)
    sm_sl = Number(U8, "SM sl", fixed=True)
    subnet_timeout = Number(U8, "Subnet timeout", fixed=True)
    init_type_reply = Number(U8, "Init type reply", fixed=True)
    active_width = Number(U8, "Active width", width_to_str, fixed=True)
    active_speed = Number(U8, "Active speed", speed_to_str, fixed=True)
    phys_state = Number(U8, "Phys state", phys_state_to_str, fixed=True)
    flags = Number(U8, "Flags", fixed=True)
    active_speed_ex = Number(U32, fixed=True)


class GIDEntry(Struct):
    """`ibv_gid_entry`; the halves of the GID as they are in memory, in network byte order."""

    __slots__ = ()
    _LINE = PORT_LINE
    gid_subnet_prefix = Number(U64, fixed=True)
    gid_interface_id = Number(U64, fixed=True)
    gid_index = Number(UINT32, "GID Index", fixed=True)
    port_num = Number(UINT32, "Port number", fixed=True)
    gid_type = Number(UINT32, "GID type", translate_gid_type, fixed=True)
    ndev_ifindex = Number(UINT32, "Ndev ifindex", fixed=True)

    def __init__(
        self, subnet_prefix: int = 0, interface_id: int = 0, gid_index: int = 0,
        port_num: int = 0, gid_type: int = 0, ndev_ifindex: int = 0,
    ) -> None:  # fmt: skip
        halves = {"gid_subnet_prefix": subnet_prefix, "gid_interface_id": interface_id}
        self._set(halves | locals())

    def gid_str(self) -> str:
        """Return the GID as eight groups of four hexadecimal digits."""
        return text_of(be64toh(self.gid_subnet_prefix) << 64 | be64toh(self.gid_interface_id))

    def _rows(self) -> list[tuple[str, object]]:
        return [("GID", self.gid_str()), *super()._rows()]
