"""Headers of the wire: lengths, fields and bytes as in the documents."""

import pytest

from rdmalab.wire import headers
from rdmalab.wire.headers import AETH, BTH, FETH, GRH, RETH
from tests.each import each

# transport.md 1: bytes of each header.
LENGTHS = {
    "Ethernet": 14,
    "IPv4": 20,
    "IPv6": 40,
    "GRH": 40,
    "UDP": 8,
    "TCP": 20,
    "ARP": 28,
    "BTH": 12,
    "RDETH": 4,
    "DETH": 8,
    "XRCETH": 4,
    "FETH": 4,
    "RETH": 16,
    "AtomicETH": 28,
    "AETH": 4,
    "AtomicAckETH": 8,
    "ImmDt": 4,
    "IETH": 4,
}


@each("name, length", LENGTHS.items())
def test_lengths_are_those_of_the_documents(name: str, length: int) -> None:
    assert length == getattr(headers, name).LENGTH


@pytest.mark.parametrize(
    ("name", "byte", "mask"),
    [
        ("opcode", 0, 0xFF),
        ("solicited", 1, 0x80),
        ("migrated", 1, 0x40),
        ("pad_count", 1, 0x30),
        ("tver", 1, 0x0F),
        ("fecn", 4, 0x80),
        ("becn", 4, 0x40),
        ("reserved6", 4, 0x3F),
        ("ack_req", 8, 0x80),
        ("reserved7", 8, 0x7F),
    ],
)
def test_bits_of_the_bth_are_where_the_reference_has_them(name: str, byte: int, mask: int) -> None:
    expected = bytearray(BTH.LENGTH)
    expected[byte] = mask
    assert BTH.ones(name) == bytes(expected)


def test_bytes_of_the_bth_are_where_the_reference_has_them() -> None:
    assert BTH.ones("pkey").hex() == "0000ffff0000000000000000"
    assert BTH.ones("dest_qp").hex() == "0000000000ffffff00000000"
    assert BTH.ones("psn").hex() == "000000000000000000ffffff"


def test_literal_bytes() -> None:
    reth = RETH(va=0x7F0000001000, rkey=0x1234, dma_length=3)
    assert reth.pack().hex() == "00007f00000010000000123400000003"
    assert AETH(syndrome=0x1F, msn=1).pack().hex() == "1f000001"
    assert FETH(reserved=0, selectivity=1, placement=2).pack().hex() == "00000012"
    grh = GRH(6, 0x20, 0x12345, 0x2C, 0x1B, 64, 0xFE80 << 112 | 1, 0xFE80 << 112 | 2)
    assert grh.pack().hex() == "62012345002c1b40fe80" + "0" * 27 + "1fe80" + "0" * 27 + "2"
