"""The words of memory verbs are explained, each once."""

from rdmalab.guide import regions
from rdmalab.guide.explain import explain
from rdmalab.spec.access import MWType, Rereg
from rdmalab.spec.work import Placement, Selectivity
from tests.guide.saying import WORDS


def test_every_member_has_a_sentence_and_no_other() -> None:
    members = {member for cls in (MWType, Rereg, Placement, Selectivity) for member in cls}
    assert {str(full) for full in map(repr, regions.NOTES)} == set(map(repr, members))


def test_a_flush_says_which_right_it_needs() -> None:
    found = str(explain("IBV_FLUSH_PERSISTENT", WORDS).sections)
    assert "peer allows" in found
    assert "FLUSH_PERSISTENT, on key and QP" in found
    assert "FLUSH_GLOBAL" not in found
