"""The submissions that the bench grades get all points."""

from rdmalab.classroom.grading import grade_submission
from tests.bench.grading import submissions


def test_the_bench_grades_submissions_that_pass() -> None:
    assert [grade_submission(item).passed for item in submissions(3)] == [True] * 3
