"""Command course: grade all labs of a course into one gradebook, with remarks by hand."""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rdmalab.book.html import slug
from rdmalab.cli import grading, program
from rdmalab.grammar.hints import suggest
from rdmalab.jobs import result_file
from rdmalab.jobs.limits import Limits, Pool
from rdmalab.jobs.result_file import NotResults, Progress, ResultFile, known
from rdmalab.shell.streams import print_json, progress_stream
from rdmalab.spec.row import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rdmalab.classroom.course_file import CourseFile
    from rdmalab.classroom.grade_document import Grade
    from rdmalab.classroom.gradebook import Gradebook, LabColumn, StudentRow
    from rdmalab.classroom.grading import Item
    from rdmalab.classroom.owner import Roster
    from rdmalab.classroom.picture import Drawing
    from rdmalab.classroom.remarks import RemarkTable

_GRADES, _DRAWINGS = "grades.jsonl", "ladders.jsonl"
_ERRORS = ("unreadable", "foreign")
with_file = click.argument("path", metavar="[FILE]", default="course.yaml")


@program.program.group()
def course() -> None:
    """Grade a course: several labs, a roster, due dates, one gradebook.

    FILE is course.yaml, whose keys `rdmalab schema --of course` describes.
    """


@dataclass(slots=True)
class _Opened:
    """A course with what was handed in. items: by the id of the lab."""

    course: "CourseFile"
    table: "RemarkTable"
    items: "Mapping[str, list[Item]]"

    @property
    def out(self) -> Path:
        return self.course.out

    def all(self) -> "list[Item]":
        """The works of all labs."""
        return [item for items in self.items.values() for item in items]

    def book(self, done: "Sequence[tuple[Item, Grade]]") -> "Gradebook":
        """The gradebook of these grades."""
        from rdmalab.classroom.gradebook import gradebook

        texts = {each.text: each.id for each in self.course.assignments}
        grades: dict[str, list[Grade]] = {each.id: [] for each in self.course.assignments}
        for item, grade in done:
            grades[texts[item.lab]].append(grade)
        return gradebook(self.course, grades, self.table)


@course.command()
@with_file
@grading.with_any_version
@program.with_jobs
@program.with_cluster
def grade(*, path: str, any_version: bool, jobs: int | None, cluster: str | None) -> int:
    """Grade what is new, and write the gradebook, the reports and the files for Moodle.

    Grades that are there already are kept, so that a grading that was stopped goes on. Points and
    remarks in remarks.csv are kept and applied; answers that a person has to mark are added to it.
    Exit code 1: a work is unreadable or names another student. Exit code 2: a mistake in the
    course, a lab, the roster or the remarks.
    """
    opened = _opened(path, tell=True, any_version=any_version)
    pool = program.workers(Limits(), jobs, cluster)
    done = grading.graded(opened.all(), str(opened.out / _GRADES), pool)
    book = _write(opened, done, pool)
    _tell_of(opened, book)
    if any(each.verdict == "not-graded" for _, each in done):
        program.tell(next(each.reason for _, each in done if each.verdict == "not-graded"))
        return program.Exit.BUG
    wrong = [each for each in _grades(book) if each.verdict in _ERRORS]
    return program.Exit.FAILED if wrong else program.Exit.WELL


@course.command()
@with_file
@program.with_json
def status(*, path: str, as_json: bool) -> int:
    """Print for each lab what was handed in, graded, late, and what a person has to mark.

    Nothing is graded and nothing is written.
    """
    opened = _opened(path, tell=False)
    done = _known(opened)
    book = opened.book(done)
    if as_json:
        print_json(book.model_dump_json(indent=2))
        return program.Exit.WELL
    graded = {item.name for item, _ in done}
    print("\n".join(_status(opened, book, graded)))
    return program.Exit.WELL


@course.command()
@with_file
@click.option("--student", "ids", multiple=True, metavar="ID", help="Of these only; repeatable.")
@program.with_jobs
@program.with_cluster
def report(*, path: str, ids: tuple[str, ...], jobs: int | None, cluster: str | None) -> int:
    """Write gradebook and reports again from what is graded, with the remarks of now.

    Works that are not graded yet are counted, and not graded. With --student: prints the paths of
    the reports. Exit code 5: nothing is graded.
    """
    opened = _opened(path, tell=False)
    ids = tuple(_id_of(each, opened.course.roster) for each in ids)
    done = _known(opened)
    if not done:
        program.tell(f"nothing is graded yet: rdmalab course grade {path}")
        return program.Exit.NOTHING
    book = _write(opened, done, program.workers(Limits(), jobs, cluster))
    if waiting := len(opened.all()) - len(done):
        program.tell(f"{waiting} works are not graded yet: rdmalab course grade {path}")
    for each in ids:
        print(opened.out / "reports" / f"{_file_name(each)}.html")
    _tell_of(opened, book)
    return program.Exit.WELL


@course.command()
@click.argument("student", metavar="STUDENT")
@click.argument("lab", metavar="LAB")
@click.argument("task", metavar="[TASK]", default="")
@click.option("--points", metavar="POINTS", help="The score of the task, or of the whole lab.")
@click.option("--remark", default="", metavar="TEXT", help="What the student reads in the report.")
@click.option("--course", "path", default="course.yaml", metavar="FILE", show_default=True)
def mark(*, student: str, lab: str, task: str, points: str | None, remark: str, path: str) -> int:
    """Give points or a remark by hand: adds a row to remarks.csv, which every grading keeps.

    STUDENT is an id, a name or an email address of the roster. The row counts before those above
    it. The table can be edited in a spreadsheet as well.
    """
    from rdmalab.classroom import remarks

    if points is None and not remark:
        raise click.UsageError("give --points or --remark")
    value = None if points is None else remarks.points_of(points)
    if points is not None and value is None:
        raise click.UsageError(f'--points "{points}": write a number from 0 to '
                               f"{remarks.MOST_POINTS}")  # fmt: skip
    opened = _opened(path, tell=False)
    student = _id_of(student, opened.course.roster)
    labs = {each.id: each.document for each in opened.course.assignments}
    wrong = remarks.mistakes(student, lab, task, opened.course.roster.ids, labs, value)
    if wrong:
        raise click.UsageError("; ".join(wrong))
    with program.writing(str(opened.table.path), "table of remarks"):
        opened.table.add([remarks.Remark(student, lab, task, value, remark)])
    program.tell(
        f"{opened.table.path}: 1 row added for {student}; rdmalab course report writes the reports "
        "again"
    )
    return program.Exit.WELL


# --------------------------------------------------------------------------- open
def _opened(path: str, *, tell: bool, any_version: bool = False) -> _Opened:
    """The course, its remarks and works. tell: report folders and files that are not read."""
    from rdmalab.classroom import remarks
    from rdmalab.classroom.course_file import load
    from rdmalab.classroom.grading import items_of

    found = load(path)
    for warning in found.warnings:
        program.tell(str(warning))
    labs = {each.id: each.document for each in found.assignments}
    with program.reading(found.remarks):
        table = remarks.read(found.remarks, found.roster.ids, labs)
    items = {}
    for lab in found.assignments:
        folder = [str(lab.works)] if lab.works.exists() else []
        inbox = grading.inbox(folder, found.roster, None)
        if tell:
            grading.tell_not_read(inbox)
        salt = found.document.salt or ""
        items[lab.id] = items_of(inbox.works, lab.text, lab.path, salt, any_version=any_version)
    return _Opened(found, table, items)


def _known(opened: _Opened) -> "list[tuple[Item, Grade]]":
    """The works that are graded already, with their grades."""
    from rdmalab.classroom.grading import filed, known

    try:
        before = known(str(opened.out / _GRADES))
    except (NotResults, OSError) as wrong:
        raise click.ClickException(str(wrong)) from None
    return [
        (item, filed(item, before[item.key].model_copy()))
        for item in opened.all()
        if item.key in before
    ]


def _id_of(student: str, roster: "Roster") -> str:
    """The id of the student that an id, a name or an email address names."""
    if student in roster.ids:
        return student
    if (person := roster.named([student])) is None:
        raise click.UsageError(f'no student "{student}": {suggest(student, roster.ids)}')
    return person.id


# --------------------------------------------------------------------------- write
def _write(opened: _Opened, done: "Sequence[tuple[Item, Grade]]", pool: "Pool") -> "Gradebook":
    """Write gradebook, tables and reports, and add answers to be marked to the remarks."""
    from rdmalab.book.course_pages import gradebook_page
    from rdmalab.classroom.gradebook import as_csv, new_rows

    book = opened.book(done)
    with program.writing(str(opened.table.path), "table of remarks"):
        if added := opened.table.add(new_rows(book, opened.table)):
            program.tell(f"{opened.table.path}: {added} answers to be marked; write their points")
    drawings = _drawn(opened, book, done, pool)
    put = program.putter(opened.out)
    reports = {}
    for student in book.students:
        name = f"reports/{_file_name(student.id)}.html"
        pages = {lab.id: drawings.get((student.id, lab.id)) for lab in book.labs}
        put(name, _page(student, book.labs, pages))
        reports[student.id] = name
    for lab in book.labs:
        _write_lab(put, lab, book, drawings)
    put("gradebook.csv", as_csv(book).encode())
    put("gradebook.json", (book.model_dump_json(indent=2) + "\n").encode())
    put("gradebook.html", gradebook_page(book, reports))
    return book


def _page(
    student: "StudentRow", labs: "Sequence[LabColumn]", drawings: "Mapping[str, Drawing | None]"
) -> bytes:
    from rdmalab.book.course_pages import report_page

    return report_page(student, labs, {key: each for key, each in drawings.items() if each})


def _write_lab(
    put: "Callable[[str, bytes], None]", lab: "LabColumn", book: "Gradebook",
    drawings: "Mapping[tuple[str, str], Drawing]",
) -> None:  # fmt: skip
    """The files of one lab: tables, reports, feedback for Moodle and Gradescope."""
    from rdmalab.classroom import formats
    from rdmalab.classroom.formats import moodle_zip

    here = [each.grades[lab.id] for each in book.students]
    put(f"{lab.id}/grades.csv", formats.as_csv(here).encode())
    put(f"{lab.id}/moodle.csv", formats.as_moodle(here).encode())
    put(f"{lab.id}/causes.txt", (formats.causes(here) + "\n").encode())
    folders = {}
    for student in book.students:
        grade, name = student.grades[lab.id], _file_name(student.id)
        if grade.verdict == "missing" and not grade.is_judged:
            continue
        page = _page(student, [lab], {lab.id: drawings.get((student.id, lab.id))})
        put(f"{lab.id}/reports/{name}.html", page)
        put(f"{lab.id}/gradescope/{name}.json", (formats.as_gradescope(grade) + "\n").encode())
        if grade.folder:
            folders[grade.folder] = page
    if folders:
        put(f"{lab.id}/moodle-feedback.zip", moodle_zip(folders, f"{lab.id}.html"))


def _file_name(student: str) -> str:
    """The id as a part of a path."""
    return slug(student)


def _drawn(
    opened: _Opened, book: "Gradebook", done: "Sequence[tuple[Item, Grade]]", pool: "Pool"
) -> "dict[tuple[str, str], Drawing]":
    """The drawing of what went wrong, by student and lab; those of before are not drawn again."""
    from rdmalab.classroom.picture import Drawing, drawings, picture_of

    items = {(item.lab, item.name): item for item, _ in done}
    texts = {each.id: each.text for each in opened.course.assignments}
    wanted = {}
    for student in book.students:
        for lab, grade in student.grades.items():
            item = items.get((texts[lab], grade.file))
            if item is not None and (picture := picture_of(item, grade)) is not None:
                wanted[student.id, lab] = picture
    path = str(opened.out / _DRAWINGS)
    with program.writing(path, "file of drawings"), _results(path) as (before, add):
        new = [each for each in wanted.values() if each.key not in before]
        progress = Progress(progress_stream(), len(new), "drawings")
        for picture, drawing in drawings(new, pool):
            add({result_file.KEY: picture.key, "svg": drawing.svg, "text": drawing.text})
            before[picture.key] = drawing
            progress.advance()
        progress.end()
    return {key: before.get(each.key, Drawing()) for key, each in wanted.items()}


@contextmanager
def _results(
    path: str,
) -> "Iterator[tuple[dict[str, Drawing], Callable[[dict[str, object]], None]]]":
    """The drawings in a file by key, and what adds a row to it."""
    from rdmalab.classroom.picture import Drawing

    Path(path).parent.mkdir(parents=True, exist_ok=True)
    try:
        rows = known(path)
    except NotResults as wrong:
        raise click.ClickException(str(wrong)) from None
    found = {key: Drawing(str(row.get("svg")), str(row.get("text"))) for key, row in rows.items()}
    with ResultFile(path) as file:
        yield found, file.add


# --------------------------------------------------------------------------- tell
def _grades(book: "Gradebook") -> "Iterator[Grade]":
    for student in book.students:
        yield from student.grades.values()
    yield from book.unknown


def _tell_of(opened: _Opened, book: "Gradebook") -> None:
    """Report works that were not judged, and what a person has to do."""
    from rdmalab.classroom.grade_document import complaints

    wrong = (each for each in _grades(book) if each.verdict in (*_ERRORS, "not-graded"))
    for complaint in complaints(wrong):
        program.tell(complaint.partition("\n")[0])
    for lab in book.labs:
        grading.tell_remarks([student.grades[lab.id] for student in book.students])
    waiting = sum(len(each.to_be_marked) for each in book.students)
    if waiting:
        program.tell(f"{waiting} answers to be marked in {opened.table.path}")
    program.tell(f"{opened.out}: gradebook.csv, gradebook.json, gradebook.html, reports; of each "
                 "lab LAB/causes.txt, LAB/moodle.csv")  # fmt: skip


def _status(opened: _Opened, book: "Gradebook", graded: set[str]) -> "Iterator[str]":
    """A table of the labs, then the students who have handed in nothing at all."""
    heads = ("lab", "due", "handed in", "graded", "late", "unreadable", "foreign", "to be marked",
             "not graded yet")  # fmt: skip
    rows: list[tuple[str, ...]] = [heads]
    for lab in book.labs:
        here = [each.grades[lab.id] for each in book.students]
        verdicts = [each.verdict for each in here]
        works = opened.items[lab.id]
        owners = {item.owner.id for item in works if item.owner.id}
        waiting = sum(
            each.startswith(f"{lab.id} ") for s in book.students for each in s.to_be_marked
        )
        counts = (
            f"{len(owners)} of {len(here)}", sum(each in ("graded", "cut") for each in verdicts),
            sum(bool(each.late_s) for each in here), verdicts.count("unreadable"),
            verdicts.count("foreign"), waiting, sum(item.name not in graded for item in works),
        )  # fmt: skip
        rows.append((lab.id, (lab.due or "")[:16], *map(str, counts)))
    widths = [max(len(row[n]) for row in rows) for n in range(len(heads))]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
    handed_in = {item.owner.id for item in opened.all()}
    if lacking := [each.id for each in book.students if each.id not in handed_in]:
        yield f"nothing handed in: {', '.join(lacking)}"
