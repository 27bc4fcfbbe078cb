"""Command site: the app as a folder of static files, which runs in a browser."""

import gzip
import tempfile
from pathlib import Path

import click

from rdmalab import disk
from rdmalab.cli import program

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


def _book() -> dict[str, bytes]:
    """The book of all lessons, whose pages show the lab of the folder around it."""
    from rdmalab.book.build import LIMITS, build
    from rdmalab.book.try_here import LabSite
    from rdmalab.cli.book import catalogue_of, progress

    program.tell("playing the lessons of the book")
    listed, site = catalogue_of(()), LabSite("../")
    with progress(len(listed.chapters)) as advance:
        made = build(listed, program.workers(LIMITS, None, None), site=site, advance=advance)
    for text in (*made.wrong, *made.broken):
        program.tell(text)
    return made.files
