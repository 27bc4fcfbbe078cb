"""One port for all QPs of a node: who sends when, and what a host sees of it."""

from itertools import pairwise

import pytest

from rdmalab.hca import qp_lifecycle
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.limits import PortState
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WROpcode
from tests.pairs import End, Pair

SEND, WRITE, READ = WROpcode.SEND, WROpcode.RDMA_WRITE, WROpcode.RDMA_READ
OK = WCStatus.SUCCESS


def second(pair: Pair, node_a: str = "A", node_b: str = "B") -> tuple[End, End]:
    """Another connection of the same nodes."""
    a, b = pair.end(node_a), pair.end(node_b)
    pair.connect(a, b)
    return a, b


def test_qps_take_turns_packet_by_packet() -> None:
    pair = Pair()
    a, _ = second(pair)
    pair.a.issue(WRITE, 900)
    a.issue(WRITE, 600)
    pair.run()
    sent = [record.number for record in pair.records(Kind.PACKET_SENT, node="A")]
    one, other = pair.a.qp.number, a.qp.number
    assert sent == [one, other, one, other, one, other, one]
    assert pair.a.sent() == a.sent() == [(1, OK)]


def test_responses_are_sent_before_requests_of_the_same_qp() -> None:
    pair = Pair()
    pair.a.issue(READ, 600)
    pair.run(until_ns=1_100)
    pair.b.issue(WRITE, 600)
    pair.run()
    labels = [line.split()[0] for line in pair.sent_by("B")]
    assert labels[:4] == [
        "RDMA_READ_RESPONSE_FIRST",
        "RDMA_READ_RESPONSE_MIDDLE",
        "RDMA_READ_RESPONSE_LAST",
        "RDMA_WRITE_FIRST",
    ]


def test_read_responses_do_not_starve_the_requests_of_the_same_qp() -> None:
    pair = Pair(rd_atomic=16, dest_rd_atomic=16)
    for _ in range(16):
        pair.a.issue(READ, 600)
    pair.run(until_ns=1_200)
    pair.b.issue(WRITE)
    pair.run()
    labels = [line.split()[0] for line in pair.sent_by("B")]
    assert labels.count("RDMA_READ_RESPONSE_LAST") == 16
    before = labels[: labels.index("RDMA_WRITE_ONLY")]
    assert before.count("RDMA_READ_RESPONSE_LAST") < 8
    assert pair.b.sent() == [(1, OK)]


def test_a_qp_that_waits_or_fails_does_not_block_other_qps() -> None:
    pair = Pair(rd_atomic=0)
    a, b = second(pair)
    c, _ = second(pair)
    b.recv()
    pair.a.issue(READ)
    c.issue(SEND, sg=[c.sge(0, 8, 0xBAD)])
    a.issue(SEND)
    pair.run()
    assert a.sent() == [(1, OK)]
    assert c.sent() == [(1, WCStatus.LOC_PROT_ERR)]


def test_packets_leave_as_fast_as_the_cable_takes_them() -> None:
    """And no faster: the next one goes when the last bit of this one is out."""
    pair = Pair()
    pair.world.network.cable.rate_bps = 1_000_000_000
    pair.a.issue(WRITE, 900)
    pair.run()
    records = pair.records(Kind.PACKET_SENT, node="A")
    for record, following in pairwise(records):
        assert following.at_ns - record.at_ns == 8 * (14 + record.a.size)
    arrivals = pair.records(Kind.PACKET_RECEIVED, node="B")
    assert arrivals[0].at_ns == records[1].at_ns + pair.world.network.cable.latency_ns


@pytest.mark.parametrize("opcode", [SEND, WRITE, READ])
def test_loopback_between_two_qps_of_one_node_uses_the_cable(opcode: WROpcode) -> None:
    pair = Pair()
    a, b = second(pair, "A", "A")
    b.recv(600)
    a.issue(opcode, 600)
    pair.run()
    assert a.sent() == [(1, OK)]
    assert b.received() == ([(1, OK)] if opcode is SEND else [])


def test_loopback_of_a_qp_connected_to_itself() -> None:
    """Its requests and its answers share the QP and nothing else."""
    pair = Pair(psn=0x10, peer_psn=0x10)
    end = pair.end("A")
    end.peer = end
    pair.bring_up(end, 0x10, 0x10)
    end.poke(0, b"to myself" * 90)
    end.recv(1024, wr_id=5, at=4096)
    end.post(end.wr(SEND, 800, wr_id=1), end.wr(READ, 800, wr_id=2, at=8192, to=4096))
    pair.run()
    assert end.sent() == [(1, OK), (2, OK)]
    assert end.received() == [(5, OK)]
    assert end.peek(8192, 800) == end.peek(4096, 800) == end.peek(0, 800)


def test_a_destroyed_qp_is_not_scheduled() -> None:
    pair = Pair()
    a, b = second(pair)
    b.recv()
    pair.a.issue(WRITE, 900)
    a.issue(SEND)
    qp_lifecycle.destroy_qp(pair.a.hca, pair.a.qp)
    pair.run()
    assert a.sent() == [(1, OK)]
    assert len(pair.sent_by("A")) == 1


def test_a_port_that_is_down_sends_and_receives_nothing() -> None:
    pair = Pair(timeout=5, retry_cnt=1)
    pair.a.issue(WRITE)
    pair.run(until_ns=500)
    pair.world.network.set_link(up=False)
    pair.world.network.set_link(up=False)
    pair.run()
    assert pair.b.hca.drops == {"port-down": 1}
    assert pair.reasons(Kind.PACKET_LOST) == ["the port is not ACTIVE"]
    assert pair.a.sent() == [(1, WCStatus.RETRY_EXC_ERR)]
    pair.world.network.set_link(up=True)
    assert pair.b.events() == [AsyncEvent.PORT_ERR, AsyncEvent.PORT_ACTIVE]
    assert pair.b.hca.port_state is PortState.ACTIVE


def test_drops_are_counted_by_reason_and_recorded() -> None:
    pair = Pair()
    for _ in range(2):
        pair.b.takes("SEND_ONLY", 0, pkey=0x1234)
    assert pair.b.hca.drops == {"pkey": 2}
    assert pair.reasons(Kind.PACKET_DROPPED) == ["pkey"] * 2
    assert pair.b.qp.state is QPState.RTS


def test_the_port_reads_memory_for_requests_and_read_responses_alone() -> None:
    for opcode, readers in ((WRITE, {"A"}), (READ, {"A", "B"})):
        pair = Pair()
        pair.a.issue(opcode, 600)
        read = set()
        while pair.world.agenda.next_ns() is not None:
            turns = [node for node, hca in pair.world.nodes.items() if hca.may_read_next]
            before = len(pair.records(Kind.PACKET_SENT))
            pair.world.step()
            read |= {record.node for record in pair.records(Kind.PACKET_SENT)[before:]} & {*turns}
        assert read == readers, opcode
