"""An entry: a word that can be explained, its other spellings, the function of its article."""

import enum
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar

from rdmalab.guide.article import Article
from rdmalab.spec.c_names import full_name as full_name


class Sort(enum.Enum):
    """The kind of table that a word is in, for sessions that show it."""

    STATUS = enum.auto()
    STATE = enum.auto()
    MOVE = enum.auto()  # about a pair of states
    TYPE = enum.auto()
    ATTRIBUTE = enum.auto()
    OPCODE = enum.auto()
    FLAG = enum.auto()
    RIGHT = enum.auto()
    EVENT = enum.auto()
    SYNDROME = enum.auto()
    PACKET = enum.auto()  # about its label
    ERRNO = enum.auto()
    RULE = enum.auto()
    REFUSAL = enum.auto()
    DROP = enum.auto()
    PORT = enum.auto()
    PROFILE = enum.auto()
    CELL = enum.auto()
    LIMIT = enum.auto()
    RECORD = enum.auto()
    VERB = enum.auto()


class About(NamedTuple):
    """Subject to look for in a session: a member of an enum, a name of a table, an errno."""

    sort: Sort
    key: Any


class Entry(NamedTuple):
    """`name` means this and nothing else; `words` may mean other things too."""

    name: str
    kind: str
    words: tuple[str, ...]
    write: Callable[[], Article]
    about: About | None = None


M = TypeVar("M", bound=enum.IntEnum | enum.IntFlag)


def of_member(
    kind: str, member: M, write: Callable[[M], Article], *words: str, sort: Sort | None = None
) -> Entry:
    """The entry of a member of an enum: its names in C and here find it, and more words.

    sort: of the table that sessions show it by; None: they do not.
    """
    about = None if sort is None else About(sort, member)
    return Entry(full_name(member), kind, (str(member.name), *words), partial(write, member), about)


def of_row(table: str, name: str, write: Callable[[str], Article], sort: Sort, kind: str) -> Entry:
    """The entry of a row of a table, `rule queue-full`."""
    return Entry(f"{table} {name}", kind, (name,), partial(write, name), About(sort, name))


@lru_cache(maxsize=8_192)
def normal(text: str) -> str:
    """The form in which words are compared: no case, and blanks, hyphens and arrows alike."""
    loose = text.replace("->", " ").replace("→", " ").replace("-", " ").replace("_", " ")
    return "_".join(loose.casefold().split())
