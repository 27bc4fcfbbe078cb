"""The reference's test vectors (transport.md 3), from IP header to ICRC, with their packets."""

from ipaddress import IPv6Address
from typing import NamedTuple

from rdmalab.wire.headers import AETH, RETH
from rdmalab.wire.packet import Flow, Packet, ipv4_gid


class Vector(NamedTuple):
    octets: bytes
    packet: Packet
    identification: int = 0


ONE, TWO = ipv4_gid("10.0.0.1"), ipv4_gid("10.0.0.2")
LINK_ONE, LINK_TWO = int(IPv6Address("fe80::1")), int(IPv6Address("fe80::2"))

V1 = Vector(
    bytes.fromhex(
        "4500003412344000401114830a0000010a000002c00112b7002000000400ffff"
        "000000118000006468656c6c6f313233a0d0fe22"
    ),
    Packet(Flow(ONE, TWO, 0xC001), 0x04, 0x11, 0x64, b"hello123", ack_req=True),
    identification=0x1234,
)
V2 = Vector(
    bytes.fromhex(
        "4500003000014000401126ba0a0000020a000001c00212b7001c00001100ffff"
        "00000012000000641f000001a0e49b56"
    ),
    Packet(Flow(TWO, ONE, 0xC002), 0x11, 0x12, 0x64, aeth=AETH(syndrome=0x1F, msn=1)),
    identification=1,
)
V3 = Vector(
    bytes.fromhex(
        "62012345002c1140fe800000000000000000000000000001fe80000000000000"
        "0000000000000002c00312b7002c00000a10ffff0000002080ffffff"
        "00007f000000100000001234000000036162630069117c15"
    ),
    Packet(
        Flow(LINK_ONE, LINK_TWO, 0xC003, 64, traffic_class=0x20, flow_label=0x12345),
        0x0A,
        0x20,
        0xFFFFFF,
        b"abc",
        ack_req=True,
        reth=RETH(va=0x7F0000001000, rkey=0x1234, dma_length=3),
    ),
)
VECTORS = (V1, V2, V3)
