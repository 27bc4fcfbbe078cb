"""Lines that fit, and bytes as hexadecimal."""

from textual.content import Content

from rdmalab.tui.content import at_right, filled, first_fit, hex_line
from rdmalab.views.memory import HexRow

ONE, TWO, LONG = Content("one"), Content("two"), Content("a long part")
ROW = HexRow(16, 0x1010, b"hello\0\0\0world\0\0\0", (0, 1), (8,))


def test_the_first_form_that_fits_else_the_last() -> None:
    assert first_fit(11, LONG, ONE).plain == "a long part"
    assert first_fit(10, LONG, ONE).plain == "one"
    assert first_fit(1, LONG, ONE).plain == "one"


def test_whole_parts_are_left_out() -> None:
    assert filled(99, [ONE, Content(), LONG, TWO]).plain == "one  a long part  two"
    assert filled(12, [ONE, LONG, TWO]).plain == "one  two"
    assert filled(3, [ONE, LONG, TWO]).plain == "one"
    assert filled(7, [ONE, TWO], " ").plain == "one two"
    assert filled(2, [ONE]).plain == ""


def test_a_part_at_the_right_edge_or_none() -> None:
    assert at_right(ONE, TWO, 10).plain == "one    two"
    assert at_right(ONE, TWO, 8).plain == "one  two"
    assert at_right(ONE, TWO, 7).plain == "one"


def test_bytes_in_a_line() -> None:
    assert hex_line(ROW, 0, 8).plain == "+010 68 65 6c 6c 6f 00 00 00 hello···"
    assert hex_line(ROW, 8, 8).plain == "+018 77 6f 72 6c 64 00 00 00 world···"
    assert hex_line(ROW, 12, 8).plain == "+01c 64 00 00 00             d···"
    assert hex_line(ROW, 0, 8, "mr0").plain == "mr0+010 68 65 6c 6c 6f 00 00 00 hello"
    assert len(hex_line(ROW, 0, 16).plain) == 69


def test_bytes_that_were_read_or_written_are_marked() -> None:
    spans = [(span.start, str(span.style)) for span in hex_line(ROW, 0, 16).spans]
    assert (5, "bold underline $busy") in spans
    assert (8, "bold underline $busy") in spans
    assert (29, "bold reverse $busy") in spans
