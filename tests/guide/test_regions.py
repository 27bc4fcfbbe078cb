"""The words of memory verbs are explained, each once."""

from rdmalab.guide import parts
from rdmalab.guide.explain import explain
from rdmalab.spec.access import MWType, Rereg
from rdmalab.spec.work import Placement, Selectivity
from tests.guide.saying import WORDS


def test_every_member_says_its_own_sentence() -> None:
    """Members of two enums with one number are equal, and shared a sentence in one dict."""
    members = [member for cls in (MWType, Rereg, Placement, Selectivity) for member in cls]
    article = [parts.word_article(member).sections[0].lines[0] for member in members]
    assert len(set(article)) == len(members)
    pd = parts.word_article(Rereg.CHANGE_PD)
    assert pd.sections[0].lines[0].startswith("Another protection domain")


def test_a_flush_says_which_right_it_needs() -> None:
    found = str(explain("IBV_FLUSH_PERSISTENT", WORDS).sections)
    assert "peer allows" in found
    assert "FLUSH_PERSISTENT, on key and QP" in found
    assert "FLUSH_GLOBAL" not in found
