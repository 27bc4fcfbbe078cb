"""The gradebook of a course: each student's grade in each lab, and the weighted total."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO

from pydantic import BaseModel

from rdmalab.classroom.attempts import counted
from rdmalab.classroom.course_file import Assignment, CourseFile
from rdmalab.classroom.formats import cell, number
from rdmalab.classroom.grade_document import Grade
from rdmalab.classroom.owner import Person
from rdmalab.classroom.remarks import Remark, RemarkTable, applied, to_be_marked
from rdmalab.scenario.field_types import FORMAT

MISSING = "missing"


class LabColumn(BaseModel, use_attribute_docstrings=True):
    """A lab of the course."""

    id: str
    title: str
    of: int
    """The points of all tasks."""
    weight: int
    due: str | None
    """Date and time; null: none."""
    counts: bool
    """Whether it is in the total: a work was handed in, or points were given by hand."""


class StudentRow(BaseModel, use_attribute_docstrings=True):
    """A student. grades: by the id of the lab; `missing` where nothing was handed in."""

    id: str
    name: str
    email: str
    total: float | None
    """Per cent of the weighted points; null: no lab counts yet."""
    to_be_marked: list[str]
    """Answers that a person has to mark: `LAB TASK`."""
    grades: dict[str, Grade]


class Gradebook(BaseModel, use_attribute_docstrings=True):
    """The gradebook, as `rdmalab course grade` writes it to gradebook.json."""

    rdmalab: int = FORMAT
    title: str
    labs: list[LabColumn]
    students: list[StudentRow]
    unknown: list[Grade]
    """Works that no student of the roster has handed in."""


def gradebook(
    course: CourseFile, grades: Mapping[str, Iterable[Grade]], table: RemarkTable
) -> Gradebook:
    """The gradebook of these grades by lab, with what the table gives by hand."""
    labs = course.assignments
    found = {lab.id: _of_lab(lab, grades.get(lab.id, ()), course, table) for lab in labs}
    columns = [_column(lab, found[lab.id].values()) for lab in labs]
    unknown = [
        each for lab in labs for each in counted(grades.get(lab.id, ()), lab.terms)
        if each.student not in found[lab.id]
    ]  # fmt: skip
    students = [
        _row(person, {lab.id: found[lab.id][person.id] for lab in labs}, columns, table)
        for person in course.roster.people
    ]
    return Gradebook(title=course.document.title, labs=columns, students=students, unknown=unknown)


def _of_lab(
    lab: Assignment, grades: Iterable[Grade], course: CourseFile, table: RemarkTable
) -> dict[str, Grade]:
    """The grade of each student of the roster in a lab."""
    by_student = {each.student: each for each in counted(grades, lab.terms)}
    reason = "nothing was handed in"
    if not by_student:
        reason = "no work of this lab is handed in yet; it is not in the total"
    found = {}
    for person in course.roster.people:
        grade = by_student.get(person.id) or Grade(
            student=person.id, verdict=MISSING, reason=reason
        )
        grade.lab = lab.id  # an unreadable work does not name it
        rows = table.of(person.id, lab.id)
        found[person.id] = applied(grade, rows, lab.document, lab.terms)
    return found


def _column(lab: Assignment, grades: Iterable[Grade]) -> LabColumn:
    counts = any(each.is_judged or each.verdict != MISSING for each in grades)
    due = lab.terms.due.isoformat(sep=" ", timespec="minutes") if lab.terms.due else None
    return LabColumn(
        id=lab.id, title=lab.document.title, of=lab.document.points, weight=lab.weight, due=due,
        counts=counts,
    )  # fmt: skip


def _row(
    person: Person, grades: dict[str, Grade], columns: Sequence[LabColumn], table: RemarkTable
) -> StudentRow:
    waiting = [
        f"{lab} {row.task}"
        for lab, grade in grades.items()
        for row in _waiting(grade, table.of(person.id, lab))
    ]
    return StudentRow(
        id=person.id, name=person.name, email=person.email, total=_total(grades, columns),
        to_be_marked=waiting, grades=grades,
    )  # fmt: skip


def _waiting(grade: Grade, rows: Sequence[Remark]) -> list[Remark]:
    """The answers of a grade to which no points were given."""
    return to_be_marked(grade, [row for row in rows if row.points is not None])


def _total(grades: Mapping[str, Grade], columns: Sequence[LabColumn]) -> float | None:
    counting = [each for each in columns if each.counts and each.of]
    weights = sum(each.weight for each in counting)
    if not weights:
        return None
    points = sum(each.weight * grades[each.id].mark / each.of for each in counting)
    return round(100 * points / weights, 1)


def new_rows(book: Gradebook, table: RemarkTable) -> list[Remark]:
    """The rows that the table lacks: answers to be marked by hand."""
    return [
        remark
        for student in book.students
        for lab, grade in student.grades.items()
        for remark in to_be_marked(grade, table.of(student.id, lab))
    ]


def as_csv(book: Gradebook) -> str:
    """A line a student: for each lab the score and, where it is not simply graded, why."""
    out = StringIO()
    rows = csv.writer(out, lineterminator="\n")
    heads = [head for lab in book.labs for head in (f"{lab.id} ({lab.of})", f"{lab.id} note")]
    rows.writerow(["student", "name", "email", *heads, "total %", "to be marked"])
    for each in book.students:
        cells: list[object] = [each.id, each.name, each.email]
        for lab in book.labs:
            grade = each.grades[lab.id]
            cells += [number(grade.mark) if grade.is_judged else "", note(grade)]
        total = "" if each.total is None else number(each.total)
        rows.writerow([cell(text) for text in (*cells, total, ", ".join(each.to_be_marked))])
    return out.getvalue()


def note(grade: Grade) -> str:
    """The remark beside a score: `late`, `cut`, `missing`, `by hand`, `log edited` …"""
    by_hand = grade.fixed is not None or any(result.fixed for result in grade.results)
    parts = [
        *([grade.verdict] if grade.verdict != "graded" else []),
        *(["late"] if grade.late_s else []), *(["by hand"] if by_hand else []),
        *filter(None, (grade.version_remark, grade.log_remark, grade.remark)),
    ]  # fmt: skip
    return ", ".join(parts)
