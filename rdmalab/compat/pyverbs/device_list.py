"""Devices, their list, and their types as text."""

from rdmalab.compat.process import here
from rdmalab.compat.pyverbs.base import PyverbsObject

__name__ = "rdmalab.compat.pyverbs.device"  # the module of pyverbs that has its names

_CA, _IB = 1, 0  # node type and transport of a device


class Device(PyverbsObject):
    """`ibv_device`. guid: the MAC address of the node; index: position in the list of devices."""

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
        Device(name.encode(), process.world.nodes[node].mac, _CA, _IB, index)
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
