"""Grades in other formats: escaped, and what is hidden stays with the instructor."""

import csv
import json
from io import StringIO
from xml.etree import ElementTree

from rdmalab.book.course_pages import report_page
from rdmalab.classroom import formats
from rdmalab.classroom.grade_document import Cause, FoulReport, Grade, Result, complaints
from rdmalab.classroom.gradebook import LabColumn, StudentRow, note
from rdmalab.classroom.work_log import LogState, WorkRecord
from tests.classroom.labs import graded, text_of

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
          results=[Result(id="see", points=1, passed=False, wrong=["answered 7"]),
                   Result(id="fix", points=2, reason="more than 3 lines")]),
]  # fmt: skip


def test_a_table_has_a_column_for_each_task_and_no_formula() -> None:
    rows = list(csv.reader(StringIO(formats.as_csv(GRADES))))
    assert rows[0] == ["student", "score", "of", "verdict", "reason", "file", "late",
                       "penalty", "log", "see", "fix", "h"]  # fmt: skip
    assert rows[1] == ["s1", "3", "6", "graded", "", "", "", "", "", "1", "2", "0"]
    assert rows[2][:4] == ["'=s2", "0", "6", "cut"]
    moodle = list(csv.reader(StringIO(formats.as_moodle(GRADES))))
    assert moodle[1] == ["s1", "3", "h: <look> & see.", ""]


def test_junit_counts_what_failed_and_what_was_not_judged() -> None:
    root = ElementTree.fromstring(formats.as_junit(GRADES))
    assert [suite.get("failures") for suite in root] == ["1", "1"]
    failure = root[0][2].find("failure")
    assert failure is not None
    assert (failure.get("message"), failure.text) == ("<look> & see", "secret == 1")
    assert (root[0].get("errors"), root[1].get("errors")) == ("0", "1")
    error = root[1][0].find("error")
    assert error is not None
    assert error.get("message") == "cut: more than 3 lines"
    assert root[1][2].find("skipped") is not None


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
    assert "- h  0 of 3 points  <look> & see" in text
    assert "! line 2 was skipped: not allowed" in text
    assert "secret" not in text
    assert "cut: more than 3 lines" in formats.report(GRADES[1])


def test_the_table_of_causes_counts_by_task() -> None:
    assert formats.causes(GRADES).splitlines() == [
        "2 works, on average 1.5 of 6 points",
        "see: 1 of 2 failed", "     1  answered 7", "fix: 0 of 2 failed, 1 not judged",
        "h: 1 of 1 failed", "     1  loss: the cable loses or reorders packets",
    ]  # fmt: skip


def test_a_work_that_was_not_judged_is_an_error_and_names_its_student() -> None:
    """In JUnit, the report, Gradescope and Moodle, where it gets no grade."""
    lost = Grade(lab="sq", student="s7", file="x/s7.yaml", verdict="unreadable", reason="no: YAML.")
    root = ElementTree.fromstring(formats.as_junit([lost]))
    assert (root[0].get("name"), root[0].get("tests"), root[0].get("errors")) == ("s7", "1", "1")
    moodle = list(csv.reader(StringIO(formats.as_moodle([lost]))))
    assert moodle[1] == ["s7", "", "unreadable: no: YAML.", ""]
    assert "s7  0 of 0\nunreadable: no: YAML." in formats.report(lost)
    assert json.loads(formats.as_gradescope(lost))["output"] == "unreadable: no: YAML."


def test_a_late_work_shows_what_it_loses_and_which_does_not_count() -> None:
    late = GRADES[0].model_copy(
        update={"late_s": 3 * 3600 + 61, "penalty": 0.3, "others": ["a.yaml: 1 of 6"]}
    )
    row = list(csv.reader(StringIO(formats.as_csv([late]))))[1]
    assert (row[1], row[6:8]) == ("2.7", ["3 h 2 min", "0.3"])
    feedback = "late by 3 h 2 min, 0.3 points less. not counted: a.yaml: 1 of 6."
    moodle = list(csv.reader(StringIO(formats.as_moodle([late]))))
    assert moodle[1][1:] == ["2.7", f"{feedback} h: <look> & see.", ""]
    assert json.loads(formats.as_gradescope(late))["score"] == 2.7


def test_each_output_says_for_what_points_were_lost() -> None:
    """Of a passed task the hints, of the work the questions to the doctor."""
    hinted = Result(id="fix", points=2, score=1, passed=True, reason="1 point less for hints")
    grade = Grade(lab="sq", student="s1", of=2, results=[hinted], doctor=1)
    asked = "1 point less for why, checklist and apply"
    column = LabColumn(id="sq", title="T", of=2, weight=1, due=None, counts=True)
    row = StudentRow(id="s1", name="", email="", total=None, to_be_marked=[], grades={"sq": grade})
    for text in (
        formats.report(grade), formats.as_moodle([grade]), formats.as_gradescope(grade),
        report_page(row, [column], {}).decode(),
    ):  # fmt: skip
        assert hinted.reason in text
        assert asked in text


def test_sentences_of_feedback_end_once() -> None:
    wrong = Result(id="t", points=1, passed=False, cause=Cause(help="Poll what is returned."))
    assert formats.feedback(Grade(results=[wrong])) == ["t: Poll what is returned."]


def test_the_table_has_no_word_of_the_doctor_that_is_no_cause() -> None:
    """`well` and `completed` are standings; the goal that is not met says more.

    Goals that differ by a drawn value are one.
    """
    grades = [
        Grade(of=1, params={"x": value}, results=[
            Result(id="t", points=1, passed=False, wrong=[f"B.x == {value}: B.x = 0"],
                   cause=Cause(id=slug))
        ]) for slug, value in (("well", "17"), ("completed", "21"), ("", "1"))
    ]  # fmt: skip
    assert formats.causes(grades).splitlines() == [
        "3 works, on average 0 of 1 point",
        "t: 3 of 3 failed", "     2  no error is found, and this is not met: B.x == ${x}",
        "     1  B.x == 1: B.x = 0",
    ]  # fmt: skip


def test_files_of_reports_have_no_path() -> None:
    grades = [Grade(student="../../etc/passwd"), Grade(label=".."), Grade(file="a/../b c.yaml"),
              Grade(student="S1"), Grade(student="s1")]  # fmt: skip
    assert list(formats.file_names(grades)) == ["etc-passwd", "work", "b-c", "S1", "s1-2"]


def test_a_log_that_is_edited_or_missing_stands_in_every_output() -> None:
    def with_log(state: LogState) -> Grade:
        record = WorkRecord(entries=1, seconds=1, asked_why=0, submitted=1, state=state)
        return GRADES[0].model_copy(update={"record": record})

    for state in ("edited", "missing"):
        grade = with_log(state)
        text = f"the log of the work is {state}"
        rows = list(csv.reader(StringIO(formats.as_csv([grade]))))
        assert dict(zip(*rows, strict=True))["log"] == state
        moodle = list(csv.reader(StringIO(formats.as_moodle([grade]))))
        assert (moodle[0][3], moodle[1][3]) == ("Log", state)
        assert f"{text}." in moodle[1][2]
        assert text in formats.report(grade)
        assert text in json.loads(formats.as_gradescope(grade))["output"]
        assert f'<property name="log" value="{state}" />' in formats.as_junit([grade])
        assert note(grade) == f"log {state}"
        assert grade.model_dump()["record"]["state"] == state
    intact = with_log("intact")
    assert "log" not in formats.report(intact)
    assert note(intact) == ""
    assert (
        dict(zip(*csv.reader(StringIO(formats.as_csv([intact]))), strict=True))["log"] == "intact"
    )


def test_an_essay_that_is_not_marked_is_neither_failed_nor_graded() -> None:
    essay = Result(id="e", points=4, by_hand=True, given="B waits.", reason="noted")
    grade = Grade(lab="sq", student="s1", score=1, of=5, results=[GRADES[0].results[0], essay])
    assert "? e  to be marked, 4 points  noted" in formats.report(grade)
    assert json.loads(formats.as_gradescope(grade))["tests"][1] == {
        "name": "e", "max_score": 4, "output": "noted", "visibility": "visible",
    }  # fmt: skip
    moodle = list(csv.reader(StringIO(formats.as_moodle([grade]))))
    assert moodle[1] == ["s1", "", "e: noted.", ""]
    marked = essay.model_copy(update={"fixed": True, "score": 3, "passed": True})
    grade = grade.model_copy(update={"results": [marked], "score": 4})
    assert json.loads(formats.as_gradescope(grade))["tests"][0]["score"] == 3
    assert list(csv.reader(StringIO(formats.as_moodle([grade]))))[1][1] == "4"


def test_a_report_has_the_question_and_the_answer_of_each_task() -> None:
    text = text_of(
        "  - id: a\n    ask: Which packet?\n    choice:\n"
        "    - {text: An ACK., right: true}\n    - text: A NAK.\n"
        "  - id: h\n    hidden: true\n    announce: More.\n    ask: Secret?\n    goal: [now > 9]\n"
    )
    grade = graded(text, a="2")
    book = LabColumn(id="tried", title="t", of=1, weight=1, due=None, counts=True)
    student = StudentRow(id="s1", name="", email="", total=None, to_be_marked=[],
                         grades={"tried": grade})  # fmt: skip
    page = report_page(student, [book], {}).decode()
    assert "Which packet?" in page
    assert "<pre>b) A NAK.</pre>" in page
    assert "Secret?" not in page
    assert 'class="met"' not in page  # that of an expectation in the book, with another margin


def test_works_with_the_same_reason_are_one_complaint() -> None:
    def lost(file: str, reason: str) -> Grade:
        return Grade(file=file, verdict="unreadable", reason=reason)

    found = [lost(f"{n}.yaml", "drawn with no salt") for n in range(5)] + [lost("x", "no YAML")]
    assert list(complaints(found)) == [
        "unreadable: 5 works (0.yaml, 1.yaml, 2.yaml, …): drawn with no salt",
        "unreadable: x: no YAML",
    ]
