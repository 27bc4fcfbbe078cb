"""A declared header knows its bytes."""

import copy
import pickle
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.wire import headers
from rdmalab.wire.header import B3, B4, B8, Header, header
from rdmalab.wire.headers import AETH, BTH, FETH, GRH, RETH
from tests.each import each

from .strategies import any_header

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
KINDS: list[type[Header]] = [getattr(headers, name) for name in LENGTHS]


@each("name, length", LENGTHS.items())
def test_lengths_are_those_of_the_documents(name: str, length: int) -> None:
    kind: type[Header] = getattr(headers, name)
    assert length == kind.LENGTH


@each("kind", KINDS)
def test_the_layout_is_gapless(kind: type[Header]) -> None:
    offset = 0
    for field in kind.layout():
        assert field.offset == offset
        assert kind.field(field.name) is field
        offset += field.bits
    assert offset == kind.LENGTH * 8


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


@given(any_header(KINDS), st.binary(max_size=5), st.binary(max_size=5))
def test_unpack_undoes_pack_anywhere_in_the_bytes(value: Header, a: bytes, b: bytes) -> None:
    assert type(value).unpack(a + value.pack() + b, len(a)) == value


@each("kind", KINDS)
def test_a_value_too_wide_or_negative_is_named(kind: type[Header]) -> None:
    for field in kind.layout():
        for value in (1 << field.bits, -1):
            made = kind(*[value if other is field else 0 for other in kind.layout()])
            with pytest.raises(ValueError, match=rf"^{kind.__name__}\.{field.name} = "):
                made.pack()


@each("kind", KINDS)
def test_too_few_bytes_are_refused(kind: type[Header]) -> None:
    with pytest.raises(ValueError, match=f"{kind.__name__} needs {kind.LENGTH} bytes"):
        kind.unpack(bytes(kind.LENGTH), 1)


def test_a_header_is_plain_slotted_data() -> None:
    aeth = AETH(31, 7)
    assert not hasattr(aeth, "__dict__")
    assert [field.name for field in fields(AETH)] == ["syndrome", "msn"]
    assert pickle.loads(pickle.dumps(aeth)) == copy.deepcopy(aeth) == aeth


def test_a_header_of_odd_bits_is_refused() -> None:
    class Odd(Header):
        a: B8
        b: B3

    class Even(Header):
        a: B4
        b: B4

    with pytest.raises(TypeError, match="Odd has 11 bits"):
        header(Odd)
    assert header(Even).LENGTH == 1
