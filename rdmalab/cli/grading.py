"""Command grade: grade the submissions of a lab."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rdmalab.cli import program
from rdmalab.cli.labs import with_salt
from rdmalab.shell.streams import print_json, progress_stream

if TYPE_CHECKING:
    from rdmalab.classroom.grade_document import Grade
    from rdmalab.classroom.grading import Item
    from rdmalab.jobs.outcome import Pool

_ENDINGS = (".yaml", ".yml", ".txt")
_MOST_OCTETS = 4 << 20  # of a submission that is read at all
_FORMS = ["text", "json", "csv", "junit", "gradescope", "moodle"]

with_out = click.option(
    "--out", type=click.Path(file_okay=False), metavar="DIR",
    help="Write grades.jsonl, grades.csv, causes.txt and a report for each student. Grades that "
    "are there already are kept, so that a grading that was stopped goes on.",
)  # fmt: skip
with_roster = click.option(
    "--roster", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
    help="The ids of the class; others are reported.",
)  # fmt: skip


@program.program.command()
@click.argument("lab", metavar="LAB")
@click.argument("paths", nargs=-1, required=True, metavar="SUBMISSION|DIR...")
@with_salt
@with_out
@with_roster
@click.option(
    "--format", "form", type=click.Choice(_FORMS), default="text", show_default=True,
    help="What is printed.",
)  # fmt: skip
@click.option("--jobs", type=click.IntRange(1, 256), help="Worker processes; default: the cores.")
@click.option("--cluster", metavar="ADDRESS", help="The scheduler of a dask cluster.")
@click.option("--alike", type=click.FloatRange(0, 1), help="List pairs that are this much alike.")
@click.option("--public", is_flag=True, help="Judge only what students may see.")
@click.option("--require", type=int, metavar="POINTS", help="Exit code 1 if a score is less.")
def grade(  # noqa: PLR0913
    *, lab: str, paths: tuple[str, ...], salt: str, out: str | None, roster: str | None,
    form: str, jobs: int | None, cluster: str | None, alike: float | None, public: bool,
    require: int | None,
) -> int:  # fmt: skip
    """Replay submissions and grade them.

    SUBMISSION is a file, DIR a folder of them, such as a download of Moodle or Gradescope. Only
    lines and answers are judged; scores in a submission are ignored. Exit code 0: all were graded,
    whatever their score.
    """
    from rdmalab.jobs.limits import Limits

    items = list(_items(lab, paths, salt, public=public))
    if not items:
        program.tell("no submission found")
        return program.Exit.NOTHING
    pool = program.workers(Limits(), jobs, cluster)
    grades = sorted(_graded(items, out, pool), key=lambda each: each.student)
    _print(grades, form)
    _tell_of(grades, roster)
    if alike is not None:
        _tell_alike(items, alike)
    if out is not None:
        _write(grades, Path(out))
    if any(each.verdict == "not-graded" for each in grades):
        return program.Exit.BUG
    failed = require is not None and any(each.score < require for each in grades)
    return program.Exit.FAILED if failed else program.Exit.WELL


def _items(lab: str, paths: Sequence[str], salt: str, *, public: bool) -> "Iterator[Item]":
    """The submissions in files, and in those below folders."""
    from rdmalab.classroom.grading import Item
    from rdmalab.scenario.files import found, read
    from rdmalab.scenario.source import FileError

    try:
        text = read(found(lab))
    except FileError as wrong:
        raise click.ClickException(str(wrong)) from None
    for path in paths:
        place = Path(path)
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if not place.is_dir() or (file.suffix in _ENDINGS and file.is_file()):
                yield Item(text, lab, _text_of(file), str(file), salt, public=public)


def _text_of(file: Path) -> str:
    """The text of a submission; empty, which is unreadable, if it is too large."""
    try:
        with file.open("rb") as opened:
            octets = opened.read(_MOST_OCTETS + 1)
    except OSError as wrong:
        raise click.ClickException(f"{file} cannot be read: {wrong.strerror}") from None
    return octets.decode("utf-8-sig", "replace") if len(octets) <= _MOST_OCTETS else ""


def _graded(items: "Sequence[Item]", out: str | None, pool: "Pool") -> "list[Grade]":
    """The grades, with their progress on standard error."""
    from rdmalab.classroom.grading import grades, known, row_of
    from rdmalab.jobs.cluster import ClusterFailed
    from rdmalab.jobs.progress import Progress
    from rdmalab.jobs.result_file import NotResults, ResultFile

    before: dict[str, Grade] = {}
    file: ResultFile | None = None
    found = []
    with ExitStack() as stack:
        if out is not None:
            try:
                Path(out).mkdir(parents=True, exist_ok=True)
                before = known(path := str(Path(out) / "grades.jsonl"))
                file = stack.enter_context(ResultFile(path))
            except (NotResults, OSError) as wrong:
                raise click.ClickException(str(wrong)) from None
        progress = Progress(progress_stream(), len(items), "submissions")
        stack.callback(progress.end)
        try:
            for item, each in grades(items, pool, before):
                if file is not None and item.key not in before:
                    file.add(row_of(item.key, each))
                found.append(each)
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


def _tell_of(grades: "Sequence[Grade]", roster: str | None) -> None:
    """Students who are not on the roster, handed in twice, or nothing."""
    from rdmalab.classroom.roster import ids_of

    students = [each.student for each in grades if each.student]
    twice = sorted({each for each in students if students.count(each) > 1})
    if twice:
        program.tell(f"more than one submission: {', '.join(twice)}")
    if roster is not None:
        known = ids_of(Path(roster).read_text("utf-8-sig"))
        for words, ids in (
            ("not on the roster", sorted(set(students) - set(known))),
            ("nothing handed in", [each for each in known if each not in students]),
        ):
            if ids:
                program.tell(f"{words}: {', '.join(ids)}")
    count = sum(each.verdict == "graded" for each in grades)
    program.tell(f"{count} of {len(grades)} graded")


def _tell_alike(items: "Sequence[Item]", least: float) -> None:
    from rdmalab.classroom import likeness, submission
    from rdmalab.classroom.lab_file import loads
    from rdmalab.scenario.source import FileError
    from rdmalab.vocabulary import VOCABULARY

    works = {}
    for item in items:
        try:
            works[item.name] = submission.loads(item.text, item.name).lines
        except FileError:
            continue
    solutions = loads(items[0].lab, items[0].lab_path, VOCABULARY).document.solutions
    known = [each.lines for each in solutions.accept] if solutions is not None else []
    for share, one, other in likeness.alike(works, known, least):
        program.tell(f"alike {share:.0%}: {one} {other}")


def _write(grades: "Sequence[Grade]", folder: Path) -> None:
    from rdmalab.classroom import formats

    (folder / "grades.csv").write_text(formats.as_csv(grades), "utf-8")
    (folder / "causes.txt").write_text(formats.causes(grades) + "\n", "utf-8")
    reports = folder / "reports"
    reports.mkdir(exist_ok=True)
    for each in grades:
        if each.student:  # a word of letters, digits, - _ and ., so it is no path
            (reports / f"{each.student}.txt").write_text(formats.report(each), "utf-8")
    program.tell(f"{folder}: grades.csv, causes.txt, reports")
