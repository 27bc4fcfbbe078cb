import pytest

from rdmalab.shell.styled_text import (
    fold,
    harmless,
    harmless_line,
    in_ascii,
    paragraphs,
    plain,
    shown,
    text_of,
)


@pytest.mark.parametrize("width", [10, 17, 30])
def test_folding_loses_no_word(width: int) -> None:
    line = [("a", "one two "), ("b", "three four"), ("", " five six seven")]
    rows = fold(line, width)
    assert all(len(text_of(row)) <= width for row in rows)
    assert " ".join(map(text_of, rows)).split() == text_of(line).split()


def test_folding_keeps_styles_and_hangs() -> None:
    rows = fold([("a", "one two"), ("b", " three")], 8, hang=2)
    assert rows == [[("a", "one two")], [("", "  "), ("b", "three")]]


@pytest.mark.parametrize("unit", ["ns", "us", "ms", "s", "B"])
def test_a_number_and_its_unit_stay_in_one_row(unit: str) -> None:
    rows = fold(plain(f"sends wr1 at 0.100 {unit} then waits"), 19, hang=0)
    assert [text_of(row) for row in rows] == ["sends wr1 at", f"0.100 {unit} then waits"]


@pytest.mark.parametrize("width", range(10, 30))
def test_the_words_of_an_event_stay_in_one_row(width: int) -> None:
    text = text_of(plain("A.qp0 received it [ev 25], B.qp0 refused ev 7"))
    rows = list(map(text_of, fold(plain(text), width, hang=0)))
    assert not [row for row in rows if row.endswith("ev")], rows


def test_a_word_longer_than_the_line_is_cut() -> None:
    assert [text_of(row) for row in fold(plain("x" * 25), 10, 0)] == ["x" * 10, "x" * 10, "x" * 5]


def test_a_long_word_is_cut_between_its_parts() -> None:
    text = "has qp_access_flags=REMOTE_WRITE|REMOTE_READ|REMOTE_ATOMIC"
    assert [text_of(row) for row in fold(plain(text), 34, 0)] == [
        "has", "qp_access_flags=REMOTE_WRITE|", "REMOTE_READ|REMOTE_ATOMIC",
    ]  # fmt: skip
    assert [text_of(row) for row in fold(plain(text), 16, 0)] == [
        "has", "qp_access_flags=", "REMOTE_WRITE|", "REMOTE_READ|", "REMOTE_ATOMIC",
    ]  # fmt: skip
    assert [text_of(row) for row in fold(plain("NAK_REMOTE_ACCESS"), 12, 0)] == [
        "NAK_REMOTE_", "ACCESS",
    ]  # fmt: skip


def test_the_lines_of_a_paragraph_are_one() -> None:
    text = "One\ntwo (3)\n3 four.\n\nFive:\n- six\n- seven\n  eight\nnine\n1. ten\n\n"
    assert paragraphs(text) == [
        "One two (3) 3 four.", "", "Five:", "- six", "- seven", "  eight", "nine", "1. ten",
    ]  # fmt: skip
    assert paragraphs("") == []


def test_what_could_move_the_cursor_is_shown() -> None:
    assert shown("a\x1b[2Jb\n") == "a\\x1b[2Jb\\x0a"


def test_ascii_keeps_the_width_of_drawings() -> None:
    line = [("", "├─ X ─▶┤ ■□ ╳")]
    assert in_ascii(line) == [("", "+- X ->+ #. x")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a → b\n\tc", "a → b\n\tc"),
        ("\x1b]0;x\x07\x9b2J\r", "\\x1b]0;x\\x07\\x9b2J\\x0d"),
        ("\u202e\u2066\U000e0001\udcff", "\\u202e\\u2066\\U000e0001\\udcff"),
    ],
)
def test_nothing_is_left_that_a_terminal_obeys(text: str, expected: str) -> None:
    assert harmless(text) == expected
    assert harmless_line([("class:dim", text), ("", "x")]) == [("class:dim", expected), ("", "x")]
