"""The statements bound to a scenario as a whole, or to one of its steps.

The model reports an unknown id. This module reports what concerns the whole file: the same
statement twice, and too many statements.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from yaml.nodes import MappingNode, Node, SequenceNode

from rdmalab.guide.statements import MOST_PER_ITEM
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.source import Source, SourcePlace

KEY = "teaches"


@dataclass(frozen=True, slots=True)
class Taught:
    """A statement and its binding. line: of its step; 0 for the whole file."""

    statement: str
    place: SourcePlace
    line: int


def taught(source: Source, root: Node) -> tuple[Taught, ...]:
    """All statements of a file in order; raises FileError at a duplicate or above the limit."""
    found: dict[str, Taught] = {}
    for binding in _all(root):
        if binding.statement in found:
            first = found[binding.statement].place.line
            message = f"{binding.statement} is bound already, in line {first}"
            raise source.error(message, "leave one out", binding.place)
        if len(found) == MOST_PER_ITEM:
            message = f"a scenario teaches {MOST_PER_ITEM} statements at most"
            raise source.error(message, "split it into two scenarios", binding.place)
        found[binding.statement] = binding
    return tuple(found.values())


def _all(root: Node) -> Iterator[Taught]:
    yield from _of(root, 0)
    for key in ("setup", "steps"):
        yield from _in_steps(yaml_tree.find(root, (key,)))


def _in_steps(steps: Node) -> Iterator[Taught]:
    """Those of the steps of a list, and of the blocks in it; other files bind their own."""
    for step in _items(steps):
        yield from _of(step, yaml_tree.place_of(step).line)
        if (
            isinstance(step, MappingNode)
            and (block := yaml_tree.find(step, ("steps",))) is not step
        ):
            yield from _in_steps(block)


def _of(node: Node, line: int) -> Iterator[Taught]:
    if isinstance(node, MappingNode):
        below = yaml_tree.find(node, (KEY,))
        for item in _items(below) if below is not node else ():
            yield Taught(item.value, yaml_tree.place_of(item), line)


def _items(node: Node) -> list[Node]:
    return list(node.value) if isinstance(node, SequenceNode) else []
