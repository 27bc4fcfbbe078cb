"""pyverbs.device: contexts; devices, attributes, ports and events are in files of their own."""

import os
from collections.abc import Sequence
from errno import EINVAL, EOPNOTSUPP
from typing import Any

from rdmalab.command import Ref, Refused, Thing
from rdmalab.compat.process import here
from rdmalab.compat.pyverbs.addr import GID, text_of
from rdmalab.compat.pyverbs.base import LabObject, PyverbsCM, PyverbsObject, call, wait_for
from rdmalab.compat.pyverbs.c_types import INT, SIZE, U32, converted, enum
from rdmalab.compat.pyverbs.device_attr import *
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError, PyverbsUserError
from rdmalab.compat.pyverbs.struct import PORT_LINE, Number, Struct, expect, members, table
from rdmalab.compat.pyverbs.utils import be64toh
from rdmalab.hca.device import Hca
from rdmalab.hca.port import guid, link_layer
from rdmalab.spec.limits import LinkLayer

_device__name__ = "rdmalab.compat.pyverbs.device"  # the module of pyverbs that has its names

_CA, _IB = 1, 0  # node type and transport of a device


class Device(PyverbsObject):
    """`ibv_device`. guid: the EUI-64 of its port; index: position in the list of devices."""

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
    """`ibv_get_device_list`: the device of each node, rdmalab0 first."""
    process = here()
    return [
        Device(name.encode(), guid(process.world.nodes[node]), _CA, _IB, index)
        for index, (name, node) in enumerate(process.devices.items())
    ]


def rdma_get_devices() -> list[Device]:
    """`rdma_get_devices`: the same devices."""
    return get_device_list()


_TRANSPORTS = {0: "IB", 1: "IWARP", 2: "USNIC", 3: "USNIC UDP"}
_NODES = {1: "CA", 2: "Switch", 3: "Router", 4: "RNIC", 5: "USNIC", 6: "USNIC UDP"}


def translate_transport_type(transport_type: int, /) -> str:
    """`IB`, `IWARP`, `USNIC` or `USNIC UDP` for an ibv_transport_type."""
    return _TRANSPORTS.get(transport_type, "Unknown")


def translate_node_type(node_type: int, /) -> str:
    """`CA`, `Switch`, `Router`, `RNIC`, … for an ibv_node_type."""
    return _NODES.get(node_type, "Unknown")


def guid_to_hex(node_guid: int, /) -> str:
    """The GUID in hexadecimal digits without 0x and without leading zeros."""
    return hex(node_guid).replace("0x", "")


__name__ = "rdmalab.compat.pyverbs.device"  # the module of pyverbs that has its names

_LAST_WQE_REACHED = 16  # of ibv_event_type


def translate_event_type(event_type: int, /) -> str:
    """The name of an ibv_event_type, `IBV_EVENT_QP_FATAL` and the like."""
    texts = members("ibv_event_type")
    texts[_LAST_WQE_REACHED] = f".{texts[_LAST_WQE_REACHED]}"  # pyverbs writes a dot before it
    return texts.get(event_type, f"Unknown event_type ({event_type})")


class AsyncEvent(Struct):
    """`ibv_async_event`: what `Context.get_async_event` returns."""

    __slots__ = ("_node", "_thing")
    _LINE = PORT_LINE
    event_type = Number(enum("ibv_event_type"), "Event Type", translate_event_type, fixed=True)

    def __init__(self, event_type: int = 0) -> None:
        self._set(locals())
        self.about("", None)

    def about(self, node: str, thing: Thing | None) -> None:
        """Set the node it comes from and the object it is about; None: the port."""
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


# GID types, as ibv_query_gid_ex and as sysfs tell them.
_GID_TYPE = {LinkLayer.INFINIBAND: 0, LinkLayer.ETHERNET: 2}
_SYSFS_GID_TYPE = {LinkLayer.INFINIBAND: 0, LinkLayer.ETHERNET: 1}


class Context(LabObject[Hca]):
    """`ibv_context`. Several of one device share its node; closing one takes what it made."""

    __slots__ = ("_fd", "_name")

    def __init__(self, **kwargs: object) -> None:
        name = kwargs.get("name")
        if kwargs.get("cmd_fd") is not None:
            raise PyverbsRDMAError("Failed to import device", EOPNOTSUPP)
        if name is None:
            raise PyverbsUserError("Device name must be provided")
        node = here().devices.get(str(name))
        if node is None:
            raise PyverbsRDMAError(f"Failed to find device {name}")
        self._is(Ref(node))
        self._name, self._fd = str(name), -1
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
        return self._hca.profile.caps.num_comp_vectors

    @property
    def cmd_fd(self) -> int:
        """A descriptor that can be duplicated; the device cannot be imported through it."""
        if self._fd < 0:
            self._fd = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        return self._fd

    @property
    def _hca(self) -> Hca:
        return here().world.nodes[self.node]

    def _ask(self, text: str, word: str, **arguments: int) -> dict[str, Any]:
        found: dict[str, object] = call(text, word, device=self.ref, **arguments)
        return found

    def query_device(self) -> "DeviceAttr":
        """`ibv_query_device`: the limits and capabilities of the device."""
        attr = DeviceAttr()
        attr.take(self._ask(f"Failed to query device {self.name}", "query_device"), self._hca)
        return attr

    def query_device_ex(self, ex_input: "QueryDeviceExInput | None" = None) -> "DeviceAttrEx":
        """`ibv_query_device_ex`: the same and what devices got later."""
        expect("ex_input", ex_input, QueryDeviceExInput)
        text = f"Failed to query EX device {self.name}"
        found = self._ask(text, "query_device_ex")
        attr = DeviceAttrEx()
        attr.take(found, self._hca)
        return attr

    def query_port(self, port_num: int, /) -> "PortAttr":
        """`ibv_query_port`: state, MTU, LID and table sizes of a port."""
        attr = PortAttr()
        attr.fill(self._ask(f"Failed to query port {port_num}", "query_port", port_num=port_num))
        return attr

    def query_pkey(self, port_num: int, index: int) -> int:
        """`ibv_query_pkey`: an entry of the P_Key table, in network byte order."""
        text = f"Failed to query pkey {index} of port {port_num}"
        pkey = int(self._ask(text, "query_pkey", port_num=port_num, index=index)["pkey"], 16)
        return int.from_bytes(pkey.to_bytes(2, "big"), "little")

    def get_pkey_index(self, port_num: int, pkey: int) -> int:
        """`ibv_get_pkey_index`: the first index of a P_Key, given as `query_pkey` returns it."""
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
        """`ibv_query_gid`: an entry of the GID table; all zero: empty."""
        text = f"Failed to query gid {index} of port {port_num}"
        self._ask(text, "query_gid", port_num=port_num, index=index)
        return GID(text_of(self._gid(index)))

    def _gid(self, index: int) -> int:
        gids = self._hca.gids
        return gids[index] if index < len(gids) else 0

    def query_gid_type(self, port_num: int, index: int) -> int:
        """The type of a GID as sysfs has it: 0 InfiniBand or RoCE v1, 1 RoCE v2."""
        text = f"Failed to query gid type of port {port_num} and gid index {index}"
        self._ask(text, "query_gid", port_num=port_num, index=index)
        return _SYSFS_GID_TYPE[link_layer(self._hca)]

    def query_gid_ex(self, port_num: int, gid_index: int, flags: int = 0) -> "GIDEntry":
        """`ibv_query_gid_ex`: an entry of the GID table with its type. EINVAL for any flag."""
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
        """`ibv_query_gid_table`: all entries in use; EINVAL if they are more than max_entries."""
        used = [index for index, gid in enumerate(self._hca.gids) if gid]
        if flags or max_entries < len(used):
            raise PyverbsRDMAError("Failed to query gid tables of the device", -EINVAL)
        return [self._entry(1, index) for index in used]

    def query_rt_values_ex(self, comp_mask: int = 1) -> tuple[int, int]:
        """`ibv_query_rt_values_ex`: (seconds, nanoseconds) of the device's clock, the virtual time.

        EOPNOTSUPP if the device has no clock, or comp_mask is not IBV_VALUES_MASK_RAW_CLOCK.
        """
        if comp_mask != 1 or not self.query_device_ex().hca_core_clock:
            raise PyverbsRDMAError("Failed to query real time values", EOPNOTSUPP)
        seconds, ns = divmod(here().world.now_ns, 1_000_000_000)
        return seconds, ns

    def get_async_event(self) -> "AsyncEvent":
        """`ibv_get_async_event`: wait for the next event of the device.

        PyverbsError if none is pending and none can come: C would block without limit.
        """
        text = "Failed to get async event"
        wait_for(text, lambda: self._hca.async_events, "get_async_event", node=self.ref)
        report = call(text, "get_async_event", node=self.ref)
        event = AsyncEvent(int(report.event))
        event.about(self.node, report.thing)
        return event


class AllocDmAttr(Struct):
    """`ibv_alloc_dm_attr`."""

    length = Number(SIZE)
    log_align_req = Number(U32)
    comp_mask = Number(U32)

    def __init__(self, length: int, log_align_req: int = 0, comp_mask: int = 0) -> None:
        self._set(locals())


class DM(PyverbsCM):
    """`ibv_dm`: the lab's devices have no memory of their own."""

    def __init__(
        self, context: Context, dm_attr: AllocDmAttr | None = None, **kwargs: object
    ) -> None:
        del context, dm_attr, kwargs
        raise PyverbsUserError("Device doesn't support dm allocation")

    def unimport(self) -> None:
        """Does nothing: there is no device memory."""

    def copy_to_dm(self, dm_offset: int, data: bytes, length: int) -> None:
        """Refused with EOPNOTSUPP."""
        del dm_offset, data, length
        raise PyverbsRDMAError("Failed to copy to dm", EOPNOTSUPP)

    def copy_from_dm(self, dm_offset: int, length: int) -> bytes:
        """Refused with EOPNOTSUPP."""
        del dm_offset, length
        raise PyverbsRDMAError("Failed to copy from dm", EOPNOTSUPP)

    def export_dmabuf_fd(self) -> int:
        """Refused with EOPNOTSUPP."""
        raise PyverbsRDMAError("Failed to export dmabuf FD for DM", EOPNOTSUPP)

    @property
    def handle(self) -> int:
        raise PyverbsRDMAError("Device memory is not supported", EOPNOTSUPP)


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
