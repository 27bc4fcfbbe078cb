"""Values of a file: text that the grammar reads."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from rdmalab.scenario.field_types import (
    ErrnoName,
    Mtu,
    NodeName,
    Number,
    ProfileName,
    Rate,
    Repeat,
    Sentence,
    Time,
    Version,
    Word,
    as_word,
    is_word,
)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Number, "0x10", 16),
        (Number, "012", 12),
        (Repeat, "8", 8),
        (Time, "0.64ms", 640_000),
        (Rate, "25Gbps", 25 * 10**9),
        (Mtu, "1024", 1024),
        (ProfileName, "rxe", "rxe"),
        (ErrnoName, "ENOMEM", "ENOMEM"),
        (NodeName, "B", "B"),
        (Word, "before-nak", "before-nak"),
        (Sentence, "no", "no"),
        (Version, "1", 1),
    ],
)
def test_reads(kind: Any, text: str, value: object) -> None:
    assert TypeAdapter(kind).validate_python(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Number, "-1"),
        (Number, "18446744073709551616"),
        (Number, "1us"),
        (Repeat, "0"),
        (Repeat, "10001"),
        (Time, "10"),
        (Time, "2000000s"),
        (Rate, "0"),
        (Mtu, "1500"),
        (ProfileName, "mlx6"),
        (ErrnoName, "EFOO"),
        (NodeName, "AB"),
        (Word, "two words"),
        (Sentence, "  "),
        (Version, "2"),
    ],
)
@pytest.mark.parametrize("wrap", [str, list, dict.fromkeys])
def test_refuses(kind: Any, text: str, wrap: type) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(wrap(text))
    assert caught.value.errors()[0]["type"] == "wrong"


def test_a_name_gives_an_id() -> None:
    names = {"mine": "mine", "My Lab": "My-Lab", "Übung 1": "Ubung-1", "-x-": "x", "研究": "lab",
             "a.b_c-d": "a.b_c-d", "x" * 70: "x" * 64}  # fmt: skip
    for name, word in names.items():
        assert as_word(name) == word
        assert is_word(word)
