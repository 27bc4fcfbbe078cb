"""Builders of the extended post API: each makes one work request, which `wr_complete` posts."""

from dataclasses import fields
from typing import Annotated, Any

from rdmalab.command import VERB, Alias, InC, command
from rdmalab.hca import batch
from rdmalab.hca.device import Hca
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import (
    BIND,
    HDR,
    NO_RIGHTS,
    REMOTE,
    REMOTE_RANGE,
    SGE,
    U16,
    U32,
    U64,
    Address,
    MrNumber,
    MwNumber,
    RKey,
    ShortBuffer,
    WindowKey,
)
from rdmalab.spec.access import Access
from rdmalab.spec.opcodes import ATOMIC_BYTES
from rdmalab.spec.row import dataclass
from rdmalab.spec.work import Placement, Selectivity, SendFlags, WROpcode
from rdmalab.verbs.nouns import Qp
from rdmalab.world.world import World

_O = WROpcode


@dataclass(slots=True)
class NextWR:
    """`ibv_qp_ex`, wr_id and wr_flags of it: left out, they are what they were."""

    C_NAME = "ibv_qp_ex"

    wr_id: U64 | None = None
    wr_flags: SendFlags | None = None


Qpx = NextWR | None


@dataclass(slots=True)
class Target:
    """Memory of the peer: `remote=B.mr0[100]`, or the two numbers of it."""

    remote_addr: Address
    rkey: RKey


@dataclass(slots=True)
class Swap(Target):
    """Operands of a compare and swap."""

    compare: U64
    swap: U64


@dataclass(slots=True)
class Addition(Target):
    """Operand of a fetch and add."""

    add: U64


@dataclass(slots=True)
class Eight(Target):
    """Target of an ATOMIC WRITE, and the place of its 8 bytes here."""

    atomic_wr: ShortBuffer


@dataclass(slots=True)
class BindInfo:
    """A bind: the window, its new key (left out: the next one), and `ibv_mw_bind_info`."""

    mw: MwNumber
    mw_rkey: Annotated[U32 | None, Alias("rkey")] = None
    bind_mr: Annotated[MrNumber, InC("bind_info.mr")] = None
    bind_addr: Annotated[Address, InC("bind_info.addr")] = 0
    bind_length: Annotated[U64, InC("bind_info.length")] = 0
    bind_access: Annotated[Access, Alias("mw_access_flags"), InC("bind_info.mw_access_flags")] = (
        NO_RIGHTS
    )


@dataclass(slots=True)
class Header:
    """The address of the headers of a TSO, and the bytes of the stream after each copy."""

    hdr_addr: Annotated[Address, Alias("hdr")]
    hdr_sz: U16
    mss: U16


@dataclass(slots=True)
class Flushed(Target):
    """Bytes of the peer's memory that a FLUSH is about, and how far they must have come."""

    flush_length: U32 = 0
    flush_type: Placement = Placement.GLOBAL
    flush_level: Selectivity = Selectivity.RANGE


def set_next(world: World, qp: Qp, qpx: Qpx) -> tuple[Hca, QueuePair]:
    """The two fields, as far as they are given; and whose they are."""
    hca, pair = world.at(qp, QueuePair)
    batch.set_next(hca, pair, *((qpx.wr_id, qpx.wr_flags) if qpx else (None, None)))
    return hca, pair


def _build(world: World, qp: Qp, opcode: WROpcode, qpx: Qpx, **operands: Any) -> None:
    hca, pair = set_next(world, qp, qpx)
    batch.build(hca, pair, opcode, **operands)


def _fields(record: Any, **called: str) -> dict[str, Any]:
    """Operands as fields of `SendWR`, which are called the same but for `called`."""
    names = [each.name for each in fields(record)]
    return {called.get(name, name): getattr(record, name) for name in names}


@command(VERB)
def wr_send(world: World, qp: Qp, *, qpx: Qpx = None) -> None:
    """Build a SEND; a DATA setter says which bytes, without one it has none.

    Example: wr_send A.qx0 wr_id=1 wr_flags=SIGNALED
    See: ibv_wr_send(3); help wr_set_sge
    """
    _build(world, qp, _O.SEND, qpx)


@command(VERB)
def wr_send_imm(world: World, qp: Qp, *, imm_data: U32, qpx: Qpx = None) -> None:
    """Build a SEND with 32 bits that the peer finds in its completion: RECV, flag WITH_IMM.

    Example: wr_send_imm A.qx0 imm_data=htonl(0x1234)
    See: ibv_wr_send_imm(3); help wr_set_sge
    """
    _build(world, qp, _O.SEND_WITH_IMM, qpx, imm_data=imm_data)


@command(VERB)
def wr_rdma_write(
    world: World, qp: Qp, *, target: Annotated[Target, REMOTE], qpx: Qpx = None
) -> None:
    """Build an RDMA WRITE; remote=B.mr0[100] stands for remote_addr and rkey.

    Example: wr_rdma_write A.qx0 remote=B.mr0[0]
    See: ibv_wr_rdma_write(3); help wr_set_sge
    """
    _build(world, qp, _O.RDMA_WRITE, qpx, **_fields(target))


@command(VERB)
def wr_rdma_write_imm(
    world: World, qp: Qp, *, target: Annotated[Target, REMOTE], imm_data: U32, qpx: Qpx = None
) -> None:
    """Build an RDMA WRITE that takes a receive of the peer and brings it 32 bits.

    Example: wr_rdma_write_imm A.qx0 remote=B.mr0[0] imm_data=htonl(0x1234)
    See: ibv_wr_rdma_write_imm(3); help wr_set_sge
    """
    _build(world, qp, _O.RDMA_WRITE_WITH_IMM, qpx, **_fields(target), imm_data=imm_data)


@command(VERB)
def wr_rdma_read(
    world: World, qp: Qp, *, target: Annotated[Target, REMOTE], qpx: Qpx = None
) -> None:
    """Build an RDMA READ; the DATA setter says how much and where to. Not inline.

    Example: wr_rdma_read A.qx0 remote=B.mr0[0]
    See: ibv_wr_rdma_read(3); help wr_set_sge_list
    """
    _build(world, qp, _O.RDMA_READ, qpx, **_fields(target))


@command(VERB)
def wr_atomic_cmp_swp(
    world: World, qp: Qp, *, operands: Annotated[Swap, REMOTE], qpx: Qpx = None
) -> None:
    """Build a compare and swap: if the 8 bytes there are `compare` they become `swap`.

    The old value comes to the 8 bytes of the DATA setter.

    Example: wr_atomic_cmp_swp A.qx0 remote=B.mr0[0] compare=0 swap=1
    See: ibv_wr_atomic_cmp_swp(3); help wr_set_sge
    """
    values = _fields(operands, compare="compare_add")
    _build(world, qp, _O.ATOMIC_CMP_AND_SWP, qpx, **values)


@command(VERB)
def wr_atomic_fetch_add(
    world: World, qp: Qp, *, operands: Annotated[Addition, REMOTE], qpx: Qpx = None
) -> None:
    """Build a fetch and add to the 8 bytes there, modulo 2^64.

    The old value comes to the 8 bytes of the DATA setter.

    Example: wr_atomic_fetch_add A.qx0 remote=B.mr0[0] add=1
    See: ibv_wr_atomic_fetch_add(3); help wr_set_sge
    """
    values = _fields(operands, add="compare_add")
    _build(world, qp, _O.ATOMIC_FETCH_AND_ADD, qpx, **values)


@command(VERB)
def wr_send_inv(world: World, qp: Qp, *, invalidate_rkey: WindowKey, qpx: Qpx = None) -> None:
    """Build a SEND that also makes a key of the peer void: a bound window of type 2.

    The peer finds the key in its completion, with the flag WITH_INV.

    Example: wr_send_inv A.qx0 invalidate_rkey=B.mw0
    See: ibv_wr_send_inv(3); help wr_set_sge
    """
    _build(world, qp, _O.SEND_WITH_INV, qpx, invalidate_rkey=invalidate_rkey)


@command(VERB)
def wr_local_inv(world: World, qp: Qp, *, invalidate_rkey: WindowKey, qpx: Qpx = None) -> None:
    """Build a LOCAL_INV: a window of type 2, bound on this queue pair, opens nothing any more.

    It takes no setter.

    Example: wr_local_inv A.qx0 invalidate_rkey=A.mw0
    See: ibv_wr_local_inv(3); help dealloc_mw
    """
    _build(world, qp, _O.LOCAL_INV, qpx, invalidate_rkey=invalidate_rkey)


@command(VERB)
def wr_bind_mw(world: World, qp: Qp, *, info: Annotated[BindInfo, BIND], qpx: Qpx = None) -> None:
    """Build a bind of a window of type 2: mw=A.mw0 bind=A.mr0[0:64] bind_access=REMOTE_READ.

    It takes no setter. Of mw_rkey the window takes the low octet; left out, its next key.

    Example: wr_bind_mw A.qx0 mw=A.mw0 bind=A.mr0[0:64] bind_access=REMOTE_READ
    See: ibv_wr_bind_mw(3); help alloc_mw
    """
    _build(world, qp, _O.BIND_MW, qpx, **_fields(info))


@command(VERB)
def wr_send_tso(world: World, qp: Qp, *, header: Annotated[Header, HDR], qpx: Qpx = None) -> None:
    """Build a SEND that the device cuts into pieces of mss bytes, with hdr before each.

    UD and RAW_PACKET only; the DATA setter says what is cut. create_qp_ex max_tso_header is the
    longest header there may be. The header is copied by wr_complete.

    Example: wr_send_tso A.qx0 hdr=A.mr0[0:54] mss=1000
    See: ibv_wr_send_tso(3); help wr_set_sge
    """
    _build(world, qp, _O.TSO, qpx, **_fields(header))


@command(VERB)
def wr_flush(
    world: World, qp: Qp, *, target: Annotated[Flushed, REMOTE_RANGE], qpx: Qpx = None
) -> None:
    """Build a FLUSH: it completes when the bytes written there before have come to rest.

    It takes no setter: remote=B.mr0[0:64] says how many bytes.

    Example: wr_flush A.qx0 remote=B.mr0[0:64] flush_type=GLOBAL
    See: ibv_wr_flush(3)
    """
    _build(world, qp, _O.FLUSH, qpx, **_fields(target))


@command(VERB)
def wr_atomic_write(
    world: World, qp: Qp, *, target: Annotated[Eight, REMOTE], qpx: Qpx = None
) -> None:
    """Build an ATOMIC WRITE: the 8 bytes at atomic_wr are copied here and now, and no key is asked.

    At the peer all 8 bytes change in one step. It takes no setter.

    Example: wr_atomic_write A.qx0 remote=B.mr0[0] atomic_wr=A.mr0[0:8]
    See: ibv_wr_atomic_write(3)
    """
    values = _fields(target)
    sge = SGE(values.pop("atomic_wr").addr, ATOMIC_BYTES)  # a pointer in C
    hca, pair = set_next(world, qp, qpx)
    batch.build_inline(hca, pair, _O.ATOMIC_WRITE, sge, **values)
