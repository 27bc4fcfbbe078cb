"""Beside each answer of Soft-RoCE the one of `strict`, with its rule: post_errno_strict.txt.

RDMALAB_UPDATE=1 rewrites the table, for a person to read the diff.
"""

import os
from functools import cache, partial
from pathlib import Path

import pytest

from rdmalab.spec.profiles import RXE
from tests.each import a_third
from tests.oracle.beside import (
    Beside,
    answer_of,
    beside,
    cells_in,
    plain,
    rendered,
    responsible,
    rxe_but,
)
from tests.oracle.entries import ENTRIES, Entry

_TABLE = Path(__file__).parent / "post_errno_strict.txt"
_HEAD = """\
# What strict answers where Soft-RoCE answers something else: rxe -> strict.
#     rule   what only strict refuses by, or with another errno
#     cell   what, taken over from strict, makes rxe answer the same
# Left out: opcode and byte_len of failed requests, byte_len of sends (cell send_byte_len).
"""


@cache
def _answers() -> dict[Entry, Beside]:
    found = {entry: beside(entry) for entry in ENTRIES}
    return {entry: both for entry, both in found.items() if both.differs}


def _written() -> dict[str, list[str]]:
    return cells_in(_TABLE.read_text("utf-8").removeprefix(_HEAD).strip())


def test_the_table_is_as_written() -> None:
    answers = _answers()
    update = os.environ.get("RDMALAB_UPDATE")
    cells = {} if update else _written()
    paragraphs = [
        rendered(
            entry.name,
            both,
            responsible(partial(answer_of, entry), both.strict) if update else cells[entry.name],
        )
        for entry, both in answers.items()
    ]
    table = "\n".join([_HEAD, "\n\n".join(paragraphs), ""])
    if update:
        _TABLE.write_text(table, "utf-8")
    assert table == _TABLE.read_text("utf-8"), "RDMALAB_UPDATE=1 rewrites it: look at the diff"


def test_every_difference_is_made_by_the_cells_beside_it() -> None:
    cells = _written()
    answers = _answers()
    for entry in a_third(answers):
        both = answers[entry]
        named = cells[entry.name]
        assert named, entry
        assert answer_of(entry, rxe_but(named)) == both.strict, entry
        for cell in named:  # and by no cell in vain
            fewer = [name for name in named if name != cell]
            assert answer_of(entry, rxe_but(fewer)) != both.strict, (entry, cell)


@pytest.mark.parametrize(
    ("answer", "meant"),
    [([1, "WR_FLUSH_ERR", "SEND", 0], [1, "WR_FLUSH_ERR"]), ([4, 3], [4, 3]),
     ({"wc": [[1, "SUCCESS", "SEND", 8]]}, {"wc": [[1, "SUCCESS", "SEND"]]}),
     ([[1, "SUCCESS", "RECV", 8]], [[1, "SUCCESS", "RECV", 8]])],
)  # fmt: skip
def test_only_what_has_no_meaning_is_left_out(answer: object, meant: object) -> None:
    assert plain(answer) == meant


def test_a_table_of_nothing_would_be_found() -> None:
    entry = Entry("bad_input_rc_rts", "opcode 50")
    assert _answers()[entry].rules == ["opcode-unknown"]
    assert answer_of(entry, RXE) == plain(entry.recorded())
