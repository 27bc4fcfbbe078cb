"""Grading: 500 submissions against one warm grade, and the first `task` after a long run."""

import statistics
import sys
import time

from rdmalab.classroom.exercise import Exercise
from rdmalab.classroom.grading import Item, grade_submission, grades
from rdmalab.classroom.instructor_model import Submission
from rdmalab.classroom.lab_file import loads
from rdmalab.classroom.owner import given
from rdmalab.classroom.public import digest
from rdmalab.classroom.submission import written
from rdmalab.classroom.trust import everything_right
from rdmalab.jobs.limits import Limits
from rdmalab.jobs.pool import LocalPool, cores
from rdmalab.scenario.field_types import FORMAT
from rdmalab.scenario.files import of_instructor, read
from tests.classroom.labs import logged

LAB = "labs/sq-full"
COUNT = 500
WARM = 25  # grades of which the median is one warm grade
ENDLESS = ("program A.p lines={ loop; sleep 10ns; end }", "run 9s")
LABS = ("labs/by-hand", "labs/own-program", "labs/rnr-budget")  # goals over time of each kind

RATIOS: dict[str, tuple[float, str]] = {"first_task_vs_run": (7, "at most")}


def first_task() -> float:
    """CPU of the first `task` / that of the endless run before it; the most of some labs."""
    found = []
    for name in LABS:
        lab = Exercise(of_instructor(name), student="1")
        start = time.process_time()
        for line in ENDLESS:
            lab.do(line)
        ran = time.process_time()
        lab.grade()
        found.append((time.process_time() - ran) / (ran - start))
    return max(found)


def measure() -> dict[str, float]:
    """All keys of RATIOS."""
    return {"first_task_vs_run": round(statistics.median(first_task() for _ in range(3)), 2)}


def submissions(count: int) -> list[Item]:
    """Each student hands in the first accepted solution, with the lines of the own parameters."""
    path = of_instructor(LAB)
    text = read(path)
    items = []
    for number in range(count):
        student = f"s{number}"
        lab = loads(text, path, student=student)
        assert lab.document.solutions is not None
        solution = lab.document.solutions.accept[0]
        answers = {**solution.answers, **everything_right(lab)}
        work = Submission(
            rdmalab=FORMAT, kind="submission", lab=f"{lab.document.id} {digest(lab)}",
            student=student, lines=solution.lines, answers=answers,
        )  # fmt: skip
        items.append(Item(text, path, written(logged(work)), f"{student}.yaml", given(student)))
    return items


def information(count: int = COUNT) -> dict[str, object]:
    """`grade_500`: wall time of all / (one warm grade x their count / cores); the bar is 1.3.

    Of wall time, so for information on a busy machine.
    """
    items = submissions(count)
    warm = []
    for item in items[: WARM + 1]:
        start = time.perf_counter()
        assert grade_submission(item).passed
        warm.append(time.perf_counter() - start)
    one = statistics.median(warm[1:])  # the first has to load the modules
    start = time.perf_counter()
    passed = sum(grade.passed for _, grade in grades(items, LocalPool(Limits(), cores()), {}))
    wall = time.perf_counter() - start
    assert passed == count
    return {"grade_500": round(wall / (one * count / cores()), 2)}


if __name__ == "__main__":
    sys.stdout.write(f"{measure()} {information()}\n")
