"""The themes of rdmalab as Textual's, and the colours by meaning of all other themes."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from textual.color import Color
from textual.theme import Theme

from rdmalab.render.meanings import LEAST_CONTRAST, THEMES, Tone, contrast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rdmalab.render import meanings

PREFIX = "rdmalab-"
TERMINAL = f"{PREFIX}terminal"
"""The theme of the terminal's own sixteen colours."""
_ON = "on"
_KNOWN = re.compile(r"truecolor|24bit|direct|kitty|alacritty|ghostty|foot|wezterm|iterm")


def _roles(tones: Mapping[str, str], on: str, panel: str, edge: str) -> dict[str, str]:
    """The variables of Textual's own widgets, in our tones."""
    return {
        **tones, _ON: on, "footer-background": panel, "footer-key-foreground": tones[Tone.EVENT],
        "footer-description-foreground": tones[Tone.PLAIN], "border": tones[Tone.BUSY],
        "border-blurred": edge, "block-cursor-background": tones[Tone.BUSY],
        "block-cursor-foreground": on, "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": panel, "scrollbar": tones[Tone.DIM],
        "link-color": tones[Tone.EVENT],
    }  # fmt: skip


def _ours(name: str, theme: meanings.Theme) -> Theme:
    ground, raised, panel = theme.grounds
    tones = {tone.value: colour for tone, colour in theme.tones.items()}
    return Theme(
        name=PREFIX + name, dark=theme.is_dark, background=ground, surface=raised, panel=panel,
        foreground=tones["plain"], primary=tones["busy"], secondary=tones["key"],
        accent=tones["event"], success=tones["good"], warning=tones["odd"], error=tones["bad"],
        text_alpha=1.0,
        variables={
            **_roles(tones, theme.on, panel, _edge(ground, tones["dim"], theme.edge)),
            "scrollbar-background": ground,
            "screen-selection-background": panel,
        },
    )  # fmt: skip


def _edge(ground: str, ink: str, least: float) -> str:
    """The first colour on the way from the ground to the ink that has this contrast."""
    steps = (Color.parse(ground).blend(Color.parse(ink), step / 20).hex6 for step in range(21))
    return next((each for each in steps if contrast(each, ground) >= least), ink)


# Tones: plain dim good bad odd busy event key. Yellow, green and cyan are not read on white.
# All but the first two are grounds, too (the caption, the state): the default would not be seen.
_SIXTEEN = {
    True: "default bright_black green red yellow bright_blue cyan magenta",
    False: "default default blue red magenta blue blue magenta",
}


def terminal_theme(*, dark: bool) -> Theme:
    """The theme of the terminal's own colours. dark: the ground of the terminal."""
    names = [f"ansi_{name}" for name in _SIXTEEN[dark].split()]
    tones = dict(zip((tone.value for tone in Tone), names, strict=True))
    ink, paper = ("ansi_black", "ansi_white") if dark else ("ansi_white", "ansi_black")
    ground = "ansi_default"
    return Theme(
        name=TERMINAL, ansi=True, dark=dark, primary=tones["busy"], secondary=tones["key"],
        warning=tones["odd"], error=tones["bad"], success=tones["good"], accent=tones["event"],
        foreground=ground, background=ground, surface=ground, panel=ground, boost=ground,
        variables={
            **_roles(tones, ink, ground, tones["dim"]), "ansi-background": ink,
            "ansi-foreground": paper, "block-cursor-background": paper,
            "input-cursor-background": paper, "input-cursor-foreground": ink,
            "screen-selection-background": "ansi_bright_blue",
            "screen-selection-foreground": "ansi_black",
        },
    )  # fmt: skip


def own_themes(*, dark: bool = True) -> list[Theme]:
    """The four themes of rdmalab, in the order of the key F3. dark: the ground of the terminal."""
    return [*(_ours(*item) for item in THEMES.items()), terminal_theme(dark=dark)]


def tones_of(theme: Theme) -> dict[str, str]:
    """The colours by meaning of a theme that is not ours; each can be read on its grounds."""
    made = theme.to_color_system().generate()
    if theme.ansi:
        return {**terminal_theme(dark=theme.dark).variables}
    grounds = [_opaque(made[name]) for name in ("background", "surface", "panel")]
    wanted = {
        "plain": made["foreground"], "dim": made["foreground-muted"], "good": made["success"],
        "bad": made["error"], "odd": made["warning"], "busy": made["primary"],
        "event": made["accent"], "key": made["secondary"],
    }  # fmt: skip
    return {tone: _readable(colour, grounds) for tone, colour in wanted.items()} | {_ON: grounds[0]}


def _opaque(text: str, ground: str = "#000000") -> str:
    """`#rrggbb` of a colour with an opacity on a ground."""
    name, _, percent = text.partition(" ")
    colour = Color.parse(name)
    share = int(percent.rstrip("%")) / 100 if percent else colour.a
    return Color.parse(ground).blend(colour.with_alpha(1), share).hex6


def _readable(text: str, grounds: list[str]) -> str:
    """The colour, moved to white or black until it can be read on each ground."""
    colour = _opaque(text, grounds[0])
    away = max(("#ffffff", "#000000"), key=lambda end: contrast(end, grounds[0]))
    for step in range(11):
        found = Color.parse(colour).blend(Color.parse(away), step / 10).hex6
        if all(contrast(found, ground) >= LEAST_CONTRAST for ground in grounds):
            return found
    return away


def chosen(wanted: str, names: Iterable[str]) -> str | None:
    """The theme that a word stands for: its name, or that of ours without its prefix."""
    return next((name for name in (PREFIX + wanted, wanted) if name in names), None)


def first_theme(colours: str, *, dark: bool) -> str:
    """The theme where none is chosen. colours: the setting. dark: the ground of the terminal."""
    if colours == "16" or (colours == "auto" and not has_true_colour()):
        return TERMINAL
    return f"{PREFIX}{'dark' if dark else 'light'}"


def has_true_colour(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the terminal says that it shows 24 bits of colour."""
    text = f"{environ.get('COLORTERM', '')} {environ.get('TERM', '')}"
    return _KNOWN.search(text.lower()) is not None
