"""The command `rdmalab`, with the exit codes, options and messages of its subcommands."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rdmalab import disk
from rdmalab.cli.exits import PIPE_CLOSED, Exit, at_terminal, is_dumb
from rdmalab.shell.streams import detach_output
from rdmalab.spec.profiles import PROFILES, STRICT
from rdmalab.version import VERSION

__all__ = ["Exit", "at_terminal", "is_dumb"]  # with the options, what commands need

if TYPE_CHECKING:
    from rdmalab.jobs.limits import Limits, Pool

FILE = "FILE"  # the command that stands for a file's name
_MODULES = {
    "repl": "program", "run": "scenarios", "why": "scenarios", "check": "checking",
    "fmt": "checking", "lessons": "lessons", "sweep": "sweep", "compare": "scenarios",
    "lab": "labs", "grade": "grading", "course": "course", "book": "browsers", "site": "browsers",
    "serve": "browsers", "help": "reference_commands", "explain": "reference_commands",
    "capabilities": "reference_commands", "export": "exporting", "open": "session_commands",
    "python": "session_commands", "exec": "session_commands", "cc": "session_commands",
    "schema": "reference_commands", "settings": "session_commands",
    "selfcheck": "reference_commands",
}  # fmt: skip
"""The commands in the order of help; the module of each is imported when the command is used."""
_EXIT_CODES = """
Exit codes: 0 success, 1 an expectation failed or why found an error, 2 bad usage, file or line, or
output that cannot be written, 3 a bug in rdmalab, 5 nothing selected, 130 ^C, 143 SIGTERM.
Results go to standard output, messages to standard error. RDMALAB_STATE: directory of sessions,
bug reports and settings. RDMALAB_ASCII=1: ASCII only, 0: line drawing also if TERM is linux or
dumb. NO_COLOR: no colours. The manual: rdmalab help.
"""


class _Program(click.Group):
    """The click group of `_MODULES`."""

    def invoke(self, ctx: click.Context) -> object:
        """Report what keeps a command from being carried out.

        Mistakes in a file are a result, on standard output. Exit without an error on a closed pipe;
        click would return 1, which means a failure.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            detach_output()
            return PIPE_CLOSED
        except Exception as error:
            from rdmalab.command import UserError, WrongFile

            if isinstance(error, WrongFile):
                print(error.report)
                return Exit.USAGE
            if isinstance(error, UserError):
                raise click.ClickException(str(error)) from None
            raise

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of the command, which adds it."""
        if cmd_name in _MODULES:
            import_module(f"rdmalab.cli.{_MODULES[cmd_name]}")
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Open a name that is no command but looks like a file, or is that of a lesson.

        `labs` is that of the prompt: the lessons that are labs.
        """
        if args[0] == "labs":
            return "lessons", self.get_command(ctx, "lessons"), args
        if args[0] not in _MODULES and _is_file_name(args[0]):
            return FILE, self.commands[FILE], args
        return super().resolve_command(ctx, args)


def _is_file_name(word: str) -> bool:
    if word.endswith((".yaml", ".yml")) or os.sep in word or Path(word).is_file():
        return True
    return Path(_found(word)).is_file()  # sq-full: a lesson or a lab by its name


def _found(path: str) -> str:
    from rdmalab.scenario.files import found

    return found(path)


with_profile = click.option(
    "--profile", type=click.Choice(list(PROFILES)), default=STRICT.name, show_default=True,
    help="Device model to emulate.",
)  # fmt: skip
with_own_profile = click.option(
    "--profile", type=click.Choice(list(PROFILES)),
    help="Device model to emulate, replaces that of the file; default: the file's, "
    f"else {STRICT.name}.",
)  # fmt: skip
with_json = click.option("--json", "as_json", is_flag=True, help="One JSON document; see schema.")
with_set = click.option(
    "--set", "given", multiple=True, metavar="NAME=VALUE",
    help="The value of a parameter of the file; repeatable.",
)  # fmt: skip
with_jobs = click.option(
    "--jobs", type=click.IntRange(1, 256), help="Worker processes; default: the cores."
)
with_cluster = click.option("--cluster", metavar="ADDRESS", help="The scheduler of a dask cluster.")
with_paths = click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR...")


def _setting(name: str, word: str = "") -> Callable[[click.Context, click.Parameter, object], None]:
    """Callback of an option that replaces a setting. word: the value; empty: that of the option."""

    def chosen(_context: click.Context, _parameter: click.Parameter, value: object) -> None:
        if not value:
            return
        from rdmalab.workbench import settings

        try:
            settings.choose(name, word or str(value))
        except settings.WrongSetting as wrong:
            raise click.BadParameter(str(wrong)) from None

    return chosen


with_ascii = click.option(
    "--ascii", is_flag=True, expose_value=False, callback=_setting("ascii", "on"),
    help="Draw with ASCII only.",
)  # fmt: skip
with_theme = click.option(
    "--theme", metavar="NAME", expose_value=False, callback=_setting("theme"),
    help="Colours of the app; rdmalab settings lists the names.",
)  # fmt: skip
with_no_mouse = click.option(
    "--no-mouse", is_flag=True, expose_value=False, callback=_setting("mouse", "off"),
    help="Leave the mouse to the terminal, which selects text with it.",
)  # fmt: skip


@click.group(cls=_Program, invoke_without_command=True, epilog=_EXIT_CODES.strip())
@click.version_option(VERSION, prog_name="rdmalab", message="%(prog)s %(version)s")
@with_own_profile
@click.option("--seed", type=int, help="Random seed; default: 0.")
@with_theme
@with_ascii
@with_no_mouse
@click.pass_context
def program(context: click.Context, profile: str | None, seed: int | None) -> int | None:
    """Run RDMA verbs on two emulated nodes, in virtual time.

    Without a command: the app. With FILE, a scenario or a saved session: the app, which opens it.
    With a pipe on standard input: runs its lines.
    """
    if context.invoked_subcommand == FILE:
        context.obj = (profile, seed)
        return None
    if context.invoked_subcommand is not None:
        _refuse_in_front(context, profile, seed)
        return None
    if not at_terminal():
        return _repl(profile, seed)
    if is_dumb():
        tell("TERM=dumb: the plain prompt, because this terminal has no full screen.")
        return _repl(profile, seed)
    from rdmalab.tui.launch import main as app

    return app(profile=profile or STRICT.name, seed=seed or 0)


def _refuse_in_front(context: click.Context, profile: str | None, seed: int | None) -> None:
    given = [name for name, value in (("profile", profile), ("seed", seed)) if value is not None]
    if given:
        command = context.invoked_subcommand
        message = f"write --{given[0]} after the command: rdmalab {command} --{given[0]} …"
        raise click.UsageError(message)


@program.command(name=FILE, hidden=True)
@click.argument("path", metavar="FILE")
@with_own_profile
@with_theme
@with_ascii
@with_no_mouse
@click.pass_obj
def walk(obj: tuple[str | None, int | None], *, path: str, profile: str | None) -> int:
    """Open a scenario, a lesson by its name, or a saved session, in the app."""
    in_front, seed = obj
    if not at_terminal() or is_dumb():
        message = (
            f"rdmalab {path} opens the app, which needs a terminal; without one: rdmalab run {path}"
        )
        raise click.UsageError(message)
    if not Path(path := _found(path)).is_file():
        raise click.UsageError(f"{path}: no such file, and no such command: rdmalab --help")
    from rdmalab.tui.launch import main as app

    return app(profile=profile or in_front, seed=seed or 0, path=path)


@program.command()
@click.option("-c", "lines", multiple=True, metavar="LINE", help="Run a line; repeatable.")
@click.option("-f", "--file", type=click.Path(dir_okay=False), help="Run the lines of a file.")
@click.option("--plain", is_flag=True, help="No colours, no redrawing: one fact a line.")
@with_json
@with_ascii
@with_profile
@click.option("--seed", type=int, default=0, help="Random seed.")
@click.option("--keep-going", is_flag=True, help="Run the lines after a refused one, too.")
def repl(  # noqa: PLR0913  (one for each option)
    *, lines: tuple[str, ...], file: str | None, plain: bool, as_json: bool, profile: str,
    seed: int, keep_going: bool,
) -> int:  # fmt: skip
    """Verbs at a prompt."""
    from rdmalab.shell.repl import main as prompt

    return prompt(lines, file, plain, as_json, profile, seed, keep_going)


def _repl(profile: str | None, seed: int | None) -> int:
    from rdmalab.shell.repl import main as prompt

    return prompt([], None, profile=profile or STRICT.name, seed=seed or 0)


def values_of(given: tuple[str, ...]) -> dict[str, str]:
    """The values of `--set NAME=VALUE` by name; raises UsageError."""
    values: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise click.UsageError(f"--set {each}: write NAME=VALUE")
        values[name] = value
    return values


def tell(text: str) -> None:
    """Print a message on standard error, after the results."""
    sys.stdout.flush()
    print(text, file=sys.stderr)


def say(text: str, *, unless: bool) -> None:
    """Print a result on standard output, unless `unless` is true."""
    if not unless:
        print(text)


@contextmanager
def understood() -> Iterator[None]:
    """Report words that are not understood as an error of usage, with their hint."""
    from rdmalab.command import NotUnderstood

    try:
        yield
    except NotUnderstood as wrong:
        hint = f" ({wrong.hint})" if wrong.hint else ""
        raise click.UsageError(wrong.message + hint) from None


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Report what is wrong with reading this file, or one below it, as an error of usage."""
    try:
        yield
    except UnicodeDecodeError:
        raise click.UsageError(f"{path} is not UTF-8") from None
    except OSError as wrong:
        message = f"{wrong.filename or path} cannot be read: {wrong.strerror}"
        raise click.UsageError(message) from None


def text_of(path: str) -> str:
    """The text of a file in UTF-8, with a byte order mark or not."""
    with reading(path):
        return disk.read(path).decode("utf-8-sig")


def write(path: str, octets: bytes, may_replace: disk.Recognise, kind: str) -> bool:
    """Write a file; returns whether one was replaced. A file of another kind is not replaced."""
    with writing(path, kind):
        return disk.write(path, octets, may_replace)


def putter(folder: Path) -> Callable[[str, bytes], None]:
    """A function that writes a file below the folder, unless it has these bytes already."""

    def put(name: str, octets: bytes) -> None:
        path = folder / name
        with writing(str(path), "file of this command"):
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.is_file() or disk.beginning(path, len(octets) + 1) != octets:
                disk.write(path, octets, lambda _: True)

    return put


@contextmanager
def writing(path: str, kind: str, free: str = "") -> Iterator[None]:
    """Report what is wrong with writing this file or folder as an error of the command line.

    free: a name that can be chosen where the file is of another kind.
    """
    try:
        yield
    except (OSError, ValueError) as wrong:
        message = "; ".join(filter(None, disk.complaint(path, wrong, kind, free)))
        raise click.ClickException(message) from None


def begins_as(octets: bytes) -> disk.Recognise:
    """Recognises a file that begins with the same two words, such as `<svg xmlns=…`."""
    words = octets.split(maxsplit=2)[:2]
    return lambda there: there.split(maxsplit=2)[:2] == words


def files_below(paths: Sequence[str], suffix: str) -> Iterator[str]:
    """The files among paths, and those below folders that end with a suffix."""
    for path in paths:
        try:
            found = sorted(Path(path).rglob(f"*{suffix}")) if Path(path).is_dir() else [Path(path)]
        except (OSError, ValueError):  # too long, or a NUL in it: reading it gives the error
            found = [Path(path)]
        yield from (str(file) for file in found)


def workers(limits: "Limits", jobs: int | None, cluster: str | None) -> "Pool":
    """The processes that do many items. jobs: of this machine, None: one a core.

    cluster: the address of a scheduler, None: this machine.
    """
    from rdmalab.jobs.cluster import ClusterPool
    from rdmalab.jobs.pool import LocalPool, cores

    return ClusterPool(cluster, limits) if cluster else LocalPool(limits, jobs or cores())
