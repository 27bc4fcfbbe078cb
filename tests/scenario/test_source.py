"""Messages: one line, a caret, and nothing that a terminal would obey."""

import pytest

from rdmalab.scenario.source import FileError, Source, SourcePlace, visible


def test_the_caret_stands_below_what_is_meant() -> None:
    error = Source("f.yaml", "a: 1\nb: 22\n").error("wrong", "right", SourcePlace(2, 4, 2))
    assert str(error) == "f.yaml:2:4: wrong\n  2 | b: 22\n         ^^  right"


def test_wide_and_combining_characters_take_their_cells() -> None:
    error = Source("f", "日e\u0301x").error("wrong", "", SourcePlace(1, 4))
    assert str(error).splitlines()[2] == " " * 9 + "^"


def test_a_long_line_is_cut_around_the_caret() -> None:
    lines = str(
        Source("f", "a" * 500 + "b" + "c" * 500).error("w", "", SourcePlace(1, 501))
    ).splitlines()
    assert len(lines[1]) < 120
    assert lines[1][lines[2].index("^")] == "b"


def test_without_a_place_there_is_no_line() -> None:
    assert str(FileError("f", "cannot be read")) == "f: cannot be read"
    assert str(FileError("f", "too large", "at most 3")) == "f: too large (at most 3)"


def test_a_place_after_the_end_shows_only_the_hint() -> None:
    assert (
        str(Source("f", "").error("empty", "write", SourcePlace(1, 1))) == "f:1:1: empty\n  write"
    )
    assert str(Source("f", "").error("empty")) == "f:1:1: empty"


@pytest.mark.parametrize("text", ["\x1b[2J", "\x07", "\u202e", "\x9b1m", "\r"])
def test_nothing_is_obeyed(text: str) -> None:
    words = str(Source(f"f{text}", f"a{text}").error(f"m{text}", f"h{text}", SourcePlace(1, 1)))
    assert text not in words
    assert visible("a\tb") == "a b"
