"""Every reason to refuse a request: what violates it, what both sides see, the order of asking."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pytest

from rdmalab.spec.access import Access
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.profiles import RXE
from rdmalab.spec.records import Kind
from rdmalab.spec.refusals import REFUSALS
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WROpcode
from rdmalab.wire.headers import FETH, RETH, AtomicETH, ImmDt
from rdmalab.wire.packet import Packet
from tests.pairs import REMOTE, End, Pair, Told

IMM = "WITH_IMMEDIATE"
FULL = 256  # payload of a full packet of these pairs
OTHER = 7  # wr_id of a receive that waits behind
TAKEN = 1  # wr_id of the receive in use
E, S = AsyncEvent, WCStatus
FLUSHED: Told = (OTHER, S.WR_FLUSH_ERR)

Prepare = Callable[[End], None]
Make = Callable[[End], Packet]


# --------------------------------------------------------------------------- packets for B
def send(place: str, length: int, psn: int = 0) -> Make:
    return lambda b: b.incoming(f"SEND_{place}", psn, b"s" * length)


def write(place: str, length: int, total: int | None = None, psn: int = 0, **other: int) -> Make:
    """A WRITE of `length` bytes; with `total` it carries a RETH that promises so many."""

    def make(b: End) -> Packet:
        reth = None
        if total is not None:
            va, rkey = b.mr.addr + other.get("at", 0), other.get("rkey", b.mr.rkey)
            reth = RETH(va, rkey, total)
        immdt = ImmDt(5) if place.endswith(IMM) else None
        return b.incoming(f"RDMA_WRITE_{place}", psn, b"w" * length, reth=reth, immdt=immdt)

    return make


def put8(length: int = 8, total: int = 8, at: int = 0) -> Make:
    """An ATOMIC WRITE."""
    return lambda b: b.incoming(
        "ATOMIC_WRITE", 0, b"w" * length, reth=RETH(b.mr.addr + at, b.mr.rkey, total)
    )


def flush(placement: int, length: int = 8, at: int = 0, level: int = 0) -> Make:
    return lambda b: b.incoming(
        "FLUSH", 0, reth=RETH(b.mr.addr + at, b.mr.rkey, length), feth=FETH(0, level, placement)
    )


def read(length: int, at: int = 0, rkey: int | None = None, psn: int = 0) -> Make:
    def make(b: End) -> Packet:
        reth = RETH(b.mr.addr + at, b.mr.rkey if rkey is None else rkey, length)
        return b.incoming("RDMA_READ_REQUEST", psn, reth=reth)

    return make


def atomic(label: str, at: int = 0, rkey: int | None = None, psn: int = 0) -> Make:
    def make(b: End) -> Packet:
        eth = AtomicETH(b.mr.addr + at, b.mr.rkey if rkey is None else rkey, 1, 0)
        return b.incoming(label, psn, atomiceth=eth)

    return make


def with_lkey(make: Make) -> Make:
    """The same packet, but with the lkey where the rkey belongs."""

    def changed(b: End) -> Packet:
        packet = make(b)
        for header in (packet.reth, packet.atomiceth):
            if header is not None:
                header.rkey = b.mr.lkey
        return packet

    return changed


# --------------------------------------------------------------------------- what B was before
def post_two(b: End) -> None:
    """Receives are there, so that their absence is not the reason."""
    b.recv(1024, wr_id=TAKEN, at=0)
    b.recv(1024, wr_id=OTHER, at=1024)


def in_send(b: End) -> None:
    """In the middle of a SEND: the next packet is psn 1."""
    post_two(b)
    b.inject(send("FIRST", FULL)(b))


def in_write(b: End) -> None:
    """In the middle of a WRITE with 344 bytes to come: the next packet is psn 1."""
    post_two(b)
    b.inject(write("FIRST", FULL, 600)(b))


def near_end_of_write(b: End) -> None:
    """In the middle of a WRITE with one full packet to come."""
    post_two(b)
    b.inject(write("FIRST", FULL, 2 * FULL)(b))


def allow(rights: Access) -> Prepare:
    def prepare(b: End) -> None:
        post_two(b)
        b.modify(qp_access_flags=rights)

    return prepare


def flushable(b: End) -> None:
    allow(Access.FLUSH_GLOBAL)(b)
    b.mr.access |= Access.FLUSH_GLOBAL


def no_depth(b: End) -> None:
    post_two(b)
    b.qp.attr.max_dest_rd_atomic = 0


def nothing(b: End) -> None:
    """No receive at all."""


def write_without_receive(b: End) -> None:
    b.inject(write("FIRST", FULL, 300)(b))


def region_without(right: Access) -> Prepare:
    def prepare(b: End) -> None:
        post_two(b)
        b.mr.access &= ~int(right)

    return prepare


no_write, no_read, no_atomic = map(region_without, REMOTE)


def region_of_another_pd(b: End) -> None:
    post_two(b)
    b.mr.pd += 1


def receive(length: int, **changes: Any) -> Prepare:
    """One receive of `length` bytes, perhaps with a wrong key or place, and another behind."""

    def prepare(b: End) -> None:
        sge = b.sge(changes.get("at", 0), length, changes.get("lkey"))
        b.recv(wr_id=TAKEN, sg=[sge] if length else [])
        b.recv(1024, wr_id=OTHER)
        b.mr.access = changes.get("access", b.mr.access)
        b.mr.pd += changes.get("pd", 0)

    return prepare


def short_in_send(b: End) -> None:
    receive(300)(b)
    b.inject(send("FIRST", FULL)(b))


def full_cq(b: End) -> None:
    """The receive CQ has no room for one more."""
    post_two(b)
    b.recv_cq.capacity = 0


# --------------------------------------------------------------------------- the table
@dataclass(frozen=True)
class Row:
    """A packet that violates exactly one check.

    answer: what B says, without PSN and MSN; empty for silence. status: of A's request that has the
    PSNs in question. own: B's CQEs. event: raised at B. dies: B's QP goes to ERR.
    """

    check: str
    case: str
    prepare: Prepare
    packet: Make
    answer: str = "NAK_INVALID_REQUEST"
    status: WCStatus = S.REM_INV_REQ_ERR
    own: tuple[Told, ...] = ((TAKEN, S.WR_FLUSH_ERR), FLUSHED)
    event: tuple[AsyncEvent, ...] = (E.QP_REQ_ERR,)
    dies: bool = True
    at_psn: int = 0  # of the answer

    def __str__(self) -> str:
        return f"{self.check}: {self.case}"


def alive(check: str, case: str, prepare: Prepare, packet: Make, **fields: Any) -> Row:
    """A refusal that B survives without a completion or an event."""
    return Row(check, case, prepare, packet, own=(), event=(), dies=False, **fields)


def mid(check: str, case: str, prepare: Prepare, packet: Make, **fields: Any) -> Row:
    """A refusal of the second packet of a message."""
    if prepare in (in_send, short_in_send):
        fields = {"event": (), "own": ((TAKEN, S.REM_INV_REQ_ERR), FLUSHED)} | fields
    return Row(check, case, prepare, packet, at_psn=1, **fields)


def denied(case: str, prepare: Prepare, packet: Make) -> Row:
    return Row(
        "rkey", case, prepare, packet, "NAK_REMOTE_ACCESS", S.REM_ACCESS_ERR,
        event=(E.QP_ACCESS_ERR,),
    )  # fmt: skip


def short(case: str, prepare: Prepare, packet: Make, at_psn: int = 0) -> Row:
    own = ((TAKEN, S.LOC_LEN_ERR), FLUSHED)
    return Row("receive-short", case, prepare, packet, own=own, event=(), at_psn=at_psn)


def unwritable(case: str, prepare: Prepare) -> Row:
    own = ((TAKEN, S.LOC_PROT_ERR), FLUSHED)
    name, packet = "NAK_REMOTE_OPERATION", send("ONLY", 8)
    return Row("receive-denied", case, prepare, packet, name, S.REM_OP_ERR, own, ())


def overrun(case: str, packet: Make) -> Row:
    """The receive is lost with its completion; the dead CQ takes the QP along."""
    name, events = "NAK_REMOTE_OPERATION", (E.CQ_ERR, E.QP_FATAL)
    return Row("cq-overrun", case, full_cq, packet, name, S.REM_OP_ERR, (), events)


NO_WRITE, NO_READ, NO_ATOMIC = (REMOTE & ~right for right in REMOTE)
TO_SEE, TO_KEEP = Access.FLUSH_GLOBAL, Access.FLUSH_PERSISTENT
GAP = {"answer": "NAK_SEQUENCE", "status": S.RETRY_EXC_ERR}
RNR = {"answer": "RNR_NAK(1)", "status": S.RNR_RETRY_EXC_ERR}
TOO_LONG = 2**31 + 1
AHEAD = 0x7FFFFF
END = 1 << 12  # bytes of B's MR

# fmt: off
ROWS = (
    # 1
    alive("sequence-gap", "one packet is missing",   post_two, send("ONLY", 8, psn=1), **GAP),
    alive("sequence-gap", "as far ahead as it goes", post_two, send("ONLY", 8, psn=AHEAD), **GAP),
    # 2
    Row("opcode-order", "SEND MIDDLE at first",      post_two, send("MIDDLE", FULL)),
    Row("opcode-order", "SEND LAST at first",        post_two, send("LAST", 8)),
    Row("opcode-order", "WRITE MIDDLE at first",     post_two, write("MIDDLE", FULL)),
    Row("opcode-order", "WRITE LAST at first",       post_two, write(f"LAST_{IMM}", 8)),
    mid("opcode-order", "SEND FIRST in a SEND",      in_send, send("FIRST", FULL, psn=1)),
    mid("opcode-order", "SEND ONLY in a SEND",       in_send, send("ONLY", 8, psn=1)),
    mid("opcode-order", "WRITE MIDDLE in a SEND",    in_send, write("MIDDLE", FULL, psn=1)),
    mid("opcode-order", "READ in a SEND",            in_send, read(8, psn=1)),
    mid("opcode-order", "atomic in a SEND",          in_send, atomic("FETCH_ADD", psn=1)),
    mid("opcode-order", "WRITE FIRST in a WRITE",    in_write, write("FIRST", FULL, 600, psn=1)),
    mid("opcode-order", "WRITE ONLY in a WRITE",     in_write, write("ONLY", 8, 8, psn=1)),
    mid("opcode-order", "SEND LAST in a WRITE",      in_write, send("LAST", 8, psn=1)),
    # 3
    Row("not-enabled", "WRITE",                      allow(NO_WRITE), write("ONLY", 8, 8)),
    Row("not-enabled", "empty WRITE",                allow(NO_WRITE), write("ONLY", 0, 0)),
    Row("not-enabled", "READ",                       allow(NO_READ), read(8)),
    Row("not-enabled", "FETCH_ADD",                  allow(NO_ATOMIC), atomic("FETCH_ADD")),
    Row("not-enabled", "COMPARE_SWAP",               allow(NO_ATOMIC), atomic("COMPARE_SWAP")),
    Row("not-enabled", "ATOMIC_WRITE",               allow(NO_WRITE), put8()),
    Row("not-enabled", "FLUSH to be seen",           allow(TO_KEEP), flush(1)),
    Row("not-enabled", "FLUSH to stay",              allow(TO_SEE), flush(2)),
    Row("not-enabled", "FLUSH to both",              allow(TO_SEE), flush(3)),
    # 4
    Row("no-depth", "READ",                          no_depth, read(8)),
    Row("no-depth", "FETCH_ADD",                     no_depth, atomic("FETCH_ADD")),
    Row("no-depth", "ATOMIC_WRITE",                  no_depth, put8()),
    alive("no-receive", "SEND ONLY",                 nothing, send("ONLY", 8), **RNR),
    alive("no-receive", "empty SEND",                nothing, send("ONLY", 0), **RNR),
    alive("no-receive", "SEND FIRST",                nothing, send("FIRST", FULL), **RNR),
    alive("no-receive", "WRITE ONLY with immediate", nothing, write(f"ONLY_{IMM}", 8, 8), **RNR),
    alive("no-receive", "WRITE LAST with immediate", write_without_receive,
          write(f"LAST_{IMM}", 44, psn=1), at_psn=1, **RNR),
    # 5
    Row("length", "SEND ONLY above the MTU",         post_two, send("ONLY", FULL + 1)),
    Row("length", "SEND FIRST not full",             post_two, send("FIRST", FULL - 1)),
    Row("length", "SEND FIRST too full",             post_two, send("FIRST", FULL + 1)),
    mid("length", "SEND MIDDLE not full",            in_send, send("MIDDLE", FULL - 1, psn=1)),
    mid("length", "SEND LAST with nothing",          in_send, send("LAST", 0, psn=1)),
    mid("length", "SEND LAST too full",              in_send, send("LAST", FULL + 1, psn=1)),
    Row("length", "WRITE FIRST not full",            post_two, write("FIRST", FULL - 1, 600)),
    mid("length", "WRITE MIDDLE not full",           in_write, write("MIDDLE", 8, psn=1)),
    Row("length", "READ of more than 2^31",          post_two, read(TOO_LONG)),
    Row("length", "WRITE of more than 2^31",         post_two, write("FIRST", FULL, TOO_LONG)),
    # 6
    denied("unknown key",                            post_two, write("ONLY", 8, 8, rkey=0xBAD)),
    denied("lkey instead of rkey",                   post_two, with_lkey(write("ONLY", 8, 8))),
    denied("READ with the lkey",                     post_two, with_lkey(read(8))),
    denied("atomic with the lkey",                   post_two, with_lkey(atomic("FETCH_ADD"))),
    denied("MR of another PD",                       region_of_another_pd, read(8)),
    denied("MR without REMOTE_WRITE",                no_write, write("ONLY", 8, 8)),
    denied("MR without REMOTE_READ",                 no_read, read(8)),
    denied("MR without REMOTE_ATOMIC",               no_atomic, atomic("COMPARE_SWAP")),
    denied("WRITE a byte before the MR",             post_two, write("ONLY", 8, 8, at=-1)),
    denied("WRITE a byte beyond the MR",             post_two, write("ONLY", 8, 8, at=END - 7)),
    denied("READ a byte beyond the MR",              post_two, read(600, at=END - 599)),
    denied("atomic beyond the MR",                   post_two, atomic("FETCH_ADD", at=END)),
    denied("ATOMIC WRITE beyond the MR",             post_two, put8(at=END)),
    denied("FLUSH without the right on the key",     allow(TO_SEE), flush(1)),
    denied("FLUSH of no bytes asks too",             allow(TO_SEE), flush(1, 0)),
    denied("FLUSH beyond the MR",                    flushable, flush(1, at=END - 7)),
    denied("FIRST asks for the whole range",         post_two,
           write("FIRST", FULL, FULL + 1, at=END - FULL)),
    Row("length", "WRITE ONLY, less than promised",  post_two, write("ONLY", 7, 8)),
    Row("length", "WRITE ONLY, more than promised",  post_two, write("ONLY", 9, 8)),
    Row("length", "WRITE FIRST that leaves nothing", post_two, write("FIRST", FULL, FULL)),
    mid("length", "WRITE LAST of too little",        in_write, write("LAST", 88, psn=1)),
    mid("length", "WRITE MIDDLE that leaves nothing", near_end_of_write,
        write("MIDDLE", FULL, psn=1)),
    # 7
    Row("unaligned", "FETCH_ADD at 4",               post_two, atomic("FETCH_ADD", at=4)),
    Row("unaligned", "COMPARE_SWAP at 1",            post_two, atomic("COMPARE_SWAP", at=1)),
    Row("unaligned", "ATOMIC WRITE at 4",            post_two, put8(at=4)),
    Row("length", "ATOMIC WRITE of 4",               post_two, put8(4, 4)),
    Row("length", "ATOMIC WRITE, less than promised", post_two, put8(4)),
    short("one byte too many",                       receive(7), send("ONLY", 8)),
    short("a receive without buffers",               receive(0), send("ONLY", 1)),
    short("found at the second packet",              short_in_send, send("LAST", 45, psn=1), 1),
    unwritable("unknown lkey",                       receive(8, lkey=0xBAD)),
    unwritable("MR of another PD",                   receive(8, pd=1)),
    unwritable("beyond the MR",                      receive(8, at=END - 7)),
    unwritable("MR without LOCAL_WRITE",             receive(8, access=int(Access.REMOTE_READ))),
    overrun("SEND",                                  send("ONLY", 0)),
    overrun("WRITE with immediate",                  write(f"ONLY_{IMM}", 0, 0)),
)
# fmt: on


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_responder_check_violated_and_its_nak(row: Row) -> None:
    """A's own request with these PSNs is lost; the hand-made packet arrives in its place."""
    pair = Pair(retry_cnt=0, rnr_retry=0, mr_bytes=END)
    a, b = pair.a, pair.b
    row.prepare(b)
    pair.lose("A", *range(1, 9))
    a.issue(WROpcode.RDMA_WRITE, 8 * FULL, wr_id=3)
    pair.run(until_ns=99)  # what was prepared has arrived, its answers have not left
    before = b.peek(0, END)
    b.inject(row.packet(b))
    pair.run()
    assert pair.reasons(Kind.REQUEST_REFUSED, "B") == [row.check]
    assert pair.sent_by("B") == [f"{row.answer} psn={row.at_psn} msn=0"]
    assert b.peek(0, END) == before
    assert a.sent() == [(3, row.status)]
    assert a.qp.state is QPState.ERR
    assert a.events() == []
    assert b.received() == list(row.own)
    assert b.events() == list(row.event)
    assert b.qp.state is (QPState.ERR if row.dies else QPState.RTS)


def test_every_nak_refusal_has_a_row_in_this_test() -> None:
    silent = {name for name, row in REFUSALS.items() if row.syndrome is None}
    elsewhere = {"too-deep", "wrong-srq", "invalidate"}
    assert {row.check for row in ROWS} | elsewhere == set(REFUSALS) - silent


# --------------------------------------------------------------------------- the order
ORDER = (
    "sequence-gap",
    "opcode-order",
    "not-enabled",
    "no-depth",
    "no-receive",
    "length",
    "rkey",
    "total",
    "unaligned",
    "receive-short",
    "receive-denied",
    "cq-overrun",
)
ALWAYS = ("sequence-gap", "opcode-order")
SEND, WRITE = "SEND_ONLY", f"RDMA_WRITE_ONLY_{IMM}"
READ, ATOMIC = "RDMA_READ_REQUEST", "FETCH_ADD"
POSSIBLE = {
    SEND: (*ALWAYS, "no-receive", "length", "receive-short", "receive-denied", "cq-overrun"),
    WRITE: (*ALWAYS, "not-enabled", "no-receive", "length", "rkey", "total", "cq-overrun"),
    READ: (*ALWAYS, "not-enabled", "no-depth", "length", "rkey"),
    ATOMIC: (*ALWAYS, "not-enabled", "no-depth", "rkey", "unaligned"),
}
TOLD_AS = {"total": "length"}


def surround(b: End, wrong: frozenset[str]) -> None:
    """What is wrong with B and its queues."""
    if "opcode-order" in wrong:
        b.recv(1024)
        b.inject(send("FIRST", FULL)(b))
    if "no-receive" not in wrong:
        length = 4 if "receive-short" in wrong else 1024
        receive(length, lkey=0xBAD if "receive-denied" in wrong else b.mr.lkey)(b)
    if "not-enabled" in wrong:
        b.qp.attr.qp_access_flags = Access(0)
    if "no-depth" in wrong:
        b.qp.attr.max_dest_rd_atomic = 0
    if "cq-overrun" in wrong:
        b.recv_cq.capacity = 0


def provoke(b: End, label: str, wrong: frozenset[str]) -> Packet:
    """What is wrong with the packet."""
    psn = len(wrong & set(ALWAYS))  # an unfinished message, or a gap, is one packet each
    rkey = 0xBAD if "rkey" in wrong else b.mr.rkey
    length = FULL + 1 if "length" in wrong else 8
    if label == SEND:
        return send("ONLY", length, psn)(b)
    if label == WRITE:
        return write(f"ONLY_{IMM}", length, length + ("total" in wrong), psn, rkey=rkey)(b)
    if label == READ:
        return read(TOO_LONG if "length" in wrong else 8, 0, rkey, psn)(b)
    return atomic(label, 4 if "unaligned" in wrong else 0, rkey, psn)(b)


@pytest.mark.parametrize("label", POSSIBLE)
def test_responder_checks_are_made_in_order(label: str) -> None:
    """All combinations of all that can be wrong with one packet."""
    possible = POSSIBLE[label]
    assert possible == tuple(name for name in ORDER if name in possible)
    for count in range(len(possible) + 1):
        for wrong in combinations(possible, count):
            pair = Pair()
            surround(pair.b, frozenset(wrong))
            pair.b.inject(provoke(pair.b, label, frozenset(wrong)))
            lines = [TOLD_AS.get(name, name) for name in wrong[:1]]
            assert pair.reasons(Kind.REQUEST_REFUSED) == lines, wrong


# --------------------------------------------------------------------------- silence
def test_one_psn_sequence_nak_for_each_gap() -> None:
    """Also not for the next packet behind the gap, nor for the same one again."""
    pair = Pair()
    b = pair.b
    post_two(b)
    for psn in (2, 3, 2):
        b.inject(send("ONLY", 8, psn)(b))
    pair.run()
    assert pair.sent_by("B") == ["NAK_SEQUENCE psn=0 msn=0"]
    assert pair.reasons(Kind.PACKET_DROPPED, "B") == ["sequence-gap"] * 2
    b.inject(send("ONLY", 8, 0)(b))  # the gap is closed
    b.inject(send("ONLY", 8, 2)(b))  # a new one
    pair.run()
    assert pair.sent_by("B")[1:] == ["NAK_SEQUENCE psn=1 msn=1"]


def test_a_psn_gap_is_closed_also_by_a_packet_that_is_refused() -> None:
    """Soft-RoCE, which answers a gap behind an RNR NAK: it counts as a new one."""
    pair = Pair(profile=RXE)
    for psn in (1, 0, 1, 2):
        pair.b.inject(send("ONLY", 8, psn)(pair.b))
    pair.run()
    assert pair.sent_by("B") == [
        "NAK_SEQUENCE psn=0 msn=0",
        "RNR_NAK(1) psn=0 msn=0",
        "NAK_SEQUENCE psn=0 msn=0",
    ]


def test_packets_after_an_rnr_nak_are_dropped_without_answer() -> None:
    pair = Pair()
    b = pair.b
    for psn in range(3):
        b.inject(send("ONLY", 8, psn)(b))
    pair.run()
    assert pair.sent_by("B") == ["RNR_NAK(1) psn=0 msn=0"]
    assert pair.reasons(Kind.PACKET_DROPPED, "B") == ["rnr-wait"] * 2
    post_two(b)
    b.inject(send("ONLY", 8, 0)(b))
    b.inject(send("ONLY", 8, 2)(b))  # now it is a gap
    pair.run()
    assert pair.sent_by("B")[1:] == ["NAK_SEQUENCE psn=1 msn=1"]


def test_packets_between_a_fatal_refusal_and_its_nak_are_dropped() -> None:
    """Neither the next request nor the retry of the refused one, nor a duplicate."""
    pair = Pair()
    b = pair.b
    post_two(b)
    b.inject(send("ONLY", 8, 0)(b))
    b.inject(write("ONLY", 8, 8, 1, rkey=0xBAD)(b))
    for psn in (1, 2, 0, 9):
        b.inject(send("ONLY", 8, psn)(b))
    assert pair.reasons(Kind.PACKET_DROPPED, "B") == ["dying"] * 4
    pair.run()
    assert pair.sent_by("B") == ["NAK_REMOTE_ACCESS psn=1 msn=1"]
    b.inject(send("ONLY", 8, 0)(b))
    assert pair.reasons(Kind.PACKET_DROPPED, "B")[4:] == ["not-ready"]


# --------------------------------------------------------------------------- the depth
def test_more_reads_than_max_dest_rd_atomic_are_refused() -> None:
    """Five READs of several packets each arrive before the first response is out."""
    pair = Pair(rd_atomic=5, dest_rd_atomic=4)
    for wr_id in range(5):
        pair.a.issue(WROpcode.RDMA_READ, 600, wr_id=wr_id, at=1024 * wr_id)
    pair.run()
    assert pair.sent_by("B")[-1] == "NAK_INVALID_REQUEST psn=12 msn=4"
    assert [status for _, status in pair.a.sent()] == [S.SUCCESS] * 4 + [S.REM_INV_REQ_ERR]
    assert pair.b.qp.state is QPState.ERR
    assert pair.b.events() == [E.QP_REQ_ERR]


def test_a_duplicated_read_counts_once() -> None:
    """The requester, served by the first copy, may start the next while the second is answered."""
    pair = Pair(rd_atomic=1, dest_rd_atomic=1)
    a, b = pair.a, pair.b
    a.issue(WROpcode.RDMA_READ, 600, wr_id=1)
    a.issue(WROpcode.RDMA_READ, 600, wr_id=2)
    pair.run(until_ns=1150)
    for _ in range(50):
        b.inject(read(600)(b))
    pair.run()
    assert a.sent() == [(1, S.SUCCESS), (2, S.SUCCESS)]
    assert b.qp.state is QPState.RTS


# --------------------------------------------------------------------------- what is not asked
@pytest.mark.parametrize(
    ("make", "answer"),
    [
        (write("ONLY", 0, 0, rkey=0xBAD), []),  # it did not ask for an ACK
        (read(0, -99, 0xBAD), ["RDMA_READ_RESPONSE_ONLY psn=0 msn=1"]),
    ],
)
def test_rkey_is_not_checked_for_zero_length(make: Make, answer: list[str]) -> None:
    """IBA C9-88."""
    pair = Pair()
    pair.b.inject(make(pair.b))
    pair.run()
    assert pair.reasons(Kind.REQUEST_REFUSED) == []
    assert pair.sent_by("B") == answer
    assert pair.b.qp.resp.msn == 1
