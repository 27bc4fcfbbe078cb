"""What leaves for a terminal without colour."""

from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from rdmalab.tui.no_colour import Colourless


def test_only_bold_underline_and_reverse_are_left() -> None:
    style = Style(color="red", bgcolor="blue", bold=True, underline=True, italic=True, dim=True)
    bare, none = Colourless().apply([Segment("x", style), Segment("y")], Color(0, 0, 0))
    assert bare.style == Style(bold=True, underline=True)
    assert none.style is None
    assert (bare.text, none.text) == ("x", "y")
