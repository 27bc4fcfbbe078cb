"""The tree of an expression: plain slotted nodes, equal when they ask the same; its functions."""

from collections.abc import Callable
from dataclasses import field
from typing import NamedTuple, TypeAlias

from rdmalab.command import NOWHERE, NotUnderstood, Noun, Span
from rdmalab.grammar.quantities import swapped
from rdmalab.spec.row import dataclass


class Bare(str):
    """The value of a bare word, `RTS`: an enum member or a name, never a quoted text."""

    __slots__ = ()


@dataclass(slots=True)
class Index:
    """`[7]`, or `[0:5]`."""

    start: int
    stop: int | None = None

    def __str__(self) -> str:
        return f"[{self.start}]" if self.stop is None else f"[{self.start}:{self.stop}]"


@dataclass(slots=True)
class Path:
    """`A.qp0.wr[7].status`, or a fact of the world, `now`."""

    steps: tuple[str | Index, ...]
    place: Span = field(default=NOWHERE, compare=False)

    @property
    def is_single(self) -> bool:
        return len(self.steps) == 1

    def __str__(self) -> str:
        first, *rest = self.steps
        return str(first) + "".join(str(s) if isinstance(s, Index) else f".{s}" for s in rest)


@dataclass(slots=True)
class Literal:
    """A number or a text; `text` is how it was written."""

    value: int | str
    text: str = field(compare=False)
    place: Span = field(default=NOWHERE, compare=False)


@dataclass(slots=True)
class Word:
    """A bare word to compare with: `RTS`, `IBV_WC_SUCCESS`, `SEND_ONLY`."""

    text: str
    place: Span = field(default=NOWHERE, compare=False)


@dataclass(slots=True)
class Call:
    """`wire.count(opcode=SEND_ONLY)`, `why(A.qp0.wr[7])`."""

    path: Path
    positional: list["Node"]
    keywords: dict[str, "Node"]
    place: Span = field(default=NOWHERE, compare=False)


@dataclass(slots=True)
class Unary:
    """`not x`, `-x`."""

    operator: str
    operand: "Node"
    place: Span = field(default=NOWHERE, compare=False)


@dataclass(slots=True)
class Binary:
    """`x and y`, `x == y`, `x + y`; `place` is the operator's."""

    operator: str
    left: "Node"
    right: "Node"
    place: Span = field(default=NOWHERE, compare=False)


Node: TypeAlias = Path | Literal | Word | Call | Unary | Binary


def operands(node: Node) -> list[Node]:
    """The parts of a node, in their order: arguments, filters, both sides; [] if it has none."""
    match node:
        case Call():
            return [*node.positional, *node.keywords.values()]
        case Unary():
            return [node.operand]
        case Binary():
            return [node.left, node.right]
    return []


# --------------------------------------------------------------------------- operators
WORLD = ("idle", "now", "wire", "log", "why")
"""The first words of paths that belong to no node."""

KEYWORDS = ("and", "or", "not")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
SINCE = "since"
"""The key of a count that takes a moment: `since=@ready`."""

# All of a row bind from the left, comparisons do not chain.
OR, AND, NOT, COMPARED, SUM, PRODUCT, SIGN = range(1, 8)
STRENGTH = {
    "or": OR,
    "and": AND,
    **dict.fromkeys(COMPARISONS, COMPARED),
    "+": SUM,
    "-": SUM,
    "*": PRODUCT,
    "//": PRODUCT,
}


class Function(NamedTuple):
    """A function of numbers. most: arguments, None for any number of them."""

    sample: str
    least: int
    most: int | None
    of: Callable[[list[int], Span], int]
    sentence: str


class Quantifier(NamedTuple):
    """A function of all living objects of a kind on one node."""

    sample: str
    type: type
    sentence: str


def _order(octets: int, sentence: str) -> Callable[[str], Function]:
    def of(numbers: list[int], place: Span) -> int:
        return swapped(numbers[0], octets, place)

    return lambda name: Function(f"{name}(0x1234)", 1, 1, of, sentence)


_BYTES = {2: "16", 4: "32", 8: "64"}
_ORDERS = {
    name: octets
    for octets, names in {
        2: ("htons", "ntohs", "htobe16", "be16toh"),
        4: ("htonl", "ntohl", "htobe32", "be32toh"),
        8: ("htonll", "ntohll", "htobe64", "be64toh"),
    }.items()
    for name in names
}

FUNCTIONS: dict[str, Function] = {
    "min": Function("min(A.cq0.count, 4)", 1, None, lambda n, _: min(n), "the smallest number"),
    "max": Function("max(A.cq0.count, 4)", 1, None, lambda n, _: max(n), "the largest number"),
    "abs": Function("abs(A.qp0.sq_psn - 9)", 1, 1, lambda n, _: abs(n[0]), "without its sign"),
    **{
        name: _order(octets, f"{_BYTES[octets]} bits in the other byte order")(name)
        for name, octets in _ORDERS.items()
    },
}

QUANTIFIERS: dict[str, Quantifier] = {
    "any": Quantifier("any(A.qp.state == RTS)", bool, "whether one QP of A at least is in RTS"),
    "all": Quantifier("all(A.qp.state == RTS)", bool, "whether every QP of A is in RTS"),
    "count": Quantifier(
        "count(A.mr)", int, "objects of a kind, or those in ERR: count(A.qp.state == ERR)"
    ),
}
PACKETS = "packets are counted by wire.count(opcode=ACK)"
"""The hint for a question that takes packets for objects."""
PACKET_WORDS = ("packet", "packets")
NOUN_WORDS = frozenset(noun.value for noun in Noun) - {Noun.NODE.value}
"""The words for all objects of a kind on a node: `A.qp`."""


def check_call(call: Call) -> None:
    """NotUnderstood where a function is called with what it never takes."""
    name = str(call.path)
    sample = (FUNCTIONS.get(name) or QUANTIFIERS.get(name) or QUANTIFIERS["any"]).sample
    if not call.path.is_single or (name not in FUNCTIONS and name not in QUANTIFIERS):
        return
    hint = f"write {sample}"
    if call.keywords:
        key = next(iter(call.keywords))
        raise NotUnderstood(f"{name}() takes no {key}=", call.keywords[key].place, hint)
    if name in QUANTIFIERS:
        _check_quantifier(call, name, hint)
        return
    row, given = FUNCTIONS[name], len(call.positional)
    if given < row.least or (row.most is not None and given > row.most):
        most = "at least 1 number" if row.most is None else f"{row.least} number"
        raise NotUnderstood(f"{name}() takes {most}, not {given}", call.place, hint)


def _check_quantifier(call: Call, name: str, hint: str) -> None:
    if len(call.positional) != 1:
        text = f"{name}() takes one condition, not {len(call.positional)}"
        raise NotUnderstood(text, call.place, hint)
    inner = call.positional[0]
    if nested := next((c for c in _calls(inner) if str(c.path) in QUANTIFIERS), None):
        raise NotUnderstood(
            f"{name}() cannot hold {nested.path}()", nested.place, "ask in two steps"
        )
    kinds = {path.steps[:2]: path for path in reversed(_paths(inner)) if is_of_kind(path)}
    if not kinds:
        text = f"{name}() is about all objects of a kind, and none is named here"
        steps = {step for path in _paths(inner) for step in path.steps}
        is_packet = not steps.isdisjoint(("wire", *PACKET_WORDS))
        raise NotUnderstood(text, call.place, PACKETS if is_packet else hint)
    if len(kinds) > 1:
        other, *_, first = kinds
        both = " and ".join(f"{node}.{noun}" for node, noun in (first, other))
        text = f"{name}() is about one kind, not {both}"
        raise NotUnderstood(text, kinds[other].place, hint)


def is_of_kind(path: Path) -> bool:
    """True if a path is about all objects of a kind: `A.qp.state`."""
    return len(path.steps) > 1 and path.steps[1] in NOUN_WORDS


def kind_of_call(call: Call) -> Path:
    """The first path of a quantifier that begins with the node and the noun it is about."""
    return next(path for path in _paths(call.positional[0]) if is_of_kind(path))


def _paths(node: Node) -> list[Path]:
    own = [node] if isinstance(node, Path) else [node.path] if isinstance(node, Call) else []
    return [*own, *(path for each in operands(node) for path in _paths(each))]


def _calls(node: Node) -> list[Call]:
    own = [node] if isinstance(node, Call) else []
    return [*own, *(call for each in operands(node) for call in _calls(each))]
