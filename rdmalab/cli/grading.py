"""Command grade: grade the submissions of a lab."""

import json
import re
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rdmalab.classroom.owner import Roster, given
from rdmalab.cli import program
from rdmalab.cli.labs import read_roster, with_roster, with_salt
from rdmalab.jobs.limits import Limits, Pool
from rdmalab.jobs.result_file import NotResults, Progress, ResultFile
from rdmalab.scenario.files import WHERE, of_instructor, read
from rdmalab.scenario.source import FileError
from rdmalab.shell.streams import print_json, progress_stream

if TYPE_CHECKING:
    from rdmalab.classroom.grade_document import Grade
    from rdmalab.classroom.grading import Item
    from rdmalab.classroom.inbox import Inbox

_FORMS = ["text", "json", "csv", "junit", "gradescope", "moodle"]
_ERRORS = ("unreadable", "foreign")

with_out = click.option(
    "--out", type=click.Path(file_okay=False), metavar="DIR",
    help="Write grades.jsonl, grades.csv, causes.txt and a report for each student. Grades that "
    "are there already are kept, so that a grading that was stopped goes on.",
)  # fmt: skip


with_any_version = click.option(
    "--any-version", is_flag=True,
    help="Judge works for another version of the lab by the lab as it is now, with a remark.",
)  # fmt: skip


def _due(_context: click.Context, _parameter: click.Parameter, given: str | None) -> object:
    from rdmalab.classroom.attempts import due_at

    try:
        return None if given is None else due_at(given)
    except ValueError:
        raise click.BadParameter(f'"{given}": write 2026-11-30 or "2026-11-30 18:00"') from None


@program.program.command()
@click.argument("lab", metavar="LAB")
@click.argument("paths", nargs=-1, required=True, metavar="SUBMISSION|DIR...")
@with_salt
@with_out
@with_roster
@click.option("--student", metavar="ID", help="Who handed in the submissions that are named. "
              "Works without a student are judged with the values drawn for this one.")  # fmt: skip
@click.option(
    "--keep", type=click.Choice(["newest", "best"]), default="newest", show_default=True,
    help="Which of several works of a student counts.",
)  # fmt: skip
@click.option("--due", callback=_due, metavar="DATE", help="Works whose file is newer are late.")
@click.option(
    "--penalty", type=click.IntRange(0, 100), default=0, metavar="PERCENT",
    help="Of the score, less for each day that begins after the due date.",
)  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(_FORMS), default="text", show_default=True,
    help="What is printed.",
)  # fmt: skip
@program.with_jobs
@program.with_cluster
@with_any_version
@click.option("--alike", type=click.FloatRange(0, 1), help="List pairs that are this much alike.")
@click.option("--public", is_flag=True, help="Judge only what students may see.")
@click.option("--require", type=int, metavar="POINTS", help="Exit code 1 if a score is less.")
def grade(  # noqa: PLR0913
    *, lab: str, paths: tuple[str, ...], salt: str, out: str | None, roster: str | None,
    student: str | None, keep: str, due: datetime | None, penalty: int, form: str,
    jobs: int | None, cluster: str | None, any_version: bool, alike: float | None, public: bool,
    require: int | None,
) -> int:  # fmt: skip
    """Replay submissions and grade them.

    SUBMISSION is a file, DIR a folder of them, such as a download of Moodle or Gradescope, also as
    a .zip; the word that submit prints is found in texts and pages. The roster, the name of the
    folder or of the file says who handed in a work; one that names another student is an error.
    Only lines and answers are judged; scores in a submission are ignored. Exit code 0: all were
    graded, whatever their score. Exit code 1: a work is unreadable or names another student, or a
    score is below --require.
    """
    from rdmalab.classroom.attempts import Terms, counted
    from rdmalab.classroom.grading import items_of

    people = read_roster(roster)
    found = inbox(paths, people, student)
    text = lab_text(lab)
    items = items_of(found.works, text, lab, salt, public=public, any_version=any_version)
    tell_not_read(found)
    if not items:
        program.tell("no submission found")
        return program.Exit.NOTHING
    pool = program.workers(Limits(), jobs, cluster)
    terms = Terms("best" if keep == "best" else "newest", due, penalty)
    done = graded(items, str(Path(out) / "grades.jsonl") if out else None, pool)
    grades = counted((each for _, each in done), terms)
    _print(grades, form)
    _tell_of(grades, people)
    if alike is not None:
        _tell_alike(items, alike)
    if out is not None:
        _write(grades, Path(out))
    return _exit(grades, require)


def _exit(grades: "Sequence[Grade]", require: int | None) -> int:
    if any(each.verdict == "not-graded" for each in grades):
        return program.Exit.BUG
    failed = require is not None and any(each.mark < require for each in grades)
    wrong = any(each.verdict in _ERRORS for each in grades)
    return program.Exit.FAILED if failed or wrong else program.Exit.WELL


def lab_text(lab: str) -> str:
    """The text of a lab by its file or short name."""
    try:
        text = read(of_instructor(lab))
    except FileError as wrong:
        raise click.ClickException(str(wrong)) from None
    if "\nsolutions:" not in text and re.search(r"judged: grader|hidden: true", text):
        program.tell(f"{lab} is a file for students: what it leaves out is not judged; {WHERE}")
    return text


def inbox(paths: Sequence[str], roster: "Roster | None", student: str | None) -> "Inbox":
    """The submissions in files and folders. student: who handed them in, None: see `owner_of`."""
    from rdmalab.classroom.inbox import collected

    with program.reading(paths[0] if paths else "the inbox"):
        return collected(paths, roster, given(student) if student else None)


def tell_not_read(found: "Inbox") -> None:
    """Report each file that was not read, with the reason."""
    for file, reason in found.not_read:
        program.tell(f"not read: {file}: {reason}")


def graded(items: "Sequence[Item]", path: str | None, pool: "Pool") -> "list[tuple[Item, Grade]]":
    """The grade of each item, with their progress on standard error.

    path: of the file of results, to which each is added as soon as it is there.
    """
    from rdmalab.classroom.grading import grades, is_known, known, row_of
    from rdmalab.jobs.cluster import ClusterFailed

    before: dict[str, Grade] = {}
    file: ResultFile | None = None
    found: list[tuple[Item, Grade]] = []
    with ExitStack() as stack:
        if path is not None:
            try:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                before = known(path)
                file = stack.enter_context(ResultFile(path))
            except (NotResults, OSError) as wrong:
                raise click.ClickException(str(wrong)) from None
        progress = Progress(progress_stream(), len(items), "submissions")
        stack.callback(progress.end)
        try:
            for item, each in grades(items, pool, before):
                if file is not None and not is_known(item, before):
                    file.add(row_of(item.key, each))
                found.append((item, each))
                progress.advance()
        except ClusterFailed as wrong:
            raise click.ClickException(f"cluster {wrong}") from None
    return found


def _print(grades: "Sequence[Grade]", form: str) -> None:
    from rdmalab.classroom import formats

    if form == "json":
        print_json(json.dumps([each.model_dump() for each in grades], indent=2))
    elif form == "gradescope":
        for each in grades:
            print_json(formats.as_gradescope(each))
    elif form == "text":
        for each in grades:
            print(formats.report(each))
        print(formats.causes(grades))
    else:
        written = {"csv": formats.as_csv, "junit": formats.as_junit, "moodle": formats.as_moodle}
        print(written[form](grades), end="")


def _tell_of(grades: "Sequence[Grade]", roster: "Roster | None") -> None:
    """Works that do not count, that were not judged, and students without one."""
    from rdmalab.classroom.grade_document import complaints

    for each in grades:
        for other in each.others:
            program.tell(f"{each.who}: not counted: {other}")
    for complaint in complaints(each for each in grades if each.verdict in _ERRORS):
        program.tell(complaint)
    if roster is not None:
        students = {each.student for each in grades}
        if lacking := [each for each in roster.ids if each not in students]:
            program.tell(f"nothing handed in: {', '.join(lacking)}")
    _tell_whose("late", [each for each in grades if each.late_s])
    tell_remarks(grades)
    count = sum(each.verdict == "graded" for each in grades)
    program.tell(f"{count} of {len(grades)} graded")


def tell_remarks(grades: "Sequence[Grade]") -> None:
    """Report works for another version of the lab, edited logs, and logs of several students."""
    from rdmalab.classroom.grading import same_logs

    _tell_whose("for another version of the lab", [each for each in grades if each.version])
    for each in grades:
        if each.log == "edited":
            program.tell(f"log edited: {each.who}: {each.edits}")
    _tell_whose("log missing", [each for each in grades if each.log == "missing"])
    _tell_whose("log not checked, of an older version",
                [each for each in grades if each.log == "unchecked"])  # fmt: skip
    for same in same_logs(grades):
        _tell_whose("the same log", same)


def _tell_whose(what: str, grades: "Sequence[Grade]") -> None:
    if grades:
        program.tell(f"{what}: {', '.join(each.who for each in grades)}")


def _tell_alike(items: "Sequence[Item]", least: float) -> None:
    from rdmalab.classroom import grading, submission
    from rdmalab.classroom.lab_file import loads

    works = {}
    for item in items:
        try:
            works[item.name] = submission.loads(item.text, item.name).lines
        except FileError:
            continue
    solutions = loads(items[0].lab, items[0].lab_path).document.solutions
    known = [each.lines for each in solutions.accept] if solutions is not None else []
    for share, one, other in grading.alike(works, known, least):
        program.tell(f"alike {share:.0%}: {one} {other}")


def _write(grades: "Sequence[Grade]", folder: Path) -> None:
    from rdmalab.classroom import formats

    put = program.putter(folder)
    put("grades.csv", formats.as_csv(grades).encode())
    put("causes.txt", (formats.causes(grades) + "\n").encode())
    for name, each in formats.file_names(grades).items():
        put(f"reports/{name}.txt", formats.report(each).encode())
    program.tell(f"{folder}: grades.csv, causes.txt, reports")
