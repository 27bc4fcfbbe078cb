"""What a request does to memory and to receives, once nothing speaks against it."""

import pytest

from rdmalab.hca.wr import SGE, Cqe
from rdmalab.spec.access import Access
from rdmalab.spec.records import Kind
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import Placement, Selectivity, SendFlags, WCFlags, WCOpcode, WROpcode
from rdmalab.wire.headers import AETH, FETH, RETH, AtomicETH
from tests.pairs import ALL_RIGHTS, REMOTE, Pair

SEND, SEND_IMM = WROpcode.SEND, WROpcode.SEND_WITH_IMM
WRITE, WRITE_IMM = WROpcode.RDMA_WRITE, WROpcode.RDMA_WRITE_WITH_IMM
OK = WCStatus.SUCCESS
DATA = bytes(range(1, 251)) * 4


def received(opcode: WROpcode, length: int, room: int = 1024) -> tuple[Pair, list[Cqe]]:
    pair = Pair()
    pair.a.poke(0, DATA)
    pair.b.recv(room, wr_id=5, at=8192)
    pair.a.issue(opcode, length, to=100, imm_data=0x78563412)
    pair.run()
    return pair, pair.b.poll(pair.b.recv_cq)


@pytest.mark.parametrize("length", [0, 1, 255, 256, 257, 700, 1000])
@pytest.mark.parametrize("opcode", [SEND, SEND_IMM])
def test_a_send_fills_the_oldest_receive(opcode: WROpcode, length: int) -> None:
    pair, (cqe,) = received(opcode, length)
    imm = opcode is SEND_IMM
    assert (cqe.wr_id, cqe.status, cqe.opcode, cqe.byte_len) == (5, OK, WCOpcode.RECV, length)
    assert cqe.wc_flags == (WCFlags.WITH_IMM if imm else 0)
    assert cqe.imm_data == (0x78563412 if imm else 0)
    assert (cqe.src_qp, cqe.vendor_err, cqe.qp_num) == (0, 0, pair.b.qp.number)
    assert pair.b.peek(8192, 1024) == DATA[:length] + bytes(1024 - length)


@pytest.mark.parametrize("length", [0, 8, 256, 700])
def test_write_with_immediate_leaves_the_buffers_of_the_receive_unchanged(length: int) -> None:
    """It may even have none; byte_len is what the WRITE wrote."""
    pair, (cqe,) = received(WRITE_IMM, length, room=0)
    assert (cqe.opcode, cqe.byte_len) == (WCOpcode.RECV_RDMA_WITH_IMM, length)
    assert (cqe.imm_data, cqe.wc_flags) == (0x78563412, WCFlags.WITH_IMM)
    assert pair.b.peek(100, 700) == DATA[:length] + bytes(700 - length)
    assert pair.b.peek(8192, 1024) == bytes(1024)


def test_a_write_generates_no_completion_at_the_target() -> None:
    pair, cqes = received(WRITE, 700)
    assert cqes == []
    assert len(pair.b.qp.rq.wqes) == 1
    assert pair.b.peek(100, 700) == DATA[:700]


def test_a_write_without_receive_for_its_immediate_writes_nothing() -> None:
    pair = Pair(rnr_retry=0)
    pair.a.poke(0, DATA)
    pair.a.issue(WRITE_IMM, 8)
    pair.run()
    assert pair.a.sent() == [(1, WCStatus.RNR_RETRY_EXC_ERR)]
    assert pair.b.peek(0, 8) == bytes(8)


def test_receives_are_consumed_in_posting_order() -> None:
    pair = Pair()
    for wr_id in range(4):
        pair.b.recv(1024, wr_id=wr_id)
    for opcode in (SEND, WRITE_IMM, WRITE, SEND_IMM):
        pair.a.issue(opcode, 600)
    pair.run()
    cqes = pair.b.poll(pair.b.recv_cq)
    assert [cqe.wr_id for cqe in cqes] == [0, 1, 2]
    assert [cqe.byte_len for cqe in cqes] == [600] * 3


def test_a_completion_comes_after_all_data_before_it() -> None:
    """A receive CQE implies that earlier WRITEs of the same QP are in place, too."""
    pair = Pair()
    pair.b.recv(1024, at=8192)
    pair.a.post(pair.a.wr(WRITE, 700, to=20_000), pair.a.wr(SEND, 700))
    pair.run()
    kinds = [r.kind for r in pair.records(Kind.MEMORY_WRITTEN, Kind.CQE_ADDED, node="B")]
    assert kinds == [Kind.MEMORY_WRITTEN] * 6 + [Kind.CQE_ADDED]


@pytest.mark.parametrize(
    ("memory", "compare", "after"), [(5, 5, 9), (5, 4, 5), (2**64 - 1, 2**64 - 1, 9), (0, 2**63, 0)]
)
def test_atomic_compare_and_swap(memory: int, compare: int, after: int) -> None:
    pair = Pair()
    pair.b.poke(16, memory.to_bytes(8, "little"))
    atomic = AtomicETH(pair.b.mr.addr + 16, pair.b.mr.rkey, 9, compare)
    pair.b.takes("COMPARE_SWAP", 0, atomiceth=atomic)
    pair.run()
    assert pair.b.peek(16, 8) == after.to_bytes(8, "little")
    (answer,) = pair.packets("B")
    assert answer.atomicacketh
    assert answer.atomicacketh.original == memory
    assert len(pair.records(Kind.MEMORY_WRITTEN)) == (memory == compare)


def test_the_msn_counts_messages_and_not_packets() -> None:
    """SEND and WRITE at their last packet, READ when it is accepted, an atomic at once."""
    pair = Pair()
    pair.b.recv(1024)
    msns = []
    reth = RETH(pair.b.mr.addr, pair.b.mr.rkey, 600)
    atomic = AtomicETH(pair.b.mr.addr, pair.b.mr.rkey, 1, 0)
    for label, psn, octets, headers in (
        ("SEND_FIRST", 0, 256, {}),
        ("SEND_MIDDLE", 1, 256, {}),
        ("SEND_LAST", 2, 8, {}),
        ("RDMA_READ_REQUEST", 3, 0, {"reth": reth}),
        ("FETCH_ADD", 6, 0, {"atomiceth": atomic}),
        ("RDMA_WRITE_FIRST", 7, 256, {"reth": reth}),
        ("RDMA_WRITE_MIDDLE", 8, 256, {}),
        ("RDMA_WRITE_LAST", 9, 88, {}),
        ("RDMA_WRITE_ONLY", 10, 0, {"reth": RETH(0, 0, 0)}),
    ):
        pair.b.takes(label, psn, bytes(octets), **headers)
        msns.append(pair.b.qp.resp.msn)
    assert msns == [0, 0, 1, 2, 3, 3, 3, 4, 5]
    assert pair.b.qp.resp.psn == 11
    assert pair.reasons(Kind.REQUEST_REFUSED) == []


# --------------------------------------------------------------------------- FLUSH, ATOMIC WRITE
FLUSH, PUT8 = WROpcode.FLUSH, WROpcode.ATOMIC_WRITE
ADD, FENCED = WROpcode.ATOMIC_FETCH_AND_ADD, SendFlags.FENCE | SendFlags.SIGNALED
BOTH = Access.FLUSH_GLOBAL | Access.FLUSH_PERSISTENT


def persistent() -> Pair:
    """A pair that lets FLUSH in."""
    return Pair(access=int(REMOTE | BOTH), mr_access=int(ALL_RIGHTS | BOTH))


@pytest.mark.parametrize(
    ("level", "length", "flushed"), [(0, 64, (16, 64)), (0, 0, (16, 0)), (1, 64, (0, 1 << 16))]
)
def test_flush_carries_feth_and_is_answered_like_an_empty_read(
    level: int, length: int, flushed: tuple[int, int]
) -> None:
    pair = persistent()
    pair.a.issue(
        FLUSH, 0, to=16, flush_length=length, flush_level=Selectivity(level),
        flush_type=Placement.PERSISTENT,
    )  # fmt: skip
    pair.run()
    assert pair.wire_lines() == [
        f"A FLUSH psn=0 of {length}",
        "B RDMA_READ_RESPONSE_ONLY psn=0 msn=1",
    ]
    (packet,) = pair.packets("A")
    assert packet.feth == FETH(0, level, 2)
    (record,) = pair.records(Kind.MEMORY_FLUSHED)
    assert (record.a - pair.b.mr.addr, record.b) == flushed
    (cqe,) = pair.a.poll(pair.a.send_cq)
    assert (cqe.status, cqe.opcode) == (OK, WCOpcode.FLUSH)
    assert pair.a.qp.comp.reads == pair.a.qp.req.reads == 0


def test_atomic_write_writes_eight_bytes() -> None:
    pair = Pair()
    pair.a.poke(0, DATA)
    pair.a.issue(PUT8, 8, to=24)
    pair.run()
    assert pair.b.peek(24, 9) == DATA[:8] + bytes(1)
    assert pair.wire_lines() == [
        "A ATOMIC_WRITE psn=0 8 bytes of 8",
        "B RDMA_READ_RESPONSE_ONLY psn=0 msn=1",
    ]
    (cqe,) = pair.a.poll(pair.a.send_cq)
    assert (cqe.status, cqe.opcode) == (OK, WCOpcode.ATOMIC_WRITE)
    assert pair.a.qp.comp.reads == pair.a.qp.req.reads == 1


@pytest.mark.parametrize("lost", ["request", "answer"])
@pytest.mark.parametrize("opcode", [FLUSH, PUT8])
def test_a_lost_flush_or_atomic_write_is_retransmitted_and_executed_once(
    opcode: WROpcode, lost: str
) -> None:
    """A later ACK does not stand for its answer; the word is put once, though B changes it."""
    pair = persistent()
    pair.a.poke(0, DATA)
    pair.lose("A" if lost == "request" else "B", 1)
    pair.a.post(
        pair.a.wr(opcode, 8 if opcode is PUT8 else 0, wr_id=1, flush_length=8),
        pair.a.wr(WRITE, 8, wr_id=2, to=64),
    )
    pair.run()
    assert pair.a.sent() == [(1, OK), (2, OK)]
    asked = [line for line in pair.sent_by("A") if line.startswith(opcode.name)]
    assert len(asked) == 2
    kind = Kind.MEMORY_FLUSHED if opcode is FLUSH else Kind.MEMORY_WRITTEN
    at = pair.b.mr.addr
    assert len([r for r in pair.records(kind, node="B") if r.a == at]) == 1


def test_a_flush_answered_with_data_is_bad_resp_err() -> None:
    pair = persistent()
    pair.lose("A", 1)
    pair.a.issue(FLUSH, 0, flush_length=8)
    pair.run(until_ns=500)
    response = pair.a.incoming("RDMA_READ_RESPONSE_ONLY", 0, b"12345678", aeth=AETH(0x1F, 1))
    pair.a.inject(response)
    assert pair.a.sent() == [(1, WCStatus.BAD_RESP_ERR)]


# --------------------------------------------------------------------------- other addresses
def test_all_requests_use_the_iova_of_a_region() -> None:
    """WRITE of several packets, READ, atomic: at the peer; gather and scatter: at home."""
    pair = Pair()
    for end in (pair.a, pair.b):
        end.mr.iova = 0x7000_0000
    pair.a.poke(0, DATA)
    to, sg = 0x7000_0040, [SGE(0x7000_0000, 600, pair.a.mr.lkey)]
    back, word = ([SGE(0x7000_1000 + n, size, pair.a.mr.lkey)] for n, size in ((0, 600), (4096, 8)))
    pair.b.recv(600, sg=[SGE(0x7000_2000, 600, pair.b.mr.lkey)])
    pair.a.post(
        pair.a.wr(WRITE, sg=sg, remote_addr=to),
        pair.a.wr(WROpcode.RDMA_READ, sg=back, remote_addr=to),
        pair.a.wr(ADD, sg=word, remote_addr=to, compare_add=1, flags=FENCED),
        pair.a.wr(SEND, sg=sg),
        pair.a.wr(PUT8, sg=word, remote_addr=to + 800, flags=FENCED),
    )
    pair.run()
    assert pair.a.sent() == [(1, OK)] * 5
    assert pair.b.peek(0x40 + 1, 599) == DATA[1:600]
    assert pair.b.peek(0x40, 1) == bytes([DATA[0] + 1])
    assert pair.a.peek(0x1000, 600) == pair.b.peek(0x2000, 600) == DATA[:600]
    assert pair.a.peek(0x2000, 8) == pair.b.peek(0x40 + 800, 8) == DATA[:8]
