"""Newest or best of several works, due dates, and what a late work loses."""

from datetime import UTC, datetime, timedelta

import pytest

from rdmalab.classroom.attempts import Keep, Terms, counted, due_at, handed_in, lateness
from rdmalab.classroom.grade_document import Grade

START = datetime(2026, 11, 1, tzinfo=UTC)


def work(student: str, score: int, day: float, verdict: str = "graded") -> Grade:
    at_s = (START + timedelta(days=day)).timestamp()
    return Grade(
        student=student, file=f"{student}-{day}.yaml", score=score, of=10, verdict=verdict,
        handed_in=handed_in(at_s), reason="why" if verdict != "graded" else "",
    )  # fmt: skip


@pytest.mark.parametrize(("keep", "score"), [("newest", 4), ("best", 7)])
def test_one_work_of_a_student_counts(keep: Keep, score: int) -> None:
    works = [work("s1", 7, 1), work("s1", 4, 2), work("s2", 1, 1), work("s1", 0, 3, "unreadable")]
    found = counted(works, Terms(keep))
    assert [(each.student, each.score) for each in found] == [("s1", score), ("s2", 1)]
    assert len(found[0].others) == 2
    assert "s1-3.yaml: why" in found[0].others


def test_a_foreign_work_replaces_no_work_of_its_student() -> None:
    works = [work("s1", 7, 1), work("s1", 0, 2, "foreign"), work("s2", 0, 2, "foreign")]
    found = counted(works, Terms("newest"))
    assert [(each.student, each.verdict) for each in found] == [("s1", "graded"), ("s2", "foreign")]


def test_works_of_unknown_students_are_not_joined() -> None:
    works = [Grade(file="a", verdict="foreign"), Grade(file="b", verdict="foreign")]
    assert len(counted(works, Terms())) == 2


def test_each_day_that_begins_costs_a_share_of_the_score() -> None:
    terms = Terms("best", START, penalty=10)
    found = counted([work("s1", 5, -1), work("s2", 5, 0.5), work("s3", 5, 1.5), work("s4", 5, 30)],
                    terms)  # fmt: skip
    assert [each.mark for each in found] == [5, 4.5, 4, 0]
    assert [bool(each.late_s) for each in found] == [False, True, True, True]
    better_late = counted([work("s1", 10, 3), work("s1", 8, -1)], terms)
    assert better_late[0].mark == 8  # 10 less 30 %


def test_a_date_means_its_end() -> None:
    assert due_at("2026-11-30").strftime("%d %H:%M:%S") == "30 23:59:59"
    assert due_at("2026-11-30 18:00").strftime("%d %H:%M") == "30 18:00"
    assert due_at("2026-11-30T18:00+00:00") == datetime(2026, 11, 30, 18, tzinfo=UTC)
    with pytest.raises(ValueError, match="Invalid isoformat"):
        due_at("30.11.2026")


def test_lateness_is_short() -> None:
    assert [lateness(s) for s in (0, 30, 3_700, 90_000)] == ["", "1 min", "1 h 2 min", "1 d 1 h"]
