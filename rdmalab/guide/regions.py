"""Members of enums whose article is their sentence: windows, SRQs, FLUSH, masks, migration."""

import enum
from collections.abc import Iterator
from functools import partial

from rdmalab.guide.article import Article, Row, article
from rdmalab.guide.entry import Entry, full_name
from rdmalab.guide.phrases import right_words
from rdmalab.guide.sentences import note
from rdmalab.spec.access import MWType, Rereg
from rdmalab.spec.builders import InitMask
from rdmalab.spec.srq import SrqAttrMask, SrqType
from rdmalab.spec.states import MigState
from rdmalab.spec.work import PLACEMENT_RIGHTS, Placement, Selectivity

_Member = enum.IntEnum | enum.IntFlag

# kind, where to read on
_KINDS: dict[type[_Member], tuple[str, tuple[str, ...]]] = {
    MigState: ("migration state", ("explain path_mig_state",)),
    MWType: ("type of memory window", ("ibv_alloc_mw(3)",)),
    Rereg: ("flag of rereg_mr", ("ibv_rereg_mr(3)",)),
    Placement: ("flush_type of FLUSH", ("explain FLUSH",)),
    Selectivity: ("flush_level of FLUSH", ("explain FLUSH",)),
    SrqType: ("SRQ type", ("explain srq",)),
    SrqAttrMask: ("SRQ attribute", ("explain srq",)),
    InitMask: ("creation mask", ("help create_qp_ex", "ibv_create_qp_ex(3)")),
}


def entries() -> Iterator[Entry]:
    """One article a member."""
    for cls, (kind, _) in _KINDS.items():
        for member in cls:
            name = str(member.name)
            words = (name, f"comp_mask {name}") if cls is InitMask else (name,)
            yield Entry(full_name(member), kind, words, partial(word_article, member))


def word_article(member: _Member) -> Article:
    """One member of one of these enums."""
    kind, see = _KINDS[type(member)]
    rows: list[Row] = [("", note(member))]
    if isinstance(member, Placement):
        rows.append(("peer allows", f"{right_words(PLACEMENT_RIGHTS[member])}, on key and QP"))
    return article(full_name(member), f"{kind} = {int(member)}", rows, see)
