"""Commands site and serve: the app in browsers, as static files or run by this machine."""

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
    from rdmalab.book.page import LabSite
    from rdmalab.cli.book import catalogue_of, progress

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
