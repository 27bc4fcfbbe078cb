"""The kinds of record: each has a row, each row's words fit its sentence."""

from string import Formatter

from rdmalab.spec.records import KINDS, MEANINGS, Field, Kind, Record
from rdmalab.spec.states import QPState
from tests.each import each
from tests.spec.record_parts import parts, wrong


def test_every_kind_has_a_row_and_every_row_a_kind() -> None:
    assert set(KINDS) == set(Kind)


@each("kind", Kind)
def test_a_sentence_uses_only_what_the_record_holds(kind: Kind) -> None:
    row = KINDS[kind]
    used = {name for _, name, _, _ in Formatter().parse(row.sentence) if name}
    held = {name for name, part in (("a", row.a), ("b", row.b)) if MEANINGS[part]}
    assert used <= held


def test_a_record_is_read_by_these_positions() -> None:
    record = ("event", "at", "cause", "kind", "node", "object", "a", "b")
    assert [record[field] for field in Field] == list(record)


def test_every_part_belongs_to_a_kind_or_reads_another_one_more_narrowly() -> None:
    used = {id(part) for row in KINDS.values() for part in (row.a, row.b)}
    others = {name for name, (part, _) in parts().items() if id(part) not in used}
    assert others == {"wqe_of", "roce_packet_of"}


def test_a_record_that_holds_something_else_is_found() -> None:
    good: Record = (1, 0, -1, Kind.STATE_CHANGED, "A", 17, QPState.RTR, QPState.RTS)
    assert wrong([good]) == []
    assert wrong([(*good[:7], 3)]) == [f"new_state_of of {(*good[:7], 3)}"]
