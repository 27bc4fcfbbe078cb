"""Entries of the command palette: keys, commands, lessons, objects, explanations, themes."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from rdmalab.command import Noun
from rdmalab.guide.explain import entries
from rdmalab.shell.legal_values import lesson_names
from rdmalab.tui.keys import EVERYWHERE, IN_PANES, shown
from rdmalab.tui.layouts import Cover
from rdmalab.tui.themes import PREFIX
from rdmalab.workbench.screen_words import PANES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rdmalab.tui.app import Rdmalab

_ASIDE = 0.8  # of the score, for a match in the help


class Palette(CommandPalette, Cover[None]):
    """The palette, which says what it finds."""

    def __init__(self) -> None:
        super().__init__(placeholder="a key, lesson, command, object, term or theme")

    def _gather_commands(self, search_value: str) -> None:  # type: ignore[override]
        # A letter that is read when the palette has been closed would search without a list.
        if self in self.app.screen_stack:
            super()._gather_commands(search_value)

    def _action_command_list(self, action: str) -> None:
        with suppress(KeyError):  # of a list that is not laid out yet, which knows no page
            super()._action_command_list(action)


class Offer(NamedTuple):
    """A row of the palette. is_first: it is there before anything is typed."""

    text: str
    help: str
    act: Callable[[], object]
    is_first: bool = False


def offers(app: Rdmalab) -> Iterator[Offer]:
    """All rows."""
    session = app.main.model.session
    for key in {key.action: key for key in (*IN_PANES, *EVERYWHERE)}.values():
        words = f"{shown(key.keys.partition(',')[0])}  {key.word}".strip()
        text = key.meaning[0].upper() + key.meaning[1:]
        yield Offer(text, words, partial(app.run_action, key.action), is_first=bool(key.label))
    for what in ("screen", "ladder", "answer", *PANES):
        yield Offer(f"copy {what}", "as text", partial(app.say, f"copy {what}"))
        yield Offer(f"snapshot {what}", "as SVG", partial(app.say, f"snapshot {what}"))
    for theme in sorted(app.available_themes, key=lambda each: not each.startswith(PREFIX)):
        name = theme.removeprefix(PREFIX)  # as the setting has it
        yield Offer(f"theme {name}", "colours", partial(app.choose_theme, theme))
    for name, title in lesson_names():
        yield Offer(f"load {name}", title, partial(app.say, f"load {name}"))
    for thing in session.names.living(session.world):
        name = session.names.of(thing)
        act = app.main.choose if thing.noun is Noun.QP else lambda it: app.say(f"show {it}")
        yield Offer(name, f"show {name}", partial(act, name))
    for command in session.vocabulary.values():
        yield Offer(command.name, command.summary, partial(app.type_in, f"{command.name} "))
    for entry in entries(session.vocabulary):
        word = entry.name
        yield Offer(f"explain {word}", entry.kind, partial(app.action_explain, word))


class Finder(Provider):
    """The provider of all rows; they are made when the palette is opened."""

    async def startup(self) -> None:
        """Make the rows."""
        self._offers = list(offers(self.app))  # type: ignore[arg-type]

    async def discover(self) -> Hits:
        """Entries that are listed before anything is typed."""
        first = [offer for offer in self._offers if offer.is_first]
        width = max(len(offer.text) for offer in first)
        for offer in first:
            row = _row(Content(offer.text.ljust(width)), offer.help)
            yield DiscoveryHit(row, offer.act, offer.text)

    async def search(self, query: str) -> Hits:
        """The rows that match; those whose help matches come later."""
        matcher = self.matcher(query)
        for text, words, act, _ in self._offers:
            score = max(matcher.match(text), _ASIDE * matcher.match(words))
            if score > 0:
                yield Hit(score, _row(matcher.highlight(text), words), act, text=text)


def _row(text: Content, help_text: str) -> Content:
    """The text and its help in one row."""
    return Content.assemble(text, "  ", (help_text, "$dim not bold"))
