"""Packing a 1 KiB RoCEv2 packet with ICRC: ours, and scapy's."""

import time

from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from rdmalab.wire.packet import Flow, Packet, ipv4_gid
from rdmalab.wire.roce import encode

PAYLOAD = bytes(range(256)) * 4
SEND_ONLY = 0x04
FLOW = Flow(ipv4_gid("10.0.0.1"), ipv4_gid("10.0.0.2"), 0xC001)


def pack(packets: int = 4_000) -> float:
    """CPU seconds for one packet, each with a PSN of its own."""
    made = [Packet(FLOW, SEND_ONLY, 0x11, psn, PAYLOAD, ack_req=True) for psn in range(packets)]
    start = time.process_time()
    for packet in made:
        encode(packet)
    return (time.process_time() - start) / packets


def scapy_pack(packets: int = 20) -> float:
    """The same bytes from scapy."""
    start = time.process_time()
    for psn in range(packets):
        headers = Ether() / IP(src="10.0.0.1", dst="10.0.0.2", ttl=64) / UDP(sport=0xC001)
        bth = BTH(opcode=SEND_ONLY, dqpn=0x11, ackreq=1, psn=psn)
        bytes(headers / bth / Raw(PAYLOAD))
    return (time.process_time() - start) / packets
