"""What an expression is worth: the world is asked for facts, words are compared with enums."""

import enum
import operator
from collections.abc import Callable, Collection
from typing import Any, Protocol, TypeGuard

from rdmalab.command import NOWHERE, NotUnderstood, Span
from rdmalab.grammar.enum_words import member_value, readings
from rdmalab.grammar.expressions import COMPARISONS
from rdmalab.grammar.hints import quoted, suggest
from rdmalab.grammar.nodes import Bare, Binary, Call, Literal, Node, Path, Unary, Word
from rdmalab.grammar.text import octets
from rdmalab.grammar.values import BOOLEANS, NULLS


class Unknown(LookupError):  # noqa: N818  (it says what it is)
    """The path does not exist; `hint` is one suggestion."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Ask(Protocol):
    """Who answers: `Unknown` where there is no such thing.

    A bare word among the arguments is a `Bare`: compare it with `is_same`.
    """

    def field(self, path: Path) -> object:
        """The value of a path; raises Unknown if it does not exist."""

    def call(self, path: Path, positional: list[object], keywords: dict[str, object]) -> object:
        """The result of a call with evaluated arguments; raises Unknown if it does not exist."""


class Named(Protocol):
    """A value of the world with names that are no values: one may name several values."""

    @property
    def noun(self) -> str: ...

    def legal(self) -> Collection[str]:
        """All names that a word can be compared with."""

    def is_called(self, name: str) -> bool:
        """Whether this value has the name."""


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPUTE: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


def evaluate(node: Node, ask: Ask) -> object:
    """The value of an expression; NotUnderstood where it makes no sense in this world."""
    match node:
        case Binary():
            return _binary(node, ask)
        case Path():
            try:
                return ask.field(node)
            except (Unknown, NotUnderstood) as wrong:
                raise _placed(wrong, node.place) from None
        case Literal():
            return node.value
        case Word():
            return Bare(node.text)
        case Unary():
            return _unary(node, ask)
        case _:
            return _called(node, ask)


def is_same(field: object, wanted: object) -> bool:
    """Whether a value of the world is what was written; NotUnderstood where it never can be.

    An enum equals the bare word that names its member, bytes equal the text that encodes to them.
    """
    left, right = comparable(field, wanted, NOWHERE)
    return bool(left == right)


def _placed(wrong: Unknown | NotUnderstood, place: Span) -> NotUnderstood:
    """The error with the place of the question, unless it names a place of its own."""
    if isinstance(wrong, Unknown):
        return NotUnderstood(wrong.message, place, wrong.hint)
    wrong.place = place if wrong.place == NOWHERE else wrong.place
    return wrong


def _called(node: Call, ask: Ask) -> object:
    positional = [
        # an argument such as A.qp0.wr[7] is the thing itself, not a fact about it
        argument if isinstance(argument, Path) else evaluate(argument, ask)
        for argument in node.positional
    ]
    keywords = {key: evaluate(value, ask) for key, value in node.keywords.items()}
    try:
        return ask.call(node.path, positional, keywords)
    except (Unknown, NotUnderstood) as wrong:
        raise _placed(wrong, node.place) from None


def _unary(node: Unary, ask: Ask) -> object:
    value = evaluate(node.operand, ask)
    if node.operator == "not":
        return not value
    return -_number(value, node.place)


def _binary(node: Binary, ask: Ask) -> object:
    left = evaluate(node.left, ask)
    if node.operator == "and":
        return bool(left and evaluate(node.right, ask))
    if node.operator == "or":
        return bool(left or evaluate(node.right, ask))
    right = evaluate(node.right, ask)
    if node.operator in COMPARISONS:
        return _compared(node, left, right)
    return _COMPUTE[node.operator](_number(left, node.place), _number(right, node.place))


def _number(value: object, place: Span) -> int:
    if isinstance(value, int):
        return value
    raise NotUnderstood(f"{_noun(value)} cannot be computed with", place, "compute with numbers")


def _compared(node: Binary, left: object, right: object) -> bool:
    if type(left) is not int or type(right) is not int:
        left, right = comparable(left, right, node.right.place)
    try:
        return _COMPARE[node.operator](left, right)
    except TypeError:
        raise _never(left, right, node.place) from None


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
    raise _never(left, right, place)


def _meant(field: object, word: str, place: Span) -> object:
    """What a bare word says when it is compared with this value."""
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
    raise _never(field, word, place)


def _has_names(field: object) -> TypeGuard[Named]:
    return hasattr(type(field), "is_called")


def _named(field: Named, word: str, place: Span) -> object:
    """The field where it is called so; None, which nothing is equal to, where it is not."""
    name = next((said for said in readings(word) if said in field.legal()), None)
    if name is None:
        hint = suggest(word.upper(), field.legal())
        raise NotUnderstood(f"no {field.noun} is called {quoted(word)}", place, hint)
    return field if field.is_called(name) else None


def _no_member(
    of: type[enum.IntEnum] | type[enum.IntFlag], word: str, place: Span
) -> NotUnderstood:
    hint = suggest(word.upper(), of.__members__)
    return NotUnderstood(f"no {of.__name__} is called {quoted(word)}", place, hint)


def _family(value: object) -> type:
    for family in (int, str, bytes, bytearray):
        if isinstance(value, family):
            return bytes if family is bytearray else family
    return type(value)


def _never(left: object, right: object, place: Span) -> NotUnderstood:
    message = f"{_noun(left)} is never compared with {_noun(right)}"
    return NotUnderstood(message, place, f"write {_sample(left)}")


def _noun(value: object) -> str:
    if isinstance(value, Bare):
        return f"the word {quoted(value)}"
    if value is None:
        return "nothing"
    if isinstance(value, enum.Enum):
        return f"a {type(value).__name__}"
    known = {bool: "a yes or no", int: "a number", str: "a text", bytes: "a range of bytes"}
    return known.get(_family(value) if not isinstance(value, bool) else bool, type(value).__name__)


def _sample(value: object) -> str:
    """What the other side might have been."""
    if isinstance(value, enum.Enum):
        return str(value.name)
    if isinstance(value, int):
        return "a number"
    return "a text in quotes"
