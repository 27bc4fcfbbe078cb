"""pyverbs.spec: the headers a flow rule matches, each field with a mask of the bits that count."""

import socket
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from rdmalab.compat.pyverbs import libibverbs_enums as e
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsError

_MAC_BYTES = 6


Value = int | str  # of a field or mask: a number, or an address as text
_Reader = Callable[[Any], Value]


class _Kind(NamedTuple):
    """The reader of a field, its default, and the mask of all its bits."""

    read: _Reader
    nothing: Value
    all_bits: Value


def _number(bits: int) -> _Reader:
    def read(value: int) -> int:
        if not 0 <= value < 1 << bits:
            raise OverflowError(f"{value} does not fit {bits} bits")
        return value

    return read


def _mac(text: str | None) -> str:
    if not text:
        return ""  # as pyverbs reads six zero bytes
    digits = text.split(":")[:_MAC_BYTES]
    if len(digits) < _MAC_BYTES:
        raise IndexError(f"{text} is shorter than a MAC address")
    return ":".join(f"{int(byte, 16):02x}" for byte in digits)


def _ip4(text: str) -> str:
    return socket.inet_ntoa(socket.inet_aton(text))


def _ip6(text: str) -> str:
    return socket.inet_ntop(socket.AF_INET6, socket.inet_pton(socket.AF_INET6, text))


_U8 = _Kind(_number(8), 0, 0xFF)
_U16 = _Kind(_number(16), 0, 0xFFFF)
_LABEL = _Kind(_number(32), 0, 0xF_FFFF)
_MAC = _Kind(_mac, "", "ff:ff:ff:ff:ff:ff")
_IP4 = _Kind(_ip4, "0.0.0.0", "255.255.255.255")
_IP6 = _Kind(_ip6, "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")


class Spec:
    """A header; only those of one kind can be made."""

    FIELDS: ClassVar[dict[str, _Kind]] = {}
    SIZE: ClassVar[int] = 0
    TYPE: ClassVar[int] = 0

    spec_type: int

    def __init__(self, *values: Value | None, **named: Value | None) -> None:
        """Each field before its mask, then `is_inner`; without a mask all bits count."""
        if not self.FIELDS:
            raise NotImplementedError("This class is abstract.")
        order = [name for field in self.FIELDS for name in (field, f"{field}_mask")] + ["is_inner"]
        given = self._bound(order, values, named)
        inner = e.IBV_FLOW_SPEC_INNER if given.pop("is_inner", False) else 0
        object.__setattr__(self, "spec_type", self.TYPE | inner)
        for field, kind in self.FIELDS.items():
            value, mask = given.get(field), given.get(f"{field}_mask")
            is_given = value is not None
            setattr(self, field, value if is_given else kind.nothing)
            every = kind.all_bits if mask is None else mask
            setattr(self, f"{field}_mask", every if is_given else kind.nothing)

    def _bound(
        self, order: list[str], values: tuple[Value | None, ...], named: dict[str, Value | None]
    ) -> dict[str, Value | None]:
        placed = dict(zip(order, values, strict=False))
        wrong = (named.keys() - set(order)) | (named.keys() & placed.keys())
        if wrong or len(values) > len(order):
            raise TypeError(f"{type(self).__name__}() cannot take {sorted(wrong) or len(values)}")
        return placed | named

    def __setattr__(self, name: str, value: Value | None) -> None:
        """Fields and masks are written as text and numbers are read back; nothing else is here."""
        kind = self.FIELDS.get(name.removesuffix("_mask"))
        if kind is None:
            raise AttributeError(f"{type(self).__name__} has no {name} to set")
        object.__setattr__(self, name, kind.read(value))

    def __getattr__(self, name: str) -> Value:
        """Asked for what was never set."""
        raise AttributeError(f"{type(self).__name__} has no {name}")

    @property
    def size(self) -> int:
        """The bytes of the C structure."""
        return self.SIZE


class EthSpec(Spec):
    """Ethernet."""

    FIELDS: ClassVar = {"dst_mac": _MAC, "src_mac": _MAC, "ether_type": _U16, "vlan_tag": _U16}
    SIZE, TYPE = 40, e.IBV_FLOW_SPEC_ETH


class Ipv4ExtSpec(Spec):
    """IPv4."""

    FIELDS: ClassVar = {
        "dst_ip": _IP4, "src_ip": _IP4, "proto": _U8, "tos": _U8, "ttl": _U8, "flags": _U8,
    }  # fmt: skip
    SIZE, TYPE = 32, e.IBV_FLOW_SPEC_IPV4_EXT


class Ipv6Spec(Spec):
    """IPv6; pyverbs refuses one that lacks an address, this takes `::` and no bit of it."""

    FIELDS: ClassVar = {
        "dst_ip": _IP6, "src_ip": _IP6, "flow_label": _LABEL, "next_hdr": _U8,
        "traffic_class": _U8, "hop_limit": _U8,
    }  # fmt: skip
    SIZE, TYPE = 88, e.IBV_FLOW_SPEC_IPV6


class TcpUdpSpec(Spec):
    """TCP or UDP, chosen by the first argument."""

    FIELDS: ClassVar = {"dst_port": _U16, "src_port": _U16}
    SIZE = 16

    def __init__(self, spec_type: int, *values: Value | None, **named: Value | None) -> None:
        """The type, then as any header."""
        if spec_type not in (e.IBV_FLOW_SPEC_TCP, e.IBV_FLOW_SPEC_UDP):
            raise PyverbsError("Spec type must be IBV_FLOW_SPEC_TCP or IBV_FLOW_SPEC_UDP")
        super().__init__(*values, **named)
        object.__setattr__(self, "spec_type", spec_type | (self.spec_type & e.IBV_FLOW_SPEC_INNER))
