"""Evaluates expressions: the world is asked for facts, words are compared with enums."""

import enum
import operator
from collections.abc import Callable, Collection
from typing import Any, NamedTuple, Protocol, TypeGuard

from rdmalab.command import NOWHERE, Moment, NotUnderstood, Span
from rdmalab.grammar import nodes
from rdmalab.grammar.hints import quoted, suggest, with_article
from rdmalab.grammar.nodes import FUNCTIONS, Bare, kind_of_call
from rdmalab.grammar.text import octets
from rdmalab.grammar.trees import is_function
from rdmalab.grammar.values import BOOLEANS, NOUNS, NULLS, member_value, no_member, readings


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


class Unknown(LookupError):  # noqa: N818  (it says what it is)
    """The path does not exist; `hint` is one suggestion."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Ask(Protocol):
    """Source of the facts in an expression; raises `Unknown` where there is no such thing.

    A bare word among the arguments is a `Bare`, `!=` before a value an `Other`: compare them with
    `fits`. The argument `since` is a Moment.
    """

    def field(self, path: nodes.Path) -> object:
        """The value of a path; raises Unknown if it does not exist."""

    def call(
        self, path: nodes.Path, positional: list[object], keywords: dict[str, object]
    ) -> object:
        """The result of a call with evaluated arguments; raises Unknown if it does not exist."""

    def members(self, node: str, noun: str) -> list[str]:
        """The names of all living objects of a kind on a node; raises Unknown if there is none."""


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
    "//": operator.floordiv,
}


def evaluate(node: nodes.Node, ask: Ask) -> object:
    """The value of an expression; NotUnderstood where it makes no sense in this world."""
    match node:
        case nodes.Binary():
            return _binary(node, ask)
        case nodes.Path():
            try:
                return ask.field(node)
            except (Unknown, NotUnderstood) as wrong:
                raise _placed(wrong, node.place) from None
        case nodes.Literal():
            return node.value
        case nodes.Word():
            return nodes.Bare(node.text)
        case nodes.Unary():
            return _unary(node, ask)
        case _:
            return _called(node, ask)


def _placed(wrong: Unknown | NotUnderstood, place: Span) -> NotUnderstood:
    """The error with the place of the question, unless it names a place of its own."""
    if isinstance(wrong, Unknown):
        return NotUnderstood(wrong.message, place, wrong.hint)
    wrong.place = place if wrong.place == NOWHERE else wrong.place
    return wrong


def _called(node: nodes.Call, ask: Ask) -> object:
    if is_function(node):
        name = str(node.path)
        return _computed(node, name, ask) if name in FUNCTIONS else _quantified(node, name, ask)
    positional = [
        # an argument such as A.qp0.wr[7] is the thing itself, not a fact about it
        argument if isinstance(argument, nodes.Path) else evaluate(argument, ask)
        for argument in node.positional
    ]
    keywords = {
        key: _moment(value) if key == nodes.SINCE else evaluate(value, ask)
        for key, value in node.keywords.items()
    }
    try:
        return ask.call(node.path, positional, keywords)
    except (Unknown, NotUnderstood) as wrong:
        raise _placed(wrong, node.place) from None


def _moment(node: nodes.Node) -> object:
    """The moment of `since=`: a checkpoint, an event, a time with its unit."""
    if isinstance(node, nodes.Literal) and isinstance(node.value, int):
        is_event = node.text.isdecimal()
        return Moment(event=node.value) if is_event else Moment(at_ns=node.value)
    assert isinstance(node, nodes.Word)
    return Moment(mark=node.text)


def _computed(node: nodes.Call, name: str, ask: Ask) -> int:
    numbers = [_number(evaluate(each, ask), each.place) for each in node.positional]
    return FUNCTIONS[name].of(numbers, node.place)


def _quantified(node: nodes.Call, name: str, ask: Ask) -> object:
    """any, all, count: of the objects of a kind, each in its turn."""
    (inner,) = node.positional
    kind = kind_of_call(node)
    owner, noun = map(str, kind.steps[:2])
    try:
        members = ask.members(owner, noun)
    except Unknown as unknown:
        raise _placed(unknown, kind.place) from None
    if name == "count" and isinstance(inner, nodes.Path) and len(inner.steps) == 2:
        return len(members)
    held = (bool(evaluate(inner, _OfOne(ask, owner, noun, each))) for each in members)
    return any(held) if name == "any" else all(held) if name == "all" else sum(held)


class _OfOne:
    """Answers about one object of a kind, where the kind is named."""

    def __init__(self, ask: Ask, owner: str, noun: str, name: str) -> None:
        self.ask = ask
        self.kind = (owner, noun)
        self.name = name.partition(".")[2]

    def own(self, path: nodes.Path) -> nodes.Path:
        """The path of this object, where a path is about its kind."""
        if path.steps[:2] != self.kind:
            return path
        return nodes.Path((path.steps[0], self.name, *path.steps[2:]), path.place)

    def field(self, path: nodes.Path) -> object:
        return self.ask.field(self.own(path))

    def call(
        self, path: nodes.Path, positional: list[object], keywords: dict[str, object]
    ) -> object:
        things = [self.own(each) if isinstance(each, nodes.Path) else each for each in positional]
        return self.ask.call(self.own(path), things, keywords)

    def members(self, node: str, noun: str) -> list[str]:
        return self.ask.members(node, noun)


def _unary(node: nodes.Unary, ask: Ask) -> object:
    value = evaluate(node.operand, ask)
    if node.operator == "not":
        return not value
    if node.operator == "!=":
        return Other(value)
    return -_number(value, node.place)


def _binary(node: nodes.Binary, ask: Ask) -> object:
    left = evaluate(node.left, ask)
    if node.operator == "and":
        return bool(left and evaluate(node.right, ask))
    if node.operator == "or":
        return bool(left or evaluate(node.right, ask))
    right = evaluate(node.right, ask)
    if node.operator in nodes.COMPARISONS:
        return _compared(node, left, right)
    numbers = _number(left, node.place), _number(right, node.place)
    if node.operator == "//" and not numbers[1]:
        raise NotUnderstood("division by zero", node.right.place, "write max(1, x)")
    return _COMPUTE[node.operator](*numbers)


def _number(value: object, place: Span) -> int:
    if isinstance(value, int):
        return value
    raise NotUnderstood(f"{noun_of(value)} cannot be computed with", place, "compute with numbers")


def _compared(node: nodes.Binary, left: object, right: object) -> bool:
    if type(left) is not int or type(right) is not int:
        left, right = comparable(left, right, node.right.place)
    try:
        return _COMPARE[node.operator](left, right)
    except TypeError:
        raise never(left, right, node.place) from None
