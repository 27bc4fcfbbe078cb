"""Addresses: GIDs, global routes, address handles."""

from typing import Any

from rdmalab.command import Noun
from rdmalab.compat.process import here
from rdmalab.compat.pyverbs.base import LabObject, PyverbsObject, octets_at
from rdmalab.compat.pyverbs.c_types import U8, U16, U32, U64
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsUserError
from rdmalab.compat.pyverbs.struct import Field, Number, Struct, expect, table
from rdmalab.compat.pyverbs.utils import gid_str_to_array
from rdmalab.compat.pyverbs.wc import WC
from rdmalab.hca.objects import AddressHandle, ProtectionDomain
from rdmalab.spec.work import WCFlags

_LINE = "  {:22}: {:<20}\n"


def gid_of(text: str) -> int:
    """The 128 bits of a GID that is written in eight words."""
    return int("".join(gid_str_to_array(text)), 16)


def text_of(gid: int) -> str:
    """The eight words."""
    octets = f"{gid:032x}"
    return ":".join(octets[at : at + 4] for at in range(0, 32, 4))


class GID(PyverbsObject):
    """`ibv_gid`; `bits` is its number."""

    __slots__ = ("bits",)

    def __init__(self, val: str | None = None) -> None:
        self.bits = 0 if val is None else gid_of(val)

    @property
    def gid(self) -> str:
        return text_of(self.bits)

    @gid.setter
    def gid(self, val: str) -> None:
        self._set_gid(val)

    def _set_gid(self, val: str) -> None:
        self.bits = gid_of(val)

    def __str__(self) -> str:
        return text_of(self.bits)


class _Address(Field[object]):
    """A GID as a field of a struct."""

    def __init__(self, label: str = "") -> None:
        super().__init__(U64, label, text_of)

    def _read(self, struct: Struct) -> object:
        return text_of(struct.c.get(self.name, 0))

    def __set__(self, struct: Struct, val: str) -> None:
        struct.c[self.name] = gid_of(val)


class GRH(Struct):
    """`ibv_grh`: the global route header of a datagram that came."""

    dgid = _Address("DGID")
    sgid = _Address("SGID")
    version_tclass_flow = Number(U32, "version tclass flow")
    paylen = Number(U16, "paylen")
    next_hdr = Number(U8, "next header")
    hop_limit = Number(U8, "hop limit")

    def __init__(
        self, sgid: GID | None = None, dgid: GID | None = None, version_tclass_flow: int = 0,
        paylen: int = 0, next_hdr: int = 0, hop_limit: int = 1,
    ) -> None:  # fmt: skip
        self._set(locals())
        self.c["sgid"], self.c["dgid"] = _bits("sgid", sgid), _bits("dgid", dgid)


def _bits(name: str, gid: GID | None) -> int:
    expect(name, gid, GID)
    if gid is None:
        raise AttributeError("'NoneType' object has no attribute 'gid'")
    return gid.bits


_ROUTE = ("dgid", "flow_label", "sgid_index", "hop_limit", "traffic_class")
_ROUTE_LABELS = ("dgid", "flow label", "sgid index", "hop limit", "traffic_class")


class GlobalRoute(Struct):
    """`ibv_global_route`."""

    dgid = _Address("DGID")
    flow_label = Number(U32, "flow label")
    sgid_index = Number(U8, "sgid index")
    hop_limit = Number(U8, "hop limit")
    traffic_class = Number(U8, "traffic class")

    def __init__(
        self, dgid: GID | None = None, flow_label: int = 0, sgid_index: int = 0,
        hop_limit: int = 1, traffic_class: int = 0,
    ) -> None:  # fmt: skip
        self._set(locals())
        self.c["dgid"] = _bits("dgid", dgid)


class _Routed(Number):
    """A field of the GRH: without one it cannot be read, and is None."""

    def _read(self, struct: Struct) -> int | None:  # type: ignore[override]  # a Number is never None
        return super()._read(struct) if struct.c.get("is_global") else None


class _RoutedAddress(_Address):
    """Its destination."""

    def _read(self, struct: Struct) -> object:
        return super()._read(struct) if struct.c.get("is_global") else None

    def __set__(self, struct: Struct, val: str) -> None:
        if struct.c.get("is_global"):
            super().__set__(struct, val)


class AHAttr(Struct):
    """`ibv_ah_attr`."""

    port_num = Number(U8)
    sl = Number(U8)
    src_path_bits = Number(U8)
    dlid = Number(U16)
    static_rate = Number(U8)
    is_global = Number(U8)
    dgid = _RoutedAddress()
    flow_label = _Routed(U32)
    sgid_index = _Routed(U8)
    hop_limit = _Routed(U8)
    traffic_class = _Routed(U8)

    def __init__(
        self, dlid: int = 0, sl: int = 0, src_path_bits: int = 0, static_rate: int = 0,
        is_global: int = 0, port_num: int = 1, gr: GlobalRoute | None = None,
    ) -> None:  # fmt: skip
        expect("gr", gr, GlobalRoute)
        self._set(locals())
        if is_global and gr is None:
            raise PyverbsUserError("Global AH Attr is created but gr parameter is None")
        if is_global and gr is not None:
            self.c.update((name, gr.c.get(name, 0)) for name in _ROUTE)

    def rows(self, *, with_port: bool = False) -> list[tuple[str, object]]:
        """(label, value) of each field before the route."""
        port = [("port num", self.port_num)]
        return [
            *port,
            ("sl", self.sl),
            ("source path bits", self.src_path_bits),
            ("dlid", self.dlid),
            *(port if with_port else ()),
            ("static rate", self.static_rate),
            ("is global", self.is_global),
        ]

    def route_rows(self) -> list[tuple[str, object]]:
        """(label, value) of each field of the route; empty without a GRH."""
        if not self.is_global:
            return []
        return list(zip(_ROUTE_LABELS, (getattr(self, name) for name in _ROUTE), strict=True))

    def __str__(self) -> str:
        return table([*self.rows(), *self.route_rows()], _LINE)


_TOLD = ("is_global", *_ROUTE, "port_num", "dlid", "sl", "static_rate", "src_path_bits")


def as_arguments(attr: AHAttr) -> dict[str, int]:
    """The address as a command takes it: the fields that are not 0."""
    return {name: attr.c[name] for name in _TOLD if attr.c.get(name)}


class AH(LabObject[AddressHandle]):
    """`ibv_ah`, of an AHAttr, or of a completion, the GRH before its data and a port."""

    DESTROY, FAILS, RANK = "destroy_ah", "Failed to destroy AH", 2

    def __init__(self, pd: LabObject[ProtectionDomain], **kwargs: Any) -> None:
        if len(kwargs) == 1:
            attr = kwargs["attr"]
        else:
            attr = _back(pd, kwargs["wc"], kwargs["grh"], kwargs["port_num"])
        self._made(
            "Failed to create AH", "create_ah", Noun.AH, pd.node, pd=pd.ref, attr=as_arguments(attr)
        )
        self._join(pd)


def _back(pd: LabObject[ProtectionDomain], wc: WC, grh: int, port_num: int) -> AHAttr:
    """`ibv_init_ah_from_wc`: to the LID a datagram came from, with a GRH if it had one."""
    route = None
    if wc.wc_flags & WCFlags.GRH:
        route = _route_back(here().world.nodes[pd.node].gids, grh)
    return AHAttr(
        dlid=wc.slid, sl=wc.sl, src_path_bits=wc.dlid_path_bits, port_num=port_num,
        is_global=int(route is not None), gr=route,
    )  # fmt: skip


def _route_back(gids: list[int], grh: int) -> GlobalRoute:
    """The route against the GRH at this address, from the GID that it came to."""
    header = octets_at(grh, 40)
    traffic = int.from_bytes(header[:4], "big")
    source, dest = (int.from_bytes(header[at : at + 16], "big") for at in (8, 24))
    if not any(header[:20]):  # IPv4: the header lies in the second half
        source, dest = (
            0xFFFF << 32 | int.from_bytes(header[at : at + 4], "big") for at in (32, 36)
        )
        traffic = header[21] << 20
    return GlobalRoute(
        dgid=GID(text_of(source)), sgid_index=gids.index(dest) if dest in gids else 1,
        hop_limit=0xFF, flow_label=traffic & 0xFFFFF, traffic_class=traffic >> 20 & 0xFF,
    )  # fmt: skip
