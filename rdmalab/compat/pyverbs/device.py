"""Devices, contexts, and what they answer about themselves."""

import os
from collections.abc import Mapping, Sequence
from errno import EINVAL, EOPNOTSUPP
from typing import Any

from rdmalab.command import Ref, Refused, Thing
from rdmalab.compat.process import here
from rdmalab.compat.pyverbs.addr import GID, text_of
from rdmalab.compat.pyverbs.base import LabObject, PyverbsCM, PyverbsObject, call
from rdmalab.compat.pyverbs.c_types import INT, SIZE, U8, U16, U32, U64, UINT32, converted, enum
from rdmalab.compat.pyverbs.pyverbs_error import (
    PyverbsError,
    PyverbsRDMAError,
    PyverbsUserError,
)
from rdmalab.compat.pyverbs.struct import Number, Part, Struct, expect, table
from rdmalab.compat.pyverbs.utils import be64toh
from rdmalab.hca.port import link_layer
from rdmalab.spec.limits import LinkLayer

_LEFT = "{:<22}: {:<20}\n"
_PORT_LINE = "{:<24}: {:<20}\n"
_CA, _IB = 1, 0  # node type and transport of a device
# GID types, as ibv_query_gid_ex and as sysfs tell them.
_GID_TYPE = {LinkLayer.INFINIBAND: 0, LinkLayer.ETHERNET: 2}
_SYSFS_GID_TYPE = {LinkLayer.INFINIBAND: 0, LinkLayer.ETHERNET: 1}


class Device(PyverbsObject):
    """`ibv_device`."""

    __slots__ = ("_guid", "_index", "_name", "_node_type", "_transport_type")

    def __init__(
        self, name: bytes, guid: int, node_type: int, transport_type: int, index: int
    ) -> None:
        self._name, self._guid, self._index = name, guid, index
        self._node_type, self._transport_type = node_type, transport_type

    @property
    def name(self) -> bytes:
        return self._name

    @property
    def node_type(self) -> int:
        return self._node_type

    @property
    def transport_type(self) -> int:
        return self._transport_type

    @property
    def guid(self) -> int:
        return self._guid

    @property
    def index(self) -> int:
        return self._index

    def __str__(self) -> str:
        return (
            f"Device {self.name.decode()}, node type {translate_node_type(self.node_type)}, "
            f"transport type {translate_transport_type(self.transport_type)}, "
            f"guid {guid_to_hex(self.guid)}, index {self.index}"
        )


def get_device_list() -> list[Device]:
    process = here()
    return [
        Device(name.encode(), process.world.nodes[node].mac, _CA, _IB, index)
        for index, (name, node) in enumerate(process.devices.items())
    ]


def rdma_get_devices() -> list[Device]:
    return get_device_list()


class Context(LabObject):
    """`ibv_context`. Several of one device share its node; closing one takes what it made."""

    __slots__ = ("_fd", "_name")

    def __init__(self, **kwargs: Any) -> None:
        name: str | None = kwargs.get("name")
        if kwargs.get("cmd_fd") is not None:
            raise PyverbsRDMAError("Failed to import device", EOPNOTSUPP)
        if name is None:
            raise PyverbsUserError("Device name must be provided")
        node = here().devices.get(name)
        if node is None:
            raise PyverbsRDMAError(f"Failed to find device {name}")
        self._is(Ref(node))
        self._name, self._fd = name, -1
        self._join()

    def _destroy(self, ref: Ref) -> None:
        """The node's device stays open for others."""
        del ref
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    @property
    def context(self) -> "Context":
        return self

    @property
    def name(self) -> str:
        return self._name

    @property
    def num_comp_vectors(self) -> int:
        return int(self._hca.profile.caps.num_comp_vectors)

    @property
    def cmd_fd(self) -> int:
        """A descriptor that can be duplicated; the device cannot be imported through it."""
        if self._fd < 0:
            self._fd = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        return self._fd

    @property
    def _hca(self) -> Any:
        return here().world.nodes[self.node]

    def _ask(self, text: str, word: str, **arguments: int) -> dict[str, Any]:
        found: dict[str, object] = call(text, word, device=self.ref, **arguments)
        return found

    def query_device(self) -> "DeviceAttr":
        attr = DeviceAttr()
        attr.take(self._ask(f"Failed to query device {self.name}", "query_device"), self._hca)
        return attr

    def query_device_ex(self, ex_input: "QueryDeviceExInput | None" = None) -> "DeviceAttrEx":
        expect("ex_input", ex_input, QueryDeviceExInput)
        text = f"Failed to query EX device {self.name}"
        found = self._ask(text, "query_device_ex")
        attr = DeviceAttrEx()
        attr.take(found, self._hca)
        return attr

    def query_port(self, port_num: int, /) -> "PortAttr":
        attr = PortAttr()
        attr.fill(self._ask(f"Failed to query port {port_num}", "query_port", port_num=port_num))
        return attr

    def query_pkey(self, port_num: int, index: int) -> int:
        text = f"Failed to query pkey {index} of port {port_num}"
        pkey = int(self._ask(text, "query_pkey", port_num=port_num, index=index)["pkey"], 16)
        return int.from_bytes(pkey.to_bytes(2, "big"), "little")

    def get_pkey_index(self, port_num: int, pkey: int) -> int:
        """Where in the port's table this P_Key lies, first; as `query_pkey` returns it."""
        for index in range(self.query_port(port_num).pkey_tbl_len):
            if self.query_pkey(port_num, index) == pkey:
                return index
        text = f"Failed to get pkey index of pkey = {pkey} of port {port_num}"
        raise PyverbsRDMAError(text)

    def query_port_speed(self, port_num: int) -> int:
        """`ibv_query_port_speed`: refused, as by a device without it."""
        text = f"Failed to query port speed for port {port_num}"
        raise PyverbsRDMAError(text, EOPNOTSUPP)

    def query_gid(self, port_num: int, index: int) -> GID:
        text = f"Failed to query gid {index} of port {port_num}"
        self._ask(text, "query_gid", port_num=port_num, index=index)
        return GID(text_of(self._gid(index)))

    def _gid(self, index: int) -> int:
        gids: list[int] = self._hca.gids
        return gids[index] if index < len(gids) else 0

    def query_gid_type(self, port_num: int, index: int) -> int:
        text = f"Failed to query gid type of port {port_num} and gid index {index}"
        self._ask(text, "query_gid", port_num=port_num, index=index)
        return _SYSFS_GID_TYPE[link_layer(self._hca)]

    def query_gid_ex(self, port_num: int, gid_index: int, flags: int = 0) -> "GIDEntry":
        text = f"Failed to query gid table of port {port_num} in index {gid_index}"
        if flags:
            raise PyverbsRDMAError(text, EINVAL)
        self._ask(text, "query_gid_ex", port_num=port_num, index=gid_index)
        return self._entry(port_num, gid_index)

    def _entry(self, port_num: int, index: int) -> "GIDEntry":
        gid = self._gid(index)
        prefix, interface = be64toh(gid >> 64), be64toh(gid & (1 << 64) - 1)
        return GIDEntry(prefix, interface, index, port_num, _GID_TYPE[link_layer(self._hca)], 0)

    def query_gid_table(self, max_entries: int, flags: int = 0) -> "list[GIDEntry]":
        used = [index for index, gid in enumerate(self._hca.gids) if gid]
        if flags or max_entries < len(used):
            raise PyverbsRDMAError("Failed to query gid tables of the device", -EINVAL)
        return [self._entry(1, index) for index in used]

    def query_rt_values_ex(self, comp_mask: int = 1) -> tuple[int, int]:
        """The device's clock is the lab's."""
        if comp_mask != 1 or not self.query_device_ex().hca_core_clock:
            raise PyverbsRDMAError("Failed to query real time values", EOPNOTSUPP)
        seconds, ns = divmod(here().world.now_ns, 1_000_000_000)
        return seconds, ns

    def get_async_event(self) -> "AsyncEvent":
        """Wait for one. PyverbsError where C would block without end."""
        process, text = here(), "Failed to get async event"
        while not self._hca.async_events:
            if process.is_idle():
                raise PyverbsError(f"{text}: none will come, this call would never come back")
            process.glance()
        report = call(text, "get_async_event", node=self.ref)
        event = AsyncEvent(int(report.event))
        event.about(self.node, report.thing)
        return event


class AsyncEvent(Struct):
    """`ibv_async_event`."""

    __slots__ = ("_node", "_thing")
    event_type = Number(enum("ibv_event_type"), fixed=True)

    def __init__(self, event_type: int = 0) -> None:
        self._set(event_type=event_type)
        self.about("", None)

    def about(self, node: str, thing: Thing | None) -> None:
        """Where it happened, and to what."""
        self._node, self._thing = node, thing

    def ack(self) -> None:
        """`ibv_ack_async_event`, which returns nothing."""
        if not self._node:
            return
        name = here().session.names.of(self._thing) if self._thing else self._node
        node, _, inner = name.partition(".")
        try:
            here().call("ack_async_event", what=Ref(node, inner), event=self.event_type)
        except Refused:
            return

    def __str__(self) -> str:
        return table([("Event Type", translate_event_type(self.event_type))], _PORT_LINE)


class DeviceAttr(Struct):
    """`ibv_device_attr`."""

    __slots__ = ("_fw_version",)
    node_guid = Number(U64, fixed=True)
    sys_image_guid = Number(U64, fixed=True)
    max_mr_size = Number(U64, fixed=True)
    page_size_cap = Number(U64, fixed=True)
    vendor_id = Number(U32, fixed=True)
    vendor_part_id = Number(U32, fixed=True)
    hw_ver = Number(U32, fixed=True)
    max_qp = Number(INT, fixed=True)
    max_qp_wr = Number(INT, fixed=True)
    device_cap_flags = Number(U32, fixed=True)
    max_sge = Number(INT, fixed=True)
    max_sge_rd = Number(INT, fixed=True)
    max_cq = Number(INT, fixed=True)
    max_cqe = Number(INT, fixed=True)
    max_mr = Number(INT, fixed=True)
    max_pd = Number(INT, fixed=True)
    max_qp_rd_atom = Number(INT, fixed=True)
    max_ee_rd_atom = Number(INT, fixed=True)
    max_res_rd_atom = Number(INT, fixed=True)
    max_qp_init_rd_atom = Number(INT, fixed=True)
    max_ee_init_rd_atom = Number(INT, fixed=True)
    atomic_caps = Number(enum("ibv_atomic_cap"), fixed=True)
    max_ee = Number(INT, fixed=True)
    max_rdd = Number(INT, fixed=True)
    max_mw = Number(INT, fixed=True)
    max_raw_ipv6_qps = Number(INT, fixed=True)
    max_raw_ethy_qp = Number(INT, fixed=True)
    max_mcast_grp = Number(INT, fixed=True)
    max_mcast_qp_attach = Number(INT, fixed=True)
    max_ah = Number(INT, fixed=True)
    max_fmr = Number(INT, fixed=True)
    max_map_per_fmr = Number(INT, fixed=True)
    max_srq = Number(INT, fixed=True)
    max_srq_wr = Number(INT, fixed=True)
    max_srq_sge = Number(INT, fixed=True)
    max_pkeys = Number(U16, fixed=True)
    local_ca_ack_delay = Number(U8, fixed=True)
    phys_port_cnt = Number(U8, fixed=True)

    @property
    def fw_version(self) -> str:
        return getattr(self, "_fw_version", "")

    def take(self, found: Mapping[str, Any], hca: Any) -> None:
        """The lab's answer, which says some things by other names."""
        self.fill({name: value for name, value in found.items() if isinstance(value, int)})
        guid = be64toh(hca.mac)
        self.fill({
            "node_guid": guid,
            "sys_image_guid": guid,
            "atomic_caps": found["atomic_cap"],
            "max_sge": min(found["max_send_sge"], found["max_recv_sge"]),
        })  # fmt: skip
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

    __slots__ = ()

    def __init__(self, comp_mask: int) -> None:
        del comp_mask
        kind = f"{type(self).__module__}.{type(self).__name__}"
        raise AttributeError(f"'{kind}' object has no attribute 'ex_input'")


class _Absent(Struct):
    """Capabilities of something that the lab's devices do not have: all 0."""

    __slots__ = ()


class ODPCaps(_Absent):
    """Of on-demand paging."""

    __slots__ = ()
    general_caps = Number(U64, fixed=True)
    rc_odp_caps = Number(U32, fixed=True)
    uc_odp_caps = Number(U32, fixed=True)
    ud_odp_caps = Number(U32, fixed=True)
    xrc_odp_caps = Part(object)

    def __str__(self) -> str:
        bits = _members("ibv_odp_transport_cap_bits")
        rows = {"RC": self.rc_odp_caps, "UD": self.ud_odp_caps, "UC": self.uc_odp_caps,
                "XRC": self.xrc_odp_caps}  # fmt: skip
        general = str_from_flags(self.general_caps, _members("ibv_odp_general_caps"))
        return f"ODP General caps: {general}\n" + "".join(
            f"{name} ODP caps: {str_from_flags(caps, bits)}\n" for name, caps in rows.items()
        )


class PCIAtomicCaps(_Absent):
    """Of atomics on the bus."""

    __slots__ = ()
    fetch_add = Number(U16, fixed=True)
    swap = Number(U16, fixed=True)
    compare_swap = Number(U16, fixed=True)


class TSOCaps(_Absent):
    """Of TCP segmentation."""

    __slots__ = ()
    max_tso = Number(U32, fixed=True)
    supported_qpts = Number(U32, fixed=True)


class RSSCaps(_Absent):
    """Of receive side scaling."""

    __slots__ = ()
    supported_qpts = Number(U32, fixed=True)
    max_rwq_indirection_tables = Number(U32, fixed=True)
    rx_hash_fields_mask = Number(U64, fixed=True)
    rx_hash_function = Number(U8, fixed=True)
    max_rwq_indirection_table_size = Number(U32, fixed=True)


class PacketPacingCaps(_Absent):
    """Of rate limits."""

    __slots__ = ()
    qp_rate_limit_min = Number(U32, fixed=True)
    qp_rate_limit_max = Number(U32, fixed=True)
    supported_qpts = Number(U32, fixed=True)


class TMCaps(_Absent):
    """Of tag matching."""

    __slots__ = ()
    max_rndv_hdr_size = Number(U32, fixed=True)
    max_num_tags = Number(U32, fixed=True)
    flags = Number(U32, fixed=True)
    max_ops = Number(U32, fixed=True)
    max_sge = Number(U32, fixed=True)


class CQModerationCaps(_Absent):
    """Of CQ moderation."""

    __slots__ = ()
    max_cq_count = Number(U16, fixed=True)
    max_cq_period = Number(U16, fixed=True)


class DeviceAttrEx(Struct):
    """`ibv_device_attr_ex`."""

    __slots__ = ("_max_tso", "_plain")
    comp_mask = Number(U32)
    completion_timestamp_mask = Number(U64, fixed=True)
    hca_core_clock = Number(U64, fixed=True)
    device_cap_flags_ex = Number(U64, fixed=True)
    max_wq_type_rq = Number(U32, fixed=True)
    raw_packet_caps = Number(U32, fixed=True)
    max_dm_size = Number(U64, fixed=True)
    phys_port_cnt_ex = Number(U32, fixed=True)

    def take(self, found: Mapping[str, object], hca: object) -> None:
        """The lab's answer."""
        self.fill({name: value for name, value in found.items() if isinstance(value, int)})
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

    @property
    def pci_atomic_caps(self) -> PCIAtomicCaps:
        return PCIAtomicCaps()

    @property
    def rss_caps(self) -> RSSCaps:
        return RSSCaps()

    @property
    def packet_pacing_caps(self) -> PacketPacingCaps:
        return PacketPacingCaps()

    @property
    def tm_caps(self) -> TMCaps:
        return TMCaps()

    @property
    def cq_mod_caps(self) -> CQModerationCaps:
        return CQModerationCaps()


_UD, _RAW = 4, 8  # of ibv_qp_type


class AllocDmAttr(Struct):
    """`ibv_alloc_dm_attr`."""

    __slots__ = ()
    length = Number(SIZE)
    log_align_req = Number(U32)
    comp_mask = Number(U32)

    def __init__(self, length: int, log_align_req: int = 0, comp_mask: int = 0) -> None:
        self._set(length=length, log_align_req=log_align_req, comp_mask=comp_mask)


class DM(PyverbsCM):
    """`ibv_dm`: the lab's devices have no memory of their own."""

    __slots__ = ()

    def __init__(
        self, context: Context, dm_attr: AllocDmAttr | None = None, **kwargs: object
    ) -> None:
        del context, dm_attr, kwargs
        raise PyverbsUserError("Device doesn't support dm allocation")

    def unimport(self) -> None:
        """There is none."""

    def copy_to_dm(self, dm_offset: int, data: bytes, length: int) -> None:
        del dm_offset, data, length
        raise PyverbsRDMAError("Failed to copy to dm", EOPNOTSUPP)

    def copy_from_dm(self, dm_offset: int, length: int) -> bytes:
        del dm_offset, length
        raise PyverbsRDMAError("Failed to copy from dm", EOPNOTSUPP)

    def export_dmabuf_fd(self) -> int:
        raise PyverbsRDMAError("Failed to export dmabuf FD for DM", EOPNOTSUPP)

    @property
    def handle(self) -> int:
        raise PyverbsRDMAError("Device memory is not supported", EOPNOTSUPP)


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
        ), _PORT_LINE)  # fmt: skip


class FdArr(PyverbsObject):
    """`ibv_fd_arr`: file descriptors to open a context with."""

    __slots__ = ("_fds",)

    def __init__(self, arr: Sequence[int] = (), count: int = 0) -> None:
        self._fds = [converted(arr[at], INT) for at in range(converted(count, INT))]

    def close(self) -> None:
        """Discard the array; the descriptors stay open."""
        self._fds = []

    @property
    def arr(self) -> list[int]:
        return list(self._fds)

    @property
    def count(self) -> int:
        return len(self._fds)

    def __str__(self) -> str:
        rows = (("Number of fd in arr", self.count), ("FDs in arr", str(self.arr)))
        return table(rows, "{:20}: {:<20}\n")


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
        ), _PORT_LINE)  # fmt: skip


# --------------------------------------------------------------------------- as text
_LAST_WQE_REACHED = 16  # of ibv_event_type
_GID_TYPES = {0: "IB", 1: "RoCEv1", 2: "RoCEv2"}
_TRANSPORTS = {0: "IB", 1: "IWARP", 2: "USNIC", 3: "USNIC UDP"}
_NODES = {1: "CA", 2: "Switch", 3: "Router", 4: "RNIC", 5: "USNIC", 6: "USNIC UDP"}
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


def guid_format(num: int, /) -> str:
    digits = f"{be64toh(converted(num, U64)):016x}"
    return ":".join(digits[at : at + 4] for at in range(0, 16, 4))


def translate_transport_type(transport_type: int, /) -> str:
    return _TRANSPORTS.get(transport_type, "Unknown")


def translate_node_type(node_type: int, /) -> str:
    return _NODES.get(node_type, "Unknown")


def guid_to_hex(node_guid: int, /) -> str:
    return hex(node_guid).replace("0x", "")


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


def str_from_flags(flags: int, dictionary: Mapping[int, str]) -> str:
    return "\n  " + "".join(f"{text}\n  " for bit, text in dictionary.items() if flags & bit)


def _members(enum_name: str, less: str = "") -> dict[int, str]:
    from rdmalab.compat.pyverbs import libibverbs_enums as enums

    members = getattr(enums, enum_name).__members__
    return {int(value): name for name, value in members.items() if name != less}


def translate_port_cap_flags(flags: int, /) -> str:
    return str_from_flags(flags, _members("ibv_port_cap_flags"))


def translate_port_cap_flags2(flags: int, /) -> str:
    return str_from_flags(flags, _members("ibv_port_cap_flags2"))


def translate_device_caps(flags: int, /) -> str:
    return str_from_flags(flags, _members("ibv_device_cap_flags"))


def translate_event_type(event_type: int, /) -> str:
    texts = _members("ibv_event_type")
    texts[_LAST_WQE_REACHED] = f".{texts[_LAST_WQE_REACHED]}"  # pyverbs writes a dot before it
    return texts.get(event_type, f"Unknown event_type ({event_type})")
