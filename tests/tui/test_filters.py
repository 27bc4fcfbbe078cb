from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from rdmalab.tui.filters import Ascii, Colourless, ascii_wanted

BLACK = Color(0, 0, 0)


def test_only_bold_underline_and_reverse_are_left() -> None:
    style = Style(color="red", bgcolor="blue", bold=True, reverse=True, italic=True)
    (found,) = Colourless().apply([Segment("x", style)], BLACK)
    assert found.style == Style(bold=True, reverse=True)


def test_ascii_moves_nothing() -> None:
    text = "─✓▶ → … é 漢"
    (found,) = Ascii().apply([Segment(text)], BLACK)
    assert found.text.isascii()
    assert len(found.text) == len(text)


def test_ascii_is_wanted_by_a_setting_or_by_a_terminal_that_has_nothing_else() -> None:
    assert ascii_wanted(None, {"TERM": "linux"})
    assert not ascii_wanted(False, {"TERM": "linux"})
    assert ascii_wanted(True, {"TERM": "xterm"})
