"""The things that a question of a program names: `wait A.cq0.total == 3` is about A.cq0."""

from rdmalab.command import Thing
from rdmalab.doctor.case import Case
from rdmalab.grammar.expressions import paths
from rdmalab.grammar.nodes import Node
from rdmalab.world.relations import exists


def things_in(case: Case, question: Node | None) -> list[Thing]:
    """Each once, as far as they live."""
    if question is None:
        return []
    named = [case.names.find(".".join(map(str, path.steps[:2]))) for path in paths(question)]
    return list(dict.fromkeys(t for t in named if t is not None and exists(case.world, t)))
