"""Structs that query_device, query_device_ex and query_port return; entries of the GID table."""

from collections.abc import Mapping
from typing import Any

from rdmalab.compat.pyverbs.addr import text_of
from rdmalab.compat.pyverbs.c_types import INT, U8, U16, U32, U64, UINT32, converted, enum
from rdmalab.compat.pyverbs.struct import (
    PORT_LINE,
    Number,
    ObjectField,
    Struct,
    members,
    numbers,
    table,
)
from rdmalab.compat.pyverbs.utils import be64toh
from rdmalab.hca.device import Hca
from rdmalab.hca.port import guid

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


_LEFT = "{:<22}: {:<20}\n"


_UD, _RAW = 4, 8  # of ibv_qp_type


def guid_format(num: int, /) -> str:
    """Four groups of four hexadecimal digits, of a GUID in network byte order."""
    digits = f"{be64toh(converted(num, U64)):016x}"
    return ":".join(digits[at : at + 4] for at in range(0, 16, 4))


def str_from_flags(flags: int, dictionary: Mapping[int, str]) -> str:
    """The name of each bit that is set, one a line and indented by two."""
    return "\n  " + "".join(f"{text}\n  " for bit, text in dictionary.items() if flags & bit)


def translate_device_caps(flags: int, /) -> str:
    """The IBV_DEVICE_ names of DeviceAttr.device_cap_flags, one a line."""
    return str_from_flags(flags, members("ibv_device_cap_flags"))


class DeviceAttr(Struct):
    """`ibv_device_attr`."""

    __slots__ = ("_fw_version",)
    node_guid, sys_image_guid, max_mr_size, page_size_cap = numbers(U64, 4, fixed=True)
    vendor_id, vendor_part_id, hw_ver = numbers(U32, 3, fixed=True)
    max_qp, max_qp_wr = numbers(INT, 2, fixed=True)
    device_cap_flags = Number(U32, fixed=True)
    (
        max_sge, max_sge_rd, max_cq, max_cqe, max_mr, max_pd, max_qp_rd_atom, max_ee_rd_atom,
        max_res_rd_atom, max_qp_init_rd_atom, max_ee_init_rd_atom,
    ) = numbers(INT, 11, fixed=True)  # fmt: skip
    atomic_caps = Number(enum("ibv_atomic_cap"), fixed=True)
    (
        max_ee, max_rdd, max_mw, max_raw_ipv6_qps, max_raw_ethy_qp, max_mcast_grp,
        max_mcast_qp_attach, max_ah, max_fmr, max_map_per_fmr, max_srq, max_srq_wr, max_srq_sge,
    ) = numbers(INT, 13, fixed=True)  # fmt: skip
    max_pkeys = Number(U16, fixed=True)
    local_ca_ack_delay, phys_port_cnt = numbers(U8, 2, fixed=True)

    @property
    def fw_version(self) -> str:
        return getattr(self, "_fw_version", "")

    def take(self, found: Mapping[str, Any], hca: Hca) -> None:
        """Set all from the answer of query_device, where some fields have other names."""
        number, max_sge = be64toh(guid(hca)), min(found["max_send_sge"], found["max_recv_sge"])
        other = {"node_guid": number, "sys_image_guid": number, "max_sge": max_sge}
        self.fill({**found, **other, "atomic_caps": found["atomic_cap"]})
        self._fw_version = str(found["fw_ver"])

    def __str__(self) -> str:
        texts = {
            "fw_version": self.fw_version,
            "node_guid": guid_format(self.node_guid),
            "sys_image_guid": guid_format(self.sys_image_guid),
            "max_mr_size": hex(self.max_mr_size),
            "page_size_cap": hex(self.page_size_cap),
            "vendor_id": hex(self.vendor_id),
            "device_cap_flags": translate_device_caps(self.device_cap_flags),
        }
        rows = [(label, texts.get(name, getattr(self, name))) for name, label in _LABELS.items()]
        return table(rows, _LEFT)


_ACRONYMS = {word.lower(): word for word in (
    "FW", "GUID", "MR", "ID", "QP", "WR", "SGE", "RD", "CQ", "CQE", "PD", "EE", "RDD", "MW", "IPv6",
    "QPs", "AH", "FMR", "SRQ", "PKeys")}  # fmt: skip
_SPELLED = {
    "node_guid": "Node guid", "hw_ver": "HW version", "max_cq": "MAX CQ",
    "max_mcast_grp": "Max mcast group", "local_ca_ack_delay": "local CA ack delay",
    "phys_port_cnt": "Phys port count",
}  # fmt: skip


def _label(name: str) -> str:
    """`max_mr_size` as the binding prints it, `Max MR size`."""
    first, *rest = [_ACRONYMS.get(word, word) for word in name.split("_")]
    return _SPELLED.get(name) or " ".join([first[0].upper() + first[1:], *rest])


_LABELS = {"fw_version": "FW version"} | {
    name: _label(name) for name, field in vars(DeviceAttr).items() if isinstance(field, Number)
}


class QueryDeviceExInput(Struct):
    """`ibv_query_device_ex_input`, of which pyverbs 44 cannot make any: it mistakes a name."""

    def __init__(self, comp_mask: int) -> None:
        del comp_mask
        kind = f"{type(self).__module__}.{type(self).__name__}"
        raise AttributeError(f"'{kind}' object has no attribute 'ex_input'")


class _Absent(Struct):
    """Capabilities of something that the lab's devices do not have: all 0."""


class ODPCaps(_Absent):
    """Of on-demand paging."""

    general_caps = Number(U64, fixed=True)
    rc_odp_caps, uc_odp_caps, ud_odp_caps = numbers(U32, 3, fixed=True)
    xrc_odp_caps = ObjectField[int]()

    def __str__(self) -> str:
        bits = members("ibv_odp_transport_cap_bits")
        rows: dict[str, Any] = {
            "RC": self.rc_odp_caps, "UD": self.ud_odp_caps, "UC": self.uc_odp_caps,
            "XRC": self.xrc_odp_caps,
        }  # fmt: skip
        general = str_from_flags(self.general_caps, members("ibv_odp_general_caps"))
        return f"ODP General caps: {general}\n" + "".join(
            f"{name} ODP caps: {str_from_flags(caps, bits)}\n" for name, caps in rows.items()
        )


class PCIAtomicCaps(_Absent):
    """Of atomics on the bus."""

    fetch_add, swap, compare_swap = numbers(U16, 3, fixed=True)


class TSOCaps(_Absent):
    """Of TCP segmentation."""

    max_tso, supported_qpts = numbers(U32, 2, fixed=True)


class RSSCaps(_Absent):
    """Of receive side scaling."""

    supported_qpts, max_rwq_indirection_tables = numbers(U32, 2, fixed=True)
    rx_hash_fields_mask = Number(U64, fixed=True)
    rx_hash_function = Number(U8, fixed=True)
    max_rwq_indirection_table_size = Number(U32, fixed=True)


class PacketPacingCaps(_Absent):
    """Of rate limits."""

    qp_rate_limit_min, qp_rate_limit_max, supported_qpts = numbers(U32, 3, fixed=True)


class TMCaps(_Absent):
    """Of tag matching."""

    max_rndv_hdr_size, max_num_tags, flags, max_ops, max_sge = numbers(U32, 5, fixed=True)


class CQModerationCaps(_Absent):
    """Of CQ moderation."""

    max_cq_count, max_cq_period = numbers(U16, 2, fixed=True)


class DeviceAttrEx(Struct):
    """`ibv_device_attr_ex`."""

    __slots__ = ("_max_tso", "_plain")
    comp_mask = Number(U32)
    completion_timestamp_mask, hca_core_clock, device_cap_flags_ex = numbers(U64, 3, fixed=True)
    max_wq_type_rq, raw_packet_caps = numbers(U32, 2, fixed=True)
    max_dm_size = Number(U64, fixed=True)
    phys_port_cnt_ex = Number(U32, fixed=True)

    def take(self, found: Mapping[str, Any], hca: Hca) -> None:
        """Set all from the answer of query_device_ex."""
        self.fill(found)
        self._max_tso, self._plain = found.get("max_tso", 0), DeviceAttr()
        self._plain.take(found, hca)

    @property
    def orig_attr(self) -> DeviceAttr:
        return getattr(self, "_plain", None) or DeviceAttr()

    @property
    def odp_caps(self) -> ODPCaps:
        caps = ODPCaps()
        caps.xrc_odp_caps = 0
        return caps

    @property
    def tso_caps(self) -> TSOCaps:
        caps = TSOCaps()
        most = getattr(self, "_max_tso", 0)
        segmenting = 1 << _RAW | 1 << _UD if most else 0
        caps.fill({"max_tso": most, "supported_qpts": segmenting})
        return caps

    pci_atomic_caps = property(lambda _self: PCIAtomicCaps())
    rss_caps = property(lambda _self: RSSCaps())
    packet_pacing_caps = property(lambda _self: PacketPacingCaps())
    tm_caps = property(lambda _self: TMCaps())
    cq_mod_caps = property(lambda _self: CQModerationCaps())
