"""Work requests, what they become on a queue, and what they leave on a completion queue.

A WR is what the program posts. A WQE is that WR on a queue; it never changes, its progress is a
serial number in an engine's notebook. A CQE is in the CQ; the WC that `poll_cq` hands out is it.
"""

from dataclasses import field
from typing import Annotated, ClassVar, TypeVar

from rdmalab.command import (
    FLAT,
    POINTER,
    Alias,
    Bits,
    FieldGroup,
    InC,
    Noun,
    OneOf,
    RefShorthand,
    Thing,
)
from rdmalab.hca.attributes import Fields
from rdmalab.hca.objects import AddressHandle, MemoryRegion, MemoryWindow, Objects
from rdmalab.hca.psn import MASK
from rdmalab.spec.access import Access
from rdmalab.spec.opcodes import Op
from rdmalab.spec.row import dataclass
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import Placement, Selectivity, SendFlags, WCFlags, WCOpcode, Work, WROpcode
from rdmalab.wire.segments import Template

U16 = Annotated[int, Bits(16)]
U32 = Annotated[int, Bits(32)]
U64 = Annotated[int, Bits(64)]


def _mr(world: Objects, thing: Thing) -> MemoryRegion:
    """The region of a reference; Refused if it is gone."""
    regions = world.nodes[thing.node].mrs.items
    if thing.number not in regions:
        world.find(thing, object)
    return regions[thing.number]


def _region(world: Objects, thing: Thing) -> MemoryRegion | MemoryWindow:
    if thing.noun is not Noun.MW:
        return _mr(world, thing)
    world.find(thing, object)
    return world.nodes[thing.node].mws.items[thing.number]


def _addr_of(world: Objects, thing: Thing, start: int | None, _stop: int | None) -> int:
    return _region(world, thing).iova + (start or 0)


def _lkey_of(world: Objects, thing: Thing, _start: int | None, _stop: int | None) -> int:
    return _mr(world, thing).lkey


Address = Annotated[U64, RefShorthand(Noun.MR, _addr_of)]
LKey = Annotated[U32, RefShorthand(Noun.MR, _lkey_of)]


@dataclass(slots=True)
class SGE:
    """`ibv_sge`: a piece of local memory. addr: virtual address; length: bytes; lkey: of its MR."""

    C_NAME = "ibv_sge"

    addr: Address = 0
    length: U32 = 0
    lkey: LKey = 0


@dataclass(slots=True)
class WildPointer(SGE):
    """An `sg_list` that points to no list; `addr` is where."""


@dataclass(slots=True)
class Buffer:
    """`ibv_data_buf`: a piece of local memory for which no key is asked."""

    C_NAME = "ibv_data_buf"

    addr: Address = 0
    length: U64 = 0


def _bounds(
    mr: MemoryRegion | MemoryWindow, start: int | None, stop: int | None
) -> tuple[int, int]:
    """Address and length of `mr`, `mr[start]` (to its end) or `mr[start:stop]`.

    A range beyond the MR is a legal mistake: the HCA finds it when the WR is executed.
    """
    first = start or 0
    return mr.iova + first, (mr.length if stop is None else stop) - first


def _sge_of(world: Objects, thing: Thing, start: int | None, stop: int | None) -> SGE:
    mr = _mr(world, thing)
    addr, length = _bounds(mr, start, stop)
    return SGE(addr, length, mr.lkey)


def _buffer_of(world: Objects, thing: Thing, start: int | None, stop: int | None) -> Buffer:
    return Buffer(*_bounds(_region(world, thing), start, stop))


def _remote_of(world: Objects, thing: Thing, start: int | None, stop: int | None) -> Fields:
    mr = _region(world, thing)
    return {"remote_addr": _bounds(mr, start, stop)[0], "rkey": mr.rkey}


def _range_of(world: Objects, thing: Thing, start: int | None, stop: int | None) -> Fields:
    length = _bounds(_region(world, thing), start, stop)[1]
    return _remote_of(world, thing, start, stop) | {"flush_length": length}


def _bind_of(world: Objects, thing: Thing, start: int | None, stop: int | None) -> Fields:
    addr, length = _bounds(_region(world, thing), start, stop)
    return {"bind_mr": thing.number, "bind_addr": addr, "bind_length": length}


def _number_of(_world: Objects, thing: Thing, _start: int | None, _stop: int | None) -> int:
    return thing.number


def _rkey_of(world: Objects, thing: Thing, _start: int | None, _stop: int | None) -> int:
    return _region(world, thing).rkey


ShortSGE = Annotated[SGE, FLAT, RefShorthand(Noun.MR, _sge_of)]
ListedSGE = Annotated[SGE, RefShorthand(Noun.MR, _sge_of, WildPointer)]
ShortBuffer = Annotated[Buffer, RefShorthand(Noun.MR, _buffer_of)]
FlatBuffer = Annotated[Buffer, FLAT, RefShorthand(Noun.MR, _buffer_of)]
AhNumber = Annotated[int | None, POINTER, Bits(32), RefShorthand(Noun.AH, _number_of)]
MrNumber = Annotated[int | None, POINTER, Bits(32), RefShorthand(Noun.MR, _number_of)]
MwNumber = Annotated[int | None, POINTER, Bits(32), RefShorthand(Noun.MW, _number_of)]
QpNumber = Annotated[U32, RefShorthand(Noun.QP, _number_of)]
SrqNumber = Annotated[U32, RefShorthand(Noun.SRQ, _number_of)]
RKey = Annotated[U32, RefShorthand(Noun.MR, _rkey_of, also=(Noun.MW,))]
WindowKey = Annotated[U32, RefShorthand(Noun.MW, _rkey_of, also=(Noun.MR,))]
NO_FLAGS = SendFlags(0)
NO_RIGHTS = Access(0)
REMOTE = FieldGroup("remote", Noun.MR, _remote_of, ("remote_addr", "rkey"), (Noun.MW,))
REMOTE_RANGE = FieldGroup(
    "remote", Noun.MR, _range_of, ("remote_addr", "rkey", "flush_length"), (Noun.MW,)
)
BIND = FieldGroup("bind", Noun.MR, _bind_of, ("bind_mr", "bind_addr", "bind_length"))


_WR = TypeVar("_WR", bound="SendWR | RecvWR")
Pointer = Annotated[int | None, POINTER, Bits(64)]
Rest = Annotated[str, OneOf(("zero", "junk"))]
JUNK = 0x6B6B6B6B6B6B6B6B  # what malloc leaves


_new = object.__new__


def _copied(sg: list[SGE]) -> list[SGE]:
    """Values of the entries; one entry, as most lists have, needs no comprehension."""
    if len(sg) == 1:
        sge = sg[0]
        return [type(sge)(sge.addr, sge.length, sge.lkey)]
    return [type(sge)(sge.addr, sge.length, sge.lkey) for sge in sg]


def _filled(cls: type[_WR], fields: Fields) -> _WR:
    """rest=junk: without memset each field that was not set has the bytes of earlier use."""
    if fields.get("rest") == "junk":
        junk = {name: JUNK & (1 << bits) - 1 for name, bits in cls.WIDTHS.items()}
        if fields.get("sg") is not None:  # who wrote a list has counted it
            del junk["num_sge"]
        fields = junk | fields
    if "sg" in fields and fields["sg"] is None:
        fields = fields | {"sg": []}
    if "next" in fields and fields["next"] is None:
        fields = fields | {"next": 0}
    return cls(**fields)


def _hdr_of(world: Objects, thing: Thing, start: int | None, stop: int | None) -> Fields:
    addr, length = _bounds(_region(world, thing), start, stop)
    return {"hdr_addr": addr, "hdr_sz": length}


HDR = FieldGroup("hdr", Noun.MR, _hdr_of, ("hdr_addr", "hdr_sz"))


@dataclass(slots=True)
class SendWR:
    """`ibv_send_wr`. imm_data: as stored in memory (htonl'ed); atomics use compare_add and swap.

    ah, remote_qpn, remote_qkey: where a datagram goes. remote_srqn: the SRQ of an XRC message.
    invalidate_rkey: of LOCAL_INV and SEND_WITH_INV. mw, mw_rkey (left out: the next one), bind_*:
    of BIND_MW. flush_*: of FLUSH. hdr_addr, hdr_sz (`tso.hdr`, `tso.hdr_sz`): the headers before
    each piece of a TSO, whose bytes mss counts. num_sge: None, the length of `sg`. next: None,
    the next request of the list, 0, the list ends here, else an invalid pointer. rest: what
    the other fields hold.
    """

    C_NAME = "ibv_send_wr"

    WIDTHS: ClassVar[dict[str, int]] = {
        "wr_id": 64, "flags": 32, "num_sge": 31, "imm_data": 32, "remote_addr": 64, "rkey": 32,
        "compare_add": 64, "swap": 64, "ah": 32, "remote_qpn": 32, "remote_qkey": 32,
        "remote_srqn": 32, "hdr_addr": 64, "hdr_sz": 16, "mss": 16, "invalidate_rkey": 32,
        "mw": 32, "mw_rkey": 32, "bind_mr": 32, "bind_addr": 64, "bind_length": 64,
        "bind_access": 32, "flush_length": 32, "next": 64,
    }  # fmt: skip

    opcode: WROpcode
    wr_id: U64 = 0
    sg: Annotated[list[ListedSGE], POINTER, Alias("sg_list")] = field(default_factory=list)
    flags: Annotated[SendFlags, Alias("send_flags")] = NO_FLAGS
    imm_data: U32 = 0
    remote_addr: Annotated[Address, InC("wr.rdma.remote_addr"), InC("wr.atomic.remote_addr")] = 0
    rkey: Annotated[RKey, InC("wr.rdma.rkey"), InC("wr.atomic.rkey")] = 0
    compare_add: Annotated[U64, InC("wr.atomic.compare_add")] = 0
    swap: Annotated[U64, InC("wr.atomic.swap")] = 0
    ah: Annotated[AhNumber, InC("wr.ud.ah")] = None
    remote_qpn: Annotated[QpNumber, InC("wr.ud.remote_qpn")] = 0
    remote_qkey: Annotated[U32, InC("wr.ud.remote_qkey")] = 0
    remote_srqn: Annotated[SrqNumber, InC("qp_type.xrc.remote_srqn")] = 0
    hdr_addr: Annotated[Address, Alias("hdr"), InC("tso.hdr")] = 0
    hdr_sz: Annotated[U16, InC("tso.hdr_sz")] = 0
    mss: Annotated[U16, InC("tso.mss")] = 0
    invalidate_rkey: WindowKey = 0
    mw: Annotated[MwNumber, InC("bind_mw.mw")] = None
    mw_rkey: Annotated[int | None, Bits(32), InC("bind_mw.rkey")] = None
    bind_mr: Annotated[MrNumber, InC("bind_mw.bind_info.mr")] = None
    bind_addr: Annotated[Address, InC("bind_mw.bind_info.addr")] = 0
    bind_length: Annotated[U64, InC("bind_mw.bind_info.length")] = 0
    bind_access: Annotated[
        Access, Alias("mw_access_flags"), InC("bind_mw.bind_info.mw_access_flags")
    ] = NO_RIGHTS
    flush_length: U32 = 0
    flush_type: Placement = Placement.GLOBAL
    flush_level: Selectivity = Selectivity.RANGE
    num_sge: int | None = None
    next: Pointer = None
    rest: Rest = "zero"

    @classmethod
    def from_given(cls, fields: Fields) -> "SendWR":
        """A request with the fields that were given."""
        return _filled(cls, fields)

    def copy_for_queue(self) -> "SendWR":
        """A copy, as a driver writes it into its ring: the caller's request is free again.

        Field by field, because a generic copy, or a call with all fields, takes twice as long.
        """
        copy = _new(SendWR)
        copy.opcode, copy.wr_id, copy.sg = self.opcode, self.wr_id, _copied(self.sg)
        copy.flags, copy.imm_data = self.flags, self.imm_data
        copy.remote_addr, copy.rkey = self.remote_addr, self.rkey
        copy.compare_add, copy.swap = self.compare_add, self.swap
        copy.ah, copy.remote_qpn, copy.remote_qkey = self.ah, self.remote_qpn, self.remote_qkey
        copy.remote_srqn, copy.invalidate_rkey = self.remote_srqn, self.invalidate_rkey
        copy.hdr_addr, copy.hdr_sz, copy.mss = self.hdr_addr, self.hdr_sz, self.mss
        copy.mw, copy.mw_rkey, copy.bind_mr = self.mw, self.mw_rkey, self.bind_mr
        copy.bind_addr, copy.bind_length = self.bind_addr, self.bind_length
        copy.bind_access, copy.flush_length = self.bind_access, self.flush_length
        copy.flush_type, copy.flush_level = self.flush_type, self.flush_level
        copy.num_sge, copy.next, copy.rest = self.num_sge, self.next, self.rest
        return copy


@dataclass(slots=True)
class RecvWR:
    """`ibv_recv_wr`; num_sge, next, rest as in SendWR."""

    C_NAME = "ibv_recv_wr"

    WIDTHS: ClassVar[dict[str, int]] = {"wr_id": 64, "num_sge": 31, "next": 64}

    wr_id: U64 = 0
    sg: Annotated[list[ListedSGE], POINTER, Alias("sg_list")] = field(default_factory=list)
    num_sge: int | None = None
    next: Pointer = None
    rest: Rest = "zero"

    @classmethod
    def from_given(cls, fields: Fields) -> "RecvWR":
        """A request with the fields that were given."""
        return _filled(cls, fields)

    def copy_for_queue(self) -> "RecvWR":
        """A copy, as in SendWR."""
        return RecvWR(self.wr_id, _copied(self.sg), self.num_sge, self.next, self.rest)


def swap_octets(word: int) -> int:
    """`imm_data` lies in memory in network order: the host that prints it sees it swapped."""
    return int.from_bytes(word.to_bytes(4, "little"), "big")


# --------------------------------------------------------------------------- on a queue
@dataclass(slots=True)
class SendWqe:
    """A send WR on its queue.

    serial: counts this queue's WRs from 0. sg, length: after the zero-length rule of the profile.
    inline: the bytes copied at post time, or None. first_psn..last_psn: the PSNs it will use; what
    sends nothing has none. av: where a datagram goes, if that was read at post time. header: of a
    TSO, as it was at post time.
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
    av: AddressHandle | None = None
    header: Template | None = None

    def has_psn(self, psn: int) -> bool:
        """True if one of its packets has this PSN."""
        span = (self.last_psn - self.first_psn) & MASK
        return self.op is not None and (psn - self.first_psn) & MASK <= span


@dataclass(slots=True)
class RecvWqe:
    """A receive WR on its queue; `length` is the sum of its buffers, in bytes.

    srq: the shared receive queue it was posted to; 0: the QP's own.
    """

    serial: int
    wr: RecvWR
    sg: list[SGE]
    length: int
    srq: int = 0


@dataclass(slots=True)
class Cqe:
    """`ibv_wc`, and what the queue needs to give slots back: `serial` and whose WQE it was (`srq`
    as in RecvWqe).

    On an error status only wr_id, status, qp_num and vendor_err mean anything. solicited: the
    message had the SE bit set. at_ns: when it was added to the CQ; the device stamps it there.
    route: slid, sl and dlid_path_bits of a datagram that came over InfiniBand.
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
    srq: int = 0
    solicited: bool = False
    at_ns: int = 0
    route: tuple[int, int, int] = (0, 0, 0)

    @property
    def slid(self) -> int:
        return self.route[0]

    @property
    def sl(self) -> int:
        return self.route[1]

    @property
    def dlid_path_bits(self) -> int:
        return self.route[2]
