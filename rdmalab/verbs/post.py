"""Posting work requests."""

from typing import Annotated

from rdmalab.command import command
from rdmalab.hca import posting
from rdmalab.hca.wr import BIND, REMOTE, RecvWR, SendWR
from rdmalab.verbs.nouns import Qp
from rdmalab.world.world import World


@command
def post_send(world: World, qp: Qp, *, wr: list[Annotated[SendWR, REMOTE, BIND]]) -> None:
    """Queue work requests on the send queue and ring the doorbell.

    sg=A.mr0[0:64] names local bytes, remote=B.mr0[100] the peer's address and rkey; remote_addr
    and rkey may be said apart; a window stands for its own: remote=B.mw0[0:8]. BIND_MW takes
    mw=A.mw0 bind=A.mr0[0:64] bind_access=…, and mw_rkey, or else the window's next key; LOCAL_INV
    and SEND_WITH_INV take invalidate_rkey=B.mw0. flags=SIGNALED asks for a completion. A list of
    WRs is written wr={…} wr={…}. EINVAL before RTS; ENOMEM when no slot is free; the requests
    before the bad one stay posted.

    Example: post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED
    See: ibv_post_send(3)
    """
    hca, pair = world.at(qp)
    posting.post_send(hca, pair, wr)


@command
def post_recv(world: World, qp: Qp, *, wr: list[RecvWR]) -> None:
    """Queue receive work requests: buffers for messages to come.

    Legal from INIT on. EINVAL in RESET; ENOMEM when no slot is free. A SEND that finds none is
    answered with an RNR NAK.

    Example: post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]
    See: ibv_post_recv(3)
    """
    hca, pair = world.at(qp)
    posting.post_recv(hca, pair, wr)
