"""Each theme, ours and Textual's, can be read."""

from itertools import product

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES
from textual.widgets import Tab

from rdmalab.render.meanings import LEAST_CONTRAST, THEMES, Tone, contrast
from rdmalab.tui.themes import (
    chosen,
    first_theme,
    has_true_colour,
    own_themes,
    terminal_theme,
    tones_of,
)
from tests.tui.stand import stand

COLOURED = [theme for theme in BUILTIN_THEMES.values() if not theme.ansi]


@pytest.mark.parametrize("theme", COLOURED, ids=lambda theme: theme.name)
def test_the_tones_of_a_foreign_theme_are_read_on_its_grounds(theme) -> None:  # type: ignore[no-untyped-def]
    tones = tones_of(theme)
    made = theme.to_color_system().generate()
    for tone, ground in product(Tone, ("background", "surface", "panel")):
        assert contrast(tones[tone], made[ground][:7]) >= LEAST_CONTRAST, (tone, ground)
        assert contrast(tones["on"], tones[tone]) >= LEAST_CONTRAST, tone


def test_the_lines_between_panes_are_seen() -> None:
    for theme in own_themes()[: len(THEMES)]:
        least = 3 if theme.name.endswith("contrast") else 2
        assert theme.background is not None
        assert contrast(theme.variables["border-blurred"], theme.background) >= least, theme.name


def test_each_theme_of_ours_has_each_tone_and_the_text_on_it() -> None:
    for theme in own_themes():
        assert {*Tone, "on"} <= theme.variables.keys(), theme.name
    assert [theme.name for theme in own_themes()] == [
        *(f"rdmalab-{name}" for name in THEMES), "rdmalab-terminal",
    ]  # fmt: skip


def test_on_a_light_terminal_there_is_no_yellow_green_or_cyan() -> None:
    used = " ".join(terminal_theme(dark=False).variables[tone] for tone in Tone)
    assert not any(pale in used for pale in ("yellow", "green", "cyan"))


@pytest.mark.parametrize("dark", [True, False])
def test_what_is_a_ground_for_text_is_not_the_default_of_the_terminal(dark: bool) -> None:
    tones = terminal_theme(dark=dark).variables
    grounds = {tone: tones[tone] for tone in ("good", "bad", "odd", "busy", "event")}
    assert "ansi_default" not in grounds.values(), grounds
    assert tones["on"] not in grounds.values()


def test_a_theme_is_meant_by_its_name_with_or_without_the_prefix() -> None:
    names = ["rdmalab-dark", "nord"]
    assert [chosen(word, names) for word in ("dark", "rdmalab-dark", "nord", "pink")] == [
        "rdmalab-dark", "rdmalab-dark", "nord", None,
    ]  # fmt: skip


def test_a_terminal_says_that_it_has_24_bits() -> None:
    assert has_true_colour({"COLORTERM": "truecolor", "TERM": "xterm"})
    assert has_true_colour({"TERM": "xterm-kitty"})
    assert not has_true_colour({"TERM": "xterm-256color"})


def test_the_first_theme_is_that_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLORTERM", "truecolor")
    assert first_theme("auto", dark=False) == "rdmalab-light"
    assert first_theme("16", dark=True) == "rdmalab-terminal"
    monkeypatch.setenv("COLORTERM", "")
    monkeypatch.setenv("TERM", "xterm")
    assert first_theme("auto", dark=True) == "rdmalab-terminal"
    assert first_theme("truecolor", dark=True) == "rdmalab-dark"


async def test_in_sixteen_colours_tabs_and_links_are_read() -> None:
    async with stand((80, 24)) as it:
        it.app.theme = "rdmalab-terminal"
        await it.pilot.pause()
        for tab in it.app.main.query(Tab):
            assert not tab.styles.text_style.dim, tab.label
            assert tab.styles.color == it.app.main.styles.color, tab.label
        assert it.app.prompt.styles.link_color == Color.parse("ansi_cyan")
