"""Expectations: conditions that must be true, and the report of one that is not."""

import enum
from collections.abc import Callable, Iterator
from dataclasses import field

from rdmalab.command import Expression, NotUnderstood, Ref, Unit
from rdmalab.grammar.nodes import COMPARISONS, Binary, Literal, Node, Unary, Word
from rdmalab.grammar.quantities import spelled
from rdmalab.grammar.text import in_quotes
from rdmalab.grammar.trees import names, render
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt

Ask = Callable[[Node], object]


@dataclass(frozen=True, slots=True)
class Expectation:
    """A line of `expect`, parsed."""

    text: str
    expression: Expression

    @property
    def refs(self) -> list[Ref]:
        """The names in it; each must exist when the condition is evaluated."""
        return names(self.expression.node)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed expectation: lines with the expected and the actual values.

    because: the reply of `why`, if the step has one. line: of the file; None: that of the step.
    """

    what: str
    expected: str
    actual: list[str] = field(default_factory=list)
    because: list[str] = field(default_factory=list)
    line: int | None = None

    @property
    def lines(self) -> list[str]:
        """`expected  …`, `actual    …`."""
        parts = [f"expected  {self.expected}"] if self.expected else []
        leads = ["because", *[""] * len(self.because)]
        found = [f"{lead:<8}  {line}" for lead, line in zip(leads, self.because, strict=False)]
        return [*parts, *(f"actual    {line}" for line in self.actual), *found]


def unmet(expectation: Expectation, ask: Ask, what: str) -> Failure | None:
    """None if the condition is true; raises NotUnderstood if it has no value."""
    node = expectation.expression.node
    if ask(node):
        return None
    return Failure(what, expectation.text, list(dict.fromkeys(_facts(node, ask))))


def _facts(node: Node, ask: Ask) -> Iterator[str]:
    """`A.cq0.count = 1` for every side of every comparison that is a fact of the world."""
    match node:
        case Literal() | Word():
            return
        case Binary() if node.operator in (*COMPARISONS, "and", "or"):
            yield from _facts(node.left, ask)
            yield from _facts(node.right, ask)
        case Unary("not"):
            yield from _facts(node.operand, ask)
        case _:
            try:
                asked, value = render(node), ask(node)
                if isinstance(value, int) and value and (asked == "now" or asked.endswith("_ns")):
                    yield f"{asked} = {spelled(value, Unit.NS)}"
                else:
                    yield f"{asked} = {value_text(value)}"
            except NotUnderstood as unknown:  # after an `and` that was not reached
                yield f"{render(node)}: {unknown.message}"


def value_text(value: object) -> str:
    """A value as it is written in an expression."""
    if value is None:
        return "NULL"
    if isinstance(value, enum.IntFlag):
        return fmt.flags(int(value), type(value))
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, bytes | bytearray):
        return in_quotes(bytes(value).decode("latin-1"))
    if isinstance(value, int):
        return fmt.number(int(value))
    text = str(value)
    return text if text.replace(".", "_").isidentifier() else in_quotes(text)
