"""Trees of expressions: their canonical text, and what they name."""

from collections.abc import Iterator

from rdmalab.command import Ref
from rdmalab.grammar import nodes
from rdmalab.grammar.nodes import FUNCTIONS, QUANTIFIERS, is_of_kind


def render(node: nodes.Node, weakest: int = nodes.OR) -> str:
    """The canonical text: parsed again, it gives an equal tree."""
    match node:
        case nodes.Literal() | nodes.Word():
            return node.text
        case nodes.Path():
            return str(node)
        case nodes.Call():
            parts = [_rendered_argument(node, each) for each in node.positional]
            parts += [_rendered_filter(key, value) for key, value in node.keywords.items()]
            return f"{node.path}({', '.join(parts)})"
        case nodes.Unary("not"):
            return _wrapped(f"not {render(node.operand, nodes.COMPARED)}", nodes.NOT, weakest)
        case nodes.Unary():
            return _wrapped(f"-{render(node.operand, nodes.SIGN)}", nodes.SIGN, weakest)
        case _:
            return _rendered_binary(node, weakest)


def _rendered_argument(call: nodes.Call, node: nodes.Node) -> str:
    """Parentheses keep `x != 1` from being a filter of a call that takes filters."""
    may_be_filter = (
        isinstance(node, nodes.Binary) and node.operator == "!=" and not is_function(call)
    )
    return f"({render(node)})" if may_be_filter else render(node)


def _rendered_filter(key: str, value: nodes.Node) -> str:
    if isinstance(value, nodes.Unary) and value.operator == "!=":
        return f"{key}!={_rendered_value(value.operand, nodes.OR)}"
    return f"{key}={_rendered_value(value, nodes.OR)}"


def _rendered_binary(node: nodes.Binary, weakest: int) -> str:
    own = nodes.STRENGTH[node.operator]
    is_compared = own == nodes.COMPARED
    left = render(node.left, own + is_compared)
    right = _rendered_value(node.right, own + 1) if is_compared else render(node.right, own + 1)
    return _wrapped(f"{left} {node.operator} {right}", own, weakest)


def _rendered_value(node: nodes.Node, weakest: int) -> str:
    """In the place of a value, parentheses keep a fact of the world from being a word."""
    is_fact = isinstance(node, nodes.Path) and node.is_single
    return f"({node})" if is_fact else render(node, weakest)


def _wrapped(text: str, own: int, weakest: int) -> str:
    return f"({text})" if own < weakest else text


def is_function(call: nodes.Call) -> bool:
    """True if the name of a call is that of a function, and no path."""
    return call.path.is_single and (str(call.path) in FUNCTIONS or str(call.path) in QUANTIFIERS)


def facts(node: nodes.Node) -> Iterator[nodes.Path | nodes.Call]:
    """The paths and calls of an expression, without those inside a call."""
    if isinstance(node, nodes.Path | nodes.Call):
        yield node
        return
    for each in nodes.operands(node):
        yield from facts(each)


def paths(node: nodes.Node) -> Iterator[nodes.Path]:
    """Every path in the tree, from left to right."""
    if isinstance(node, nodes.Path):
        yield node
    elif isinstance(node, nodes.Call) and not is_function(node):
        yield node.path
    for each in nodes.operands(node):
        yield from paths(each)


def names(node: nodes.Node) -> list[Ref]:
    """The objects it mentions, each once: what must exist before it can be asked."""
    found: dict[str, Ref] = {}
    for path in paths(node):
        match path.steps:
            case (str(owner), str(name), *_) if owner not in nodes.WORLD and not is_of_kind(path):
                found.setdefault(f"{owner}.{name}", Ref(owner, name, place=path.place))
    return list(found.values())
