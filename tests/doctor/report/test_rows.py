"""Rows as plain text."""

from rdmalab.doctor.evidence.finding import fact
from rdmalab.doctor.report.rows import Row, RowPart, evidence_rows, meaning
from rdmalab.views.columns import Meaning


def test_line_of_a_row() -> None:
    row = Row(RowPart.CAUSE, ": the rule", "too-early", event=-1, number=3)
    assert row.line == " 3. too-early: the rule  [the start]"
    assert Row(RowPart.LINE, "run").line == "  run"


def test_facts_below_a_check() -> None:
    rows = evidence_rows(RowPart.GROUND, [fact("x", 3), fact("y")], "odd")
    assert [row.line.strip() for row in rows] == ["x  [ev 3]", "y"]
    assert {row.slug for row in rows} == {"odd"}


def test_meaning_of_a_row() -> None:
    for word, wanted in (
        ("FAILED", Meaning.FAILED), ("NEVER", Meaning.FAILED), ("LOST", Meaning.LOST),
        ("REFUSED", Meaning.REFUSED), ("PENDING", Meaning.WAITING), ("COMPLETED", Meaning.OK),
        ("◷", Meaning.WAITING), ("✗", Meaning.FAILED),
    ):  # fmt: skip
        assert meaning(Row(RowPart.STANDING, "", f"{word}  ")) is wanted
    assert meaning(Row(RowPart.ITEM, "", "FAIL")) is Meaning.FAILED
    assert meaning(Row(RowPart.ITEM, "", "-   ")) is Meaning.DIM
    assert meaning(Row(RowPart.EVIDENCE, "")) is Meaning.PLAIN
    assert meaning(Row(RowPart.WARNING, "")) is Meaning.ATTENTION
