"""Frames in characters."""

import pytest

from rdmalab.shell.styled_text import text_of
from rdmalab.tui.frame import border, cropped, edge, title_of_tabs, width_of


@pytest.mark.parametrize("width", range(12))
def test_an_edge_is_as_wide_as_asked(width: int) -> None:
    drawn = border(focused=False, ascii_only=False)
    assert len(text_of(edge(drawn, width, [("", "a long title")], ""))) == width


def test_focus_is_seen_without_colour() -> None:
    texts = {
        text_of(edge(border(focused=focused, ascii_only=only), 12, [("", "A")], ""))
        for focused in (True, False)
        for only in (True, False)
    }
    assert texts == {"┌─ A ──────┐", "╔═ A ══════╗", "+- A ------+", "#= A ======#"}


def test_the_chosen_tab_is_in_brackets() -> None:
    assert text_of(title_of_tabs(["1 Wire", "2 Mem"], 1)) == "1 Wire │[2 Mem]"
    assert text_of(title_of_tabs(["1 Wire", "2 Mem"], 0)) == "[1 Wire]│ 2 Mem "


def test_where_room_is_short_the_other_tabs_are_numbers() -> None:
    assert text_of(title_of_tabs(["1 Wire", "2 Mem", "3 CQ"], 2, 16)) == "1 │ 2 │[3 CQ]"


def test_what_is_too_long_ends_in_an_ellipsis() -> None:
    assert text_of(cropped([("", "abc"), ("x", "def")], 5)) == "abcd…"
    assert text_of(cropped([("", "abc")], 3)) == "abc"
    assert width_of(cropped([("", "日本語")], 4)) <= 4
    assert cropped([("", "abc")], 0) == []
