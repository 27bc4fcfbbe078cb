"""Commands book, site and serve: pages and the app for browsers, as files or served from here."""

import gzip
import re
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rdmalab import disk
from rdmalab.cli import program
from rdmalab.cli.labs import read_roster, with_roster
from rdmalab.jobs.result_file import Progress
from rdmalab.scenario.files import LAB_SUFFIX, SUFFIX, found, lessons_folder
from rdmalab.scenario.source import FileError
from rdmalab.shell.streams import progress_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rdmalab.book.build import Book
    from rdmalab.book.catalogue import Catalogue


_MARK = "files.txt"


@program.program.command()
@click.argument("out", metavar="OUT")
@click.argument("paths", nargs=-1, metavar="[FILE|DIR]...")
@click.option(
    "--student", "students", multiple=True, metavar="ID",
    help="Add a sheet of exercises: the published labs with the values drawn for this id; "
    "repeatable.",
)  # fmt: skip
@with_roster
@program.with_jobs
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
    people = read_roster(roster)
    ids = [*students, *(people.ids if people is not None else ())]
    sheets_of = _with_sheets(listed, ids)
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


def _with_sheets(listed: "Catalogue", ids: list[str]) -> list[str]:
    """The ids, each once; UsageError where no sheet can be made for them."""
    if ids and not listed.labs:
        raise click.UsageError("there are no labs here, so there is no sheet to be made")
    if not all(each.strip() for each in ids):
        raise click.UsageError("--student: an id must not be empty")
    if ids:
        # With another salt sheets would have other values than what students load.
        _refuse_unpublished((chapter.path for chapter in listed.labs), _SHEET)
    return list(dict.fromkeys(ids))


_SHEET = (
    "a sheet needs the file that students load, with its salt. Publish it, and name that file "
    "here: rdmalab lab publish {path} -o handout.lab.yaml --salt TEXT"
)
_SITE = (
    "each visitor of the page could read its solutions and hidden tasks. Publish it, and put the "
    "file for students in its place: rdmalab lab publish {path} -o handout.lab.yaml"
)


def _refuse_unpublished(paths: "Iterable[str]", needs: str, *, readable: bool = False) -> None:
    """UsageError if one of these labs has what students do not get. needs: why that is wrong.

    readable: a lab with a mistake is an error, too; else what reads it next reports it.
    """
    from rdmalab.classroom.lab_file import load
    from rdmalab.classroom.public import is_for_students

    for path in paths:
        try:
            lab = load(path, "1")
        except FileError as wrong:
            if readable:
                raise click.UsageError(str(wrong)) from None
            continue
        # A guided lab, such as the tour, is not graded: it hides nothing.
        if not (lab.document.guided or is_for_students(lab)):
            text = f"{path} is a file of the instructor, and {needs.format(path=path)}"
            raise click.UsageError(text)


@contextmanager
def progress(pages: int) -> "Iterator[Callable[[], None]]":
    """The count of pages made, on standard error where that is a terminal."""
    stream = progress_stream()
    line = Progress(stream, pages, "lessons, labs and sheets")
    try:
        yield line.advance if stream.isatty() else lambda: None
    finally:
        line.end()


def catalogue_of(paths: tuple[str, ...]) -> "Catalogue":
    """The lessons and labs among paths and below folders; without a path all that are known."""
    from rdmalab.book.catalogue import catalogue

    return catalogue(_files(paths or (str(lessons_folder()),)))


def _files(paths: tuple[str, ...]) -> "Iterator[str]":
    """The files of lessons and labs among paths and below folders."""
    named = tuple(map(found, paths))
    for path in named:
        if not Path(path).exists():
            raise click.UsageError(f"{path}: no such file or folder")
    yield from program.files_below(named, SUFFIX)
    folders = tuple(path for path in named if Path(path).is_dir())
    yield from program.files_below(folders, LAB_SUFFIX)


def _write(out: str, made: "Book") -> None:
    with program.writing(out, "book"):
        disk.write_tree(out, made.files, _MARK)


_MB = 1e6
_BOOK = "book"


@program.program.command()
@click.argument("out", metavar="OUT")
@click.option(
    "--downloads", type=click.Path(file_okay=False), metavar="DIR",
    help="Keep the downloaded packages in this folder for the next time.",
)  # fmt: skip
@click.option("--book", "has_book", is_flag=True,
              help="Add the lessons as pages, OUT/book; each can be tried there.")  # fmt: skip
def site(*, out: str, downloads: str | None, has_book: bool) -> int:
    """Write the app as a page into the folder OUT: it runs in a browser, without a server program.

    Needs node and npm, and a network for the packages, which are pinned by hash. Publish the
    folder on any host of static files; python3 -m http.server -d OUT shows it on this machine.
    The same files make the same bytes. OUT must be new, empty, or such a folder.
    """
    from rdmalab.page.site import MARK, assembled

    _refuse_unpublished(_labs_below(lessons_folder()), _SITE, readable=True)
    with tempfile.TemporaryDirectory(prefix="rdmalab-site-") as folder:
        kept = Path(downloads) if downloads is not None else Path(folder) / "downloads"
        files = assembled(kept.absolute(), Path(folder) / "work", program.tell)
    if has_book:
        files |= {f"{_BOOK}/{name}": octets for name, octets in _book().items()}
    with program.writing(out, "folder of the page"):
        disk.write_tree(out, files, MARK)
    size = sum(min(len(gzip.compress(octets, 9)), len(octets)) for octets in files.values()) / _MB
    whole = sum(map(len, files.values())) / _MB
    program.tell(f"{len(files)} files, {whole:.1f} MB, over the wire {size:.1f} MB: "
                 f"{Path(out) / 'index.html'}")  # fmt: skip
    return program.Exit.WELL


_LAB = re.compile(rb"^kind: *[\"']?lab\b", re.MULTILINE)


def _labs_below(folder: Path) -> "Iterator[str]":
    """The labs among all files below a folder, whatever their names end with."""
    for path in sorted(folder.rglob("*.y*ml")):
        if path.is_file() and (path.name.endswith(LAB_SUFFIX) or _LAB.search(path.read_bytes())):
            yield str(path)


def _book() -> dict[str, bytes]:
    """The book of all lessons, whose pages show the lab of the folder around it."""
    from rdmalab.book.build import LIMITS, build
    from rdmalab.book.page import LabSite
    from rdmalab.cli.browsers import catalogue_of, progress

    program.tell("playing the lessons of the book")
    listed, site = catalogue_of(()), LabSite("../")
    with progress(len(listed.chapters)) as advance:
        made = build(listed, program.workers(LIMITS, None, None), site=site, advance=advance)
    for text in (*made.wrong, *made.broken):
        program.tell(text)
    return made.files


_SIZE = "120x36"
_LEAST, _MOST = (40, 12), (300, 100)


@program.program.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True,
              help="0: any free one.")  # fmt: skip
@click.option("--name", "names", multiple=True, metavar="HOST",
              help="A further name of this server in addresses; repeatable.")  # fmt: skip
@click.option("--visitors", type=click.IntRange(1), metavar="N",
              help="How many at once; default: 8, with --read-only 100.")  # fmt: skip
@click.option("--read-only", is_flag=True,
              help="One session for all: an address to type, and one only to watch.")  # fmt: skip
@click.option("--size", default=_SIZE, show_default=True, metavar="COLUMNSxROWS",
              help="Of the screen that all see with --read-only.")  # fmt: skip
def serve(
    *, host: str, port: int, names: tuple[str, ...], visitors: int | None, read_only: bool,
    size: str,
) -> int:  # fmt: skip
    """Serve the app to browsers; each visitor has a process of their own.

    A visitor needs the address that is printed, and works with the rights of your account: reads
    and writes your files. Without --host only this machine reaches the server. ^C ends it.
    """
    import asyncio

    try:
        from rdmalab.serve.server import Role, Served, is_any
        from rdmalab.serve.server import serve as run
    except ImportError as missing:
        message = f'{missing.name} is not installed: pip install "rdmalab[web]" installs it'
        raise click.ClickException(message) from None
    if is_any(host) and not names:
        raise click.UsageError(f"--host {host} has many names: write one with --name HOST")
    most = visitors or (100 if read_only else 8)
    served = Served(host, port, names, most, _size(size) if read_only else None)

    def tell(addresses: dict[Role, str]) -> None:
        words = {Role.TYPES: "to type: ", Role.WATCHES: "to watch:"}
        for role, address in addresses.items():
            program.say(f"{words[role]} {address}" if read_only else address, unless=False)
        program.tell("^C ends the server.")

    try:
        asyncio.run(run(served, tell))
    except OSError as wrong:
        why = wrong.strerror or wrong
        text = f"cannot listen at {host}, port {port}: {why}; --port chooses another one"
        raise click.ClickException(text) from None
    return program.Exit.WELL


def _size(text: str) -> tuple[int, int]:
    columns, _, rows = text.partition("x")
    if columns.isdecimal() and rows.isdecimal():
        size = int(columns), int(rows)
        if all(low <= each <= high for low, each, high in zip(_LEAST, size, _MOST, strict=True)):
            return size
    least, most = ("x".join(map(str, size)) for size in (_LEAST, _MOST))
    raise click.UsageError(
        f"--size {text}: write COLUMNSxROWS, such as {_SIZE}, from {least} to {most}"
    )
