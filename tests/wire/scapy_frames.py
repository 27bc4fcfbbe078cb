"""The same frames as scapy makes them: slow, and not ours."""

from scapy.contrib.roce import BTH
from scapy.layers.inet6 import IPv6  # noqa: F401  (registers the EtherType)
from scapy.layers.l2 import Ether


def scapy_icrc(frame: bytes) -> bytes:
    """What scapy says the last four bytes of this frame should be."""
    icrc: bytes = Ether(frame)[BTH].compute_icrc(b"")
    return icrc
