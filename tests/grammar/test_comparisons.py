"""Values compared with words, from either side."""

from rdmalab.grammar.comparisons import is_same
from rdmalab.grammar.nodes import Bare
from rdmalab.spec.states import QPState


def test_words_are_compared_from_either_side() -> None:
    assert is_same(QPState.RTS, Bare("rts"))
    assert is_same(Bare("RTS"), QPState.RTS)
