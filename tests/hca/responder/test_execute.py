"""What a request does to memory and to receives, once nothing speaks against it."""

import pytest

from rdmalab.hca.wr import Cqe
from rdmalab.spec.records import Kind
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WCFlags, WCOpcode, WROpcode
from rdmalab.wire.headers import RETH, AtomicETH
from tests.pairs import Pair

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
def test_a_write_with_immediate_leaves_the_buffers_of_the_receive_alone(length: int) -> None:
    """It may even have none; byte_len is what the WRITE wrote."""
    pair, (cqe,) = received(WRITE_IMM, length, room=0)
    assert (cqe.opcode, cqe.byte_len) == (WCOpcode.RECV_RDMA_WITH_IMM, length)
    assert (cqe.imm_data, cqe.wc_flags) == (0x78563412, WCFlags.WITH_IMM)
    assert pair.b.peek(100, 700) == DATA[:length] + bytes(700 - length)
    assert pair.b.peek(8192, 1024) == bytes(1024)


def test_a_write_gives_its_target_no_sign_at_all() -> None:
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


def test_receives_are_taken_in_the_order_of_posting_whatever_takes_them() -> None:
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
def test_compare_and_swap(memory: int, compare: int, after: int) -> None:
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
