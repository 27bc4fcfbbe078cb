"""Parameters: the same everywhere in every version, and balanced over a class."""

from collections import Counter

from rdmalab.classroom.owner import given
from rdmalab.classroom.parameter_model import LabParameter, drawn, shuffled
from tests.each import each

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


@each("written", ["S1", "s-1", "S.1", "s_1", "\u017f1"])
def test_a_student_cannot_choose_a_draw_by_another_spelling(written: str) -> None:
    """The grader takes each of these for s1; the parameters of a friend must not be among them."""
    assert given("s1").refusal(written) == ""
    values = {"v": LabParameter.model_validate({"from": "0", "to": "60000"})}
    assert drawn("l", "", written, values) == drawn("l", "", "s1", values)
    texts = [str(number) for number in range(9)]
    assert shuffled("l", "", written, "t", texts) == shuffled("l", "", "s1", "t", texts)


def test_a_class_is_balanced() -> None:
    often = Counter(drawn("lab", "", f"s{n}", DEPTH)["depth"] for n in range(3_000))
    assert all(850 < count < 1_150 for count in often.values())
    assert {drawn("lab", "", f"s{n}", MORE)["more"] for n in range(200)} == {
        str(number) for number in range(20, 30)
    }
