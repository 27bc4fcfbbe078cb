"""Names for the things of a `Pair`, in the order of creation, and words to look with."""

from typing import Any

from rdmalab.command import Noun, Thing
from rdmalab.grammar.answers import evaluate
from rdmalab.grammar.expressions import parse_expression
from rdmalab.views.query import QueryContext
from rdmalab.world.world import World
from tests.pairs import Pair

QP, CQ, RECV_CQ = (Thing(noun, "A", n) for noun, n in ((Noun.QP, 17), (Noun.CQ, 1), (Noun.CQ, 2)))
MR = Thing(Noun.MR, "A", 1)
PEER_QP, PEER_MR = Thing(Noun.QP, "B", 17), Thing(Noun.MR, "B", 1)


class PlainNames:
    """`A.qp0`, `A.qp1`: what was there when the names were given."""

    def __init__(self, world: World) -> None:
        self.things = {
            f"{node}.{noun}{index}": Thing(Noun(noun), node, number)
            for node, hca in world.nodes.items()
            for noun, table in hca.tables.items()
            for index, number in enumerate(table.items)
        }

    def of(self, thing: Thing) -> str:
        found = (name for name, named in self.things.items() if named == thing)
        return next(found, f"{thing.node}.{thing.noun}#{thing.number}")

    def find(self, name: str) -> Thing | None:
        return self.things.get(name)

    def all(self, noun: Noun | None = None) -> list[str]:
        return [name for name, thing in self.things.items() if noun in (None, thing.noun)]


def names_of(pair: Pair) -> PlainNames:
    return PlainNames(pair.world)


def ask(pair: Pair, question: str, asker: QueryContext | None = None) -> Any:
    """The answer to a question, in the words of the grammar."""
    asker = asker or QueryContext(pair.world, names_of(pair))
    return evaluate(parse_expression(question).node, asker)
