"""The bar: a 1 KiB SEND_ONLY with ICRC is packed at least 250 times faster than scapy does it."""

from collections.abc import Callable
from time import process_time

import pytest

from rdmalab.wire.packet import Flow, Packet, ipv4_gid
from rdmalab.wire.roce import encode

from .scapy_frames import scapy_send_only

PAYLOAD = bytes(range(256)) * 4
FLOW = Flow(
    ipv4_gid("10.0.0.1"),
    ipv4_gid("10.0.0.2"),
    0xC001,
    src_mac=0x020000000001,
    dst_mac=0x020000000002,
)


def best_us(act: Callable[[], object], times: int) -> float:
    best = float("inf")
    for _ in range(5):
        started = process_time()
        for _ in range(times):
            act()
        best = min(best, process_time() - started)
    return best / times * 1e6


@pytest.mark.slow
def test_packing_is_250_times_faster_than_scapy() -> None:
    packet = Packet(FLOW, 0x04, 0x11, 0x64, PAYLOAD, ack_req=True)
    assert encode(packet) == scapy_send_only(PAYLOAD)
    ours_us = best_us(lambda: encode(packet), times=20_000)
    scapy_us = best_us(lambda: scapy_send_only(PAYLOAD), times=100)
    print(f"encode {ours_us:.2f} us, scapy {scapy_us:.0f} us, {scapy_us / ours_us:.0f} times")  # noqa: T201
    assert scapy_us / ours_us >= 250
