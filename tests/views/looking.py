"""Names for the things of a `Pair`, in the order of creation, and words to look with."""

from typing import Any

from rdmalab.command import Noun, Thing
from rdmalab.grammar.answers import evaluate
from rdmalab.grammar.expressions import parse_expression
from rdmalab.session.names import Names
from rdmalab.views.query import QueryContext
from tests.pairs import Pair

QP, CQ, RECV_CQ = (Thing(noun, "A", n) for noun, n in ((Noun.QP, 17), (Noun.CQ, 1), (Noun.CQ, 2)))
MR = Thing(Noun.MR, "A", 1)
PEER_QP, PEER_MR = Thing(Noun.QP, "B", 17), Thing(Noun.MR, "B", 1)


def names_of(pair: Pair) -> Names:
    """`A.qp0`, `A.qp1`: the objects that exist now."""
    names = Names(pair.world.nodes)
    for node, hca in pair.world.nodes.items():
        for noun, table in hca.tables.items():
            for index, number in enumerate(table.items):
                names.give(f"{node}.{noun}{index}", Thing(Noun(noun), node, number))
    return names


def ask(pair: Pair, question: str, asker: QueryContext | None = None) -> Any:
    """The answer to a question, in the words of the grammar."""
    asker = asker or QueryContext(pair.world, names_of(pair))
    return evaluate(parse_expression(question).node, asker)
