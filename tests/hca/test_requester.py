"""What leaves a send queue, when, and what is sent again."""

from typing import Any

import pytest

from rdmalab.hca import mr
from rdmalab.hca.requester import ACK_EVERY, reason_to_wait
from rdmalab.hca.wr import SGE
from rdmalab.spec.access import Access
from rdmalab.spec.states import MTU, QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.wire.headers import AETH
from tests.pairs import SIGNALED, Pair

SEND, WRITE, READ = WROpcode.SEND, WROpcode.RDMA_WRITE, WROpcode.RDMA_READ
SEND_IMM, WRITE_IMM = WROpcode.SEND_WITH_IMM, WROpcode.RDMA_WRITE_WITH_IMM
ADD, SWAP = WROpcode.ATOMIC_FETCH_AND_ADD, WROpcode.ATOMIC_CMP_AND_SWP
OK = WCStatus.SUCCESS


def ready(**options: Any) -> Pair:
    """A pair whose B has receives for everything."""
    pair = Pair(**options)
    for wr_id in range(8):
        pair.b.recv(4096, wr_id=wr_id, at=4096 * wr_id)
    return pair


# --------------------------------------------------------------------------- segmentation
@pytest.mark.parametrize("mtu", list(MTU))
@pytest.mark.parametrize("opcode", [SEND, WRITE])
def test_a_message_is_segmented_by_path_mtu(mtu: MTU, opcode: WROpcode) -> None:
    name, full = opcode.name, mtu.octets
    shapes = {
        0: ["ONLY psn={}"],
        1: ["ONLY psn={} 1 bytes"],
        full: [f"ONLY psn={{}} {full} bytes"],
        full + 1: [f"FIRST psn={{}} {full} bytes", "LAST psn={} 1 bytes"],
        2 * full: [f"FIRST psn={{}} {full} bytes", f"LAST psn={{}} {full} bytes"],
        3 * full - 1: [
            f"FIRST psn={{}} {full} bytes",
            f"MIDDLE psn={{}} {full} bytes",
            f"LAST psn={{}} {full - 1} bytes",
        ],
    }
    pair = Pair(mtu=mtu, psn=0xFFFFFE)
    pair.b.recv(4 * full, wr_id=1)
    expected, psn = [], 0xFFFFFE
    for length, lines in shapes.items():
        pair.b.recv(4 * full)
        pair.a.issue(opcode, length)
        for line in lines:
            expected.append(f"{name}_{line.format(psn)}")
            psn = (psn + 1) & 0xFFFFFF
    pair.run()
    assert [line.split(" of ")[0] for line in pair.sent_by("A")] == expected
    assert len(pair.a.sent()) == len(shapes)


def test_only_the_first_packet_of_a_write_has_a_reth() -> None:
    pair = Pair()
    pair.a.issue(WRITE, 600, to=40)
    pair.run()
    first, *others = pair.packets("A")
    assert first.reth
    assert (first.reth.va, first.reth.rkey) == (pair.b.mr.addr + 40, pair.b.mr.rkey)
    assert first.reth.dma_length == 600
    assert [packet.reth for packet in others] == [None, None]


def test_a_read_takes_a_psn_for_each_packet_of_its_response() -> None:
    pair = ready(psn=0xFFFFFD)
    for opcode, length in ((READ, 1025), (ADD, 8), (READ, 0), (SEND, 0)):
        pair.a.issue(opcode, length)
    pair.run()
    assert pair.sent_by("A") == [
        "RDMA_READ_REQUEST psn=16777213 of 1025",
        "FETCH_ADD psn=2",
        "RDMA_READ_REQUEST psn=3 of 0",
        "SEND_ONLY psn=4",
    ]
    assert [line.split(" msn")[0] for line in pair.sent_by("B")] == [
        "RDMA_READ_RESPONSE_FIRST psn=16777213 256 bytes",
        "RDMA_READ_RESPONSE_MIDDLE psn=16777214 256 bytes",
        "RDMA_READ_RESPONSE_MIDDLE psn=16777215 256 bytes",
        "RDMA_READ_RESPONSE_MIDDLE psn=0 256 bytes",
        "RDMA_READ_RESPONSE_LAST psn=1 1 bytes",
        "ATOMIC_ACKNOWLEDGE psn=2",
        "RDMA_READ_RESPONSE_ONLY psn=3",
        "ACK psn=4",
    ]
    assert [status for _, status in pair.a.sent()] == [OK] * 4


def test_sge_list_is_one_message() -> None:
    """Gather and scatter lists need not match, nor end at packets."""
    pair = Pair()
    pair.a.poke(0, bytes(range(256)) * 3)
    pair.b.recv(sg=[pair.b.sge(0, 1), pair.b.sge(1000, 299), pair.b.sge(2000, 900)])
    pair.a.issue(SEND, sg=[pair.a.sge(0, 200), pair.a.sge(300, 1), pair.a.sge(400, 200)])
    pair.run()
    sent = pair.a.peek(0, 200) + pair.a.peek(300, 1) + pair.a.peek(400, 200)
    assert pair.b.peek(0, 1) + pair.b.peek(1000, 299) + pair.b.peek(2000, 101) == sent
    assert pair.b.peek(2101, 799) == bytes(799)


# --------------------------------------------------------------------------- bits of the BTH
@pytest.mark.parametrize("opcode", [SEND, SEND_IMM, WRITE, WRITE_IMM, READ, ADD, SWAP])
def test_solicited_stands_on_the_last_packet_of_what_takes_a_receive(opcode: WROpcode) -> None:
    for length in (8, 600):
        pair = ready()
        atomic = opcode in (ADD, SWAP)
        pair.a.issue(opcode, 8 if atomic else length, flags=SIGNALED | SendFlags.SOLICITED)
        pair.a.issue(SEND, 600)
        pair.run()
        solicits = [packet.solicited for packet in pair.packets("A")]
        count = 1 if opcode is READ or atomic or length == 8 else 3
        last = opcode in (SEND, SEND_IMM, WRITE_IMM)
        assert solicits == [False] * (count - 1) + [last] + [False] * 3
        assert pair.a.sent() == [(1, OK)] * 2


def test_ack_req_at_the_end_of_each_message_read_and_atomic() -> None:
    pair = ready()
    for opcode, length in ((SEND, 600), (WRITE, 8), (READ, 600), (ADD, 8), (SWAP, 8)):
        pair.a.issue(opcode, length)
    pair.run()
    assert [p.ack_req for p in pair.packets("A")] == [False, False, True, True, True, True, True]


def test_ack_req_within_a_long_message() -> None:
    pair = Pair()
    pair.a.issue(WRITE, 200 * 256)
    pair.run()
    asking = [number for number, packet in enumerate(pair.packets("A")) if packet.ack_req]
    assert asking == [ACK_EVERY, 2 * ACK_EVERY + 1, 3 * ACK_EVERY + 2, 199]


@pytest.mark.parametrize("opcode", [SEND_IMM, WRITE_IMM])
def test_the_immediate_travels_in_network_order_on_the_last_packet(opcode: WROpcode) -> None:
    """htonl(0x12345678) lies in memory as 12 34 56 78 and leaves in that order."""
    pair = ready()
    stored = int.from_bytes(bytes.fromhex("12345678"), "little")
    pair.a.issue(opcode, 300, imm_data=stored)
    pair.run()
    first, last = pair.packets("A")
    assert first.immdt is None
    assert last.immdt
    assert last.immdt.pack() == bytes.fromhex("12345678")
    (cqe,) = pair.b.poll(pair.b.recv_cq)
    assert cqe.imm_data == stored


def test_atomic_eth_has_the_operands() -> None:
    pair = Pair()
    pair.a.issue(SWAP, compare_add=3, swap=9, to=16)
    pair.a.issue(ADD, compare_add=5)
    pair.run()
    swap, add = (packet.atomiceth for packet in pair.packets("A"))
    assert swap
    assert add
    assert (swap.va, swap.swap_add, swap.compare) == (pair.b.mr.addr + 16, 9, 3)
    assert (add.va, add.swap_add, add.compare) == (pair.b.mr.addr, 5, 0)


# --------------------------------------------------------------------------- when data is read
def test_inline_data_is_copied_when_posted_and_its_lkey_is_not_checked() -> None:
    pair = ready()
    pair.a.poke(0, b"before")
    pair.lose("A", 1)
    sg = [SGE(pair.a.mr.addr, 3, 0xBAD), SGE(pair.a.mr.addr + 3, 3, 0xBAD)]
    pair.a.issue(SEND, flags=SIGNALED | SendFlags.INLINE, sg=sg)
    pair.a.poke(0, b"after!")
    pair.run()
    assert pair.b.peek(0, 6) == b"before"
    assert pair.a.sent() == [(1, OK)]


def test_data_is_read_when_sent_and_when_retransmitted() -> None:
    """[S0] warns: a buffer changed before its completion may be sent as a mixture."""
    pair = ready()
    pair.a.poke(0, b"1" * 512)
    pair.lose("A", 2)
    pair.a.issue(SEND, 512)
    pair.run(until_ns=1_000_000)
    pair.a.poke(0, b"2" * 512)
    pair.run()
    assert pair.b.peek(0, 512) == b"1" * 256 + b"2" * 256


def test_lkey_is_not_checked_for_zero_length() -> None:
    pair = ready()
    for opcode in (SEND, WRITE, READ, WRITE_IMM):
        pair.a.issue(opcode, 0, remote_addr=5, rkey=0xBAD)
    pair.run()
    assert pair.a.sent() == [(1, OK)] * 4


# --------------------------------------------------------------------------- local failures
def bad_key(pair: Pair) -> list[SGE]:
    return [pair.a.sge(0, 8, 0xBAD)]


def rkey_for_lkey(pair: Pair) -> list[SGE]:
    return [pair.a.sge(0, 8, pair.a.mr.rkey)]


def stale_key(pair: Pair) -> list[SGE]:
    region = mr.register(pair.a.hca, pair.a.pd.number, 64, int(Access.LOCAL_WRITE), None)
    sge = SGE(region.addr, 8, region.lkey)
    mr.deregister(pair.a.hca, region)
    return [sge]


def key_of_another_pd(pair: Pair) -> list[SGE]:
    other = pair.end("A")
    return [SGE(other.mr.addr, 8, other.mr.lkey)]


def beyond(pair: Pair) -> list[SGE]:
    return [pair.a.sge(pair.mr_bytes - 7, 8)]


def before(pair: Pair) -> list[SGE]:
    return [pair.a.sge(-1, 8)]


def second_piece(pair: Pair) -> list[SGE]:
    return [pair.a.sge(0, 4), pair.a.sge(0, 4, 0xBAD)]


@pytest.mark.parametrize(
    "sg", [bad_key, rkey_for_lkey, stale_key, key_of_another_pd, beyond, before, second_piece]
)
@pytest.mark.parametrize("opcode", [SEND, WRITE_IMM])
def test_lkey_error_completes_after_earlier_requests(opcode: WROpcode, sg: Any) -> None:
    """Nothing of it is sent; those behind are flushed; the peer notices nothing."""
    pair = ready()
    wrs = [pair.a.wr(SEND, wr_id=1), pair.a.wr(READ, 600, wr_id=2)]
    wrs += [pair.a.wr(opcode, wr_id=3, flags=SendFlags(0), sg=sg(pair)), pair.a.wr(SEND, wr_id=4)]
    pair.a.recv(wr_id=5)
    pair.a.post(*wrs)
    pair.run()
    assert pair.a.sent() == [
        (1, OK),
        (2, OK),
        (3, WCStatus.LOC_PROT_ERR),
        (4, WCStatus.WR_FLUSH_ERR),
    ]
    assert pair.a.received() == [(5, WCStatus.WR_FLUSH_ERR)]
    assert pair.sent_by("A") == ["SEND_ONLY psn=0 8 bytes", "RDMA_READ_REQUEST psn=1 of 600"]
    assert pair.a.qp.state is QPState.ERR
    assert pair.a.events() == []  # a CQE tells it
    assert pair.b.qp.state is QPState.RTS


def test_lkey_error_in_the_middle_of_a_message() -> None:
    """What was sent stays sent: the peer waits for the rest for ever."""
    pair = ready()
    pair.a.issue(SEND, sg=[pair.a.sge(0, 256), pair.a.sge(pair.mr_bytes, 8)])
    pair.run()
    assert pair.a.sent() == [(1, WCStatus.LOC_PROT_ERR)]
    assert pair.sent_by("A") == ["SEND_FIRST psn=0 256 bytes"]
    assert pair.b.qp.resp.recv is not None
    assert pair.b.received() == []


def test_a_local_failure_waits_for_retries_of_what_is_before_it() -> None:
    """Going back sends the earlier one again; the failing one fails a second time, and once."""
    pair = ready()
    pair.lose("A", 1)
    pair.a.post(pair.a.wr(SEND, wr_id=1), pair.a.wr(SEND, wr_id=2, sg=bad_key(pair)))
    pair.run()
    assert pair.a.sent() == [(1, OK), (2, WCStatus.LOC_PROT_ERR)]
    assert pair.sent_by("A") == ["SEND_ONLY psn=0 8 bytes lost", "SEND_ONLY psn=0 8 bytes"]


# --------------------------------------------------------------------------- waiting
def test_a_fence_waits_for_reads_and_atomics_and_for_nothing_else() -> None:
    pair = ready()
    fenced = SIGNALED | SendFlags.FENCE
    wrs = [pair.a.wr(SEND), pair.a.wr(SEND, flags=fenced)]
    wrs += [pair.a.wr(READ), pair.a.wr(ADD), pair.a.wr(SEND, flags=fenced), pair.a.wr(SEND)]
    pair.a.post(*wrs)
    pair.run(until_ns=1000)
    assert [line.split()[0] for line in pair.sent_by("A")] == [
        "SEND_ONLY",
        "SEND_ONLY",
        "RDMA_READ_REQUEST",
        "FETCH_ADD",
    ]
    assert reason_to_wait(pair.a.qp) == "fence"
    pair.run()
    lines = [line.split()[1] for line in pair.wire_lines()]
    assert lines.index("ATOMIC_ACKNOWLEDGE") < len(lines) - 3
    assert pair.wire_lines()[-3:-1] == ["A SEND_ONLY psn=4 8 bytes", "A SEND_ONLY psn=5 8 bytes"]
    assert len(pair.a.sent()) == 6


def test_without_a_fence_a_send_carries_what_was_there_before_the_read() -> None:
    for flags, carried in ((SIGNALED, b"stale"), (SIGNALED | SendFlags.FENCE, b"fresh")):
        pair = ready()
        pair.a.poke(0, b"stale")
        pair.b.poke(40_000, b"fresh")
        pair.a.post(pair.a.wr(READ, 5, to=40_000), pair.a.wr(SEND, 5, flags=flags))
        pair.run()
        assert pair.b.peek(0, 5) == carried


@pytest.mark.parametrize(("depth", "out"), [(1, 1), (2, 2), (3, 3), (4, 4), (9, 5)])
def test_no_more_reads_and_atomics_are_under_way_than_max_rd_atomic(depth: int, out: int) -> None:
    pair = ready(rd_atomic=depth, dest_rd_atomic=9)
    pair.a.post(*[pair.a.wr(opcode, at=99) for opcode in (READ, ADD, READ, SWAP, READ)])
    pair.run(until_ns=1000)
    assert len(pair.sent_by("A")) == out
    assert reason_to_wait(pair.a.qp) == ("rd-atomic" if out < 5 else "")
    pair.run()
    assert pair.a.sent() == [(1, OK)] * 5


def test_max_rd_atomic_0_starts_no_read_and_no_later_request() -> None:
    pair = ready(rd_atomic=0)
    pair.a.post(pair.a.wr(SEND, wr_id=1), pair.a.wr(READ, wr_id=2), pair.a.wr(SEND, wr_id=3))
    pair.run()
    assert pair.a.sent() == [(1, OK)]
    assert reason_to_wait(pair.a.qp) == "rd-atomic"
    assert pair.world.agenda.next_ns() is None


def test_half_of_the_psn_circle_is_the_most_that_is_outstanding() -> None:
    """The longest READ over the smallest MTU is just that long: 2^23 packets."""
    pair = Pair(mr_bytes=2**31)
    pair.a.issue(READ, 2**31)
    pair.a.issue(SEND, 0)
    pair.run(until_ns=1_000)
    assert pair.sent_by("A") == [f"RDMA_READ_REQUEST psn=0 of {2**31}"]
    assert reason_to_wait(pair.a.qp) == "window"
    pair.a.takes("RDMA_READ_RESPONSE_FIRST", 0, b"x" * 256, aeth=AETH(0x1F, 1))
    pair.run(until_ns=1_100)
    assert pair.sent_by("A")[1:] == ["SEND_ONLY psn=8388608"]


# --------------------------------------------------------------------------- going back
@pytest.mark.parametrize("opcode", [SEND, WRITE])
@pytest.mark.parametrize("psn", [0, 0xFFFFFE])
def test_retransmission_continues_the_message_at_the_lost_packet(
    opcode: WROpcode, psn: int
) -> None:
    """MIDDLE stays MIDDLE and LAST stays LAST; a WRITE needs no second RETH."""
    name = opcode.name
    whole = ["FIRST", "MIDDLE", "LAST"]
    for lost, labels in ((1, whole), (2, whole[1:]), (3, whole)):  # at the end only time helps
        pair = ready(psn=psn)
        pair.a.poke(0, bytes(range(200)) * 3)
        pair.lose("A", lost)
        pair.a.issue(opcode, 600)
        pair.run()
        again = [line.split()[0] for line in pair.sent_by("A")[3:]]
        assert again == [f"{name}_{label}" for label in labels]
        assert pair.a.sent() == [(1, OK)]
        assert pair.b.peek(0, 600) == pair.a.peek(0, 600)


def test_retransmission_sends_everything_after_the_loss() -> None:
    pair = ready()
    pair.lose("A", 2)
    pair.a.post(*[pair.a.wr(SEND, wr_id=wr_id) for wr_id in range(4)])
    pair.run()
    assert pair.wire_lines() == [
        "A SEND_ONLY psn=0 8 bytes",
        "A SEND_ONLY psn=1 8 bytes lost",
        "A SEND_ONLY psn=2 8 bytes",
        "A SEND_ONLY psn=3 8 bytes",
        "B ACK psn=0 msn=1",
        "B NAK_SEQUENCE psn=1 msn=1",
        "A SEND_ONLY psn=1 8 bytes",
        "A SEND_ONLY psn=2 8 bytes",
        "A SEND_ONLY psn=3 8 bytes",
        "B ACK psn=3 msn=4",
    ]
    assert pair.a.sent() == [(wr_id, OK) for wr_id in range(4)]


@pytest.mark.parametrize("psn", [0, 0xFFFFFE])
@pytest.mark.parametrize("lost", [1, 2, 3, 4])
def test_retransmission_of_the_missing_part_of_a_read(psn: int, lost: int) -> None:
    """A new RETH, and the PSN of the packet that is missing."""
    pair = ready(psn=psn)
    pair.b.poke(0, bytes(range(250)) * 4)
    pair.lose("B", lost)
    pair.a.issue(READ, 900, at=8192)
    pair.run()
    again = pair.packets("A")[-1]
    missing = lost - 1
    assert again.psn == (psn + missing) & 0xFFFFFF
    assert again.reth
    assert again.reth.va == pair.b.mr.addr + 256 * missing
    assert again.reth.dma_length == 900 - 256 * missing
    assert pair.a.peek(8192, 900) == pair.b.peek(0, 900)
    assert pair.a.sent() == [(1, OK)]
    assert len(pair.packets("A")) == 2


def test_retransmission_of_a_whole_read_after_a_loss() -> None:
    pair = ready()
    pair.lose("A", 1)
    pair.a.post(pair.a.wr(SEND), pair.a.wr(READ, 600), pair.a.wr(ADD))
    pair.run()
    assert pair.sent_by("A")[3:] == [
        "SEND_ONLY psn=0 8 bytes",
        "RDMA_READ_REQUEST psn=1 of 600",
        "FETCH_ADD psn=4",
    ]


def test_retransmission_counts_a_read_once_in_max_rd_atomic() -> None:
    """max_rd_atomic is as free after the retry as it was before it."""
    pair = ready(rd_atomic=2, dest_rd_atomic=2)
    pair.lose("A", 1, 3, 4)
    pair.a.post(*[pair.a.wr(READ, wr_id=wr_id) for wr_id in range(6)])
    pair.run()
    assert pair.a.sent() == [(wr_id, OK) for wr_id in range(6)]
    assert pair.a.qp.req.reads == pair.a.qp.comp.reads == 6
