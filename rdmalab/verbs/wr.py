"""The extended post API: a region around the builders, and setters that fill what they made."""

from typing import Annotated

from rdmalab.command import POINTER, VERB, Alias, command
from rdmalab.hca import batch, extended
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import (
    SGE,
    U32,
    AhNumber,
    Buffer,
    FlatBuffer,
    ListedSGE,
    QpNumber,
    ShortBuffer,
    ShortSGE,
    SrqNumber,
)
from rdmalab.verbs.builders import Qpx, set_next
from rdmalab.verbs.nouns import Qp
from rdmalab.world.world import World

SGEs = Annotated[list[ListedSGE], POINTER, Alias("sg_list")]
Buffers = Annotated[list[ShortBuffer], POINTER, Alias("buf_list")]


# --------------------------------------------------------------------------- the region
@command(VERB)
def wr_start(world: World, qp: Qp, *, thread: int = 1) -> None:
    """Open the critical region of a send queue: builders and setters go between this and the end.

    It takes the lock of the queue: post_send in the region would deadlock, another thread waits.
    A queue pair made in a thread domain has no lock, and threads write over each other's work.
    The end is wr_complete, which posts everything, or wr_abort, which discards it.

    Example: wr_start A.qx0
    See: ibv_wr_start(3)
    """
    extended.start(*world.at(qp, QueuePair), thread)


@command(VERB)
def wr_set(world: World, qp: Qp, *, qpx: Qpx = None) -> None:
    """Set the two fields that the next builder reads: qpx->wr_id and qpx->wr_flags.

    They hold for all later builders until they are set again; to set them after a builder
    changes nothing for that one. Each builder takes wr_id= and wr_flags= too, and sets them first.
    INLINE has no effect here: the setter decides (rxe: set INLINE too, or the request fails).

    Example: wr_set A.qx0 wr_id=1 wr_flags=SIGNALED
    See: ibv_wr_post(3)
    """
    set_next(world, qp, qpx)


@command(VERB)
def wr_complete(world: World, qp: Qp) -> None:
    """Post everything that was built, ring the doorbell, and leave the region.

    The functions before it return nothing: it returns their errors. Then nothing of the batch is
    posted, where post_send would have kept the requests before the bad one. Nothing is sent before.

    Example: wr_complete A.qx0
    See: ibv_wr_complete(3)
    """
    batch.complete(*world.at(qp, QueuePair))


@command(VERB)
def wr_abort(world: World, qp: Qp) -> None:
    """Leave the region and discard everything that was built in it.

    Example: wr_abort A.qx0
    See: ibv_wr_abort(3)
    """
    batch.abort(*world.at(qp, QueuePair))


# --------------------------------------------------------------------------- setters
@command(VERB)
def wr_set_sge(world: World, qp: Qp, *, sg: ShortSGE) -> None:
    """Say which bytes the work request just built moves: one piece of an MR, by reference.

    They belong to the HCA until the work request completes. In C it is lkey=0x289 addr=0x10000000
    length=64.

    Example: wr_set_sge A.qx0 sg=A.mr0[0:64]
    See: ibv_wr_set_sge(3)
    """
    batch.fill(*world.at(qp, QueuePair), "wr_set_sge", [sg])


@command(VERB)
def wr_set_sge_list(world: World, qp: Qp, *, sg: SGEs, num_sge: int | None = None) -> None:
    """Say which bytes the work request just built moves: pieces, one after the other.

    num_sge: how many of them; left out, all. More than there are would crash in C.

    Example: wr_set_sge_list A.qx0 sg=A.mr0[0:16],A.mr0[100:120]
    See: ibv_wr_set_sge_list(3)
    """
    batch.fill_list(*world.at(qp, QueuePair), "wr_set_sge_list", sg or [], num_sge)


@command(VERB)
def wr_set_inline_data(world: World, qp: Qp, *, buf: FlatBuffer) -> None:
    """Copy bytes into the work request just built, here and now: the buffer is free at once.

    No key is asked. SEND and RDMA WRITE only, max_inline_data bytes at most. In C it is
    addr=0x10000000 length=32.

    Example: wr_set_inline_data A.qx0 buf=A.mr0[0:32]
    See: ibv_wr_set_inline_data(3)
    """
    batch.fill_inline(*world.at(qp, QueuePair), "wr_set_inline_data", _pieces([buf]))


@command(VERB)
def wr_set_inline_data_list(
    world: World, qp: Qp, *, buf: Buffers, num_buf: int | None = None
) -> None:
    """Copy several buffers into the work request just built, one after the other.

    num_buf: how many of them; left out, all. More than there are would crash in C.

    Example: wr_set_inline_data_list A.qx0 buf=A.mr0[0:16],A.mr0[100:116]
    See: ibv_wr_set_inline_data_list(3)
    """
    batch.fill_inline(
        *world.at(qp, QueuePair), "wr_set_inline_data_list", _pieces(buf or []), num_buf
    )


def _pieces(buffers: list[Buffer]) -> list[SGE]:
    return [SGE(buffer.addr, buffer.length) for buffer in buffers]


@command(VERB)
def wr_set_ud_addr(
    world: World, qp: Qp, *, ah: AhNumber, remote_qpn: QpNumber, remote_qkey: U32
) -> None:
    """Say where the datagram just built goes. UD cannot do without; other types have no such thing.

    Example: wr_set_ud_addr A.qx0 ah=A.ah0 remote_qpn=B.qp0 remote_qkey=0x11111111
    See: ibv_wr_set_ud_addr(3)
    """
    hca, pair = world.at(qp, QueuePair)
    where = {"ah": ah, "remote_qpn": remote_qpn, "remote_qkey": remote_qkey}
    batch.address(hca, pair, "wr_set_ud_addr", **where)


@command(VERB)
def wr_set_xrc_srqn(world: World, qp: Qp, *, remote_srqn: SrqNumber) -> None:
    """Say which shared receive queue of the peer the message just built is for: XRC_SEND only.

    Example: wr_set_xrc_srqn A.qx0 remote_srqn=B.srq0
    See: ibv_wr_set_xrc_srqn(3); help create_srq_ex
    """
    batch.address(*world.at(qp, QueuePair), "wr_set_xrc_srqn", remote_srqn=remote_srqn)
