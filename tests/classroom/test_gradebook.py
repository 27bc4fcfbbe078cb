"""A course: one gradebook over all labs, remarks that are kept, reports, feedback for others."""

import csv
import json
import zipfile
from io import StringIO
from pathlib import Path

import pytest

from rdmalab.cli import Exit, main
from tests.classroom.courses import CourseFolder, handed_in, right

S1, S2, S3, S4 = "s001", "s002", "s003", "s004"


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CourseFolder:
    monkeypatch.chdir(tmp_path)
    made = CourseFolder(tmp_path, 4)
    one, two = made.texts["one"], made.texts["two"]
    made.put("one", S1, right(one, S1))
    made.put("one", S2, handed_in(one, S2, "run 1us", answer_of_b="1"))
    made.put("one", S3, right(one, S1))  # the work of S1
    made.put("two", S1, right(two, S1, essay="The receive names the buffer."))
    made.put("two", S2, right(two, S2, essay="=HYPERLINK(1)"), day=32)  # two days late
    return made


def rows(folder: Path) -> dict[str, dict[str, str]]:
    """The gradebook by student."""
    text = (folder / "marks/gradebook.csv").read_text()
    return {row["student"]: row for row in csv.DictReader(StringIO(text))}


def remark_rows(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO((folder / "remarks.csv").read_text())))


def test_one_gradebook_over_all_labs(
    course: CourseFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["course", "grade"]) == Exit.FAILED  # a work names another student
    answer = capsys.readouterr()
    assert "foreign: " in answer.err
    assert "2 answers to be marked; write their points" in answer.err
    found = rows(course.folder)
    assert (found[S1]["one (5)"], found[S1]["two (7)"]) == ("5", "5")
    assert (found[S2]["one (5)"], found[S2]["two (7)"]) == ("0", "4")  # 5 less 2 x 10 %
    assert (found[S2]["two note"], found[S3]["one note"]) == ("late", "foreign")
    assert (found[S4]["one (5)"], found[S4]["one note"]) == ("", "missing")
    assert found[S1]["total %"] == "81"  # (1 x 5/5 + 2 x 5/7) / 3
    assert found[S1]["to be marked"] == "two essay"
    book = json.loads((course.folder / "marks/gradebook.json").read_text())
    assert book["students"][1]["grades"]["two"]["penalty"] == 1
    assert [each["counts"] for each in book["labs"]] == [True, True]
    page = (course.folder / "marks/gradebook.html").read_text()
    assert 'href="reports/s001.html"' in page


def test_a_removed_log_stands_in_the_gradebook_and_on_the_page_of_the_student(
    course: CourseFolder,
) -> None:
    work = right(course.texts["one"], S1).split("log:")[0]
    course.put("one", S1, work)
    main(["course", "grade"])
    assert rows(course.folder)[S1]["one note"] == "log missing"
    assert "log missing" in (course.folder / "marks/gradebook.html").read_text()
    page = next((course.folder / "marks/reports").glob(f"*{S1}*.html")).read_text()
    assert "the log of the work is missing" in page


def test_what_a_person_gave_is_kept_and_counts(
    course: CourseFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["course", "grade"])
    before = (course.folder / "remarks.csv").read_text()
    assert [(row["student"], row["task"], row["answer"]) for row in remark_rows(course.folder)] == [
        (S1, "essay", "The receive names the buffer."), (S2, "essay", "'=HYPERLINK(1)"),
    ]  # fmt: skip
    marked = before.replace(f"{S1},two,essay,,", f"{S1},two,essay,1.5,Almost.")
    marked += f"{S4},one,,3,Shown in class.\n{S1},one,deliver,2,Too many lines.\n"
    (course.folder / "remarks.csv").write_text(marked)
    course.put("one", S4, "nothing")  # and something new comes in
    assert main(["course", "grade"]) == Exit.FAILED
    assert (course.folder / "remarks.csv").read_text() == marked  # not a byte is changed
    found = rows(course.folder)
    assert (found[S1]["two (7)"], found[S1]["to be marked"]) == ("6.5", "")
    assert (found[S1]["one (5)"], found[S1]["one note"]) == ("4", "by hand")
    assert (found[S4]["one (5)"], found[S4]["one note"]) == (
        "3", "unreadable, by hand, Shown in class."
    )  # fmt: skip
    assert found[S2]["to be marked"] == "two essay"
    report = (course.folder / f"marks/one/reports/{S1}.html").read_text()
    assert "Too many lines." in report
    assert "Almost." in (course.folder / f"marks/reports/{S1}.html").read_text()
    moodle = list(csv.DictReader(StringIO((course.folder / "marks/two/moodle.csv").read_text())))
    assert moodle[0]["Grade"] == "6.5"


def test_a_lab_without_works_is_not_in_the_total_and_the_report_says_it(
    course: CourseFolder,
) -> None:
    for path in (course.folder / "downloads" / "two").rglob("*.yaml"):
        path.unlink()
    main(["course", "grade"])
    assert rows(course.folder)[S1]["total %"] == "100"
    assert rows(course.folder)[S1]["two note"] == "missing"
    page = (course.folder / f"marks/reports/{S1}.html").read_text()
    assert "no work of this lab is handed in yet; it is not in the total" in page


def test_a_damaged_work_names_its_file_once(
    course: CourseFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    path = course.put("one", S4, "rdmalab: 1\nkind: submission\nlines: [\x00\n")
    main(["course", "grade"])
    (answer,) = [row for row in capsys.readouterr().err.splitlines() if "unreadable: " in row]
    assert answer.count(path.name) == 1, answer


def test_a_file_of_another_kind_is_an_unreadable_work_and_not_a_missing_one(
    course: CourseFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    course.put("one", S4, "%PDF-1.4", name="work.pdf")
    course.put("one", S1, "%PDF-1.4", name="more.pdf", day=9)  # newer than the work that counts
    main(["course", "status"])
    assert "nothing handed in" not in capsys.readouterr().out
    main(["course", "grade"])
    found = rows(course.folder)
    assert (found[S4]["one (5)"], found[S4]["one note"]) == ("", "unreadable")
    assert found[S1]["one (5)"] == "5"
    err = capsys.readouterr().err
    assert "work.pdf: a PDF; ask for the file that submit writes, or for its word" in err
    for file in (f"one/reports/{S4}.html", "one/moodle.csv"):
        assert "a PDF; ask for" in (course.folder / "marks" / file).read_text()
    course.put("one", S4, right(course.texts["one"], S4))
    main(["course", "grade"])
    assert rows(course.folder)[S4]["one (5)"] == "5"


def test_points_do_not_count_for_another_answer(course: CourseFolder) -> None:
    main(["course", "grade"])
    path = course.folder / "remarks.csv"
    path.write_text(path.read_text().replace(f"{S1},two,essay,,", f"{S1},two,essay,2,Good."))
    text = right(course.texts["two"], S1, essay="Another text.")
    course.put("two", S1, text, "newer.yaml", day=2)
    main(["course", "grade"])
    assert rows(course.folder)[S1]["two (7)"] == "5"
    assert rows(course.folder)[S1]["to be marked"] == "two essay"
    answers = [row["answer"] for row in remark_rows(course.folder) if row["student"] == S1]
    assert answers == ["The receive names the buffer.", "Another text."]


def test_mark_adds_a_row(course: CourseFolder, capsys: pytest.CaptureFixture[str]) -> None:
    main(["course", "grade"])
    words = ["course", "mark", S1, "two", "essay", "--points", "2", "--remark", "Very clear."]
    assert main(words) == Exit.WELL
    assert main(["course", "report"]) == Exit.WELL
    assert rows(course.folder)[S1]["total %"] == "100"
    assert main(["course", "mark", "First1 Last1", "one", "--points", "3"]) == Exit.WELL
    capsys.readouterr()
    assert main(["course", "report", "--student", "first1 last1"]) == Exit.WELL
    assert capsys.readouterr().out == f"marks/reports/{S2}.html\n"
    assert rows(course.folder)[S2]["one (5)"] == "3"
    for wrong, answer in (
        (["s0x", "two", "--points", "2"], 'no student "s0x": legal here: s001'),
        ([S1, "tow", "--points", "2"], 'no lab "tow": did you mean two?'),
        ([S1, "two", "esay", "--points", "2"], 'no task "esay" in two: did you mean essay?'),
        ([S1, "two", "essay", "--points", "many"], '--points "many": write a number from 0'),
        ([S1, "two", "essay", "--points", "20"], "20 points: essay is worth 2"),
        ([S1, "two", "--points", "99.5"], "99.5 points: two is worth"),
        ([S1, "two"], "give --points or --remark"),
    ):
        assert main(["course", "mark", *wrong]) == Exit.USAGE
        assert answer in " ".join(capsys.readouterr().err.split())


def test_the_status_of_each_lab(course: CourseFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["course", "status"]) == Exit.WELL
    assert not (course.folder / "marks").exists()  # nothing is written
    first = capsys.readouterr().out.splitlines()
    assert first[1].split() == ["one", "2026-11-30", "23:59", "3", "of", "4", *"000003"]
    main(["course", "grade"])
    capsys.readouterr()
    assert main(["course", "status"]) == Exit.WELL
    out = capsys.readouterr().out
    assert out.splitlines()[1].split()[3:] == ["3", "of", "4", "2", "0", "0", "1", "0", "0"]
    assert out.splitlines()[2].split()[3:] == ["2", "of", "4", "2", "1", "0", "0", "2", "0"]
    assert "nothing handed in: s004" in out
    assert main(["course", "status", "--json"]) == Exit.WELL
    assert json.loads(capsys.readouterr().out)["students"][0]["id"] == S1


def test_reports_have_the_drawing_of_what_went_wrong(course: CourseFolder) -> None:
    lines = ("post_send A.qp0 opcode=SEND sg=A.mr0[0:16]", "run 1ms")
    course.put("one", S4, handed_in(course.texts["one"], S4, *lines, answer_of_b="1"))
    main(["course", "grade"])
    page = (course.folder / f"marks/one/reports/{S4}.html").read_text()
    assert "<svg" in page
    assert "RNR" in page
    assert "SEND_ONLY psn=0" in page
    assert page.count("RNR_NAK") < 20  # the retries after the last line are not drawn
    assert "Look at show wire." in page  # the feedback of the lab
    assert "B has no receive for it. Post one on B.qp0." in page
    assert "<script" not in page
    assert "<svg" not in (course.folder / f"marks/one/reports/{S1}.html").read_text()
    drawn = (course.folder / "marks/ladders.jsonl").read_text()
    main(["course", "report", "--student", S4])
    assert (course.folder / "marks/ladders.jsonl").read_text() == drawn  # not drawn again


def test_feedback_goes_back_to_moodle_and_gradescope(course: CourseFolder) -> None:
    main(["course", "grade"])
    with zipfile.ZipFile(course.folder / "marks/one/moodle-feedback.zip") as archive:
        names = archive.namelist()
        page = archive.read(f"{course.moodle(S1)}/one.html").decode()
    assert names == [f"{course.moodle(each)}/one.html" for each in (S1, S2, S3)]
    assert "5 of 5 points" in page
    result = json.loads((course.folder / f"marks/two/gradescope/{S2}.json").read_text())
    assert (result["score"], len(result["tests"])) == (4, 4)
    assert "late by" in result["output"]


def test_a_course_without_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = CourseFolder(tmp_path, 2)
    assert main(["course", "report"]) == Exit.NOTHING
    assert main(["course", "grade"]) == Exit.WELL
    assert rows(made.folder)[S1]["total %"] == ""
