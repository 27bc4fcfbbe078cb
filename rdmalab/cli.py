"""The command line. Everything else is imported when a command needs it, and nothing imports this.

Exit codes: 0 all well; 1 an expectation failed; 2 bad usage, file or line; 3 a bug in rdmalab;
5 nothing selected; 130 ^C. Results go to standard output, talk to standard error.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdmalab.spec.profiles import PROFILES, STRICT
from rdmalab.version import VERSION

if TYPE_CHECKING:
    from rdmalab.scenario.coverage import Bound
    from rdmalab.scenario.loader import Scenario
    from rdmalab.scenario.report import RunModel
    from rdmalab.scenario.runner import Runner
    from rdmalab.scenario.source import FileError

ISSUES = "the project's issue tracker"
_STANDARD_OUTPUT = "-"
_PIPE_CLOSED = 128 + 13  # what a shell says of a program that SIGPIPE ended


class Exit(IntEnum):
    """What the shell is told."""

    WELL = 0
    FAILED = 1
    USAGE = 2
    BUG = 3
    NOTHING = 5
    INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code. Also the one place that catches a bug."""
    try:
        code = program.main(args=arguments, prog_name="rdmalab", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as wrong:
        wrong.show()
        return Exit.USAGE
    except (KeyboardInterrupt, click.Abort):
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _forget_output()
        return _PIPE_CLOSED
    except Exception as bug:  # noqa: BLE001  (whatever it is, it is ours)
        return _report_bug(bug)
    return int(code) if isinstance(code, int) else Exit.WELL


def _forget_output() -> None:
    """Nobody reads any more: Python must not try to flush when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report_bug(bug: Exception) -> Exit:
    if os.environ.get("RDMALAB_DEBUG"):
        import traceback

        traceback.print_exc()
    said = f"a bug in rdmalab {VERSION}: {type(bug).__name__}: {bug}"
    print(said, file=sys.stderr)
    print(f"Please tell {ISSUES}, with what you did.", file=sys.stderr)
    print("RDMALAB_DEBUG=1 shows where it happened.", file=sys.stderr)
    return Exit.BUG


class _Program(click.Group):
    """Commands in the order in which they are written."""

    def invoke(self, ctx: click.Context) -> Any:
        """Quiet when nobody reads any more; click itself would say 1, which means a failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _forget_output()
            return _PIPE_CLOSED

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(self.commands)


_profile = click.option(
    "--profile", type=click.Choice(list(PROFILES)), default=STRICT.name, show_default=True,
    help="Whose quirks the devices have.",
)  # fmt: skip
_json = click.option("--json", "as_json", is_flag=True, help="One JSON document; see schema.")
_paths = click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR...")


@click.group(cls=_Program, invoke_without_command=True, epilog=(__doc__ or "").partition("\n\n")[2])
@click.version_option(VERSION, prog_name="rdmalab", message="%(prog)s %(version)s")
@click.pass_context
def program(context: click.Context) -> int | None:
    """Type RDMA verbs, see two emulated nodes do them; time moves when you say so.

    Without a command: the app. With a pipe on standard input: its lines, one after the other.
    """
    if context.invoked_subcommand is not None:
        return None
    if sys.stdin.isatty() and sys.stdout.isatty():
        from rdmalab.tui.app import main as app

        return app()
    return _repl()


# --------------------------------------------------------------------------- the prompt
@program.command()
@click.option("-c", "lines", multiple=True, metavar="LINE", help="Carry out a line; repeatable.")
@click.option("-f", "--file", type=click.Path(dir_okay=False), help="Carry out a file's lines.")
@click.option("--plain", is_flag=True, help="No colours, no redrawing: one fact a line.")
@_json
@_profile
@click.option("--seed", type=int, default=0, help="Of everything that is left to chance.")
def repl(
    *, lines: tuple[str, ...], file: str | None, plain: bool, as_json: bool, profile: str, seed: int
) -> int:
    """Verbs at a prompt."""
    return _repl(
        lines=list(lines), file=file, plain=plain, json=as_json, profile=profile, seed=seed
    )


def _repl(**options: Any) -> int:
    from rdmalab.shell.repl import main as prompt

    chosen = {"lines": [], "file": None, "plain": False, "json": False, "profile": STRICT.name,
              "seed": 0, **options}  # fmt: skip
    return prompt(**chosen)


# --------------------------------------------------------------------------- scenarios
@program.command()
@_paths
@click.option("-v", "--verbose", is_flag=True, help="Tell what happens, step by step.")
@_json
@click.option("--junit", type=click.Path(dir_okay=False), help="Also write a JUnit report.")
@_profile
def run(
    *, paths: tuple[str, ...], verbose: bool, as_json: bool, junit: str | None, profile: str
) -> int:
    """Play scenarios; exit code 0 means that all went as they say.

    A directory stands for all *.rdmalab.yaml below it.
    """
    from rdmalab.scenario.report import RunModel, of_error, of_runner

    report = RunModel()
    for scenario, wrong in _loaded(paths):
        if scenario is None:
            report.add(of_error(_certain(wrong)))
            _say(f"ERROR {wrong}", unless=as_json)
        else:
            runner = _played(scenario, profile, verbose=verbose and not as_json)
            report.add(of_runner(runner))
            if not runner.ok:
                _say(runner.results[-1].text(scenario.path), unless=as_json)
    if as_json:
        print(report.model_dump_json(indent=2))
    if junit:
        _write_junit(report, junit)
    _tell(report.summary)
    return _verdict(report)


def _played(scenario: "Scenario", profile: str, *, verbose: bool) -> "Runner":
    from rdmalab.lab import open_session
    from rdmalab.scenario.report import narration
    from rdmalab.scenario.runner import Runner
    from rdmalab.scenario.source import visible

    runner = Runner(scenario, open_session, profile=profile)
    if verbose:
        print(f"# {visible(scenario.path)}: {visible(scenario.title)}")
    while (result := runner.next_step()) is not None:
        if verbose:
            print("\n".join(narration(runner, result)))
    return runner


@program.command()
@click.argument("form", type=click.Choice(["pcapng"]), metavar="pcapng")
@click.argument("path", metavar="SCENARIO")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True),
    required=True,
    help="The file to write; - is standard output.",
)
@_profile
def export(*, form: str, path: str, output: str, profile: str) -> int:
    """Play a scenario, and write what was sent as another program reads it.

    pcapng: every frame that left a port, for Wireshark and tshark. A file that is there is
    replaced. If the scenario fails, what was sent up to there is written all the same.
    """
    from rdmalab.export import pcapng
    from rdmalab.scenario.report import RunModel, of_runner
    from rdmalab.workbench.files import Exported

    del form
    if output == _STANDARD_OUTPUT and sys.stdout.isatty():
        raise click.UsageError("a terminal cannot show a capture: -o FILE, or -o - into a pipe")
    scenario, wrong = _opened(path)
    if scenario is None:
        _tell(f"ERROR {_certain(wrong)}")
        return Exit.USAGE
    runner = _played(scenario, profile, verbose=False)
    capture = pcapng.capture(runner.session.world, runner.session.names)
    if output == _STANDARD_OUTPUT:
        sys.stdout.buffer.write(capture.octets)
    else:
        _write(output, capture.octets)
    if not runner.ok:
        _tell(runner.results[-1].text(scenario.path))
    named = "standard output" if output == _STANDARD_OUTPUT else output
    _tell(Exported(named, capture.frames, capture.never_left).text)
    report = RunModel()
    report.add(of_runner(runner))
    return _verdict(report)


@program.command()
@_paths
def check(*, paths: tuple[str, ...]) -> int:
    """Read scenarios without playing them."""
    count = wrong = 0
    for _, error in _loaded(paths):
        count += 1
        if error is not None:
            wrong += 1
            print(error)
    _tell(f"{count - wrong} of {count} files can be played")
    if not count:
        return Exit.NOTHING
    return Exit.USAGE if wrong else Exit.WELL


@program.command()
@click.argument("paths", nargs=-1, metavar="[FILE|DIR]...")
@click.option("--coverage", is_flag=True, help="Play them, and say which statement each shows.")
@click.option("--tests", metavar="DIR", help="With --coverage: ask the bound tests in DIR too.")
@_json
@_profile
def lessons(
    *, paths: tuple[str, ...], coverage: bool, tests: str | None, as_json: bool, profile: str
) -> int:
    """List scenarios; with --coverage, the statements of the documents and what shows them.

    Without a path: those in ./scenarios, and for --coverage the tests in ./tests. Where a path is
    given no tests are run unless --tests names them, because a test, unlike a scenario, can do
    anything. Everything is played and tested now, no record of another run is believed. Exit code 1
    means that something bound to a statement failed.
    """
    if not paths:
        paths = ("scenarios",)
        tests = tests or ("tests" if Path("tests").is_dir() else None)
    if coverage:
        return _coverage(paths, tests, profile, as_json=as_json)
    return _list(paths, as_json=as_json)


def _list(paths: tuple[str, ...], *, as_json: bool) -> int:
    from rdmalab.scenario.lessons import LessonsModel, lesson, lines

    found, wrong = LessonsModel(), 0
    for scenario, error in _loaded(paths):
        if scenario is None:
            wrong += 1
            _tell(f"ERROR {_certain(error)}")
        else:
            found.lessons.append(lesson(scenario))
    print(found.model_dump_json(indent=2) if as_json else "\n".join(lines(found)))
    if wrong:
        return Exit.USAGE
    return Exit.WELL if found.lessons else Exit.NOTHING


def _coverage(paths: tuple[str, ...], tests: str | None, profile: str, *, as_json: bool) -> int:
    from rdmalab.scenario import bound_tests
    from rdmalab.scenario.coverage import lines, of_runner, table

    bindings: list[Bound] = []
    asked, wrong = bound_tests.Answer([], "not asked"), 0
    for scenario, error in _loaded(paths):
        if scenario is None:
            wrong += 1
            _tell(f"ERROR {_certain(error)}")
        else:
            bindings += of_runner(_played(scenario, profile, verbose=False))
    if tests is not None:
        asked = bound_tests.ask(Path(tests))
    found = table([*bindings, *asked.bound], asked.said)
    print(found.model_dump_json(indent=2) if as_json else "\n".join(lines(found)))
    _tell(found.summary)
    if wrong:
        return Exit.USAGE
    if found.failed or asked.broken:
        return Exit.FAILED
    return Exit.WELL if found.bound else Exit.NOTHING


def _loaded(paths: tuple[str, ...]) -> "Iterator[tuple[Scenario | None, FileError | None]]":
    """Each file: a scenario, or what is wrong with it."""
    from rdmalab.scenario.loader import SUFFIX

    return map(_opened, _files(paths, SUFFIX))


def _opened(path: str) -> "tuple[Scenario | None, FileError | None]":
    from rdmalab.scenario.loader import FileError, load
    from rdmalab.vocabulary import VOCABULARY

    try:
        return load(path, VOCABULARY), None
    except FileError as error:
        return None, error


def _files(paths: tuple[str, ...], suffix: str) -> Iterator[str]:
    for path in paths:
        try:
            found = sorted(Path(path).rglob(f"*{suffix}")) if Path(path).is_dir() else [Path(path)]
        except ValueError:  # a NUL in it
            found = [Path(path)]
        yield from (str(file) for file in found)


def _certain(error: "FileError | None") -> "FileError":
    assert error is not None
    return error


def _tell(text: str) -> None:
    """Talk: behind the results, on standard error."""
    sys.stdout.flush()
    print(text, file=sys.stderr)


def _say(text: str, *, unless: bool) -> None:
    if not unless:
        print(text)


def _verdict(report: "RunModel") -> Exit:
    if not report.scenarios:
        return Exit.NOTHING
    if report.errors:
        return Exit.USAGE
    return Exit.FAILED if report.failed else Exit.WELL


def _write_junit(report: "RunModel", path: str) -> None:
    from rdmalab.scenario.junit import document

    _write(path, document(report))


def _write(path: str, octets: bytes) -> None:
    try:
        Path(path).write_bytes(octets)
    except OSError as wrong:
        raise click.FileError(path, wrong.strerror or str(wrong)) from None


# --------------------------------------------------------------------------- knowledge
@program.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.argument("script", type=click.Path(exists=True, dir_okay=False))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARG]...")
@_profile
@click.option("--save", metavar="FILE", help="Keep what it did as a scenario that replays.")
@click.option("--tui", is_flag=True, help="Open the app on what it did.")
def python(
    *, script: str, arguments: tuple[str, ...], profile: str, save: str | None, tui: bool
) -> int:
    """Run a pyverbs program on a lab instead of RDMA hardware.

    The devices are rdmalab0 (node A) and rdmalab1 (node B), one process may play both; time is
    virtual, so that no sleep and no timeout lasts. Options of the lab come before SCRIPT.
    """
    from rdmalab.compat.script import run as play

    code = play(script, arguments, profile)
    if save is not None or tui:
        _keep(save, Path(script).name, tui=tui)
    return code


def _keep(path: str | None, title: str, *, tui: bool) -> None:
    """Write what the program did as a scenario, and perhaps walk through it."""
    from rdmalab.compat.process import here
    from rdmalab.lab import open_session
    from rdmalab.scenario.saving import TooLong, saved

    try:
        text = saved(here().session, open_session, title)
    except TooLong as steps:
        raise click.ClickException(f"{title} is too long to be kept: {steps}") from None
    with tempfile.TemporaryDirectory() as folder:
        kept = path or str(Path(folder) / "program.rdmalab.yaml")
        _write(kept, text.encode())
        if tui:
            from rdmalab.tui.app import main as app

            app(path=kept)


@program.command()
@click.argument("words", nargs=-1, required=True, metavar="WORD...")
@click.option("--svg", is_flag=True, help="Draw it: explain modify_qp [RC|UC|UD|…] --svg")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Write it into a file instead."
)
def explain(*, words: tuple[str, ...], svg: bool, output: str | None) -> int:
    """Say what a status, state, attribute, opcode or errno means.

    modify_qp can be drawn too: the state machine of a QP type, RC unless another is named.
    """
    said = _drawing(words) if svg else _article(words)
    if output is None:
        print(said, end="")
    else:
        _write(output, said.encode())
    return Exit.WELL


def _article(words: tuple[str, ...]) -> str:
    from rdmalab.command import NotUnderstood
    from rdmalab.guide.explain import explain as find
    from rdmalab.vocabulary import VOCABULARY

    try:
        article = find(" ".join(words), VOCABULARY)
    except NotUnderstood as wrong:
        raise click.UsageError(f"{wrong.message} ({wrong.hint})") from None
    return "\n".join([*article.lines(min(100, _width())), ""])


def _drawing(words: tuple[str, ...]) -> str:
    from rdmalab.guide.machine import state_machine
    from rdmalab.spec.states import QPType

    types = "|".join(qp_type.name for qp_type in QPType)
    verb, _, wanted = " ".join(words).casefold().strip().partition(" ")
    if verb.removeprefix("ibv_") != "modify_qp":
        raise click.UsageError(f"only modify_qp can be drawn: explain modify_qp [{types}] --svg")
    named = {qp_type.name.casefold(): qp_type for qp_type in QPType}
    wanted = wanted.strip().removeprefix("ibv_qpt_") or QPType.RC.name.casefold()
    if wanted not in named:
        raise click.UsageError(f'"{wanted}" is no QP type: {types}')
    return state_machine(named[wanted])


@program.command()
@_json
@_profile
def capabilities(*, as_json: bool, profile: str) -> int:
    """List what is emulated and what is not, with reasons."""
    from dataclasses import asdict

    from rdmalab.guide.capabilities import lines, rows
    from rdmalab.vocabulary import VERBS

    found = rows(PROFILES[profile], VERBS)
    if as_json:
        listed = [asdict(row) for row in found]
        print(json.dumps({"profile": profile, "capabilities": listed}, indent=2))
    else:
        print("\n".join(lines(found, min(100, _width()))))
    return Exit.WELL


def _width() -> int:
    import shutil

    return shutil.get_terminal_size((80, 24)).columns


def _schema_of_repl() -> dict[str, Any]:
    from rdmalab.shell.json_document import schema

    return dict(schema())


def _schema_of_run() -> dict[str, Any]:
    from rdmalab.scenario.report import schema_of_run

    return schema_of_run()


def _schema_of_scenario() -> dict[str, Any]:
    from rdmalab.scenario.report import schema_of_scenario

    return schema_of_scenario()


def _schema_of_lessons() -> dict[str, Any]:
    from rdmalab.scenario.report import schema_of_lessons

    return schema_of_lessons()


def _schema_of_coverage() -> dict[str, Any]:
    from rdmalab.scenario.report import schema_of_coverage

    return schema_of_coverage()


_SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "scenario": _schema_of_scenario,
    "run": _schema_of_run,
    "repl": _schema_of_repl,
    "lessons": _schema_of_lessons,
    "coverage": _schema_of_coverage,
}


@program.command()
@click.option(
    "--of", "what", type=click.Choice(list(_SCHEMAS)), default="scenario", show_default=True,
    help="A scenario file, or the document that --json prints.",
)  # fmt: skip
def schema(*, what: str) -> int:
    """Print a JSON Schema."""
    print(json.dumps(_SCHEMAS[what](), indent=2, ensure_ascii=False))
    return Exit.WELL
