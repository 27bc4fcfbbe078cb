"""Every scenario, captured with the wire room's bytes, and read by tshark and scapy."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from rdmalab.lab import open_session
from rdmalab.scenario.loader import load
from rdmalab.scenario.runner import Runner
from rdmalab.spec.opcodes import Service
from rdmalab.spec.records import Kind, Record
from rdmalab.vocabulary import VOCABULARY
from rdmalab.wire.frame import Frame, octets_of
from rdmalab.wire.packet import Packet
from tests.peers.tshark import BASE, EXTENDED_FIELDS, NEW_OPS, dissected, number, write_pcap
from tests.tools import needs
from tests.wire.scapy_frames import scapy_icrc

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").rglob("*.rdmalab.yaml"))

IMMEDIATE = "infiniband.immdt"
MALFORMED = "_ws.malformed"
COLUMNS = list(dict.fromkeys([*BASE.values(), *EXTENDED_FIELDS.values(), IMMEDIATE, MALFORMED]))
_ICRC = 4
GOOD = "1"  # what tshark calls a checksum it has made itself and found the same
IP_COLUMNS = ["tcp.dstport", "udp.dstport", "ip.checksum.status", "tcp.checksum.status",
              "udp.checksum.status"]  # fmt: skip
CHECK_SUMS = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE",
              "-o", "udp.check_checksum:TRUE"]  # fmt: skip


class Captured(NamedTuple):
    """One frame on the cable, and the packet that was sent; `harmed` where a fault changed it."""

    at_ns: int
    frame: bytes
    packet: Packet | Frame
    harmed: bool


def captured(records: list[Record]) -> Iterator[Captured]:
    """What a tap in the middle of the cable sees: a harmed frame in the place of the good one."""
    for number_, record in enumerate(records):
        _, at_ns, _, kind, _, _, packet, _ = record
        if kind is not Kind.PACKET_SENT:
            continue
        after = records[number_ + 1] if number_ + 1 < len(records) else None
        if after is not None and after[3] is Kind.PACKET_HARMED:
            yield Captured(at_ns, after[7], packet, harmed=True)
        else:
            yield Captured(at_ns, octets_of(packet), packet, harmed=False)


@pytest.fixture(scope="module")
def played() -> list[Captured]:
    frames: list[Captured] = []
    for path in SCENARIOS:
        runner = Runner(load(str(path), VOCABULARY), open_session)
        runner.run()
        frames += captured(runner.session.world.trace.records)
    return frames


@needs("tshark")
def test_tshark_reads_what_the_lab_says(played: list[Captured], tmp_path: Path) -> None:
    path = tmp_path / "scenarios.pcap"
    write_pcap(path, ((frame.at_ns, frame.frame) for frame in played))
    seen = dissected(path, COLUMNS)
    assert len(seen) == len(played)
    assert sum(frame.harmed for frame in played) >= 1
    for told, fields in zip(played, seen, strict=True):
        if not told.harmed and isinstance(told.packet, Packet):
            assert not fields[MALFORMED], told.packet
            _same(told.packet, fields)


def _same(packet: Packet, fields: dict[str, str]) -> None:
    for ours, theirs in BASE.items():
        assert number(fields[theirs]) == getattr(packet, ours), (packet, ours)
    if packet.opcode_row.op in NEW_OPS or packet.opcode_row.service is Service.XRC:
        return  # tshark 4.0 reads the BTH of these and no further
    for (header, ours), theirs in EXTENDED_FIELDS.items():
        if (value := getattr(packet, header)) is not None:
            assert number(fields[theirs]) == getattr(value, ours), (packet, header, ours)
    if packet.immdt is not None:
        assert int(fields[IMMEDIATE], 16) == packet.immdt.imm_data, packet


def test_the_icrc_is_wrong_exactly_where_the_lab_harmed_a_frame(played: list[Captured]) -> None:
    packets = [f for f in played if isinstance(f.packet, Packet)]
    sample = [f for f in packets if f.harmed] + [f for f in packets if not f.harmed][::7]
    for told in sample:
        right = scapy_icrc(told.frame) == told.frame[-_ICRC:]
        assert right is not told.harmed, told.packet


@needs("tshark")
def test_of_other_frames_tshark_says_the_same_and_finds_no_wrong_checksum(
    played: list[Captured], tmp_path: Path
) -> None:
    path = tmp_path / "frames.pcap"
    frames = [told for told in played if isinstance(told.packet, Frame) and not told.harmed]
    asked = [
        told for told in frames if isinstance(told.packet, Frame) and _sums_are_made(told.packet)
    ]
    assert len(asked) >= 4
    write_pcap(path, ((told.at_ns, told.frame) for told in asked))
    for told, fields in zip(asked, dissected(path, IP_COLUMNS, CHECK_SUMS), strict=True):
        assert isinstance(told.packet, Frame)
        transport = told.packet.inside.transport
        assert transport is not None
        ports = [fields["tcp.dstport"] or fields["udp.dstport"]]
        assert ports == [str(transport.dport)]
        assert fields["ip.checksum.status"] == GOOD
        assert GOOD in (fields["tcp.checksum.status"], fields["udp.checksum.status"])


def _sums_are_made(frame: Frame) -> bool:
    """Not those of the scenario that sends one without."""
    transport = frame.inside.transport
    return transport is not None and transport.checksum != 0


def test_every_kind_of_packet_is_there(played: list[Captured]) -> None:
    packets = [frame.packet for frame in played if isinstance(frame.packet, Packet)]
    labels = {packet.opcode_row.label for packet in packets}
    assert labels >= {
        "SEND_FIRST", "SEND_MIDDLE", "SEND_LAST", "SEND_ONLY", "SEND_ONLY_WITH_IMMEDIATE",
        "RDMA_WRITE_ONLY", "RDMA_WRITE_ONLY_WITH_IMMEDIATE", "RDMA_READ_REQUEST",
        "RDMA_READ_RESPONSE_FIRST", "RDMA_READ_RESPONSE_LAST", "ACKNOWLEDGE",
        "ATOMIC_ACKNOWLEDGE", "COMPARE_SWAP", "FETCH_ADD", "SEND_ONLY_WITH_INVALIDATE", "FLUSH",
        "ATOMIC_WRITE",
    }  # fmt: skip
