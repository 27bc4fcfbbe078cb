"""Posting and objects on rxe as Soft-RoCE (kernel 6.1, librxe 44) answered: post_errno.json.

Every entry is played at the prompt and its whole record compared; what is not compared is named.
"""

from typing import Any, NamedTuple

from rdmalab.spec.profiles import RXE
from tests.each import each
from tests.oracle.bench import RECORD
from tests.oracle.entries import ENTRIES, SECTIONS, Entry, object_rows

_CRASH = {"crash": "SIGSEGV"}
_MOST_OTHERS = 5


class Different(NamedTuple):
    """Why an entry is not equal, what Soft-RoCE did, and what the lab does instead."""

    reason: str
    there: Any
    instead: Any


DIFFERENT: dict[Entry, Different] = {
    Entry("ud", "send without AH"): Different(
        "librxe follows a NULL pointer; a lab tells it (rule crash-ah)", _CRASH, {"rc": "EINVAL"}
    ),
    Entry("qpex", "missing_op"): Different(
        "a NULL function is called; wr_complete tells it (rule crash-builder)",
        _CRASH,
        {"wr_complete": "EINVAL", "wc": {}, "state": ["RTS", "RTS"]},
    ),
}


@each("entry", ENTRIES)
def test_rxe_answers_as_recorded(entry: Entry) -> None:
    wanted = entry.recorded()
    if entry in DIFFERENT:
        assert wanted == DIFFERENT[entry].there
        wanted = DIFFERENT[entry].instead
    answer, _told = entry.asked(RXE)
    assert answer == wanted


def test_no_entry_is_left_out() -> None:
    in_file = len(object_rows()) + sum(len(RECORD[section]) for section in SECTIONS)
    assert set(RECORD) == {"meta", "objects", *SECTIONS}
    assert len(set(ENTRIES)) == in_file == 225
    assert set(DIFFERENT) <= set(ENTRIES)
    others = [entry for entry, what in DIFFERENT.items() if what.there != _CRASH]
    assert len(others) <= _MOST_OTHERS
