"""Rows as plain text."""

from rdmalab.doctor.finding import fact
from rdmalab.doctor.rows import Row, RowPart, evidence_rows


def test_a_row_is_its_margin_its_strong_words_its_text_and_its_event() -> None:
    row = Row(RowPart.CAUSE, ": the rule", "too-early", event=-1, number=3)
    assert row.line == " 3. too-early: the rule  [the start]"
    assert Row(RowPart.LINE, "run").line == "  run"


def test_facts_below_a_check() -> None:
    rows = evidence_rows(RowPart.GROUND, [fact("x", 3), fact("y")], "odd")
    assert [row.line.strip() for row in rows] == ["x  [ev 3]", "y"]
    assert {row.slug for row in rows} == {"odd"}
