"""Command book: lessons, labs and the guide as static pages."""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rdmalab import disk
from rdmalab.cli import program
from rdmalab.shell.streams import progress_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rdmalab.book.build import Book
    from rdmalab.book.catalogue import Catalogue

_MARK = "files.txt"


@program.program.command()
@click.argument("out", metavar="OUT")
@click.argument("paths", nargs=-1, metavar="[FILE|DIR]...")
@click.option(
    "--student", "students", multiple=True, metavar="ID",
    help="Add a sheet of exercises: the labs with the values drawn for this id; repeatable.",
)  # fmt: skip
@click.option(
    "--roster", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
    help="Add a sheet for each id of a class.",
)  # fmt: skip
@click.option("--jobs", type=click.IntRange(1, 256), help="Worker processes; default: the cores.")
@click.option("--lab", "lab_at", metavar="URL",
              help="The page of rdmalab site: each lesson can be tried in a frame.")  # fmt: skip
def book(
    *, out: str, paths: tuple[str, ...], students: tuple[str, ...], roster: str | None,
    jobs: int | None, lab_at: str | None,
) -> int:  # fmt: skip
    """Write lessons, labs and the guide as pages into the folder OUT.

    Without a path: those in ./scenarios, or of the installed package. Open OUT/index.html in a
    browser: pages need no server and no network, and print well. The same files make the same
    bytes. OUT must be new, empty, or a book. Exit code 1: a lesson failed; its page shows why.
    """
    from rdmalab.book.build import LIMITS, build
    from rdmalab.book.page import HOME, LabSite

    try:
        lab_site = LabSite(lab_at) if lab_at is not None else None
    except ValueError as wrong:
        raise click.UsageError(f"--lab {wrong}") from None
    listed = catalogue_of(paths)
    if not listed.chapters:
        program.tell("no lesson found")
        return program.Exit.NOTHING
    ids = [*students, *_ids(roster)]
    if ids and not listed.labs:
        raise click.UsageError("there are no labs here, so there is no sheet to be made")
    if not all(each.strip() for each in ids):
        raise click.UsageError("--student: an id must not be empty")
    sheets_of = list(dict.fromkeys(ids))
    with progress(len(listed.chapters) + len(sheets_of)) as advance:
        made = build(listed, program.workers(LIMITS, jobs, None), sheets_of, lab_site, advance)
    _write(out, made)
    for text in (*made.wrong, *made.broken):
        program.tell(text)
    sheets = f", sheets: {len(ids)}" if ids else ""
    size = sum(map(len, made.files.values())) / 1e6
    program.tell(f"lessons and labs: {made.lessons}, articles: {made.articles}{sheets}, "
                 f"{size:.1f} MB: {Path(out) / HOME}")  # fmt: skip
    if made.broken:
        return program.Exit.BUG
    return program.Exit.FAILED if made.wrong else program.Exit.WELL


@contextmanager
def progress(pages: int) -> "Iterator[Callable[[], None]]":
    """The count of pages made, on standard error where that is a terminal."""
    from rdmalab.jobs.result_file import Progress

    stream = progress_stream()
    line = Progress(stream, pages, "lessons, labs and sheets")
    try:
        yield line.advance if stream.isatty() else lambda: None
    finally:
        line.end()


def catalogue_of(paths: tuple[str, ...]) -> "Catalogue":
    """The lessons and labs among paths and below folders; without a path all that are known."""
    from rdmalab.book.catalogue import catalogue
    from rdmalab.scenario.files import lessons_folder

    return catalogue(_files(paths or (str(lessons_folder()),)))


def _files(paths: tuple[str, ...]) -> "Iterator[str]":
    """The files of lessons and labs among paths and below folders."""
    from rdmalab.scenario.files import LAB_SUFFIX, SUFFIX, found

    named = tuple(map(found, paths))
    for path in named:
        if not Path(path).exists():
            raise click.UsageError(f"{path}: no such file or folder")
    yield from program.files_below(named, SUFFIX)
    folders = tuple(path for path in named if Path(path).is_dir())
    yield from program.files_below(folders, LAB_SUFFIX)


def _ids(roster: str | None) -> list[str]:
    from rdmalab.classroom.owner import ids_of

    return [] if roster is None else ids_of(program.text_of(roster))


def _write(out: str, made: "Book") -> None:
    with program.writing(out, "book"):
        disk.write_tree(out, made.files, _MARK)
