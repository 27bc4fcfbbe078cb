"""Filters of the output: what is left of the styles, and of the characters."""

import ast
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from rdmalab.tui.filters import Ascii, Colourless, ascii_wanted
from tests.tui.stand import stand

ROOT = Path(__file__).parents[2]
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


def literals(path: Path) -> Iterator[str]:
    """The strings of a file of Python that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def test_every_sign_that_a_face_can_draw_has_one_of_ascii() -> None:
    texts = [text for path in (ROOT / "rdmalab").rglob("*.py") for text in literals(path)]
    for folder, kind in (("rdmalab", "*.md"), ("rdmalab", "*.toml"), ("scenarios", "*.yaml")):
        texts += [path.read_text(encoding="utf-8") for path in (ROOT / folder).rglob(kind)]
    drawn = {sign for sign in set("".join(texts)) if unicodedata.category(sign)[0] in "SP"}
    (seen,) = Ascii().apply([Segment("".join(sorted(drawn)))], BLACK)
    spelled = zip(sorted(drawn), seen.text, strict=True)
    assert [sign for sign, ascii_sign in spelled if ascii_sign == "?"] == [
        "?",
        "\N{REPLACEMENT CHARACTER}",
    ]


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_no_sign_of_the_screen_is_unknown_to_ascii(size: tuple[int, int]) -> None:
    async with stand(size, path="scenarios/loss/lost-packet.rdmalab.yaml") as it:
        for _ in range(4):
            await it.press("f8")
            for row in it.grid:
                (spelled,) = Ascii().apply([Segment(row)], BLACK)
                assert spelled.text.count("?") == row.count("?"), row


def test_ascii_is_wanted_by_a_setting_or_by_a_terminal_that_has_nothing_else() -> None:
    assert ascii_wanted(None, {"TERM": "linux"})
    assert not ascii_wanted(False, {"TERM": "linux"})
    assert ascii_wanted(True, {"TERM": "xterm"})
