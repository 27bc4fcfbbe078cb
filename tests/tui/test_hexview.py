"""Bytes in rows of any width."""

from rdmalab.shell.styled_text import text_of
from rdmalab.tui.hexview import hex_lines, per_row
from rdmalab.views.memory import HexRow
from tests.each import each

ROW = HexRow(0x40, 0x1040, b"hello, world. 16", (0, 1), (8, 9, 10))


@each("width", range(25, 120))
def test_all_bytes_are_there_and_fit(width: int) -> None:
    lines = [text_of(line) for line in hex_lines(ROW, width)]
    assert max(map(len, lines)) <= width
    assert len(lines) == 16 // per_row(width)
    shown = "".join(line[4 : 5 + 3 * per_row(width)] for line in lines)
    octets = bytes.fromhex(shown.replace("[", " ").replace("]", " "))
    assert octets == ROW.octets


def test_what_was_touched_is_in_brackets_and_offsets_go_on() -> None:
    wide = [text_of(line) for line in hex_lines(ROW, 90)]
    assert wide == [
        "+040[68 65]6c 6c 6f 2c 20 77[6f 72 6c]64 2e 20 31 36  │hello, world. 16│ written"
    ]
    narrow = [text_of(line) for line in hex_lines(ROW, 38)]
    assert narrow[0].startswith("+040[68 65]6c 6c 6f 2c 20 77 hello, w")
    assert narrow[1].startswith("+048[6f 72 6c]64 2e 20 31 36 orld. 16")
