"""A declared header: a layout without gaps, and values that it refuses."""

import copy
import pickle
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.command import metadata
from rdmalab.wire import headers
from rdmalab.wire.header import B3, B4, B8, Bits, Header, header
from rdmalab.wire.headers import AETH
from tests.each import each
from tests.wire.test_headers import LENGTHS

from .strategies import any_header

KINDS: list[type[Header]] = [getattr(headers, name) for name in LENGTHS]


@each("kind", KINDS)
def test_the_layout_is_gapless(kind: type[Header]) -> None:
    offset = 0
    for field in kind.layout():
        assert field.offset == offset
        assert kind.field(field.name) is field
        offset += field.bits
    assert offset == kind.LENGTH * 8


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


def test_the_widths_of_the_wire_and_of_c_are_not_equal() -> None:
    """`Annotated` of Python 3.11.2 mistakes equal metadata for the same."""
    own: object = Bits(32)
    assert own != metadata.Bits(32)
