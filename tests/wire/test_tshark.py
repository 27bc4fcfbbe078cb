"""tshark reads our frames as we mean them."""

from pathlib import Path

from rdmalab.spec.opcodes import OPCODES, Op, Service
from rdmalab.wire.headers import (
    AETH,
    DETH,
    FETH,
    IETH,
    RETH,
    XRCETH,
    AtomicAckETH,
    AtomicETH,
    ImmDt,
)
from rdmalab.wire.packet import EXTENDED, Flow, Packet
from rdmalab.wire.roce import encode
from tests.peers.tshark import BASE, EXTENDED_FIELDS, NEW_OPS, dissected, number, write_pcap
from tests.tools import needs

from .vectors import LINK_ONE, LINK_TWO, ONE, TWO

HEADERS = {
    "reth": RETH(va=0x7F0011112222, rkey=0xABCD1234, dma_length=0x1000),
    "atomiceth": AtomicETH(va=0x7F0033334444, rkey=0x5678, swap_add=0x1122, compare=0x3344),
    "aeth": AETH(syndrome=0x1F, msn=0xABCDE),
    "atomicacketh": AtomicAckETH(original=0xDEADBEEF00112233),
    "immdt": ImmDt(imm_data=0xCAFEBABE),
    "ieth": IETH(rkey=0x8765),
    "deth": DETH(qkey=0x11111111, reserved=0, src_qp=0x123456),
    "xrceth": XRCETH(reserved=0, srqn=0x77),
    "feth": FETH(reserved=0, selectivity=0, placement=1),
}

CARRIERS = (Op.SEND, Op.RDMA_WRITE, Op.RDMA_READ_RESPONSE)
PAD_COUNT = "infiniband.bth.padcnt"
ICRC = "infiniband.invariant.crc"
COLUMNS = list(dict.fromkeys([*BASE.values(), *EXTENDED_FIELDS.values(), PAD_COUNT, ICRC]))


def packets() -> list[Packet]:
    made = []
    for nth, (code, row) in enumerate(OPCODES.items()):
        if row.service not in (Service.RC, Service.UC, Service.UD):
            continue
        src, dst = (ONE, TWO) if nth % 2 else (LINK_ONE, LINK_TWO)
        made.append(
            Packet(
                Flow(src, dst, 0xC000 + nth),
                code,
                dest_qp=0x100 + nth,
                psn=0xFFFF00 + nth,
                payload=b"\xa5" * (8 + nth % 7) if row.op in CARRIERS else b"",
                ack_req=bool(nth & 1),
                solicited=bool(nth & 2),
                pkey=0x8000 + nth,
                migrated=bool(nth & 4),
                **{name: HEADERS[name] for name in row.headers},  # type: ignore[arg-type]
            )
        )
    return made


@needs("tshark")
def test_tshark_reads_what_we_mean(tmp_path: Path) -> None:
    sent = packets()
    path = tmp_path / "all.pcap"
    frames = [encode(packet) for packet in sent]
    write_pcap(path, enumerate(frames))
    seen = dissected(path, COLUMNS)
    assert len(seen) == len(sent)
    for packet, frame, fields in zip(sent, frames, seen, strict=True):
        label = packet.opcode_row.label
        for ours, theirs in BASE.items():
            assert number(fields[theirs]) == getattr(packet, ours), (label, ours)
        assert number(fields[PAD_COUNT]) == -len(packet.payload) % 4, label
        if packet.opcode_row.op in NEW_OPS:
            continue
        assert number(fields[ICRC]) == int.from_bytes(frame[-4:], "big"), label
        check_extended(packet, fields)


def check_extended(packet: Packet, fields: dict[str, str]) -> None:
    row = packet.opcode_row
    for (header, ours), theirs in EXTENDED_FIELDS.items():
        if header in row.headers:
            value = getattr(getattr(packet, header), ours)
            assert number(fields[theirs]) == value, (row.label, header, ours)


def test_every_header_of_the_table_has_an_example() -> None:
    assert {name: type(value) for name, value in HEADERS.items()} == EXTENDED
