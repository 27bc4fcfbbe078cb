"""Posting work requests."""

from collections.abc import Callable
from typing import Annotated, Any

from rdmalab.command import VERB, Alias, OneOf, Refused, Thing, command
from rdmalab.hca import invalid_pointers, posting
from rdmalab.hca.qp import QueuePair, SharedReceiveQueue
from rdmalab.hca.wr import BIND, HDR, REMOTE_RANGE, RecvWR, SendWR
from rdmalab.spec.rules import RULES
from rdmalab.verbs.nouns import Qp
from rdmalab.world.world import World

BadWr = Annotated[str, OneOf(("&bad_wr", invalid_pointers.NULL))]
BadRecvWr = Annotated[BadWr, Alias("bad_recv_wr")]
RecvList = Annotated[list[RecvWR] | None, Alias("recv_wr")]


@command(VERB)
def post_send(
    world: World,
    qp: Qp | None,
    *,
    wr: list[Annotated[SendWR, REMOTE_RANGE, HDR, BIND]] | None,
    bad_wr: BadWr = "&bad_wr",
) -> None:
    """Queue work requests on the send queue and ring the doorbell.

    EINVAL before RTS, ENOMEM when no slot is free. The requests before the bad one stay posted.
    A list of WRs is written wr={…} wr={…}.

    * sg: local bytes, sg=A.mr0[0:64]
    * remote: address and rkey of the peer's bytes, remote=B.mr0[100]; a window: remote=B.mw0[0:8]
    * flags: flags=SIGNALED asks for a completion
    * BIND_MW: takes mw=A.mw0 bind=A.mr0[0:64] bind_access=…; mw_rkey, or else the window's next key
    * LOCAL_INV, SEND_WITH_INV: take invalidate_rkey=B.mw0
    * TSO: cuts sg into pieces of mss bytes, with hdr=A.mr0[0:54] before each

    What C lets one do wrong can be typed too: sg=0xdead, num_sge=3, next=0xdead, ah=0xdead,
    bad_wr=NULL, wr=NULL, post_send NULL, and rest=junk for a struct without memset. A pointer that
    is 0 is NULL.

    Example: post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED
    See: ibv_post_send(3)
    """
    posted(world, qp, QueuePair, posting.post_send, wr, bad_wr)


@command(VERB)
def post_recv(world: World, qp: Qp | None, *, wr: RecvList, bad_wr: BadRecvWr = "&bad_wr") -> None:
    """Queue receive work requests: buffers for messages to come.

    Legal from INIT on. EINVAL in RESET; ENOMEM when no slot is free. A SEND that finds none is
    answered with an RNR NAK. Wrong pointers as in post_send.

    Example: post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]
    See: ibv_post_recv(3)
    """
    posted(world, qp, QueuePair, posting.post_recv, wr, bad_wr)


def posted(
    world: World, name: Thing | None, kind: type[QueuePair | SharedReceiveQueue],
    post: Callable[..., None], wr: list[Any] | None, bad_wr: str,
) -> None:  # fmt: skip
    """A list joins a queue; what C does without one, or without a place for bad_wr, is reported.

    The queue gets values, as a driver writes them into its ring: the caller's request is free.
    name: None: the queue is NULL.
    """
    if name is None:
        row, argument = RULES["null-queue"], "qp" if kind is QueuePair else "srq"
        legal = f"name a queue: A.{argument}0"
        raise Refused(row.errno, "null-queue", row.filled(argument), argument, legal)
    hca, queue = world.at(name, kind)
    if wr is None or bad_wr == invalid_pointers.NULL:
        invalid_pointers.notice_null(hca, queue, "wr" if wr is None else "bad_wr")
    try:
        post(hca, queue, invalid_pointers.copy_for_queue(wr or []))
    except Refused as refusal:
        if bad_wr == invalid_pointers.NULL:
            raise invalid_pointers.without_bad_wr(hca, refusal) from None
        raise
