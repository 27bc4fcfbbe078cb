"""Many submissions: each is graded once, whatever ends on the way."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from rdmalab.classroom import submission
from rdmalab.classroom.exercise import Exercise
from rdmalab.classroom.formats import report
from rdmalab.classroom.grading import (
    Item,
    alike,
    grade_submission,
    grades,
    known,
    row_of,
    same_logs,
)
from rdmalab.classroom.instructor_model import Submission
from rdmalab.classroom.lab_session import LabSession
from rdmalab.classroom.owner import given
from rdmalab.classroom.public import digest
from rdmalab.jobs.cluster import ClusterPool
from rdmalab.jobs.limits import Limits
from rdmalab.jobs.pool import LocalPool
from rdmalab.jobs.result_file import ResultFile
from tests.classroom.labs import RECV, TEMPLATE, loaded, logged

DIGEST = digest(loaded(TEMPLATE))


def handed_in(student: str, *lines: str) -> str:
    work = Submission(
        rdmalab=1, kind="submission", lab=f"LAB-ID {DIGEST}", student=student,
        lines=list(lines), answers={"answer-of-b": "2"},
    )  # fmt: skip
    return submission.written(logged(work))


def right(student: str, lab: str = TEMPLATE) -> str:
    size = loaded(lab, student).params["size"]
    return handed_in(student, RECV, f"post_send A.qp0 opcode=SEND sg=A.mr0[0:{size}]")


def item(text: str, lab: str = TEMPLATE) -> Item:
    student = submission.loads(text, "w").student
    return Item(lab, "x.lab.yaml", text, f"{student}.yaml", given(student))


def test_one_work_without_a_student_is_not_right_for_every_student() -> None:
    """It is judged with the values that are drawn for the student that the command line names."""
    sizes = {id_: loaded(TEMPLATE, id_).params["size"] for id_ in ("anonymous", "s1", "s2", "s3")}
    work = right("anonymous")
    for student in ("s1", "s2", "s3"):
        found = grade_submission(Item(TEMPLATE, "x", work, "w.yaml", given(student)))
        assert found.student == student
        assert (found.score == 5) is (sizes[student] == sizes["anonymous"])
    assert len(set(sizes.values())) > 1


def test_a_file_that_is_cut_off_is_unreadable_and_no_work_of_0_points(tmp_path: Path) -> None:
    """A file that lacks only the newline at its end is whole, as its log shows."""
    path = tmp_path / "x.lab.yaml"
    path.write_text(TEMPLATE)
    lab = Exercise(str(path), student="s1")
    lab.do(RECV)
    lab.answer("answer-of-b", "2")
    lab.submit(str(tmp_path / "s1.yaml"))
    whole = item((tmp_path / "s1.yaml").read_text())
    text = whole.text
    assert grade_submission(replace(whole, text=text.rstrip())).log == "intact"
    ends = range(text.index("lines:") + 10, len(text) - 1, 7)
    for cut in (text[:end] for end in ends if text[end - 1] != "\n"):
        assert grade_submission(replace(whole, text=cut)).verdict == "unreadable", cut
    in_a_line = replace(whole, text=text[: text.index("answers:") - 3])
    assert "it is cut off" in grade_submission(in_a_line).reason


def test_what_is_known_is_not_graded_again(tmp_path: Path) -> None:
    items = [item(right(f"s{n}")) for n in range(6)]
    path = str(tmp_path / "grades.jsonl")
    with ResultFile(path) as file:
        for each, grade in grades(items[:4], LocalPool(jobs=2), {}):
            assert grade.score == 5
            file.add(row_of(each.key, grade))
    with Path(path).open("a") as out:
        out.write('{"key": "torn')
    before = known(path)
    assert set(before) == {each.key for each in items[:4]}
    again = [each for each, _ in grades(items, LocalPool(jobs=2), before)]
    assert again[:4] == items[:4]
    assert sorted(each.key for each in again[4:]) == sorted(each.key for each in items[4:])
    other = item(items[0].text, TEMPLATE + "\n# changed\n")
    assert other.key not in before


def test_the_same_log_of_two_students_is_named() -> None:
    text = submission.written(LabSession(TEMPLATE, "x.lab.yaml", "s1").submission())
    copied = text.replace("student: s1", "student: s5")
    other = submission.written(LabSession(TEMPLATE, "x.lab.yaml", "s2").submission())
    found = [grade_submission(item(each)) for each in (text, copied, text, other, right("s3"))]
    assert [[each.student for each in same] for same in same_logs(found)] == [["s1", "s5", "s1"]]


def test_a_work_for_another_version_of_the_lab_is_graded_on_demand(tmp_path: Path) -> None:
    """The message names the option; a refusal that is kept in a file is no obstacle."""
    changed = TEMPLATE.replace("points: 3", "points: 4")
    work, path = item(right("s1"), changed), str(tmp_path / "grades.jsonl")
    with ResultFile(path) as file:
        for each, grade in grades([work], LocalPool(jobs=1), {}):
            file.add(row_of(each.key, grade))
            assert (grade.verdict, grade.version) == ("unreadable", "")
            assert f"another version of the lab: {DIGEST}, now " in grade.reason
            assert "; --any-version judges it by the lab as it is now" in grade.reason
    before = known(path)
    asked = replace(work, any_version=True)
    ((_, grade),) = grades([asked], LocalPool(jobs=1), before)
    assert (grade.verdict, grade.score, grade.version) == ("graded", 6, DIGEST)
    assert f"the work is for another version of the lab: {DIGEST}" in report(grade)
    ((_, kept),) = grades([work], LocalPool(jobs=1), {work.key: grade})
    assert kept.score == 6
    assert grade_submission(replace(item(right("s1")), any_version=True)).version == ""
    foreign = item(right("s1").replace("LAB-ID", "other"))
    assert grade_submission(replace(foreign, any_version=True)).verdict == "unreadable"


HOSTILE = {
    "endless RNR": ["post_send A.qp0 opcode=SEND sg=A.mr0[0:16]", *["run"] * 40],
    "endless program": ["program A.x lines={ loop\nsleep 10ns\nend }", *["run 1s"] * 20],
    "much memory": [f"reg_mr A.m{n} pd=A.pd0 length=2147483648 access=0" for n in range(290)],
    "a long line": ["post_recv B.qp0 sg=" + ",".join(["B.mr0[0:1]"] * 9_000)],
    "brackets": ["until " + "(" * 20_000],
    "files": ["load /etc/passwd", "save /tmp/x", "export /tmp/y"],
    "travel": ["goto start; goto end"] * 290,
    "too many lines": ["run 1us"] * 9_999,
    "much time": ["run 86400s"],
    "nonsense": ["\u202e\x1b[2J", "why", "quit", "new", "open rdmalab:2:AAAA"],
}


def test_a_hostile_submission_ends_within_its_limits_and_never_passes() -> None:
    limits = Limits(cpu_s=6, wall_s=20)
    items = [item(handed_in(name.replace(" ", "-"), *lines)) for name, lines in HOSTILE.items()]
    begun_s = time.monotonic()
    found = dict(grades([*items, item(right("s1"))], LocalPool(limits, 2), {}))
    assert time.monotonic() - begun_s < 60  # ten of them, two at a time
    assert found.pop(item(right("s1"))).score == 5
    assert len(found) == len(HOSTILE)
    for each, grade in found.items():
        assert grade.verdict in ("graded", "cut", "unreadable"), (each.text[:200], grade.reason)
        assert grade.score < 5


@pytest.mark.slow
def test_kill_in_the_middle_loses_no_grade(tmp_path: Path) -> None:
    """SIGKILL of the grader and all its workers; the second run does only what is left."""
    lab, works, out = tmp_path / "x.lab.yaml", tmp_path / "works", tmp_path / "out"
    lab.write_text(TEMPLATE)
    works.mkdir()
    for number in range(40):
        (works / f"s{number}.yaml").write_text(right(f"s{number}"))
    words = [sys.executable, "-m", "rdmalab", "grade", str(lab), str(works), "--out", str(out)]
    child = subprocess.Popen(
        [*words, "--jobs", "2"], start_new_session=True, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    ledger = out / "grades.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (
        not ledger.exists() or ledger.read_text().count("\n") < 5
    ):
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    before = known(str(ledger))
    ended = subprocess.run(
        [*words, "--format", "json"], capture_output=True, text=True, check=True, timeout=120
    )
    assert [each["score"] for each in json.loads(ended.stdout)] == [5] * 40
    rows = ledger.read_text().splitlines()
    keys = [json.loads(row)["key"] for row in rows if row.endswith("}")]
    assert len(keys) == len(set(keys)) == 40
    assert 0 < len(before) <= 40


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # dask's own
def test_a_killed_worker_of_a_cluster_loses_no_grade() -> None:
    distributed = pytest.importorskip("distributed")
    items = [item(right(f"s{n}")) for n in range(24)]
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        found: list[str] = []
        for each, grade in grades(items, ClusterPool(cluster.scheduler_address), {}):
            assert grade.score == 5
            found.append(each.key)
            if len(found) == 3:
                victim = next(iter(cluster.workers.values())).process.process
                os.kill(victim.pid, signal.SIGKILL)
    assert sorted(found) == sorted(each.key for each in items)


def test_likeness_leaves_out_numbers_and_what_a_solution_has_too() -> None:
    lines = [f"post_send A.qp{n} opcode=SEND" for n in range(3)]
    works = {
        "a": [*lines, "run 1us", "poll_cq A.cq0"],
        "b": [line.replace("qp", "qp1") for line in lines] + ["run 7us", "poll_cq  A.cq0"],
        "c": ["reset A.qp0", "run", "show", "poll_cq A.cq0"],
        "d": [],
    }
    assert [(one, other) for _, one, other in alike(works, [], 0.9)] == [("a", "b")]
    assert alike(works, [works["a"]], 0.9) == []
