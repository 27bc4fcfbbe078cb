"""Filters of packets: `opcode=ACK, from=B`, `psn >= 3 and fate == LOST`, or a text."""

import re
from collections.abc import Callable, Iterator

from rdmalab.command import NotUnderstood
from rdmalab.grammar.answers import Unknown, evaluate
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.nodes import Binary, Call, Literal, Node, Path, Unary
from rdmalab.grammar.trees import render
from rdmalab.views.ladder import PacketRow
from rdmalab.views.packets import SHORT
from rdmalab.views.query_fields import field_hints
from rdmalab.views.query_types import check_types, nouns_by_prefix

_FILTERS = re.compile(r"\w+\s*!?=(?!=)")
_QUOTED = re.compile(r'("[^"]*")')
_ALONE = re.compile(r"(?<![=!<>])=(?!=)")
_NEXT = re.compile(r"\b(?!(?:and|or|not)\b)(\w+)\s+(?=(?!and\b|or\b)\w[\w.]*\s*[=!<>])")
_COMPARED = re.compile(r"[<>=]|\b(and|or|not)\b")
_LAST = ("wire", "last")
_HINT = "write opcode=ACK, from=B, or psn >= 3"

Wanted = Callable[[PacketRow], bool]


def packet_filter(text: str) -> Wanted | None:
    """Condition on a packet; None if the text is no filter but a text to look for.

    The words are those of `wire.count(…)` and of `wire.last`. NotUnderstood if the text is a filter
    that has a mistake.
    """
    is_filter = _FILTERS.match(text) or text in field_hints(PacketRow) or _COMPARED.search(text)
    if not is_filter:
        return None
    node = _of_last(parse_expression(_with_equals(text)).node)
    check_types(node, nouns_by_prefix)
    if (odd := next(_no_conditions(node), None)) is not None:
        raise NotUnderstood(f"{render(odd)} is not a condition", odd.place, _HINT)
    return lambda row: _is_wanted(node, row)


def as_question(text: str) -> str:
    """Condition for `break`; empty for a text that names neither fields nor an opcode."""
    if packet_filter(text) is not None:
        return render(_of_last(parse_expression(_with_equals(text)).node))
    try:
        return as_question(f"opcode={text}") if packet_filter(f"opcode={text}") else ""
    except NotUnderstood:
        return ""


def _with_equals(text: str) -> str:
    """`opcode=ACK, from=B` or `opcode=ACK from=B` as `opcode == ACK and from == B`."""
    parts = _QUOTED.split(text)
    for at in range(0, len(parts), 2):
        parts[at] = _NEXT.sub(r"\1 and ", _ALONE.sub(" == ", parts[at]).replace(",", " and "))
    return "".join(parts)


def _no_conditions(node: Node) -> Iterator[Literal]:
    """The numbers and texts that stand where a condition is wanted, as in `psn=2,3`."""
    match node:
        case Literal():
            yield node
        case Unary():
            yield from _no_conditions(node.operand)
        case Binary() if node.operator in ("and", "or"):
            yield from _no_conditions(node.left)
            yield from _no_conditions(node.right)


def _is_wanted(node: Node, row: PacketRow) -> bool:
    try:
        return bool(evaluate(node, _Packet(row)))
    except NotUnderstood:  # what this packet does not have is not compared
        return False


def _name(path: Path) -> Literal:
    return Literal(str(path), f'"{path}"', path.place)


def _of_last(node: Node) -> Node:
    """Expression about `wire.last`: `psn` is `wire.last.psn`, and `A.qp0` is a name."""
    match node:
        case Path() if node.is_single:
            name = str(node.steps[0])
            return Path((*_LAST, SHORT.get(name, name)), node.place)
        case Path() if node.steps[:2] != _LAST:
            return _name(node)
        case Binary():
            left, right = _of_last(node.left), _of_last(node.right)
            return Binary(node.operator, left, right, node.place)
        case Unary():
            return Unary(node.operator, _of_last(node.operand), node.place)
        case Call():
            raise NotUnderstood(f"{node.path} is not about one packet", node.place, _HINT)
        case _:
            return node


class _Packet:
    """Answers about one packet."""

    def __init__(self, row: PacketRow) -> None:
        self.row = row

    def field(self, path: Path) -> object:
        return getattr(self.row, str(path.steps[2]))

    def call(self, path: Path, positional: list[object], keywords: dict[str, object]) -> object:
        raise Unknown(f"{path} is not about one packet", _HINT)

    def members(self, node: str, noun: str) -> list[str]:
        raise Unknown(f"{node}.{noun} is not about one packet", _HINT)
