"""Every mistake of a course file has its place, its word, and what is legal."""

from pathlib import Path

import pytest

from rdmalab.classroom import lab_file
from rdmalab.classroom.course_file import CourseFile, load
from rdmalab.classroom.public import published
from rdmalab.cli import Exit, main
from rdmalab.scenario.source import FileError
from tests.classroom.courses import CourseFolder


@pytest.fixture
def course(tmp_path: Path) -> CourseFolder:
    return CourseFolder(tmp_path, 3)


def loaded(course: CourseFolder) -> CourseFile:
    return load(str(course.path))


def mistakes(course: CourseFolder) -> list[str]:
    """`line:column message (hint)` of each."""
    with pytest.raises(FileError) as caught:
        loaded(course)
    return [
        f"{e.place.line}:{e.place.column} {e.message} ({e.hint})" if e.place else str(e)
        for e in caught.value.all
    ]


def test_a_course_has_its_labs_roster_and_terms(course: CourseFolder) -> None:
    text = course.path.read_text().replace("penalty: 10", "penalty: 10\nkeep: best\nsalt: 2026")
    course.path.write_text(text.replace("weight: 2", "penalty: 0\n    keep: newest"))
    found = loaded(course)
    assert [each.id for each in found.assignments] == ["one", "two"]
    assert [each.terms.penalty for each in found.assignments] == [10, 0]
    assert [each.terms.keep for each in found.assignments] == ["best", "newest"]
    assert found.roster.ids == course.students
    assert found.document.salt == "2026"
    assert not found.warnings


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("rdmalab: 1", "rdmalab: 2", '1:10 "2" is not a version of the format that this rdmalab'),
        ("kind: course", "kind: curse", '2:7 "curse" is not legal here'),
        ("title:", "titel:", '3:1 no key "titel" here (did you mean title?)'),
        ("roster: class.csv", "roster: clas.csv",
         '4:9 no file "clas.csv" (did you mean class.csv?)'),
        ("roster: class.csv", "roster: zzz", '4:9 no file "zzz" (legal here: class.csv, '),
        ("one.lab.yaml", "labs/by-hnd", '7:10 no lab "labs/by-hnd" (did you mean labs/by-hand?)'),
        ("penalty: 10", "penalty: 110", "5:10 110 is out of range (from 0 to 100)"),
        ("penalty: 10", "keep: latest",
         '5:7 "latest" is not a rule for several works of a student (legal here: newest, best)'),
        ("one.lab.yaml", "oen.lab.yaml",
         '7:10 no lab "oen.lab.yaml" (did you mean one.lab.yaml?)'),
        ("due: 2026-11-30", "due: 30.11.2026",
         '9:10 "30.11.2026" is not a date (write 2026-11-30, or "2026-11-30 18:00")'),
        ("two.lab.yaml", "one.lab.yaml", "10:10 labs 1 and 2 are both one (leave one out)"),
        ("weight: 2", "weight: heavy", '13:13 "heavy" is not a number'),
        ("labs:\n", "labs: []\nx:\n", "6:7 labs: this list is empty (add one)"),
        ("    works: downloads/one\n", "", "7:5 works is missing (write works: …)"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(course: CourseFolder, old: str, new: str, wrong: str) -> None:
    text = course.path.read_text()
    assert old in text
    course.path.write_text(text.replace(old, new, 1))
    assert any(each.startswith(wrong) for each in mistakes(course)), mistakes(course)


def test_all_mistakes_are_named_at_once(
    course: CourseFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of shape, of names, of the roster, and of the labs."""
    text = course.path.read_text().replace("title:", "titel:").replace("weight: 2", "weight: -1")
    course.path.write_text(text.replace("one.lab.yaml", "oen.lab.yaml"))
    (course.folder / "class.csv").write_text("id,name\ns1,x\n,y\n")
    lab = course.folder / "two.lab.yaml"
    lab.write_text(lab.read_text().replace("pd=", "dp=").replace("points: 3", "pionts: 3"))
    found = mistakes(course)
    assert len(found) == 5, found
    for part in ('"titel"', "-1", "oen.lab.yaml", "line 3 has no id: y", '"pionts"'):
        assert any(part in each for each in found), (part, found)
    for words in (["grade"], ["status"], ["report"]):
        assert main(["course", *words, str(course.path)]) == Exit.USAGE
        assert capsys.readouterr().out.count("course.yaml:") == 4


def test_a_folder_that_is_not_there_yet_is_a_warning(
    course: CourseFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    course.path.write_text(course.path.read_text().replace("downloads/one", "downloads/oen"))
    (warning,) = loaded(course).warnings
    assert 'course.yaml:8:12: no folder "downloads/oen"' in str(warning)
    assert "did you mean one?" in str(warning)
    assert main(["course", "status", str(course.path)]) == Exit.WELL
    assert "did you mean one?" in capsys.readouterr().err


def test_a_lab_for_students_is_a_warning_since_part_of_it_is_not_judged(
    course: CourseFolder,
) -> None:
    handout = course.folder / "handout.lab.yaml"
    handout.write_text(published(lab_file.load(str(course.folder / "one.lab.yaml"), "")))
    course.path.write_text(course.path.read_text().replace("one.lab.yaml", "handout.lab.yaml"))
    (warning,) = loaded(course).warnings
    assert 'course.yaml:7:10: "handout.lab.yaml" is a file for students: what it ' in str(warning)
    assert "instructor/labs" in warning.hint


def test_a_shipped_lab_goes_by_its_name(course: CourseFolder) -> None:
    course.path.write_text(course.path.read_text().replace("one.lab.yaml", "labs/by-hand"))
    assert loaded(course).assignments[0].id == "by-hand"


def test_no_course_is_one_clear_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["course", "grade", str(tmp_path / "none.yaml")]) == Exit.USAGE
    assert "none.yaml: cannot be read" in capsys.readouterr().out
