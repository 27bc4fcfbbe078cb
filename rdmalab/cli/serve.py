"""Command serve: the app in browsers, run by this machine's Python."""

import click

from rdmalab.cli import program

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
        from rdmalab.serve.server import Served
        from rdmalab.serve.server import serve as run
        from rdmalab.serve.visitors import Role, is_any
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
