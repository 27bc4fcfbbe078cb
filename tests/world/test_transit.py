"""A passage: the bytes of a packet as they are at each moment of its way."""

from rdmalab.spec.opcodes import BY_LABEL
from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import Flow, Packet, ipv4_gid
from rdmalab.wire.roce import Malformed, encode
from rdmalab.world.transit import HeldPacket, Transit

PACKET = Packet(
    Flow(ipv4_gid("10.0.0.1"), ipv4_gid("10.0.0.2"), 0xC001), BY_LABEL["SEND_ONLY"][0], 0x11, 7
)


def test_untouched_it_is_what_was_sent() -> None:
    way = Transit("A", "B", PACKET)
    assert way.octets == encode(PACKET)
    read = way.read()
    assert isinstance(read, Packet)
    assert read.psn == 7


def test_touched_it_is_what_the_faults_have_left() -> None:
    to_port = encode(PACKET)[:6]
    for frame, reason in ((to_port + b"\xff" * 54, "ethertype"), (b"\xff" * 60, "mac")):
        way = Transit("A", "B", PACKET, frame=frame)
        assert way.octets == frame
        read = way.read()
        assert isinstance(read, Malformed)
        assert read.reason == reason


def test_a_frame_is_its_bytes() -> None:
    assert Transit("A", "B", Frame(b"x" * 20)).octets == b"x" * 20


def test_two_passages_share_nothing() -> None:
    one, other = Transit("A", "B", PACKET), Transit("A", "B", PACKET)
    one.copies_after_ns.append(1)
    one.released.append(HeldPacket("A", "B", PACKET, 0x11, 2, 1))
    one.held_by.append(3)
    assert (other.copies_after_ns, other.released, other.held_by) == ([], [], [])
