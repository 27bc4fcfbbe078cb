"""The cable: how long a packet takes, and what becomes of it on the way."""

import pytest

from rdmalab.spec.opcodes import BY_LABEL
from rdmalab.wire.packet import Flow, Packet, ipv4_gid
from rdmalab.wire.roce import Malformed, decode, encode
from rdmalab.world.faults import Corrupt, Drop, Fault, Match, Reorder
from rdmalab.world.network import Cable
from rdmalab.world.transit import Transit

FLOW = Flow(ipv4_gid("10.0.0.1"), ipv4_gid("10.0.0.2"), 0xC001)


def packet(psn: int = 0, payload: bytes = b"12345678") -> Packet:
    return Packet(FLOW, BY_LABEL["SEND_ONLY"][0], 0x11, psn, payload)


def cable(*faults: Fault) -> Cable:
    made = Cable(1_000, 100_000_000_000, 4096)
    made.faults = list(faults)
    return made


def test_a_packet_keeps_the_port_busy_for_all_its_bytes() -> None:
    """14 + 20 + 8 + 12 + 8 + 4 bytes, rounded up to whole nanoseconds."""
    assert cable().occupies_ns(packet()) == 6  # 66 bytes at 100 Gbit/s are 5.28 ns
    slow = Cable(0, 1_000, 4096)
    assert slow.occupies_ns(packet()) == 66 * 8 * 1_000_000


def carried(over: Cable, one: Packet) -> Transit:
    way = Transit("A", "B", one)
    over.carry(way)
    return way


def test_without_a_fault_the_packet_itself_arrives() -> None:
    one = packet()
    assert carried(cable(), one) == Transit("A", "B", one)


def test_a_cable_that_is_down_loses_everything() -> None:
    dead = cable(Corrupt(1, Match(), 3))
    dead.up = False
    assert carried(dead, packet()).lost == "the link is down"
    assert dead.faults[0].match.seen == 0


def test_a_dropped_packet_names_its_fault() -> None:
    assert carried(cable(Drop(3, Match(psn=7))), packet(7)).lost == "fault 3: drop psn=7"


def test_every_fault_counts_every_packet_that_fits_it() -> None:
    """Two faults for the first and the second packet take the first and the second."""
    two = cable(Drop(1, Match(nth=1)), Drop(2, Match(nth=2)))
    lost = [carried(two, packet(psn)).lost != "" for psn in range(4)]
    assert lost == [True, True, False, False]


def test_a_lost_packet_overtakes_no_other() -> None:
    reorder = Reorder(1, Match(nth=1))
    two = cable(reorder, Drop(2, Match(nth=2)))
    ways = [carried(two, packet(psn)) for psn in range(3)]
    assert [len(way.released) for way in ways] == [0, 0, 1]


def test_what_is_held_and_then_lost_waits_no_more() -> None:
    reorder = Reorder(1, Match(nth=1))
    carried(cable(reorder, Drop(2, Match(nth=1))), packet())
    assert reorder.held == []


def test_a_harmed_packet_travels_on_as_bytes() -> None:
    one = packet()
    way = carried(cable(Corrupt(1, Match(), byte=60)), one)
    assert way.frame != encode(one)
    assert isinstance(way.read(), Malformed)


def test_two_faults_harm_one_packet_together() -> None:
    """Twice the same bit is no harm at all."""
    one = packet()
    fault = Corrupt(1, Match(), byte=60)
    assert carried(cable(fault, fault), one).read() == decode(encode(one))


@pytest.mark.parametrize("bit", range(8))
def test_no_flipped_bit_of_the_transport_goes_unnoticed(bit: int) -> None:
    frame = encode(packet())
    masked = {14 + 28 + 4}  # FECN, BECN, reserved: the ICRC does not cover them
    for byte in range(14 + 28, len(frame)):
        way = carried(cable(Corrupt(1, Match(), byte, bit)), packet())
        assert isinstance(way.read(), Packet) is (byte in masked)
