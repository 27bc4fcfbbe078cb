import pytest
from prompt_toolkit.styles import default_ui_style
from rich.color import Color

from rdmalab.shell.prompt import PALETTE, palette
from rdmalab.tui.console.paint import Paint, colour_name


def test_colours_have_the_same_place_in_both_palettes() -> None:
    numbered = {"ansiblack": 0, "ansired": 1, "ansigray": 7, "ansibrightblack": 8, "ansiwhite": 15}
    for name, number in numbered.items():
        assert Color.parse(colour_name(name) or "").number == number


@pytest.mark.parametrize("name", ["", "default", "ansidefault", None])
def test_no_colour_is_the_widgets(name: str | None) -> None:
    assert colour_name(name) is None


@pytest.mark.parametrize("name", sorted(PALETTE))
def test_every_style_of_ours_can_be_painted(name: str) -> None:
    Paint(palette(), colour=True).style(f"class:{name.replace(' ', ' class:')}")


def test_every_style_of_prompt_toolkit_can_be_painted() -> None:
    paint = Paint(default_ui_style(), colour=True)
    for rule in ("search", "selected", "bottom-toolbar", "scrollbar.arrow", "nbsp", "digraph"):
        paint.style(f"class:{rule}")


def test_without_colour_a_style_has_none() -> None:
    style = Paint(palette(), colour=False).style("bold underline reverse italic ansired bg:#00ff00")
    assert (style.color, style.bgcolor, style.italic) == (None, None, None)
    assert style.bold
    assert style.underline
    assert style.reverse


def test_text_cannot_speak_to_the_terminal() -> None:
    paint = Paint(palette(), colour=True)
    line = paint.line([("", "x\x1b]0;y\x07\x9b\x7f"), ("[ZeroWidthEscape]", "\x1b[1m")])
    assert line.text == r"x\x1b]0;y\x07\x9b\x7f"
    assert paint.line([("", "a\tb")]).text == "a       b"
