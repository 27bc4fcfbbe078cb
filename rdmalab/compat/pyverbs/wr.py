"""Work requests."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self, TypeVar

from rdmalab.command import Ref, Refused
from rdmalab.compat.process import here
from rdmalab.compat.pyverbs.addr import AH
from rdmalab.compat.pyverbs.base import PyverbsCM, failed, inc_rkey, octets_at
from rdmalab.compat.pyverbs.c_types import INT, U32, U64, UINT32, converted, enum
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsUserError
from rdmalab.compat.pyverbs.struct import Number, Struct, expect, not_so, table
from rdmalab.spec.work import SendFlags, WROpcode

if TYPE_CHECKING:
    from rdmalab.compat.pyverbs.mw import MW, MWBindInfo

_SIGNALED, _SEND = int(SendFlags.SIGNALED), int(WROpcode.SEND)
# What may go without a list.
_LISTLESS = (WROpcode.LOCAL_INV, WROpcode.BIND_MW, WROpcode.SEND_WITH_INV)
_NO_LIST = "A WR needs at least one SGE"


class SGE(Struct, PyverbsCM):
    """`ibv_sge`; addr as the program counts it."""

    addr = Number(U64, "Address", hex)
    length = Number(U32, "Length")
    lkey = Number(U32, "Key", hex)

    def __init__(self, addr: int, length: int, lkey: int) -> None:
        self._set(locals())

    def read(self, length: int, offset: int) -> bytes:
        """Bytes of the program's memory from addr + offset; PyverbsError where C crashes."""
        return octets_at(self.addr + offset, length)

    def as_arguments(self) -> dict[str, int]:
        """The SGE as a command takes it, its address translated to the lab's."""
        return {**self.c, "addr": here().buffers.to_lab(self.addr)}


class _Request(Struct, PyverbsCM):
    """Base of both kinds: SGEs as they were when the request was made, and a next request."""

    __slots__ = ("following", "sg")

    def _take(self, sg: Sequence[SGE] | None, num_sge: int, next_wr: Self | None) -> None:
        if next_wr is not None:
            self._expect("next_wr", next_wr)
        self.sg = [dict(sg[at].c) for at in range(num_sge)]  # type: ignore[index]  # None neither
        self.following = next_wr

    def _expect(self, what: str, other: Self | None, *, null: bool = True) -> None:
        """A request of the same kind."""
        kind = next(each for each in type(self).__mro__ if each.__base__ is _Request)
        expect(what, other, kind, null=null)

    @property
    def next_wr(self) -> Self | None:
        return self.following and self._copied(self.following)

    @next_wr.setter
    def next_wr(self, val: Self) -> None:
        self._expect("val", val, null=False)
        self.following = val

    def _copied(self, other: Self) -> Self:
        """Refused: pyverbs returns it in a request without SGEs, which it does not allow."""
        raise PyverbsUserError(_NO_LIST)

    def chain(self) -> list[Self]:
        """The request and all after it in the list."""
        found, each = [], self
        while each is not None and each not in found:
            found.append(each)
            each = each.following  # type: ignore[assignment]  # None ends it
        return found

    def copy_to(self, other: Self | None) -> None:
        """Write the request to `*bad_wr`; None: nothing."""
        if other is not None:
            other.c = dict(self.c)
            other.sg, other.following = [*self.sg], self.following

    def as_arguments(self) -> dict[str, object]:
        """The request as a command takes it: no field that is 0, num_sge only if it is wrong."""
        to_lab = here().buffers.to_lab
        sg = [{**sge, "addr": to_lab(sge["addr"])} for sge in self.sg]
        count = self.c.get("num_sge", 0)
        found: dict[str, object] = {"sg": sg} if sg else {}
        if count != len(sg):
            found["num_sge"] = count
        if self.c.get("wr_id"):
            found["wr_id"] = self.c["wr_id"]
        return found


W = TypeVar("W", bound=_Request)


class RecvWR(_Request):
    """`ibv_recv_wr`."""

    wr_id = Number(U64, "WR ID")
    num_sge = Number(INT, "Num SGE")

    def __init__(
        self, wr_id: int = 0, num_sge: int = 0, sg: Sequence[SGE] | None = None,
        next_wr: "RecvWR | None" = None,
    ) -> None:  # fmt: skip
        self._set(locals())
        if num_sge < 0:
            raise PyverbsUserError(f"num_sge={num_sge} is negative")
        self._take(sg, num_sge, next_wr)

    def _copied(self, other: Self) -> Self:
        """A copy, as from rdma-core 58 on, where a receive may have no SGE."""
        copy = type(self)()
        other.copy_to(copy)
        return copy


class SendWR(_Request):
    """`ibv_send_wr`. Its unions are here as they are in C: immediate and key to invalidate are one
    field; `union` holds whichever part was set last.
    """

    __slots__ = ("_ah", "union", "xrc")
    wr_id = Number(U64, "WR ID")
    num_sge = Number(INT, "Num SGE")
    imm_data = Number(UINT32)
    opcode = Number(enum("ibv_wr_opcode"), "Opcode")
    send_flags = Number(U32)

    def __init__(
        self, wr_id: int = 0, opcode: int = _SEND, num_sge: int = 0, imm_data: int = 0,
        sg: Sequence[SGE] | None = None, send_flags: int = _SIGNALED,
        next_wr: "SendWR | None" = None,
    ) -> None:  # fmt: skip
        if opcode not in _LISTLESS and (num_sge < 1 or sg is None):
            raise PyverbsUserError(_NO_LIST)
        self._set(locals())
        self._take(sg, num_sge, next_wr)
        self._ah: AH | None = None
        self.union: dict[str, int] = {}
        self.xrc: dict[str, int] = {}

    @property
    def sg_list(self) -> SGE:
        raise not_so(self, "sg_list", "readable")

    @sg_list.setter
    def sg_list(self, val: SGE) -> None:
        expect("val", val, SGE, null=False)
        self.sg = [dict(val.c)]

    @property
    def rdma_remote_addr(self) -> int:
        return self.union.get("remote_addr", 0)

    @property
    def rdma_rkey(self) -> int:
        return self.union.get("rkey", 0)

    @property
    def rkey(self) -> int:
        return self.union.get("mw_rkey", 0)

    def set_wr_ud(self, ah: AH, rqpn: int, rqkey: int) -> None:
        """Set the destination of a datagram: address, QP number and Q_Key of the remote QP."""
        expect("ah", ah, AH, null=False)
        self._ah = ah
        self.union = {
            "ah": ah.found.number,
            "remote_qpn": converted(rqpn, U32),
            "remote_qkey": converted(rqkey, U32),
        }

    def set_wr_rdma(self, rkey: int, addr: int) -> None:
        """Set the remote memory of an RDMA READ or WRITE."""
        self.union = {"remote_addr": converted(addr, U64), "rkey": converted(rkey, U32)}

    def set_wr_atomic(self, rkey: int, addr: int, compare_add: int, swap: int = 0) -> None:
        """Set remote memory and operands of an atomic; compare_add: what to compare or add."""
        self.union = {
            "remote_addr": converted(addr, U64),
            "rkey": converted(rkey, U32),
            "compare_add": converted(compare_add, U64),
            "swap": converted(swap, U64),
        }

    def set_bind_wr(self, mw: "MW", bind_info: "MWBindInfo") -> None:
        """Set the window and its range for BIND_MW, with the next variant of its rkey."""
        self.union = {
            **bind_info.as_arguments(),
            "mw": mw.found.number,
            "mw_rkey": inc_rkey(mw.rkey),
        }

    def set_qp_type_xrc(self, remote_srqn: int, /) -> None:
        """Set the number of the remote SRQ for an XRC QP."""
        self.xrc = {"remote_srqn": converted(remote_srqn, U32)}

    def copy_to(self, other: "SendWR | None") -> None:
        """Write the request to `*bad_wr`; None: nothing."""
        super().copy_to(other)
        if other is not None:
            other.union, other.xrc = dict(self.union), dict(self.xrc)

    def as_arguments(self) -> dict[str, object]:
        """Arguments of post_send with the fields of its opcode."""
        found = {**super().as_arguments(), "opcode": self.opcode, **self.union, **self.xrc}
        if "remote_addr" in self.union:
            found["remote_addr"] = here().buffers.to_lab(self.union["remote_addr"])
        if self.send_flags:
            found["flags"] = self.send_flags
        if self.imm_data:
            found |= {"imm_data": self.imm_data, "invalidate_rkey": self.imm_data}
        return found

    def __str__(self) -> str:
        flags = send_flags_to_str(self.send_flags) + table([("Imm Data", self.imm_data)])
        return table([*self._rows(), ("Send flags", flags)])


def send_flags_to_str(flags: int, /) -> str:
    """The IBV_SEND_ names of the flags, each followed by a blank."""
    return "".join(f"IBV_SEND_{flag.name} " for flag in SendFlags if flags & int(flag))


def post(text: str, word: str, wr: W, bad_wr: W | None, **queue: Ref) -> None:
    """Post a chain of work requests; the first that is refused is copied to `bad_wr`.

    word: the command; queue: its parameter for the queue.
    """
    chain = wr.chain()
    try:
        here().call(word, **queue, wr=[each.as_arguments() for each in chain])
    except Refused as refusal:
        if refusal.bad_wr is not None and refusal.bad_wr < len(chain):
            chain[refusal.bad_wr].copy_to(bad_wr)
        raise failed(text, refusal) from None
