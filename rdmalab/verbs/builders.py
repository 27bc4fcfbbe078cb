"""Builders of the extended post API for windows, persistent memory and cut-up streams."""

from dataclasses import dataclass
from typing import Annotated, Any

from rdmalab.command import Alias, command
from rdmalab.hca import batch
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
    MrNumber,
    MwNumber,
    RKey,
    ShortBuffer,
    WindowKey,
)
from rdmalab.spec.access import Access
from rdmalab.spec.work import Placement, Selectivity, SendFlags, WROpcode
from rdmalab.verbs.nouns import Qp
from rdmalab.world.world import World

_O = WROpcode
_WORD = 8


@dataclass(slots=True)
class BindInfo:
    """A bind: the window, its new key (left out: the next one), and `ibv_mw_bind_info`."""

    mw: MwNumber
    mw_rkey: U32 | None = None
    bind_mr: MrNumber = None
    bind_addr: U64 = 0
    bind_length: U64 = 0
    bind_access: Annotated[Access, Alias("mw_access_flags")] = NO_RIGHTS


@dataclass(slots=True)
class Header:
    """Where the headers of a TSO lie, and how many bytes of the stream go behind each copy."""

    hdr_addr: U64
    hdr_sz: U16
    mss: U16


@dataclass(slots=True)
class Flushed:
    """Which bytes of the peer's memory a FLUSH is about, and how far they must have come."""

    remote_addr: U64
    rkey: RKey
    flush_length: U32 = 0
    flush_type: Placement = Placement.GLOBAL
    flush_level: Selectivity = Selectivity.RANGE


@dataclass(slots=True)
class Eight:
    """Where an ATOMIC WRITE goes, and where its 8 bytes lie here."""

    remote_addr: U64
    rkey: RKey
    atomic_wr: ShortBuffer


@command
def wr_send_inv(
    world: World,
    qp: Qp,
    *,
    invalidate_rkey: WindowKey,
    wr_id: U64 | None = None,
    wr_flags: SendFlags | None = None,
) -> None:
    """Build a SEND that also makes a key of the peer void: a bound window of type 2.

    The peer finds the key in its completion, with the flag WITH_INV.

    Example: wr_send_inv A.qx0 invalidate_rkey=B.mw0
    See: ibv_wr_send_inv(3); help wr_set_sge
    """
    batch.set_next(*world.at(qp), wr_id, wr_flags)
    batch.build(*world.at(qp), _O.SEND_WITH_INV, invalidate_rkey=invalidate_rkey)


@command
def wr_local_inv(
    world: World,
    qp: Qp,
    *,
    invalidate_rkey: WindowKey,
    wr_id: U64 | None = None,
    wr_flags: SendFlags | None = None,
) -> None:
    """Build a LOCAL_INV: a window of type 2, bound on this queue pair, opens nothing any more.

    It takes no setter.

    Example: wr_local_inv A.qx0 invalidate_rkey=A.mw0
    See: ibv_wr_local_inv(3); help dealloc_mw
    """
    batch.set_next(*world.at(qp), wr_id, wr_flags)
    batch.build(*world.at(qp), _O.LOCAL_INV, invalidate_rkey=invalidate_rkey)


@command
def wr_bind_mw(
    world: World,
    qp: Qp,
    *,
    info: Annotated[BindInfo, BIND],
    wr_id: U64 | None = None,
    wr_flags: SendFlags | None = None,
) -> None:
    """Build a bind of a window of type 2: mw=A.mw0 bind=A.mr0[0:64] bind_access=REMOTE_READ.

    It takes no setter. mw_rkey is the key from then on; left out, it is the window's next.

    Example: wr_bind_mw A.qx0 mw=A.mw0 bind=A.mr0[0:64] bind_access=REMOTE_READ
    See: ibv_wr_bind_mw(3); help alloc_mw
    """
    batch.set_next(*world.at(qp), wr_id, wr_flags)
    fields = {name: getattr(info, name) for name in BindInfo.__dataclass_fields__}
    batch.build(*world.at(qp), _O.BIND_MW, **fields)


@command
def wr_send_tso(
    world: World,
    qp: Qp,
    *,
    header: Annotated[Header, HDR],
    wr_id: U64 | None = None,
    wr_flags: SendFlags | None = None,
) -> None:
    """Build a SEND that the device cuts into pieces of mss bytes, with hdr before each.

    UD and RAW_PACKET only; the DATA setter says what is cut. create_qp_ex max_tso_header is the
    longest header there may be. The header is copied by wr_complete.

    Example: wr_send_tso A.qx0 hdr=A.mr0[0:54] mss=1000
    See: ibv_wr_send_tso(3); help wr_set_sge
    """
    batch.set_next(*world.at(qp), wr_id, wr_flags)
    fields: dict[str, Any] = {
        "hdr_addr": header.hdr_addr,
        "hdr_sz": header.hdr_sz,
        "mss": header.mss,
    }
    batch.build(*world.at(qp), _O.TSO, **fields)


@command
def wr_flush(
    world: World,
    qp: Qp,
    *,
    target: Annotated[Flushed, REMOTE_RANGE],
    wr_id: U64 | None = None,
    wr_flags: SendFlags | None = None,
) -> None:
    """Build a FLUSH: it completes when the bytes written there before have come to rest.

    It takes no setter: remote=B.mr0[0:64] says how many bytes.

    Example: wr_flush A.qx0 remote=B.mr0[0:64] flush_type=GLOBAL
    See: ibv_wr_flush(3)
    """
    batch.set_next(*world.at(qp), wr_id, wr_flags)
    fields = {name: getattr(target, name) for name in Flushed.__dataclass_fields__}
    batch.build(*world.at(qp), _O.FLUSH, **fields)


@command
def wr_atomic_write(
    world: World,
    qp: Qp,
    *,
    target: Annotated[Eight, REMOTE],
    wr_id: U64 | None = None,
    wr_flags: SendFlags | None = None,
) -> None:
    """Build an ATOMIC WRITE: the 8 bytes at atomic_wr are copied here and now, and no key is asked.

    Nobody ever reads half of them at the peer. It takes no setter.

    Example: wr_atomic_write A.qx0 remote=B.mr0[0] atomic_wr=A.mr0[0:8]
    See: ibv_wr_atomic_write(3)
    """
    hca, pair = world.at(qp)
    batch.set_next(hca, pair, wr_id, wr_flags)
    where: dict[str, Any] = {"remote_addr": target.remote_addr, "rkey": target.rkey}
    sge = SGE(target.atomic_wr.addr, _WORD)  # a pointer in C
    batch.build_inline(hca, pair, _O.ATOMIC_WRITE, sge, **where)
