"""`ibv_post_send`, `ibv_post_recv`: check, queue, ring the doorbell.

The requests before the bad one stay posted; the bad one and all after it are not.
"""

from collections.abc import Mapping

from rdmalab.command import Refused
from rdmalab.hca import extended, flush, invalid_pointers, mw, offloads
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.errors import check_postable, refused, say_queue_too_small
from rdmalab.hca.psn import MASK
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.send_checks import LINES, Check, judge_send, supported_work
from rdmalab.hca.wr import SGE, RecvWqe, RecvWR, SendWqe, SendWR
from rdmalab.spec.opcodes import WORD_OPS, Op
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPType
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.wire.segments import pieces

_SIGNALED = int(SendFlags.SIGNALED)
_INLINE = int(SendFlags.INLINE)
_U32 = 2**32 - 1
_SEND_POSTED, _RECV_POSTED = Kind.SEND_POSTED, Kind.RECV_POSTED

_BIND_MW, _TSO = WROpcode.BIND_MW, WROpcode.TSO

# A list as the device reads it, and its bytes.
Moved = tuple[list[SGE], int]


def effective(hca: Adapter, sg: list[SGE]) -> Moved:
    """The list as the device reads it, and its bytes: the documents say that length 0 is 2^31."""
    length = 0
    for sge in sg:
        if sge.length == 0:
            sg, length = _with_zeros(hca.profile.zero_sge_bytes, sg)
            break
        length += sge.length
    # librxe adds the lengths in 32 bits (dma.length), so that the sum wraps.
    if length > _U32:
        length &= (1 << hca.profile.length_bits) - 1
    return sg, length


def as_sent(hca: Adapter, wr: SendWR) -> Moved:
    """List and bytes of a send WR. INLINE is copied by the CPU, for which 0 bytes are 0 bytes."""
    sg = wr.sg if wr.num_sge is None else invalid_pointers.listed(wr)
    return _with_zeros(0, sg) if int(wr.flags) & _INLINE else effective(hca, sg)


def _with_zeros(zero_bytes: int, sg: list[SGE]) -> Moved:
    read = [SGE(sge.addr, sge.length or zero_bytes, sge.lkey) for sge in sg]
    read = [sge for sge in read if sge.length]
    return read, sum(sge.length for sge in read)


def post_send(
    hca: Adapter, qp: QueuePair, wrs: list[SendWR], lines: Mapping[int, tuple[Check, ...]] = LINES
) -> None:
    """Queue each request; Refused carries the index of the first that was not."""
    if hca.unavailable_rule or qp.ex is not None or qp.sq.early:
        _get_ready(hca, qp)
    try:
        for index, wr in enumerate(wrs):
            moved = as_sent(hca, wr)
            if (refusal := judge_send(hca, qp, wr, moved[1], lines)) is not None:
                refusal.bad_wr = index
                raise refusal
            queue_send(hca, qp, wr, moved)
            if wr.next:
                raise invalid_pointers.lost(hca, wr, index)
    except Refused as refusal:
        say_queue_too_small(refusal, len(wrs), qp.sq.capacity)
        if refusal.rule == "send-state" and hca.profile.early_posts_stay:
            refusal.left = "it stays in the ring"
            keep_early(hca, qp, wrs)
        raise
    finally:
        # ibv_post_send(3) stops at the first failure: the requests before it are executed.
        ring(hca, qp)


def _get_ready(hca: Adapter, qp: QueuePair) -> None:
    """Rare preparations before posting."""
    check_postable(hca)
    extended.enter(hca, qp)
    queue_early(hca, qp)


def keep_early(hca: Adapter, qp: QueuePair, wrs: list[SendWR]) -> None:
    """librxe writes them into the ring before the doorbell fails."""
    if hca.profile.early_posts_stay:
        qp.sq.early = (*qp.sq.early, *wrs)[: qp.sq.capacity]


def queue_early(hca: Adapter, qp: QueuePair) -> None:
    """Queue the requests kept in the ring, if the state allows it."""
    if qp.sq.early and qp.state_row.posts_send:
        early, qp.sq.early = qp.sq.early, ()
        for wr in early:
            queue_send(hca, qp, wr, as_sent(hca, wr))


def queue_send(
    hca: Adapter, qp: QueuePair, wr: SendWR, moved: Moved, inline: bytes | None = None
) -> None:
    """Onto the queue. inline: bytes that were copied before; INLINE copies them now."""
    sq, flags = qp.sq, int(wr.flags)
    sg, length = moved
    opcode, profile, header = wr.opcode, hca.profile, None
    row = supported_work(qp.qp_type, profile.lacks).get(opcode)
    if opcode == _TSO:
        header = offloads.header_of(hca, qp, wr)
        row = row if header else None  # a device that has none finds no operation
    elif opcode == _BIND_MW:
        wr = mw.tell(hca, wr)
    op = row.message if row else None
    if flags & _INLINE and inline is None:
        inline = b"".join(hca.memory.read(sge.addr, sge.length) for sge in sg)
    packets = _packets(qp, op, length) if header is None else pieces(length, wr.mss)
    first = sq.next_psn
    last = (first + packets - 1) & MASK
    sq.next_psn = (last + 1) & MASK
    signaled = qp.sq_sig_all or flags & _SIGNALED != 0
    # libmlx5 copies the address into the WQE (set_datagram_seg): the handle may be destroyed then.
    av = hca.ahs.items.get(wr.ah or 0) if profile.ah_read_at_post else None
    wqe = SendWqe(
        sq.posted, wr, row, op, flags, sg, length, inline, signaled, first, last, av, header
    )
    sq.push(wqe)
    hca.trace.record(_SEND_POSTED, hca.node, qp.number, wqe)


def _packets(qp: QueuePair, op: Op | None, length: int) -> int:
    """PSNs that the request takes: a READ as many as its response has packets; without an operation
    none."""
    if op is None:
        return 0
    if op in WORD_OPS or length == 0 or not qp.transport.connected:
        return 1
    mtu = qp.path.mtu if qp.path else 0
    return -(-length // mtu) if mtu else 1


def ring(hca: Adapter, qp: QueuePair) -> None:
    """The doorbell: the device looks at the queue, unless it has failed."""
    if hca.unavailable_rule:
        return
    state = qp.state_row
    if state.flushes_sends:
        flush.flush_sends(hca, qp)
    elif state.posts_send:
        hca.wake(qp)


def send_room(hca: Adapter, qp: QueuePair) -> int | None:
    """Number of plain RC requests, of one piece at most, that `post_send` accepts now.

    None: it accepts none, also when slots are freed, or others than `post_send` may fill them.
    """
    if hca.unavailable_rule or qp.ex is not None or qp.sq.early or qp.qp_type is not QPType.RC:
        return None
    if qp.state_row.flushes_sends or not qp.state_row.posts_send or qp.cap.max_send_sge < 1:
        return None
    return qp.sq.capacity - qp.sq.used


# --------------------------------------------------------------------------- receives
def post_recv(hca: Adapter, qp: QueuePair, wrs: list[RecvWR]) -> None:
    """Queue each receive; Refused carries the index of the first that was not."""
    if hca.unavailable_rule:
        check_postable(hca)
    for index, wr in enumerate(wrs):
        sg, length = effective(hca, wr.sg if wr.num_sge is None else invalid_pointers.listed(wr))
        if (refusal := _judge_recv(hca, qp, wr)) is not None:
            refusal.bad_wr = index
            say_queue_too_small(refusal, len(wrs), qp.rq.capacity)
            raise refusal
        wqe = RecvWqe(qp.rq.posted, wr, sg, length)
        qp.rq.push(wqe)
        hca.trace.record(_RECV_POSTED, hca.node, qp.number, wqe)
        if wr.next:
            raise invalid_pointers.lost(hca, wr, index)
    # Soft-RoCE 6.1 leaves receives that are posted in ERR without a completion (measured).
    takes = not hca.unavailable_rule and qp.state_row.flushes_recvs
    if takes and hca.profile.flushes_recvs_posted_in_err:
        flush.flush_recvs(hca, qp)


def receive_room(hca: Adapter, qp: QueuePair) -> int:
    """Number of receives, of one piece at most, that `post_recv` accepts now without a CQE."""
    if hca.unavailable_rule or qp.state_row.flushes_recvs or qp.cap.max_recv_sge < 1:
        return 0
    if _judge_recv(hca, qp, RecvWR(0, [])) is not None:
        return 0
    return qp.rq.capacity - qp.rq.used


def _judge_recv(hca: Adapter, qp: QueuePair, wr: RecvWR) -> Refused | None:
    profile, rq = hca.profile, qp.rq
    if qp.srq or not qp.transport.receives or qp.transport.names_srq:
        return _without_queue(hca, qp)
    if not qp.state_row.posts_recv:
        legal = "bring the QP to INIT first"
        return refused(profile, "recv-state", qp.state.name, argument="qp", legal=legal)
    if rq.is_full():
        legal = f"slots come back {profile.slots_freed.value}"
        return refused(profile, "queue-full", "receive", rq.capacity, argument="qp", legal=legal)
    return invalid_pointers.check_list(hca, wr.sg, wr.num_sge, qp.cap.max_recv_sge, "recv-sges")


def _without_queue(hca: Adapter, qp: QueuePair) -> Refused:
    """The refusal of receives for a QP without a receive queue."""
    if not qp.srq:
        return refused(hca.profile, "no-receive-queue", qp.qp_type.name, argument="qp")
    return refused(hca.profile, "recv-shared", argument="qp", legal="post_srq_recv fills it")
