"""Trees of expressions: their canonical text, and what they name."""

from collections.abc import Iterator

from rdmalab.command import Ref
from rdmalab.grammar.functions import FUNCTIONS, QUANTIFIERS, is_of_kind
from rdmalab.grammar.nodes import (
    COMPARED,
    NOT,
    OR,
    SIGN,
    STRENGTH,
    WORLD,
    Binary,
    Call,
    Literal,
    Node,
    Path,
    Unary,
    Word,
    operands,
)


def render(node: Node, weakest: int = OR) -> str:
    """The canonical text: parsed again, it gives an equal tree."""
    match node:
        case Literal() | Word():
            return node.text
        case Path():
            return str(node)
        case Call():
            parts = [_rendered_argument(node, each) for each in node.positional]
            parts += [_rendered_filter(key, value) for key, value in node.keywords.items()]
            return f"{node.path}({', '.join(parts)})"
        case Unary("not"):
            return _wrapped(f"not {render(node.operand, COMPARED)}", NOT, weakest)
        case Unary():
            return _wrapped(f"-{render(node.operand, SIGN)}", SIGN, weakest)
        case _:
            return _rendered_binary(node, weakest)


def _rendered_argument(call: Call, node: Node) -> str:
    """Parentheses keep `x != 1` from being a filter of a call that takes filters."""
    may_be_filter = isinstance(node, Binary) and node.operator == "!=" and not is_function(call)
    return f"({render(node)})" if may_be_filter else render(node)


def _rendered_filter(key: str, value: Node) -> str:
    if isinstance(value, Unary) and value.operator == "!=":
        return f"{key}!={_rendered_value(value.operand, OR)}"
    return f"{key}={_rendered_value(value, OR)}"


def _rendered_binary(node: Binary, weakest: int) -> str:
    own = STRENGTH[node.operator]
    is_compared = own == COMPARED
    left = render(node.left, own + is_compared)
    right = _rendered_value(node.right, own + 1) if is_compared else render(node.right, own + 1)
    return _wrapped(f"{left} {node.operator} {right}", own, weakest)


def _rendered_value(node: Node, weakest: int) -> str:
    """In the place of a value, parentheses keep a fact of the world from being a word."""
    is_fact = isinstance(node, Path) and node.is_single
    return f"({node})" if is_fact else render(node, weakest)


def _wrapped(text: str, own: int, weakest: int) -> str:
    return f"({text})" if own < weakest else text


def is_function(call: Call) -> bool:
    """True if the name of a call is that of a function, and no path."""
    return call.path.is_single and (str(call.path) in FUNCTIONS or str(call.path) in QUANTIFIERS)


def facts(node: Node) -> Iterator[Path | Call]:
    """The paths and calls of an expression, without those inside a call."""
    if isinstance(node, Path | Call):
        yield node
        return
    for each in operands(node):
        yield from facts(each)


def paths(node: Node) -> Iterator[Path]:
    """Every path in the tree, from left to right."""
    if isinstance(node, Path):
        yield node
    elif isinstance(node, Call) and not is_function(node):
        yield node.path
    for each in operands(node):
        yield from paths(each)


def names(node: Node) -> list[Ref]:
    """The objects it mentions, each once: what must exist before it can be asked."""
    found: dict[str, Ref] = {}
    for path in paths(node):
        match path.steps:
            case (str(owner), str(name), *_) if owner not in WORLD and not is_of_kind(path):
                found.setdefault(f"{owner}.{name}", Ref(owner, name, place=path.place))
    return list(found.values())
