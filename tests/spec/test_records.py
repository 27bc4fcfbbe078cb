"""The kinds of record: each has a row, each row's words fit its sentence."""

from string import Formatter

import pytest

from rdmalab.spec.records import KINDS, Field, Kind


def test_every_kind_has_a_row_and_every_row_a_kind() -> None:
    assert set(KINDS) == set(Kind)


@pytest.mark.parametrize("kind", Kind)
def test_a_sentence_uses_only_what_the_record_holds(kind: Kind) -> None:
    row = KINDS[kind]
    used = {name for _, name, _, _ in Formatter().parse(row.sentence) if name}
    held = {name for name, meaning in (("a", row.a), ("b", row.b)) if meaning}
    assert used <= held


def test_a_record_is_read_by_these_positions() -> None:
    record = ("event", "at", "cause", "kind", "node", "object", "a", "b")
    assert [record[field] for field in Field] == list(record)
