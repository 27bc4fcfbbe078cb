"""`rdmalab lab` and `rdmalab grade` at the command line."""

import csv
import json
import os
import re
from datetime import UTC, datetime
from importlib import import_module
from io import StringIO
from pathlib import Path

import pytest

from rdmalab.book.catalogue import catalogue
from rdmalab.book.lesson_page import public
from rdmalab.classroom import submission
from rdmalab.classroom.exercise import Exercise
from rdmalab.classroom.lab_file import load
from rdmalab.cli import Exit, main
from rdmalab.tui import launch
from tests.classroom.labs import TEMPLATE, text_of
from tests.classroom.test_grading import handed_in, right


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.lab.yaml").write_text(TEMPLATE)
    return tmp_path / "x.lab.yaml"


def test_a_new_lab_is_checked_without_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["lab", "new", "mine"]) == Exit.WELL
    assert main(["lab", "new", "mine"]) == Exit.USAGE
    assert main(["lab", "new", "My Lab"]) == Exit.WELL
    assert "rdmalab lab check 'My Lab.lab.yaml'" in capsys.readouterr().err
    assert load("My Lab.lab.yaml", "1").document.id == "My-Lab"
    assert main(["lab", "check", "mine.lab.yaml", "--students", "2"]) == Exit.WELL
    checked = capsys.readouterr()
    assert "warning" not in checked.out + checked.err


def test_a_lab_from_its_beginning_to_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A lecturer: draw, publish, grade, read the table."""
    monkeypatch.chdir(tmp_path)
    text = TEMPLATE.replace("LAB-ID", "mine")
    (tmp_path / "mine.lab.yaml").write_text(text)
    assert main(["run", "mine.lab.yaml"]) == Exit.WELL
    capsys.readouterr()
    (tmp_path / "class.csv").write_text("id,name\ns1,x\ns2,y\n")
    assert main(["lab", "draw", "mine.lab.yaml", "--roster", "class.csv", "--json"]) == Exit.WELL
    assert set(json.loads(capsys.readouterr().out)) == {"s1", "s2"}
    assert main(["lab", "publish", "mine.lab.yaml", "-o", "handout.lab.yaml"]) == Exit.WELL
    assert "solutions" not in (tmp_path / "handout.lab.yaml").read_text()
    digest = capsys.readouterr().err.split()[-1]
    works = tmp_path / "works"
    works.mkdir()
    named = right("s1", text)
    lines = [line for line in named.splitlines() if not line.startswith("lab:")]
    (works / "s1.yaml").write_text("\n".join([*lines, f"lab: mine {digest}"]))
    (works / "2.txt").write_text("nothing of that kind")
    words = ["grade", "mine.lab.yaml", "works", "--roster", "class.csv", "--out", "marks"]
    assert main([*words, "--alike", "0.5"]) == Exit.FAILED  # 2.txt is unreadable
    answer = capsys.readouterr()
    assert "mine  s1  5 of 5" in answer.out
    assert "unreadable" in answer.out
    assert "nothing handed in: s2" in answer.err
    assert (tmp_path / "marks/grades.csv").read_text().count("\n") == 3
    assert (tmp_path / "marks/reports/s1.txt").exists()
    (works / "2.txt").unlink()
    assert main(words) == Exit.WELL
    assert main([*words, "--require", "6"]) == Exit.FAILED


def test_lab_check_warns_of_a_lock_on_a_name_that_nothing_has(
    lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.write_text(TEMPLATE.replace("rules:\n", "rules:\n  lock: [B.mr7]\n"))
    assert main(["lab", "check", str(lab), "--students", "1"]) == Exit.WELL
    assert f"{lab}: warning: nothing is called B.mr7 after the setup" in capsys.readouterr().out


def test_publish_replaces_no_lab_of_an_instructor(
    lab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither its source nor another lab with solutions; an older file for students is replaced."""
    other = tmp_path / "other.lab.yaml"
    other.write_text(TEMPLATE.replace("LAB-ID", "other"))
    for out in (lab, other):
        before = out.read_text()
        assert main(["lab", "publish", str(lab), "-o", str(out)]) == Exit.USAGE
        assert f"{out} exists and is not a lab for students" in capsys.readouterr().err
        assert out.read_text() == before
    for salt in ([], ["--salt", "2026"]):
        handout = ["-o", str(tmp_path / "handout.lab.yaml")]
        assert main(["lab", "publish", str(lab), *handout, *salt]) == Exit.WELL


def test_publish_names_the_tasks_whose_tries_have_no_effect(
    lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.write_text(TEMPLATE.replace("    choice:\n", "    tries: 1\n    choice:\n", 1))
    for option, said in (([], True), (["--live"], False)):
        assert main(["lab", "publish", str(lab), "-o", "out.lab.yaml", *option]) == Exit.WELL
        assert ("answer-of-b: tries has no effect" in capsys.readouterr().err) is said


def test_a_sheet_has_the_values_that_the_student_gets(
    lab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is made of the published file, whose salt draws them, and says how that is loaded."""
    assert main(["lab", "publish", str(lab), "-o", "mine.lab.yaml", "--salt", "2026"]) == Exit.WELL
    (tmp_path / "class.csv").write_text("".join(f"id{n}\n" for n in range(1, 9)))
    assert main(["book", "sheets", str(lab), "--roster", "class.csv"]) == Exit.USAGE
    told = capsys.readouterr().err
    assert f"{lab} is a file of the instructor" in told
    assert f"rdmalab lab publish {lab} -o handout.lab.yaml --salt TEXT" in told
    assert not (tmp_path / "sheets").exists()
    words = ["book", "out", "mine.lab.yaml", "--roster", "class.csv", "--jobs", "1"]
    assert main(words) == Exit.WELL
    for number in range(1, 9):
        page = (tmp_path / f"out/sheets/id{number}.html").read_text()
        size = load("mine.lab.yaml", f"id{number}").params["size"]
        assert f"load mine.lab.yaml student=id{number}" in page
        assert re.search(rf"size</\w+><td[^>]*>{size}<", page), page


def test_values_are_drawn_for_each_id_of_a_table(
    lab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The column is found by its name, as by `grade`; a row without an id is reported."""
    (tmp_path / "class.csv").write_text("name,ID number\nx,s1\ny,s2\nz,\n")
    assert main(["lab", "draw", str(lab), "--roster", "class.csv", "--json"]) == Exit.WELL
    drawn = capsys.readouterr()
    assert set(json.loads(drawn.out)) == {"s1", "s2"}
    assert "class.csv: line 4 has no id: z" in drawn.err


@pytest.mark.parametrize("option", [[], ["--live"]])
def test_a_handout_has_seals_or_nothing_for_right_answers(option: list[str], lab: Path) -> None:
    assert main(["lab", "publish", str(lab), "-o", "out.lab.yaml", *option]) == Exit.WELL
    handout = Path("out.lab.yaml").read_text()
    assert "right:" not in handout
    assert ("sealed" in handout, "judged: grader" in handout) == (bool(option), not option)


@pytest.mark.parametrize("form", ["text", "json", "csv", "junit", "gradescope", "moodle"])
def test_each_form_names_the_student(
    form: str, lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("s9.yaml").write_text(handed_in("s9", "run 1us"))
    assert main(["grade", str(lab), "s9.yaml", "--format", form, "--jobs", "1"]) == Exit.WELL
    out = capsys.readouterr().out
    assert ("s9" in out) or form == "gradescope"


def test_lab_check_and_run_print_an_error_as_one_line(
    lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.write_text(TEMPLATE.replace("cause: rnr-infinite", "cause: loss"))
    assert main(["lab", "check", str(lab), "--students", "1"]) == Exit.FAILED
    assert "deliver must fail by loss" in capsys.readouterr().out
    assert main(["run", str(lab)]) == Exit.FAILED
    lab.write_text(TEMPLATE.replace("points: 3", "pionts: 3"))
    for words in (
        ["lab", "check"],
        ["lab", "publish", "-o", "y"],
        ["lab", "draw", "--student", "s"],
    ):
        assert main([*words, str(lab)]) == Exit.USAGE
        assert 'no key "pionts" here' in capsys.readouterr().out
    assert main(["run", str(lab)]) == Exit.USAGE
    Path("s9.yaml").write_text(handed_in("s9", "run 1us"))
    assert main(["grade", str(lab), "s9.yaml"]) == Exit.BUG  # no student pays for it
    assert main(["grade", str(lab), "none.yaml"]) == Exit.USAGE
    assert main(["grade", "none.lab.yaml", "w.yaml"]) == Exit.USAGE
    assert main(["lab", "draw", str(lab)]) == Exit.USAGE
    Path("empty").mkdir()
    assert main(["grade", str(lab), "empty"]) == Exit.NOTHING


@pytest.mark.parametrize(("old", "new", "wrong"), [
    ("rnr-infinite: B has", "rnr-forever: B has", "no cause is called rnr-forever"),
    ("A.mr0[0:5]", "A.mr9[0:5]", "nothing is called A.mr9"),
])  # fmt: skip
def test_lab_check_prints_a_mistake_once_and_grades_nothing(
    old: str, new: str, wrong: str, lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.write_text(TEMPLATE.replace(old, new, 1))
    assert main(["lab", "check", str(lab)]) == Exit.USAGE
    out = capsys.readouterr().out
    assert out.count(wrong) == 1
    assert "student 1" not in out


def test_grade_lists_students_with_edited_or_missing_logs(
    lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = handed_in("s9", "run 1us")
    Path("w.yaml").write_text(text)
    edited = "log edited: s9: an entry of the log was changed or removed\n"
    older = "log not checked, of an older version: s9\n"
    for log, answer in ((text, older), (text.split("log:")[0], "log missing: s9\n"),
                        (text.replace("s line 1 ", "s line 2 "), edited)):  # fmt: skip
        Path("w.yaml").write_text(log)
        assert main(["grade", str(lab), "w.yaml", "--student", "s9", "--jobs", "1"]) == Exit.WELL
        words = capsys.readouterr().err
        assert [each for each in words.splitlines(keepends=True) if "log " in each] == [answer]


def test_the_file_for_students_says_what_it_cannot_judge(
    lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["lab", "publish", str(lab), "-o", "handout.lab.yaml"])
    Path("w.yaml").write_text(handed_in("s9", "run 1us"))
    words = ["w.yaml", "--student", "s9", "--jobs", "1"]
    place = "the instructor's labs are in instructor/labs of the repository"
    capsys.readouterr()
    for file, answer in (("handout.lab.yaml", True), (str(lab), False)):
        assert main(["grade", file, *words]) == Exit.WELL
        assert (place in capsys.readouterr().err) is answer
    assert main(["lab", "check", "handout.lab.yaml"]) == Exit.NOTHING
    assert main(["lab", "notes", "handout.lab.yaml"]) == Exit.NOTHING
    assert capsys.readouterr().err.count(place) == 2


@pytest.mark.parametrize("command", ["labs/sq-full", "sq-full"])
def test_a_lab_is_found_by_the_name_that_people_say(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a checkout it is the file of the instructor, which has notes."""
    assert main(["lab", "notes", command]) == Exit.WELL
    assert "## Typical wrong answers" in capsys.readouterr().out


def test_check_takes_a_folder_and_says_what_ways_without_work_get(
    lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("labs/deep").mkdir(parents=True)
    lab.rename("labs/deep/x.lab.yaml")
    assert main(["lab", "check", "labs", "--students", "2"]) == Exit.WELL
    answer = capsys.readouterr()
    assert "labs/deep/x.lab.yaml: a copy of another student's work gets " in answer.out
    for way in ("apply alone gets 0%", "writing memory alone gets 0%", "an honest guess gets 10%",
                "every choice tried until it is right gets 20%"):  # fmt: skip
        assert way in answer.out
    assert "warning: every choice tried until it is right gets 20%, more than" in answer.out
    assert "14 grades, 0 not as declared" in answer.err
    for bar, code in ((19, Exit.FAILED), (20, Exit.WELL)):
        Path("y.lab.yaml").write_text(TEMPLATE.replace("tasks:", f"bars: {{tried: {bar}}}\ntasks:"))
        assert main(["lab", "check", "y.lab.yaml", "--students", "1"]) == code
        assert (f"more than the {bar} % of bars" in capsys.readouterr().out) is (bar == 19)
    Path("none").mkdir()
    assert main(["lab", "check", "none"]) == Exit.NOTHING


def test_of_a_draft_all_else_is_checked_and_the_missing_solutions_are_named(
    lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, _, solutions = TEMPLATE.partition("solutions:")
    first = re.split(r"(?m)^    - name: ", solutions)[1]
    lab.write_text(f"{head}solutions:\n  accept:\n    - name: {first}")
    assert main(["lab", "check", str(lab), "--students", "1"]) == Exit.FAILED
    answer = capsys.readouterr()
    assert "needs 3 accepted solutions, has 1; needs 3 rejected solutions, has 0" in answer.out
    assert "an honest guess gets" in answer.out
    assert "1 grades, 1 not as declared" in answer.err


def test_a_name_of_vary_that_nothing_uses_is_an_error_with_its_place(
    lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vary = "    vary: {nonsense: [1, 2]}\n    needs: [deliver]\n"
    lab.write_text(TEMPLATE.replace("    needs: [deliver]\n", vary))
    assert main(["lab", "check", str(lab), "--students", "1"]) == Exit.FAILED
    answer = capsys.readouterr().out
    assert "x.lab.yaml:42:22: nothing names %{nonsense}" in answer
    assert "write %{nonsense} in setup, programs or link" in answer


def test_a_lab_is_tried_in_the_app(
    lab: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The app gets the line that a student types; without a terminal that line is shown."""
    assert main(["lab", "try", str(lab), "--student", "s1"]) == 2
    line = f'load "{lab}" student="s1"'
    assert f"needs a terminal; without one: rdmalab repl, and there: {line}" in (
        " ".join(capsys.readouterr().err.split())
    )
    begun: list[str] = []
    monkeypatch.setattr(import_module("rdmalab.cli.program"), "at_terminal", lambda: True)
    monkeypatch.setenv("TERM", "xterm")

    def app(line: str) -> int:
        begun.append(line)
        return 0

    monkeypatch.setattr(launch, "main", app)
    assert main(["lab", "try", str(lab), "--student", "s1"]) == 0
    assert begun == [line]


def test_sheet_student_and_grader_agree_about_the_salt(
    lab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handout, work = str(tmp_path / "handout.lab.yaml"), str(tmp_path / "s7.yaml")
    assert main(["lab", "publish", str(lab), "-o", handout, "--salt", "2026"]) == Exit.WELL
    capsys.readouterr()
    for words in ([str(lab), "--salt", "2026"], [handout]):
        assert main(["lab", "draw", *words, "--student", "s7", "--json"]) == Exit.WELL
    drawn = capsys.readouterr()
    first, second = drawn.out.split("}\n}")[:2]
    assert first.strip() == second.strip()
    assert drawn.err == "drawn with the salt 2026\n" * 2
    assert main(["lab", "draw", str(lab), "--student", "s7"]) == Exit.WELL
    assert capsys.readouterr().err == "drawn with no salt\n"
    (tmp_path / "same.lab.yaml").write_text(text_of("  - {id: a, points: 1, goal: [now == 1]}\n"))
    assert main(["lab", "draw", "same.lab.yaml", "--student", "s7"]) == Exit.WELL
    assert capsys.readouterr().out == "s7: no parameters\n"
    (chapter,) = catalogue([handout]).labs
    sheet = public(chapter, "s7")
    exercise = Exercise(handout, "s7")
    assert sheet.params == exercise.work.lab.params
    size = exercise.work.lab.params["size"]
    exercise.do("post_recv B.qp0 sg=B.mr0[0:64]")
    exercise.do(f"post_send A.qp0 opcode=SEND sg=A.mr0[0:{size}]")
    exercise.answer("answer-of-b", "2")
    exercise.submit(work)
    assert main(["grade", str(lab), work, "--salt", "2026", "--require", "5"]) == Exit.WELL
    lab.write_text(TEMPLATE.replace("level: 1", "level: 1\nsalt: 2026"))
    assert main(["grade", str(lab), work, "--require", "5"]) == Exit.WELL
    capsys.readouterr()
    assert main(["grade", str(lab), work, "--salt", "2027"]) == Exit.FAILED
    answer = capsys.readouterr()
    assert "unreadable: its parameters were drawn with the salt 2026, those of the lab with the " \
        "salt 2027: --salt 2026" in answer.out  # fmt: skip


def test_a_download_of_a_course(
    lab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Folders of Moodle: file, pasted word, foreign name, two works, a PDF."""
    works = tmp_path / "works"
    word = submission.word_of(submission.loads(right("s2"), "w"))
    files = {
        "Ann Lee_11_assignsubmission_file_/my work.yaml": right("s1"),
        "Bob Roe_12_assignsubmission_onlinetext_/onlinetext.html": f"<p>{word}</p>",
        "Cid Poe_13_assignsubmission_file_/s1.yaml": right("s1"),  # that of Ann
        "Dee Moe_14_assignsubmission_file_/work.yaml": right("s4"),
        "Dee Moe_14_assignsubmission_onlinetext_/onlinetext.html": "<p>see the file</p>",
        "Eve Coe_15_assignsubmission_file_/answer.pdf": "%PDF-1.4",
        "Kim Zoe_16_assignsubmission_file_/w.yaml": right("s99"),  # not on the roster
    }
    for name, text in files.items():
        (works / name).parent.mkdir(parents=True, exist_ok=True)
        (works / name).write_text(text)
    (tmp_path / "class.csv").write_text(
        "Full name,ID number\nAnn Lee,s1\nBob Roe,s2\nCid Poe,s3\nDee Moe,s4\nEve Coe,s5\n"
    )
    words = ["grade", str(lab), "works", "--roster", "class.csv", "--out", "m", "--format", "csv"]
    assert main(words) == Exit.FAILED
    answer = capsys.readouterr()
    rows = list(csv.DictReader(StringIO(answer.out)))
    assert [(r["student"], r["score"], r["verdict"]) for r in rows] == [
        ("s1", "5", "graded"), ("s2", "5", "graded"), ("s3", "0", "foreign"),
        ("s4", "5", "graded"), ("s5", "0", "unreadable"), ("", "0", "foreign"),
    ]  # fmt: skip
    assert "the work names s1, and was handed in by s3" in rows[2]["reason"]
    assert "unreadable: works/Eve Coe_15_assignsubmission_file_/answer.pdf: a PDF" in answer.err
    assert "s4: not counted: works/Dee Moe_14_assignsubmission_onlinetext_" in answer.err
    assert "nothing handed in" not in answer.err
    names = {file.name for file in (tmp_path / "m/reports").iterdir()}
    assert names == {"s1.txt", "s2.txt", "s3.txt", "s4.txt", "s5.txt", "Kim-Zoe.txt"}
    assert "foreign: the work names s1" in (tmp_path / "m/reports/s3.txt").read_text()


def test_reports_that_cannot_be_written_are_an_error_of_one_line(
    lab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("s9.yaml").write_text(handed_in("s9", "run 1us"))
    (tmp_path / "marks").mkdir()
    (tmp_path / "marks/reports").write_text("a file where the folder belongs")
    assert main(["grade", str(lab), "s9.yaml", "--out", "marks", "--jobs", "1"]) == Exit.USAGE
    assert "marks/reports/s9.txt cannot be written: " in capsys.readouterr().err
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "marks/grades.csv").unlink()
    (tmp_path / "marks/grades.csv").symlink_to(tmp_path / "fifo")
    assert main(["grade", str(lab), "s9.yaml", "--out", "marks", "--jobs", "1"]) == Exit.USAGE
    assert "grades.csv cannot be written: a FIFO, not a regular file" in capsys.readouterr().err


def test_late_and_double_works(
    lab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, text, day in (("a", right("s1"), 10), ("b", handed_in("s1", "run 1us"), 12)):
        (tmp_path / "works" / folder).mkdir(parents=True)
        (tmp_path / "works" / folder / "s1.yaml").write_text(text)
        at_s = datetime(2026, 11, day, tzinfo=UTC).timestamp()
        os.utime(tmp_path / "works" / folder / "s1.yaml", (at_s, at_s))
    (tmp_path / "class.csv").write_text("s1\n")
    words = ["grade", str(lab), "works", "--roster", "class.csv", "--format", "csv", "--due",
             "2026-11-09T12:00+00:00", "--penalty", "20"]  # fmt: skip
    for keep, score, late in (("newest", "0.4", "2 d 12 h"), ("best", "4", "12 h")):
        assert main([*words, "--keep", keep]) == Exit.WELL
        answer = capsys.readouterr()
        (row,) = csv.DictReader(StringIO(answer.out))
        assert (row["score"], row["late"]) == (score, late)
        assert "late: s1" in answer.err
    assert main([*words[:-4], "--due", "soon"]) == Exit.USAGE
    assert 'write 2026-11-30 or "2026-11-30 18:00"' in capsys.readouterr().err
