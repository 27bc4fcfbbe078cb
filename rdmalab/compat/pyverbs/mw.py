"""Memory windows."""

from rdmalab.command import Noun
from rdmalab.compat.process import here
from rdmalab.compat.pyverbs.base import LabObject, PyverbsCM
from rdmalab.compat.pyverbs.c_types import U32, U64, UINT64
from rdmalab.compat.pyverbs.memory_region import MR
from rdmalab.compat.pyverbs.pd import PD
from rdmalab.compat.pyverbs.struct import Number, Struct, expect, table
from rdmalab.hca.objects import MemoryWindow
from rdmalab.spec.access import MWType
from rdmalab.spec.c_names import full_name

__name__ = "rdmalab.compat.pyverbs.mr"  # the module of pyverbs that has its names


class MWBindInfo(Struct, PyverbsCM):
    """`ibv_mw_bind_info`."""

    __slots__ = ("_mr",)
    _HEAD = "MWBindInfo:\n"
    addr = Number(U64, "Addr", fixed=True)
    length = Number(U64, "Length", fixed=True)
    mw_access_flags = Number(U32, "MW access flags", fixed=True)

    def __init__(self, mr: MR, addr: int, length: int, mw_access_flags: int) -> None:
        expect("mr", mr, MR, null=False)
        self._set(locals())
        self._mr = mr

    def as_arguments(self) -> dict[str, int]:
        """The range as a command takes it, its address translated to the lab's."""
        return {
            "bind_mr": self._mr.found.number,
            "bind_addr": here().buffers.to_lab(self.addr),
            "bind_length": self.length,
            "bind_access": self.mw_access_flags,
        }


class MWBind(Struct, PyverbsCM):
    """`ibv_mw_bind`."""

    __slots__ = ("_info",)
    _HEAD = "MWBind:\n"
    _wr_id = Number(UINT64, "WR id")
    _send_flags = Number(U32, "Send flags")

    def __init__(self, info: MWBindInfo, send_flags: int, wr_id: int = 0) -> None:
        expect("info", info, MWBindInfo, null=False)
        self._set({"_send_flags": send_flags, "_wr_id": wr_id})
        self._info = info

    def as_arguments(self) -> dict[str, int]:
        """The bind as a command takes it."""
        return {**self._info.as_arguments(), "wr_id": self._wr_id, "flags": self._send_flags}


class MW(LabObject[MemoryWindow]):
    """`ibv_mw`."""

    DESTROY, FAILS, RANK = "dealloc_mw", "Failed to dealloc MW", 3

    def __init__(self, pd: PD, mw_type: int) -> None:
        expect("pd", pd, PD, null=False)
        self._made("Failed to allocate MW", "alloc_mw", Noun.MW, pd.node, pd=pd.ref, type=mw_type)
        self._join(pd)

    @property
    def handle(self) -> int:
        return self.found.number

    @property
    def rkey(self) -> int:
        return self.found.rkey

    @property
    def type(self) -> int:
        return int(self.found.type)

    def __str__(self) -> str:
        rows = (("Rkey", self.rkey), ("Handle", self.handle), ("MW Type", mwtype2str(self.type)))
        return "MW:\n" + table(rows)


def mwtype2str(mw_type: int, /) -> str:
    """`IBV_MW_TYPE_1` or `IBV_MW_TYPE_2` for an ibv_mw_type."""
    names = {int(each): full_name(each) for each in MWType}
    return names.get(mw_type, f"Unknown MW type ({mw_type})")
