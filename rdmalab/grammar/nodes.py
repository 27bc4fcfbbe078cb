"""The tree of an expression: plain slotted nodes, equal when they ask the same."""

from dataclasses import dataclass, field
from typing import TypeAlias

from rdmalab.command import NOWHERE, Span


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
