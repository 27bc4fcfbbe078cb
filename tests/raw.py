"""Two RAW_PACKET queue pairs on two nodes, and frames made by somebody else: scapy."""

from typing import Any

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether

from rdmalab.hca import steering
from rdmalab.hca.objects import Flow, FlowAttr, FlowSpec
from rdmalab.spec.flows import FlowFlags, FlowType
from rdmalab.spec.states import QPType
from tests.pairs import End, Pair

MAC_A, MAC_B = "02:00:0a:00:00:01", "02:00:0a:00:00:02"
BROADCAST, GROUP = "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:09"


def raw_pair(**fields: Any) -> Pair:
    """Both up; no rule yet."""
    return Pair(qp_type=QPType.RAW_PACKET, **fields)


def rule(end: End, kind: FlowType = FlowType.NORMAL, *, priority: int = 0, flags: int = 0, **spec: int) -> Flow:  # noqa: E501  # fmt: skip
    """A flow rule that leads to this end's queue pair."""
    attr = FlowAttr(kind, priority, flags=FlowFlags(flags))
    return steering.create(end.hca, end.qp, attr, FlowSpec(**spec))


def ethernet(dst: str = MAC_B, src: str = MAC_A) -> Any:
    return Ether(dst=dst, src=src)


def tcp_frame(data: bytes = b"", *, dst: str = MAC_B, dport: int = 80, **tcp: Any) -> bytes:
    """With right checksums."""
    ip = IP(src="10.0.0.1", dst="10.0.0.2", id=7)
    return bytes(ethernet(dst) / ip / TCP(sport=1234, dport=dport, **tcp) / data)


def udp_frame(data: bytes = b"", *, dst: str = MAC_B, dport: int = 53) -> bytes:
    ip = IP(src="10.0.0.1", dst="10.0.0.2", id=7)
    return bytes(ethernet(dst) / ip / UDP(sport=1234, dport=dport) / data)
