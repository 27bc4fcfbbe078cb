"""The same frames as scapy makes them: slow, and not ours."""

from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6  # noqa: F401  (registers the EtherType)
from scapy.layers.l2 import Ether
from scapy.packet import Raw


def scapy_icrc(frame: bytes) -> bytes:
    """What scapy says the last four bytes of this frame should be."""
    icrc: bytes = Ether(frame)[BTH].compute_icrc(b"")
    return icrc


def scapy_send_only(payload: bytes) -> bytes:
    """A RC SEND_ONLY of 10.0.0.1 to 10.0.0.2, built from nothing, ICRC included."""
    return bytes(
        Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
        / IP(src="10.0.0.1", dst="10.0.0.2", id=0, flags="DF")
        / UDP(sport=0xC001, dport=4791, chksum=0)
        / BTH(opcode=4, pkey=0xFFFF, dqpn=0x11, ackreq=1, psn=0x64)
        / Raw(payload)
    )
