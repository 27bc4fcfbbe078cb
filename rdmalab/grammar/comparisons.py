"""Values of the world and what was written: which can be compared, and which are the same."""

import enum
from collections.abc import Collection
from typing import NamedTuple, Protocol, TypeGuard

from rdmalab.command import NOWHERE, NotUnderstood, Span
from rdmalab.grammar.enum_words import NOUNS, member_value, no_member, readings
from rdmalab.grammar.hints import quoted, suggest, with_article
from rdmalab.grammar.nodes import Bare
from rdmalab.grammar.text import octets
from rdmalab.grammar.values import BOOLEANS, NULLS


class Other(NamedTuple):
    """The value of a filter such as `status!=SUCCESS`: any other value fits."""

    value: object


def plain(value: object) -> object:
    """The value of a filter, also of one with `!=`."""
    return value.value if isinstance(value, Other) else value


class Named(Protocol):
    """A value of the world with names that are no values: one may name several values."""

    @property
    def noun(self) -> str: ...

    def legal(self) -> Collection[str]:
        """All names that a word can be compared with."""

    def is_called(self, name: str) -> bool:
        """True if this value has the name."""


def is_same(field: object, wanted: object) -> bool:
    """True if a value of the world is what was written; NotUnderstood where it never can be.

    An enum equals the bare word that names its member, bytes equal the text that encodes to them.
    """
    left, right = comparable(field, wanted, NOWHERE)
    return bool(left == right)


def fits(field: object, wanted: object) -> bool:
    """True if a value of the world passes a filter; one that cannot be compared is unequal."""
    if isinstance(wanted, Other):
        return not fits(field, wanted.value)
    try:
        return is_same(field, wanted)
    except NotUnderstood:
        return False


def comparable(left: object, right: object, place: Span) -> tuple[object, object]:
    """Both sides as values of one type; NotUnderstood where they never are."""
    if isinstance(right, Bare) or (_has_names(left) and type(right) is str):
        return left, _meant(left, right, place)
    if isinstance(left, Bare) or (_has_names(right) and type(left) is str):
        return _meant(right, left, place), right
    if isinstance(left, bytes | bytearray) and isinstance(right, str):
        return bytes(left), octets(right)
    if isinstance(right, bytes | bytearray) and isinstance(left, str):
        return octets(left), bytes(right)
    if left is None or right is None or _family(left) == _family(right):
        return left, right
    raise never(left, right, place)


def _meant(field: object, word: str, place: Span) -> object:
    """The value of a bare word that is compared with this value."""
    if word in NULLS:
        return None
    if isinstance(field, enum.IntEnum | enum.IntFlag):
        value = member_value(word, type(field))
        if value is not None:
            return value
    if _has_names(field):
        return _named(field, word, place)
    if isinstance(field, enum.IntEnum | enum.IntFlag):
        raise _no_member(type(field), word, place)
    if isinstance(field, bool) and word.lower() in BOOLEANS:
        return BOOLEANS[word.lower()]
    if field is None or isinstance(field, str):
        return str(word)
    raise never(field, word, place)


def _has_names(field: object) -> TypeGuard[Named]:
    return hasattr(type(field), "is_called")


def _named(field: Named, word: str, place: Span) -> object:
    """The field where it is called so; None, which nothing is equal to, where it is not."""
    name = next((reading for reading in readings(word) if reading in field.legal()), None)
    if name is None:
        hint = suggest(word.upper(), field.legal())
        raise NotUnderstood(f"{quoted(word)} is no {field.noun}", place, hint)
    return field if field.is_called(name) else None


def _no_member(
    of: type[enum.IntEnum] | type[enum.IntFlag], word: str, place: Span
) -> NotUnderstood:
    hint = suggest(word.upper(), of.__members__)
    return NotUnderstood(no_member(word, of), place, hint)


def _family(value: object) -> type:
    for family in (int, str, bytes, bytearray):
        if isinstance(value, family):
            return bytes if family is bytearray else family
    return type(value)


def never(left: object, right: object, place: Span) -> NotUnderstood:
    """The error for two values of which no one ever equals the other."""
    message = f"{noun_of(left)} is never compared with {noun_of(right)}"
    return NotUnderstood(message, place, f"write {_sample(left)}")


def noun_of(value: object) -> str:
    """The type of a value as words of an error: `a number`, `the word "RTS"`."""
    if isinstance(value, Bare):
        return f"the word {quoted(value)}"
    if value is None:
        return "nothing"
    if isinstance(value, enum.Enum):
        return with_article(NOUNS[type(value).__name__])
    known = {bool: "a yes or no", int: "a number", str: "a text", bytes: "a range of bytes"}
    return known.get(_family(value) if not isinstance(value, bool) else bool, type(value).__name__)


def _sample(value: object) -> str:
    """An example of a value for the other side."""
    if isinstance(value, enum.Enum):
        return str(value.name)
    if isinstance(value, int):
        return "a number"
    return "a text in quotes"
