"""Grades in other formats: escaped, and what is hidden stays with the instructor."""

import csv
import json
from io import StringIO
from xml.etree import ElementTree

from rdmalab.classroom import formats
from rdmalab.classroom.grade_document import Cause, FoulReport, Grade, Result
from rdmalab.classroom.likeness import alike
from rdmalab.classroom.roster import ids_of

GRADES = [
    Grade(
        lab="sq", student="s1", score=3, of=6,
        results=[
            Result(id="see", points=1, score=1, passed=True),
            Result(id="fix", points=2, score=2, passed=True),
            Result(id="h", points=3, passed=False, hidden=True, wrong=["secret == 1"],
                   cause=Cause(id="loss", rationale="FAILED  x", help="<look> & see")),
        ],
        foul=[FoulReport(line=2, text="x", why="not allowed")],
    ),
    Grade(lab="sq", student="=s2", verdict="cut", reason="more than 3 lines", of=6,
          results=[Result(id="see", points=1, passed=False, wrong=["the answer is 7"]),
                   Result(id="fix", points=2, reason="more than 3 lines")]),
]  # fmt: skip


def test_a_table_has_a_column_for_each_task_and_no_formula() -> None:
    rows = list(csv.reader(StringIO(formats.as_csv(GRADES))))
    assert rows[0] == ["student", "score", "of", "verdict", "reason", "file", "see", "fix", "h"]
    assert rows[1] == ["s1", "3", "6", "graded", "", "", "1", "2", "0"]
    assert rows[2][:4] == ["'=s2", "0", "6", "cut"]
    moodle = list(csv.reader(StringIO(formats.as_moodle(GRADES))))
    assert moodle[1] == ["s1", "3", "h: <look> & see."]


def test_junit_counts_what_failed_and_what_was_not_judged() -> None:
    root = ElementTree.fromstring(formats.as_junit(GRADES))
    assert [suite.get("failures") for suite in root] == ["1", "1"]
    failure = root[0][2].find("failure")
    assert failure is not None
    assert (failure.get("message"), failure.text) == ("<look> & see", "secret == 1")
    assert root[1][1].find("skipped") is not None


def test_gradescope_shows_no_hidden_goal() -> None:
    document = json.loads(formats.as_gradescope(GRADES[0]))
    assert document["score"] == 3
    assert document["output"] == "public 3 of 3, hidden 3 points"
    assert [test["visibility"] for test in document["tests"]] == ["visible"] * 2 + [
        "after_published"
    ]
    assert "secret" not in json.dumps(document)
    assert json.loads(formats.as_gradescope(GRADES[1]))["output"] == "cut: more than 3 lines"


def test_a_report_is_for_the_student() -> None:
    text = formats.report(GRADES[0])
    assert "- h  0 of 3  <look> & see" in text
    assert "! line 2 was skipped: not allowed" in text
    assert "secret" not in text
    assert "cut: more than 3 lines" in formats.report(GRADES[1])


def test_the_table_of_causes_counts_by_task() -> None:
    assert formats.causes(GRADES).splitlines() == [
        "see: 1 failed", "     1  the answer is 7", "fix: 0 failed", "h: 1 failed", "     1  loss",
    ]  # fmt: skip


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


def test_a_roster_is_a_list_or_the_first_column() -> None:
    assert ids_of("id,name\ns1,x\ns2,y\n\ns1,z\n") == ["s1", "s2"]
    assert ids_of("s1\ns2\n") == ["s1", "s2"]
    assert ids_of("") == []
