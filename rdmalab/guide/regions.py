"""Words of memory verbs: types of windows, what rereg_mr changes, what a FLUSH is about."""

import enum
from collections.abc import Iterator
from functools import partial
from typing import Any

from rdmalab.guide.article import Article, Row, article
from rdmalab.guide.entry import Entry, full_name
from rdmalab.guide.phrases import right_words
from rdmalab.spec.access import MWType, Rereg
from rdmalab.spec.work import PLACEMENT_RIGHTS, Placement, Selectivity

_Word = enum.IntEnum | enum.IntFlag

# What each member means, by class: members of two enums with one number are equal.
NOTES: dict[type[_Word], dict[Any, str]] = {
    MWType: {
        MWType.TYPE_1: "bind_mw binds it and chooses its rkey; every QP of its protection domain "
        "may serve it, a new bind replaces the old one, a bind of 0 bytes unbinds it",
        MWType.TYPE_2: "post_send opcode=BIND_MW binds it, under an rkey whose low octet the "
        "program chooses; only the QP of the bind serves it, LOCAL_INV or the peer's SEND_WITH_INV "
        "ends it",
    },
    Rereg: {
        Rereg.CHANGE_TRANSLATION: "Another address and length, and with them other keys",
        Rereg.CHANGE_PD: "Another protection domain; the keys stay",
        Rereg.CHANGE_ACCESS: "Other rights; the keys stay",
    },
    Placement: {
        Placement.GLOBAL: "What was written is seen by everybody on that host",
        Placement.PERSISTENT: "What was written outlives a power failure",
    },
    Selectivity: {
        Selectivity.RANGE: "flush_length bytes from remote_addr on",
        Selectivity.MR: "All that the rkey opens; address and length mean nothing",
    },
}
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
    rows: list[Row] = [("", NOTES[type(member)][member])]
    if isinstance(member, Placement):
        rows.append(("peer allows", f"{right_words(PLACEMENT_RIGHTS[member])}, on key and QP"))
    return article(full_name(member), f"{kind} = {int(member)}", rows, [see])
