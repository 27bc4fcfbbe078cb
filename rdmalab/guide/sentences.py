"""The sentences of the guide: data files in TOML, each read when it is first needed.

The types below are the schema of the files. `tests/guide/test_sentences.py` checks each file
against its type and against the tables of `spec/`, and names every word that has no sentence. Here
such a word has an empty sentence, so that no article fails.
"""

import errno
from collections.abc import Sequence
from enum import Enum
from functools import cache
from typing import Any, NamedTuple

from rdmalab.spec.causes import data_of

MOST_PER_ITEM = 5
"""A scenario or a test that showed more than this would show none of it clearly."""


@cache
def statements() -> dict[str, str]:
    """Id → the sentence, page by page."""
    pages = (rows for page, rows in read("statements").items() if page != "not_applicable")
    return {number: sentence for rows in pages for number, sentence in rows.items()}


def not_applicable() -> dict[str, str]:
    """Id → why nothing in the lab can show it."""
    return dict(read("statements")["not_applicable"])


def page(statement: str) -> str:
    """The page that contains a statement."""
    return next(name for name, rows in read("statements").items() if statement in rows)


NOTHING = "nothing: the peer is not informed"


class Concept(NamedTuple):
    """A term that no table holds. words: other spellings; see: where to read on.

    is_counter: it is one of the counters of a device, which logs print with a number.
    """

    lines: Sequence[str]
    words: Sequence[str] = ()
    see: Sequence[str] = ()
    is_counter: bool = False


class Errno(NamedTuple):
    """The text of `strerror`, and what the errno means here."""

    says: str
    means: str


class Usual(NamedTuple):
    """Lines of an article that are the same for all words of a kind. look: commands."""

    who: str = ""
    wire: str = NOTHING
    look: Sequence[str] = ()


def read(name: str) -> dict[str, Any]:
    """The tables of the file `data/NAME.toml`."""
    # TOML beside the code: readable and translatable without Python, and read when needed.
    return data_of("rdmalab.guide", f"data/{name}.toml")


def sentence(table: str, word: str) -> str | list[str]:
    """Meaning of a word, a text or a list of texts; empty if the file has no such row."""
    found: str | list[str] = read("sentences").get(table, {}).get(word, "")
    return found


def note(member: Enum) -> str | list[str]:
    """Meaning of a member of an enum, a text or a list of texts."""
    return sentence(type(member).__name__, str(member.name))


def wire(table: str, word: str) -> str:
    """Sentence on how a word appears in packets; empty if it does not."""
    return str(read("wire").get(table, {}).get(word, ""))


@cache
def concepts() -> dict[str, Concept]:
    """The terms that no table holds, by name."""
    return {name: Concept(**row) for name, row in read("concepts").items()}


@cache
def errnos() -> dict[int, Errno]:
    """The errnos that the file describes, by number."""
    return {getattr(errno, name): Errno(**row) for name, row in read("sentences")["errno"].items()}


def usual(kind: str) -> Usual | None:
    """Lines that are the same for all words of a kind; None if the file has no such kind."""
    row = read("kinds").get(kind)
    return None if row is None else Usual(**row)


@cache
def shown() -> dict[str, str]:
    """Name of an entry → the scenario that shows it best; `python -m tests.shown` writes them."""
    return {name: scenario for scenario, names in read("shown").items() for name in names}
