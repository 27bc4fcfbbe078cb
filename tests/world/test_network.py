"""The network: its settings, the way of packets and frames to the nodes with the address."""

from dataclasses import replace

import pytest

from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.limits import PortState
from rdmalab.spec.profiles import STRICT
from rdmalab.spec.records import Kind
from rdmalab.spec.states import MTU
from rdmalab.spec.work import WROpcode
from rdmalab.wire.frame import Frame
from rdmalab.world.faults import Corrupt, Drop, Match
from rdmalab.world.network import LATENCY_NS
from rdmalab.world.world import World
from tests.pairs import MANY, Pair
from tests.raw import BROADCAST, GROUP, MAC_A, tcp_frame

SEND, WRITE = WROpcode.SEND, WROpcode.RDMA_WRITE


# --------------------------------------------------------------------------- the cable's settings
def test_a_link_that_is_down_takes_all_ports_along() -> None:
    pair = Pair()
    pair.world.network.set_link(up=False)
    assert {hca.port_state for hca in pair.world.nodes.values()} == {PortState.DOWN}
    assert pair.a.events() == pair.b.events() == [AsyncEvent.PORT_ERR]
    pair.a.issue(WRITE)
    pair.run(until_ns=1_000_000)
    pair.world.network.set_link(up=True)
    pair.run()
    assert [status.name for _, status in pair.a.sent()] == ["SUCCESS"]


def test_settings_of_the_link_count_at_once() -> None:
    pair = Pair()
    pair.world.network.tune_link("latency_ns", 77)
    pair.a.issue(WRITE, 0)
    pair.run()
    sent, answered = pair.records(Kind.PACKET_SENT)
    arrived = pair.records(Kind.PACKET_RECEIVED)[0]
    assert arrived.at_ns - sent.at_ns < LATENCY_NS
    assert answered.at_ns == arrived.at_ns + 100
    pair.world.network.tune_link("mtu", 512)
    assert {hca.profile.caps.active_mtu for hca in pair.world.nodes.values()} == {512}
    pair.world.network.tune_link("mtu", 9_000)
    assert {hca.profile.caps.active_mtu for hca in pair.world.nodes.values()} == {4096}


def test_an_address_that_no_node_has() -> None:
    pair = Pair(retry_cnt=0, timeout=1)
    assert pair.a.qp.path
    pair.a.qp.path.flow = replace(pair.a.qp.path.flow, dst=5)
    pair.a.issue(WRITE)
    pair.run()
    assert pair.reasons(Kind.PACKET_LOST) == ["no port has this address"]
    assert [status.name for _, status in pair.a.sent()] == ["RETRY_EXC_ERR"]


def test_a_flipped_bit_is_found_by_the_icrc_and_the_packet_sent_again() -> None:
    pair = Pair(mtu=MTU.B1024)
    pair.b.recv(600)
    pair.a.poke(0, b"payload" * 80)
    pair.world.network.cable.faults.append(Corrupt(1, Match(source="A", nth=1), byte=200, bit=3))
    pair.a.issue(SEND, 560)
    pair.run()
    (harmed,) = pair.records(Kind.PACKET_HARMED)
    (dropped,) = pair.records(Kind.PACKET_DROPPED)
    assert dropped.b.startswith("malformed")
    assert pair.records(*Kind)[dropped.cause].kind is Kind.PACKET_SENT
    assert isinstance(harmed.b, bytes)
    assert pair.b.hca.drops == {"malformed": 1}
    assert pair.b.peek(0, 560) == b"payload" * 80


def test_what_a_router_may_change_is_found_by_the_ip_checksum_alone() -> None:
    pair = Pair()
    pair.b.recv()
    pair.world.network.cable.faults.append(Corrupt(1, Match(nth=1), byte=14 + 1))  # the TOS
    pair.a.issue(SEND)
    pair.run()
    assert pair.reasons(Kind.PACKET_DROPPED) == ["malformed: ip"]
    assert [status.name for _, status in pair.a.sent()] == ["SUCCESS"]


# --------------------------------------------------------------------------- frames
def three() -> World:
    return World({"A": STRICT, "B": STRICT, "C": STRICT})


@pytest.mark.parametrize(
    ("dst", "reached"),
    [
        ("02:00:0a:00:00:02", "B"),
        ("02:00:0a:00:00:03", "C"),
        (BROADCAST, "BC"),
        (GROUP, "BC"),
        ("02:00:00:00:00:99", "BC"),
        (MAC_A, "BC"),
    ],
)
def test_a_frame_goes_to_its_mac_or_to_all_others(dst: str, reached: str) -> None:
    world = three()
    world.begin_event()
    busy_ns = world.network.transmit("A", 17, Frame(tcp_frame(bytes(71), dst=dst)))
    assert busy_ns == 10  # 125 bytes at 100 Gbit/s
    world.run(MANY)
    dropped = [r for r in world.trace.records if r[3] is Kind.PACKET_DROPPED]
    assert "".join(record[4] for record in dropped) == reached
    assert {record[1] for record in dropped} == {10 + LATENCY_NS}


def test_no_frame_leaves_a_port_that_is_down() -> None:
    world = three()
    world.begin_event()
    world.network.set_link(up=False)
    world.network.transmit("A", 17, Frame(tcp_frame()))
    assert world.run(MANY) == 0
    assert [r[7] for r in world.trace.records if r[3] is Kind.PACKET_LOST] == ["the port is down"]


def test_faults_meet_frames_by_direction_and_number() -> None:
    world = three()
    world.begin_event()
    world.network.cable.faults += [
        Drop(1, Match("A", "B", nth=2)),
        Corrupt(2, Match("A", "C"), byte=20, bit=0),
        Drop(3, Match(opcode="SEND_ONLY")),
        Drop(4, Match(psn=0)),
    ]
    frame = Frame(tcp_frame(dst=BROADCAST))
    for _ in range(2):
        world.network.transmit("A", 17, frame)
    world.run(MANY)
    arrived = [(r[4], r[6]) for r in world.trace.records if r[3] is Kind.PACKET_DROPPED]
    harmed = bytearray(frame.octets)
    harmed[20] ^= 1
    assert arrived == [("B", frame), ("C", Frame(bytes(harmed))), ("C", Frame(bytes(harmed)))]
