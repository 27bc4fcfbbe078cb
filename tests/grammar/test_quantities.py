"""Numbers with units: exact, and written back as they are best read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.command import NOWHERE, NotUnderstood, Unit
from rdmalab.grammar.quantities import any_quantity, spelled, whole


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("12", Unit.NUMBER, 12),
        ("012", Unit.NUMBER, 12),
        ("0x1f", Unit.NUMBER, 31),
        ("0X1F", Unit.NUMBER, 31),
        ("0b101", Unit.NUMBER, 5),
        ("1_000", Unit.NUMBER, 1000),
        ("-1", Unit.NUMBER, -1),
        ("htonl(0x1234)", Unit.NUMBER, 0x34120000),
        ("htonl( 1 )", Unit.NUMBER, 0x01000000),
        ("4KiB", Unit.BYTES, 4096),
        ("1.5kib", Unit.BYTES, 1536),
        ("2MiB", Unit.BYTES, 2 << 20),
        ("1GiB", Unit.BYTES, 1 << 30),
        ("64", Unit.BYTES, 64),
        ("10us", Unit.NS, 10_000),
        ("10µs", Unit.NS, 10_000),
        ("0.64ms", Unit.NS, 640_000),
        ("5ns", Unit.NS, 5),
        ("2s", Unit.NS, 2_000_000_000),
        ("10 us", Unit.NS, 10_000),
        ("0.5 ms", Unit.NS, 500_000),
        ("25 Gbps", Unit.BITS_PER_S, 25_000_000_000),
        ("0.000000001s", Unit.NS, 1),
        ("3ms", Unit.NS, 3_000_000),
        ("9Kbps", Unit.BITS_PER_S, 9_000),
        ("9mbps", Unit.BITS_PER_S, 9_000_000),
        ("9bps", Unit.BITS_PER_S, 9),
        ("100Gbps", Unit.BITS_PER_S, 100_000_000_000),
        ("2.5gbps", Unit.BITS_PER_S, 2_500_000_000),
        ("0xffffff", Unit.PSN, 0xFFFFFF),
        ("fe80::1", Unit.GID, 0xFE80 << 112 | 1),
        ("::ffff:10.0.0.2", Unit.GID, 0xFFFF << 32 | 0x0A000002),
        ("10.0.0.2", Unit.GID, 0xFFFF << 32 | 0x0A000002),
        ("0", Unit.GID, 0),
        ("02:00:0a:00:00:01", Unit.MAC, 0x02000A000001),
        ("2:0:A:0:0:1", Unit.MAC, 0x02000A000001),
        ("0x1", Unit.MAC, 1),
        ("2%", Unit.PPM, 20_000),
        ("0.02", Unit.PPM, 20_000),
        ("0.0001%", Unit.PPM, 1),
        ("1", Unit.PPM, 1_000_000),
    ],
)
def test_a_literal_says_a_number(text: str, unit: Unit, value: int) -> None:
    assert whole(text, unit) == value


@pytest.mark.parametrize(
    ("text", "unit", "hint"),
    [
        ("abc", Unit.NUMBER, "write 12 or 0x1f"),
        ("", Unit.NUMBER, "write 12 or 0x1f"),
        ("1.5", Unit.NUMBER, "write 12 or 0x1f"),
        ("4KiB", Unit.NUMBER, "write 12 or 0x1f"),
        ("٣", Unit.NUMBER, "write 12 or 0x1f"),
        ("9" * 5000, Unit.NUMBER, "write 12 or 0x1f"),
        ("htonl(0x100000000)", Unit.NUMBER, "htonl(0x1234)"),
        ("htonl(-1)", Unit.NUMBER, "htonl(0x1234)"),
        ("htonl(x)", Unit.NUMBER, "write 12 or 0x1f"),
        ("htonl(1)", Unit.PSN, "write 12 or 0x1f"),
        ("10us", Unit.BYTES, "write 4096 or 4KiB"),
        ("10", Unit.NS, "did you mean 10us?"),
        ("0.5ns", Unit.NS, "write 10us or 2ms"),
        ("fe80::zz", Unit.GID, "write fe80::1 or 0x1f"),
        ("02:00:0a:00:00", Unit.MAC, "write 02:00:0a:00:00:01"),
        ("02:00:0a:00:00:1g", Unit.MAC, "write 02:00:0a:00:00:01"),
        ("1.2.3.4.5", Unit.GID, "write fe80::1 or 0x1f"),
        ("10.0.0.256", Unit.GID, "write fe80::1 or 0x1f"),
        ("2%%", Unit.PPM, "write 0.02 or 2%"),
        ("0.0000001", Unit.PPM, "write 0.02 or 2%"),
        ("2%", Unit.NUMBER, "write 12 or 0x1f"),
    ],
)
def test_what_is_no_number_says_what_would_be(text: str, unit: Unit, hint: str) -> None:
    with pytest.raises(NotUnderstood) as wrong:
        whole(text, unit)
    assert wrong.value.hint == hint


def test_a_question_takes_any_unit() -> None:
    texts = ("7", "2us", "1KiB", "1Gbps")
    assert [any_quantity(text, NOWHERE) for text in texts] == [7, 2000, 1024, 10**9]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, Unit.NS, "0ns"),
        (9200, Unit.NS, "9.2us"),
        (640_000, Unit.NS, "640us"),
        (1_000_000_001, Unit.NS, "1.000000001s"),
        (-1500, Unit.NS, "-1.5us"),
        (10**11, Unit.BITS_PER_S, "100Gbps"),
        (4096, Unit.BYTES, "4096"),
        (0xDEADBEEF, Unit.NUMBER, "0xdeadbeef"),
        (65535, Unit.NUMBER, "65535"),
        (0xFFFF << 32 | 1, Unit.GID, "::ffff:0.0.0.1"),
        (0xFE80 << 112 | 1, Unit.GID, "fe80::1"),
        (-1, Unit.GID, "-1"),
        (0x02000A000001, Unit.MAC, "02:00:0a:00:00:01"),
        (1 << 48, Unit.MAC, "281474976710656"),
        (20_000, Unit.PPM, "2%"),
        (1, Unit.PPM, "0.0001%"),
        (1_000_000, Unit.PPM, "100%"),
    ],
)
def test_the_canonical_text_of_a_number(value: int, unit: Unit, text: str) -> None:
    assert spelled(value, unit) == text


@given(st.integers(-(2**64), 2**64), st.sampled_from(Unit))
def test_what_is_written_is_read_again_exactly(value: int, unit: Unit) -> None:
    assert whole(spelled(value, unit), unit) == value
