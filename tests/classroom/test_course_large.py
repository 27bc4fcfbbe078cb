"""A course of three labs: killed, marked by hand, graded again, on a cluster.

Ten students, and forty with RDMALAB_ALL=1.
"""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path

import pytest

from tests.classroom.courses import CourseFolder, handed_in, right
from tests.classroom.labs import SEND
from tests.each import ALL

LABS = ("first", "second", "third")
ROOT = Path(__file__).parents[2]
STUDENTS, ON_CLUSTER = (40, 40) if os.environ.get(ALL) else (10, 5)


def filled(folder: Path, students: int) -> tuple[CourseFolder, dict[str, dict[str, str]]]:
    """A course whose students have done well or badly, and the scores that they must get."""
    made = CourseFolder(folder, students, LABS)
    scores: dict[str, dict[str, str]] = {}
    for number, student in enumerate(made.students):
        scores[student] = {}
        for lab, text in made.texts.items():
            kind = (number + LABS.index(lab)) % 5
            essay = {"essay": f"Because of {number}."} if lab == LABS[-1] else {}
            if kind == 0:
                scores[student][lab] = ""  # nothing
            elif kind == 1:
                made.put(lab, student, "not a submission")
                scores[student][lab] = ""
            elif kind == 2:
                made.put(lab, student, handed_in(text, student, SEND, answer_of_b="2"))
                scores[student][lab] = "1"
            else:
                day = 32 if kind == 3 else 1  # two days late
                made.put(lab, student, right(text, student, **essay), day=day)
                scores[student][lab] = "4" if kind == 3 else "5"
    return made, scores


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "rdmalab", "course", *words]


def graded(folder: Path, *words: str) -> str:
    """Standard error of a grading in which some works are unreadable."""
    ended = subprocess.run(
        command("grade", *words), cwd=folder, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert ended.returncode == 1, ended.stderr
    return ended.stderr


def wait_for_rows(folder: Path, count: int) -> bytes:
    """The grades that are kept, as soon as there are so many; after two minutes what there is."""
    ledger = folder / "marks/grades.jsonl"
    deadline = time.monotonic() + 120
    text = b""
    while time.monotonic() < deadline and text.count(b"\n") < count:
        text = ledger.read_bytes() if ledger.exists() else b""
        time.sleep(0.01)
    return text


def killed(folder: Path, after: int, *words: str) -> int:
    """Begin to grade, and kill all processes after so many grades; returns how many are kept."""
    child = subprocess.Popen(
        command("grade", *(words or ("--jobs", "2"))), cwd=folder, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    wait_for_rows(folder, after)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    return (folder / "marks/grades.jsonl").read_bytes().count(b"\n")


def found(made: CourseFolder) -> dict[str, dict[str, str]]:
    """The scores in the gradebook by student and lab."""
    text = (made.folder / "marks/gradebook.csv").read_text()
    points = {lab: 5 if lab != LABS[-1] else 7 for lab in LABS}
    return {
        row["student"]: {lab: row[f"{lab} ({points[lab]})"] for lab in LABS}
        for row in csv.DictReader(StringIO(text))
    }


def keys(made: CourseFolder) -> list[str]:
    return [json.loads(row)["key"] for row in
            (made.folder / "marks/grades.jsonl").read_text().splitlines()]  # fmt: skip


@pytest.mark.slow
def test_a_course_of_three_labs(tmp_path: Path) -> None:
    """Killed in the middle, marked by hand, graded again: the gradebook keeps the remarks."""
    made, scores = filled(tmp_path, STUDENTS)
    works = len(list((tmp_path / "downloads").rglob("*.yaml")))
    assert works == STUDENTS * len(LABS) * 4 // 5
    kept = killed(tmp_path, works // 5)
    assert works // 5 <= kept < works
    assert not (tmp_path / "marks/gradebook.csv").exists()
    answer = graded(tmp_path)
    assert found(made) == scores
    assert len(keys(made)) == len(set(keys(made))) == works
    waiting = [each for each, of in scores.items() if of["third"] in ("4", "5")]
    assert f"{len(waiting)} answers to be marked" in answer

    rows = (tmp_path / "remarks.csv").read_text().splitlines()
    assert len(rows) == 1 + len(waiting)
    marked = [row.replace(",essay,,,", ",essay,2,Good.,") for row in rows]
    marked.append("s001,first,,4.5,Shown to me.,")
    (tmp_path / "remarks.csv").write_text("\n".join(marked) + "\n")
    new = right(made.texts["first"], "s002")  # it was unreadable
    made.put("first", "s002", new, "again.yaml", day=2)
    before = keys(made)
    graded(tmp_path)
    assert (tmp_path / "remarks.csv").read_text().splitlines() == marked
    assert keys(made)[:-1] == before  # only what is new was graded
    scores["s001"]["first"], scores["s002"]["first"] = "4.5", "5"
    for student in waiting:
        scores[student]["third"] = "5.6" if scores[student]["third"] == "4" else "7"
    assert found(made) == scores
    book = json.loads((tmp_path / "marks/gradebook.json").read_text())
    assert all(not each["to_be_marked"] for each in book["students"])
    page = (tmp_path / f"marks/reports/{waiting[0]}.html").read_text()
    assert "Good." in page


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # dask's own
def test_the_same_on_a_cluster(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    made, scores = filled(tmp_path, ON_CLUSTER)
    works = list((tmp_path / "downloads").rglob("*.yaml"))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        address = cluster.scheduler_address
        # The course is killed in the middle, and then one of the workers beside the second start.
        kept = killed(tmp_path, len(works) // 5, "--cluster", address)
        assert len(works) // 5 <= kept < len(works)
        assert not (tmp_path / "marks/gradebook.csv").exists()
        victim = next(iter(cluster.workers.values())).process.process
        with ThreadPoolExecutor(1) as beside:
            ending = beside.submit(graded, tmp_path, "--cluster", address)
            wait_for_rows(tmp_path, kept + len(works) // 5)
            assert not ending.done()
            os.kill(victim.pid, signal.SIGKILL)
            ending.result()
        assert len(keys(made)) == len(set(keys(made))) == len(works)
        assert found(made) == scores
        rows = (tmp_path / "remarks.csv").read_text()
        marked = rows.replace(",essay,,,", ",essay,2,Good.,")
        (tmp_path / "remarks.csv").write_text(marked)
        before = keys(made)
        graded(tmp_path, "--cluster", cluster.scheduler_address)
    assert keys(made) == before
    assert (tmp_path / "remarks.csv").read_text() == marked
    for of in scores.values():
        of["third"] = {"4": "5.6", "5": "7"}.get(of["third"], of["third"])
    assert found(made) == scores
    assert "<svg" in (tmp_path / "marks/reports/s003.html").read_text()
