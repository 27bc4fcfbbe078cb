"""Parameters: the same everywhere in every version, and balanced over a class."""

from collections import Counter

from rdmalab.classroom.drawing import drawn
from rdmalab.classroom.parameter_model import LabParameter

DEPTH = {"depth": LabParameter.model_validate({"choose": ["4", "6", "8"]})}
MORE = {"more": LabParameter.model_validate({"from": "20", "to": "29"})}


def test_a_draw_never_changes() -> None:
    """Grades of old submissions depend on it: these values stand for all versions."""
    assert [drawn("sq-full", "", f"s{n}", DEPTH)["depth"] for n in range(8)] == list("68646644")
    assert drawn("sq-full", "2026", "s0", MORE) == {"more": "29"}


def test_lab_salt_student_and_name_each_count() -> None:
    names = [("a", "b", "c"), ("x", "b", "c"), ("a", "x", "c"), ("a", "b", "x"), ("ab", "", "c")]
    wide = {n: LabParameter.model_validate({"from": "0", "to": "60000"}) for n in ("p", "q")}
    found = [drawn(*each, wide)[name] for each in names for name in ("p", "q")]
    assert len(set(found)) == len(found)


def test_a_class_is_balanced() -> None:
    often = Counter(drawn("lab", "", f"s{n}", DEPTH)["depth"] for n in range(3_000))
    assert all(850 < count < 1_150 for count in often.values())
    assert {drawn("lab", "", f"s{n}", MORE)["more"] for n in range(200)} == {
        str(number) for number in range(20, 30)
    }
