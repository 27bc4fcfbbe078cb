"""The style sheet and the characters of a terminal."""

import pytest

from rdmalab.tui.stylesheet import ascii_wanted, sheet


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, False),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "linux"}, True),
        ({"TERM": "dumb"}, True),
        ({"RDMALAB_ASCII": "1"}, True),
        ({"RDMALAB_ASCII": "0", "TERM": "linux"}, False),
    ],
)
def test_who_gets_letters_only(environ: dict[str, str], wanted: bool) -> None:
    assert ascii_wanted(environ) is wanted


def test_without_colour_something_else_stands_out() -> None:
    for name in ("warn", "frame.title", "state.current", "bar.alert"):
        said = sheet(colour=False).get_attrs_for_style_str(f"class:{name}")
        assert said.bold, name
