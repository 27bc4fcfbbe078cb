"""Structs of objects in any language: their members, and which calls no program can make."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from rdmalab.command import Region, Thing
from rdmalab.export.replay.calls import Bound, NotExportable
from rdmalab.export.replay.names import Names, attribute_width
from rdmalab.hca.attributes import mask_of
from rdmalab.spec.builders import InitMask
from rdmalab.spec.srq import SrqAttrMask
from rdmalab.spec.states import Attr, QPType

TextOf = Callable[[int], str]
"""The writing of a constant, a flag or a number in a language."""


def _written(s: Names, members: Mapping[str, Bound], text_of: TextOf) -> dict[str, str]:
    """The members that are given, as text."""
    return {
        name: s.var(value) if isinstance(value, Thing) else text_of(value)
        for name, value in members.items()
        if value is not None
    }


def needed_extension(init: Bound, pd: Thing | None) -> InitMask | None:
    """The comp_mask for create_qp_ex, where create_qp cannot make the queue pair; None: it can."""
    if not init.xrcd and not init.max_tso_header and init.qp_type is not QPType.XRC_SEND:
        return None
    found = InitMask.PD if pd else InitMask(0)
    found |= InitMask.XRCD if init.xrcd else 0
    return found | (InitMask.MAX_TSO_HEADER if init.max_tso_header else 0)


def extended_members(
    s: Names, init: Bound, pd: Thing | None, mask: int, text_of: TextOf
) -> dict[str, str]:
    """The members that `ibv_qp_init_attr_ex` has beyond those of `ibv_qp_init_attr`."""
    return _written(s, {
        "comp_mask": InitMask(mask), "pd": pd, "xrcd": init.xrcd,
        "max_tso_header": init.max_tso_header or None,
        "send_ops_flags": getattr(init, "send_ops_flags", None),
    }, text_of)  # fmt: skip


def asked_attributes(s: Names) -> tuple[dict[str, Bound], Attr]:
    """The attributes that modify_qp sets, and its attr_mask."""
    given, mask = s.argument("attr").given(), s.argument("attr_mask")
    return given, mask_of(given) if mask is None else Attr(mask)


def attribute(s: Names, node: str, name: str, value: int, text_of: TextOf) -> str:
    """One number of `ibv_qp_attr`; NotExportable: it is too large for its member."""
    if name == "dest_qp_num":
        return s.qpn(node, value)
    width = attribute_width(name)
    if not 0 <= int(value) < 1 << width:
        raise NotExportable(f"{name}={int(value)} does not fit in the {width} bits of ibv_qp_attr")
    return text_of(value)


def srq_sizes(attr: Bound) -> dict[str, int]:
    """The members of `ibv_srq_attr`; 0: not given."""
    return {name: getattr(attr, name, None) or 0 for name in ("max_wr", "max_sge", "srq_limit")}


def srq_members(s: Names, init: Bound, text_of: TextOf) -> dict[str, str]:
    """The members of `ibv_srq_init_attr_ex` that are given, without sizes and comp_mask."""
    names = ("srq_type", "pd", "xrcd", "cq")
    return _written(s, {name: getattr(init, name) for name in names}, text_of)


def srq_bits(members: Mapping[str, str], prefix: str = "") -> str:
    """The comp_mask for these members."""
    parts = (name.removeprefix("srq_").upper() for name in members)
    return " | ".join(f"{prefix}IBV_SRQ_INIT_ATTR_{part}" for part in parts)


def srq_changes(s: Names, text_of: TextOf) -> tuple[dict[str, str], str]:
    """The members that modify_srq sets, and its mask."""
    bits = {"max_wr": SrqAttrMask.MAX_WR, "srq_limit": SrqAttrMask.LIMIT}
    given = _written(s, {name: getattr(s.argument("attr"), name) for name in bits}, text_of)
    mask = s.argument("srq_attr_mask")
    if mask is None:
        mask = SrqAttrMask(sum(bits[name] for name in given))
    return given, text_of(mask)


def judge_descriptor(s: Names) -> None:
    """NotExportable for open_xrcd with a file."""
    fd = s.argument("fd")
    if fd is not None and fd >= 0:
        raise NotExportable("fd of open_xrcd stands for a file that the program would need")


class Piece(NamedTuple):
    """Bytes [start, stop) of the region of a variable."""

    name: str
    start: int
    stop: int


def piece_of(s: Names, region: Region) -> Piece:
    """The bytes that a command names; NotExportable: their region was destroyed."""
    mr = s.world.nodes[region.thing.node].mrs.items.get(region.thing.number)
    if mr is None:
        raise NotExportable("memory of a region that is no more")
    stop = mr.length if region.stop is None else region.stop
    return Piece(s.var(region.thing), region.start or 0, stop)


def octets_of(s: Names) -> bytes:
    """The bytes that `write` and `poke` put there."""
    octets: bytes = s.argument("text").encode("latin-1", "replace")
    return octets
