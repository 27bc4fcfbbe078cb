"""Quoted strings: escapes, and nothing invisible in what is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.command import NOWHERE, NotUnderstood, Span
from rdmalab.grammar.text import in_quotes, octets, unquoted


def test_escapes() -> None:
    assert unquoted(r'"a\n\t\r\0\"\\\x41\u20ac\U0001f600"', NOWHERE) == 'a\n\t\r\0"\\A€😀'


@pytest.mark.parametrize(
    ("text", "place"), [(r'"ab\q"', (13, 15)), (r'"\U00110000"', (11, 21)), (r'"\x4"', (11, 13))]
)
def test_an_unknown_escape_is_named(text: str, place: tuple[int, int]) -> None:
    with pytest.raises(NotUnderstood) as wrong:
        unquoted(text, Span(10, 30))
    assert wrong.value.place == Span(*place)


@pytest.mark.parametrize("text", ['"', '"abc'])
def test_an_open_quote_is_not_a_text(text: str) -> None:
    with pytest.raises(NotUnderstood, match="never closed"):
        unquoted(text, NOWHERE)


@given(st.text())
def test_what_is_quoted_says_the_same_and_hides_nothing(text: str) -> None:
    assert in_quotes(text).isprintable()
    assert unquoted(in_quotes(text), NOWHERE) == text


def test_the_bytes_of_a_text() -> None:
    assert octets("a\xff") == b"a\xff"
    assert octets("€") == b"\xe2\x82\xac"
