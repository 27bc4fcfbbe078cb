"""Work requests, what they become on a queue, and what they leave on a completion queue.

A WR is what the program posts. A WQE is that WR on a queue; it never changes, its progress is a
serial number in an engine's notebook. A CQE lies on the CQ; the WC that `poll_cq` hands out is it.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from rdmalab.command import Alias, Bits, Noun, Short, Spread, Thing
from rdmalab.spec.access import Access
from rdmalab.spec.opcodes import Op
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import (
    Placement,
    Selectivity,
    SendFlags,
    WCFlags,
    WCOpcode,
    Work,
    WROpcode,
)

if TYPE_CHECKING:
    from rdmalab.hca.ah import AddressHandle
    from rdmalab.hca.mr import MemoryRegion
    from rdmalab.hca.mw import MemoryWindow


U32 = Annotated[int, Bits(32)]
U64 = Annotated[int, Bits(64)]


@dataclass(slots=True)
class SGE:
    """One piece of local memory. addr: virtual address; length: bytes; lkey: of its MR."""

    addr: U64 = 0
    length: U32 = 0
    lkey: U32 = 0


def _bounds(
    mr: "MemoryRegion | MemoryWindow", start: int | None, stop: int | None
) -> tuple[int, int]:
    """Address and length of `mr`, `mr[start]` (to its end) or `mr[start:stop]`.

    A range beyond the MR is a legal mistake: the HCA finds it when the WR is executed.
    """
    first = start or 0
    return mr.iova + first, (mr.length if stop is None else stop) - first


def _sge_of(world: Any, thing: Thing, start: int | None, stop: int | None) -> SGE:
    mr = world.find(thing)
    addr, length = _bounds(mr, start, stop)
    return SGE(addr, length, mr.lkey)


def _remote_of(world: Any, thing: Thing, start: int | None, stop: int | None) -> dict[str, Any]:
    mr = world.find(thing)
    addr, length = _bounds(mr, start, stop)
    return {"remote_addr": addr, "rkey": mr.rkey, "flush_length": length}


def _bind_of(world: Any, thing: Thing, start: int | None, stop: int | None) -> dict[str, Any]:
    addr, length = _bounds(world.find(thing), start, stop)
    return {"bind_mr": thing.number, "bind_addr": addr, "bind_length": length}


def _number_of(_world: Any, thing: Thing, _start: int | None, _stop: int | None) -> int:
    return thing.number


def _rkey_of(world: Any, thing: Thing, _start: int | None, _stop: int | None) -> int:
    return int(world.find(thing).rkey)


ShortSGE = Annotated[SGE, Short(Noun.MR, _sge_of)]
AhNumber = Annotated[int | None, Bits(32), Short(Noun.AH, _number_of)]
MrNumber = Annotated[int | None, Bits(32), Short(Noun.MR, _number_of)]
MwNumber = Annotated[int | None, Bits(32), Short(Noun.MW, _number_of)]
QpNumber = Annotated[U32, Short(Noun.QP, _number_of)]
RKey = Annotated[U32, Short(Noun.MR, _rkey_of, (Noun.MW,))]
WindowKey = Annotated[U32, Short(Noun.MW, _rkey_of, (Noun.MR,))]
NO_FLAGS = SendFlags(0)
NO_RIGHTS = Access(0)
REMOTE = Spread("remote", Noun.MR, _remote_of, ("remote_addr", "rkey"), (Noun.MW,))
BIND = Spread("bind", Noun.MR, _bind_of, ("bind_mr", "bind_addr", "bind_length"))


@dataclass(slots=True)
class SendWR:
    """`ibv_send_wr`. imm_data: as stored in memory (htonl'ed); atomics use compare_add and swap.

    ah, remote_qpn, remote_qkey: where a datagram goes. invalidate_rkey: of LOCAL_INV and
    SEND_WITH_INV. mw, mw_rkey (left out: the next one), bind_*: of BIND_MW. flush_*: of FLUSH.
    """

    opcode: WROpcode
    wr_id: U64 = 0
    sg: Annotated[list[ShortSGE], Alias("sg_list")] = field(default_factory=list)
    flags: Annotated[SendFlags, Alias("send_flags")] = NO_FLAGS
    imm_data: U32 = 0
    remote_addr: U64 = 0
    rkey: RKey = 0
    compare_add: U64 = 0
    swap: U64 = 0
    ah: AhNumber = None
    remote_qpn: QpNumber = 0
    remote_qkey: U32 = 0
    invalidate_rkey: WindowKey = 0
    mw: MwNumber = None
    mw_rkey: Annotated[int | None, Bits(32)] = None
    bind_mr: MrNumber = None
    bind_addr: U64 = 0
    bind_length: U64 = 0
    bind_access: Annotated[Access, Alias("mw_access_flags")] = NO_RIGHTS
    flush_length: U32 = 0
    flush_type: Placement = Placement.GLOBAL
    flush_level: Selectivity = Selectivity.RANGE


@dataclass(slots=True)
class MwBind:
    """`ibv_mw_bind`: the same, for windows of type 1."""

    wr_id: U64 = 0
    flags: Annotated[SendFlags, Alias("send_flags")] = NO_FLAGS
    bind_mr: MrNumber = None
    bind_addr: U64 = 0
    bind_length: U64 = 0
    bind_access: Annotated[Access, Alias("mw_access_flags")] = NO_RIGHTS


@dataclass(slots=True)
class RecvWR:
    """`ibv_recv_wr`."""

    wr_id: U64 = 0
    sg: Annotated[list[ShortSGE], Alias("sg_list")] = field(default_factory=list)


@dataclass(slots=True)
class SendWqe:
    """A send WR on its queue.

    serial: counts this queue's WRs from 0. sg, length: after the zero-length rule of the profile.
    inline: the bytes copied at post time, or None. first_psn..last_psn: the PSNs it will use; what
    sends nothing has none. av: where a datagram goes, if that was read at post time.
    """

    serial: int
    wr: SendWR
    work: Work | None
    op: Op | None
    flags: int
    sg: list[SGE]
    length: int
    inline: bytes | None
    signaled: bool
    first_psn: int
    last_psn: int
    av: "AddressHandle | None" = None


@dataclass(slots=True)
class RecvWqe:
    """A receive WR on its queue; `length` is the sum of its buffers, in bytes."""

    serial: int
    wr: RecvWR
    sg: list[SGE]
    length: int


@dataclass(slots=True)
class Cqe:
    """`ibv_wc`, and what the queue needs to give slots back: `serial` and whose WQE it was.

    On an error status only wr_id, status, qp_num and vendor_err mean anything.
    """

    wr_id: int
    status: WCStatus
    opcode: WCOpcode | int
    byte_len: int
    qp_num: int
    serial: int
    is_send: bool
    imm_data: int = 0
    wc_flags: WCFlags | int = 0
    src_qp: int = 0
    vendor_err: int = 0


def swap_octets(word: int) -> int:
    """`imm_data` lies in memory in network order: the host that prints it sees it swapped."""
    return int.from_bytes(word.to_bytes(4, "little"), "big")
