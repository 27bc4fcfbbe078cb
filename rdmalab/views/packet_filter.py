"""Filters of packets: `opcode=ACK, from=B`, `psn >= 3 and fate == LOST`, or a text."""

import re
from collections.abc import Callable

from rdmalab.command import NotUnderstood
from rdmalab.grammar.answers import Unknown, evaluate, fits
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.nodes import Binary, Call, Literal, Node, Path, Unary
from rdmalab.views.ladder import PacketRow
from rdmalab.views.packets import SHORT
from rdmalab.views.query_fields import field_hints
from rdmalab.views.query_types import check_filters, check_types, nouns_by_prefix

_FILTERS = re.compile(r"\w+\s*!?=(?!=)")
_COMPARED = re.compile(r"[<>=]|\b(and|or|not)\b")
_LAST = ("wire", "last")
_HINT = "write opcode=ACK, from=B, or psn >= 3"

Wanted = Callable[[PacketRow], bool]


def packet_filter(text: str) -> Wanted | None:
    """Condition on a packet; None if the text is no filter but a text to look for.

    The words are those of `wire.count(…)` and of `wire.last`. NotUnderstood if the text is a filter
    that has a mistake.
    """
    if _FILTERS.match(text):
        node = parse_expression(f"wire.any({text})").node
        evaluate(node, _Checked())
    elif text in field_hints(PacketRow) or _COMPARED.search(text):
        node = _of_last(parse_expression(text).node)
        check_types(node, nouns_by_prefix)
    else:
        return None
    return lambda row: _is_wanted(node, row)


def _is_wanted(node: Node, row: PacketRow) -> bool:
    try:
        return bool(evaluate(node, _Packet(row)))
    except NotUnderstood:  # what this packet does not have is not compared
        return False


def _of_last(node: Node) -> Node:
    """Expression about `wire.last`: `psn` is `wire.last.psn`, and `A.qp0` is a name."""
    match node:
        case Path() if node.is_single:
            name = str(node.steps[0])
            return Path((*_LAST, SHORT.get(name, name)), node.place)
        case Path() if node.steps[:2] != _LAST:
            return Literal(str(node), str(node), node.place)
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
        del path, positional
        return all(fits(getattr(self.row, SHORT.get(k, k)), v) for k, v in keywords.items())

    def members(self, node: str, noun: str) -> list[str]:
        raise Unknown(f"{node}.{noun} is not about one packet", _HINT)


class _Checked(_Packet):
    """Finds the mistakes of a filter; no packet is there."""

    def __init__(self) -> None:
        pass

    def call(self, path: Path, positional: list[object], keywords: dict[str, object]) -> object:
        del path, positional
        check_filters("wire", "wire", keywords)
        return True
