"""What a packet carries is found where scapy put it, and nothing is found in rubbish."""

from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, UDP, IPOption
from scapy.layers.l2 import Ether

from rdmalab.wire import headers
from rdmalab.wire.inside import Inside, inside_datagram, inside_frame


def check(octets: bytes, inside: Inside) -> None:
    """Places lie in the octets and in order, whatever they are."""
    if inside.ip is None:
        assert inside.transport is None
        return
    assert 0 < inside.ip_at < inside.transport_at <= inside.payload_at <= inside.end <= len(octets)


@given(st.binary(max_size=80), st.sampled_from([b"\x08\0", b"\x86\xdd", b"\x08\x06", b"??"]))
def test_any_bytes_are_looked_at_without_harm(octets: bytes, ethertype: bytes) -> None:
    frame = bytes(12) + ethertype + octets
    check(frame, inside_frame(frame))
    check(frame[12:], inside_datagram(frame[12:]))
    check(octets, inside_frame(octets))


@given(st.integers(0, 100), st.integers(0, 100))
def test_cut_off_or_harmed(cut: int, place: int) -> None:
    frame = bytearray(bytes(Ether() / IP() / TCP() / bytes(40)))
    frame[place % len(frame)] ^= 0xFF
    check(bytes(frame[:cut]), inside_frame(bytes(frame[:cut])))


def test_options_of_ip_and_tcp_are_stepped_over() -> None:
    ip = IP(src="10.0.0.1", dst="10.0.0.2", options=[IPOption(b"\x01\x01\x01\x01")])
    tcp = TCP(sport=5, dport=6, options=[("MSS", 1460)])
    frame = bytes(Ether() / ip / tcp / b"data")
    inside = inside_frame(frame)
    assert isinstance(inside.transport, headers.TCP)
    assert (inside.transport.sport, inside.transport.dport) == (5, 6)
    assert frame[inside.payload_at : inside.end] == b"data"


def test_a_later_fragment_has_no_ports() -> None:
    for ip in (IP(frag=3), IP(flags="MF")):
        inside = inside_frame(bytes(Ether() / ip / UDP() / bytes(20)))
        assert inside.ip is not None
        assert inside.transport is None


def test_a_datagram_has_four_bytes_before_its_ip_header() -> None:
    datagram = b"\x08\0\0\0" + bytes(IP() / UDP(sport=7, dport=9) / b"xyz")
    inside = inside_datagram(datagram)
    assert isinstance(inside.transport, headers.UDP)
    assert datagram[inside.payload_at : inside.end] == b"xyz"


def test_a_template_is_read_though_its_lengths_say_nothing() -> None:
    header = bytes(Ether() / IP(len=0) / TCP())
    assert inside_frame(header).transport is None
    assert inside_frame(header, is_template=True).payload_at == len(header)
