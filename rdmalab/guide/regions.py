"""Words of memory verbs: types of windows, what rereg_mr changes, what a FLUSH is about."""

import enum
from collections.abc import Iterator
from functools import partial

from rdmalab.guide.article import Article, Row, article
from rdmalab.guide.entry import Entry, full_name
from rdmalab.guide.phrases import right_words
from rdmalab.guide.sentences import note
from rdmalab.spec.access import MWType, Rereg
from rdmalab.spec.work import PLACEMENT_RIGHTS, Placement, Selectivity

_Word = enum.IntEnum | enum.IntFlag

_KINDS: dict[type[_Word], tuple[str, str]] = {
    MWType: ("type of memory window", "ibv_alloc_mw(3)"),
    Rereg: ("flag of rereg_mr", "ibv_rereg_mr(3)"),
    Placement: ("flush_type of FLUSH", "explain FLUSH"),
    Selectivity: ("flush_level of FLUSH", "explain FLUSH"),
}


def entries() -> Iterator[Entry]:
    """One article a member."""
    for cls, (kind, _) in _KINDS.items():
        for member in cls:
            words = (str(member.name),)
            yield Entry(full_name(member), kind, words, partial(word_article, member))


def word_article(member: _Word) -> Article:
    """One member of one of these enums."""
    kind, see = _KINDS[type(member)]
    rows: list[Row] = [("", note(member))]
    if isinstance(member, Placement):
        rows.append(("peer allows", f"{right_words(PLACEMENT_RIGHTS[member])}, on key and QP"))
    return article(full_name(member), f"{kind} = {int(member)}", rows, [see])
