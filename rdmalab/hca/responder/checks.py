"""The checks of a responder on a request, in the order of the specification (transport.md 10).

Each check returns the name of a row of `spec/refusals.py`, or None. No check changes any state.
"""

from collections.abc import Callable

from rdmalab.hca import dma, srq
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.psn import diff
from rdmalab.hca.qp import QueuePair, ReadAnswer
from rdmalab.spec.opcodes import ATOMIC_BYTES, OPCODES, WORD_OPS, Op, Opcode, Service
from rdmalab.spec.work import PLACEMENT_RIGHTS, WORK, Selectivity
from rdmalab.wire.packet import Packet

Check = Callable[[Adapter, QueuePair, Packet, Opcode], str | None]

# The right that an operation needs on the QP and on the key.
_RIGHTS: dict[Op, int] = {
    row.message: int(row.remote) for row in WORK.values() if row.message and row.remote
}
# What occupies a responder resource.
_KEPT = tuple(row.message for row in WORK.values() if row.message and row.outstanding)
_MAX_LENGTH = 2**31


def is_duplicate(qp: QueuePair, packet: Packet) -> bool:
    """True if the PSN is before the expected one: executed before, so not to be executed again."""
    # Half of the 2^24 PSNs lie behind the expected one, half before it: no other memory is needed.
    return not qp.resp.dying and diff(packet.psn, qp.resp.psn) < 0


def out_of_order(hca: Adapter, qp: QueuePair) -> str:
    """One NAK a gap; none after a fatal one, nor while the packet of an RNR NAK is awaited."""
    if qp.resp.dying:
        return "dying"
    # Packets behind the one that got an RNR NAK are dropped in silence until it comes again;
    # Soft-RoCE answers the first of them with a NAK sequence error (transport.md 9).
    silent = qp.resp.rnr_sent and not hca.profile.nak_after_rnr
    return "rnr-wait" if silent else "sequence-gap"


def check_opcode_order(_hca: Adapter, qp: QueuePair, _packet: Packet, row: Opcode) -> str | None:
    """Inside a message only its own MIDDLE and LAST; outside only FIRST and ONLY."""
    return None if _continues(qp.resp.op, row) else "opcode-order"


def _continues(begun: Op | None, row: Opcode) -> bool:
    """True if a packet may come next, where a message is begun or none is."""
    return row.starts if begun is None else row.op is begun and not row.starts


def rights_for(packet: Packet, op: Op) -> int:
    """The access flags that the request needs on the QP and on the key; a FLUSH names its own."""
    if packet.feth is None:
        return _RIGHTS.get(op, 0)
    placement = packet.feth.placement
    return sum(int(right) for bit, right in PLACEMENT_RIGHTS.items() if placement & bit)


def check_enabled(_hca: Adapter, qp: QueuePair, packet: Packet, row: Opcode) -> str | None:
    """The operation is allowed by qp_access_flags."""
    # The NAK is invalid request, not remote access error: no key was looked at yet (measured).
    need = rights_for(packet, row.op)
    return None if need & ~int(qp.attr.qp_access_flags or 0) == 0 else "not-enabled"


def check_depth(hca: Adapter, qp: QueuePair, _packet: Packet, _row: Opcode) -> str | None:
    """READs and atomics: a responder resource must be free."""
    depth = qp.attr.max_dest_rd_atomic or 0
    # Soft-RoCE refuses a READ at depth 0 and takes more than the depth otherwise (measured).
    # check_resource of rxe_resp.c leaves it to the requester not to send too many.
    if depth == 0:
        return "no-depth"
    under_way = sum(isinstance(a, ReadAnswer) and not a.again for a in qp.resp.answers)
    return "too-deep" if under_way >= depth and hca.profile.enforces_read_depth else None


def check_srq(hca: Adapter, qp: QueuePair, packet: Packet, _row: Opcode) -> str | None:
    """IBTA A14: every request of XRC names an SRQ, one of the domain of this QP."""
    named = packet.xrceth
    known = named is not None and srq.named_srq(hca, qp, named.srqn) is not None
    return None if known else "wrong-srq"


def check_receive(_hca: Adapter, qp: QueuePair, _packet: Packet, _row: Opcode) -> str | None:
    """SEND FIRST and ONLY, and WRITE LAST and ONLY with immediate, take a receive WQE."""
    return None if qp.source.wqes or qp.resp.recv is not None else "no-receive"


def check_named_receive(hca: Adapter, qp: QueuePair, packet: Packet, _row: Opcode) -> str | None:
    """A receive of the SRQ that the request names is posted."""
    assert packet.xrceth is not None
    waits = hca.srqs.find(packet.xrceth.srqn).wqes or qp.resp.recv is not None
    return None if waits else "no-receive"


def takes_receive(row: Opcode) -> bool:
    """True if the packet takes a receive WQE."""
    if row.op is Op.SEND:
        return row.starts
    return row.op is Op.RDMA_WRITE and row.immediate


def check_length(hca: Adapter, qp: QueuePair, packet: Packet, row: Opcode) -> str | None:
    """FIRST and MIDDLE are full, LAST has something, none is fuller; C9-94: a RETH names no more
    than 2^31 bytes."""
    # Soft-RoCE 6.1 compares no sizes: 3,000 bytes pass between path MTU 1024 and 256.
    # From 6.12 on the message fails, whichever side has the smaller MTU (both measured).
    if not hca.profile.checks_packet_size:
        return None
    if packet.reth is not None and packet.reth.dma_length > _MAX_LENGTH:
        return "length"
    mtu, octets = qp.path.mtu if qp.path else 0, len(packet.payload)
    fits = octets <= mtu and (octets or row.starts) if row.ends else octets == mtu
    return None if fits else "length"


def check_rkey(hca: Adapter, qp: QueuePair, packet: Packet, row: Opcode) -> str | None:
    """Key, PD, rights and range of what the header names; nothing is checked for 0 bytes.

    The whole range, before any byte; or of an RDMA WRITE the bytes of this packet (measured on
    ConnectX).
    """
    if packet.feth is not None:
        return check_flush(hca, qp, packet)
    if packet.atomiceth is not None:
        if hca.profile.alignment_before_key and packet.atomiceth.va % ATOMIC_BYTES:
            return "unaligned"
        va, rkey, length = packet.atomiceth.va, packet.atomiceth.rkey, ATOMIC_BYTES
    elif packet.reth is not None:
        va, rkey, length = packet.reth.va, packet.reth.rkey, packet.reth.dma_length
        if row.op is Op.RDMA_WRITE and not hca.profile.checks_write_range_first:
            length = min(length, len(packet.payload))
    else:
        return None
    # A WRITE or READ of no bytes touches no memory: any key will do.
    if length == 0:
        return None
    user = qp if qp.pd else srq.xrc_borrower(hca, qp, packet)
    place = dma.locate(hca.rkeys, rkey, user, _RIGHTS[row.op], va, length)
    return None if isinstance(place, int) else "rkey"


def check_flush(hca: Adapter, qp: QueuePair, packet: Packet) -> str | None:
    """A FLUSH of 0 bytes needs its key too; one of the whole MR has no range."""
    return None if isinstance(flushed(hca, qp, packet), tuple) else "rkey"


def flushed(hca: Adapter, qp: QueuePair, packet: Packet) -> dma.Piece | dma.Denied:
    """Address and length of the bytes that a FLUSH names, or the check that denies them."""
    reth, feth = packet.reth, packet.feth
    assert reth is not None
    assert feth is not None
    rights, va, length = rights_for(packet, Op.FLUSH), reth.va, reth.dma_length
    opened = hca.rkeys.get(reth.rkey)
    if opened is not None and feth.selectivity == Selectivity.MR:
        va, length = opened.iova, opened.length
    place = dma.locate(hca.rkeys, reth.rkey, qp, rights, va, length)
    return place if isinstance(place, dma.Denied) else (place, length)


def check_total(_hca: Adapter, qp: QueuePair, packet: Packet, row: Opcode) -> str | None:
    """The packets of a WRITE add up to the length in its RETH."""
    octets = len(packet.payload)
    remaining = packet.reth.dma_length if packet.reth is not None else qp.resp.remaining
    fits = octets == remaining if row.ends else octets < remaining
    return None if fits else "length"


def check_alignment(_hca: Adapter, _qp: QueuePair, packet: Packet, _row: Opcode) -> str | None:
    """The address of an atomic is a multiple of 8."""
    where = packet.atomiceth or packet.reth
    assert where is not None
    return "unaligned" if where.va % ATOMIC_BYTES else None


def check_word(_hca: Adapter, _qp: QueuePair, packet: Packet, _row: Opcode) -> str | None:
    """An ATOMIC WRITE carries 8 bytes, as its RETH states."""
    assert packet.reth is not None
    return None if packet.reth.dma_length == len(packet.payload) == ATOMIC_BYTES else "length"


# Of a request whose turn it is; its PSN is asked before all others.
CHECKS: tuple[Check, ...] = (
    check_opcode_order, check_srq, check_enabled, check_depth, check_receive, check_named_receive,
    check_length, check_rkey, check_total, check_word, check_alignment,
)  # fmt: skip

# Most checks concern only some opcodes; the others need not walk past them.
_CONCERNS: dict[Check, Callable[[Opcode], bool]] = {
    check_srq: lambda row: row.service is Service.XRC,
    check_enabled: lambda row: row.op in _RIGHTS,
    check_depth: lambda row: row.op in _KEPT,
    check_receive: lambda row: takes_receive(row) and row.service is not Service.XRC,
    check_named_receive: lambda row: takes_receive(row) and row.service is Service.XRC,
    check_rkey: lambda row: "reth" in row.headers or "atomiceth" in row.headers,
    check_total: lambda row: row.op is Op.RDMA_WRITE,
    check_word: lambda row: row.op in WORD_OPS and "reth" in row.headers,
    check_alignment: lambda row: row.op in WORD_OPS,
}

# Checks of messages that have no answer: neither order, which they keep anyway, nor
# resources of READs, which they do not have.
_UNANSWERED = tuple(c for c in CHECKS if c not in (check_opcode_order, check_depth))


def _concerned(checks: tuple[Check, ...], row: Opcode) -> tuple[Check, ...]:
    return tuple(check for check in checks if check not in _CONCERNS or _CONCERNS[check](row))


# The line that a request of each opcode walks, in the order of CHECKS.
LINES: dict[int, tuple[Check, ...]] = {
    code: _concerned(_UNANSWERED if row.service is Service.UC else CHECKS, row)
    for code, row in OPCODES.items()
    if row.request
}


def _next_line(begun: Op | None, code: int) -> tuple[Check, ...]:
    settled = (check_opcode_order,) if _continues(begun, OPCODES[code]) else ()
    return tuple(check for check in LINES[code] if check not in settled)


# By the operation of the message in progress: the order is not checked where it must be right.
NEXT_LINES: dict[Op | None, dict[int, tuple[Check, ...]]] = {
    begun: {code: _next_line(begun, code) for code in LINES} for begun in (None, *Op)
}
