"""Commands run and why: run and diagnose scenarios."""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import click

from rdmalab.cli import program
from rdmalab.cli.checking import files
from rdmalab.cli.labs import run_labs
from rdmalab.grammar.hints import suggest
from rdmalab.scenario.files import LAB_SUFFIX, SUFFIX, found
from rdmalab.scenario.source import FileError, visible
from rdmalab.shell.streams import print_json
from rdmalab.spec.profiles import CELLS, PROFILES

if TYPE_CHECKING:
    from rdmalab.doctor.report.report import Report
    from rdmalab.scenario.loader import Scenario
    from rdmalab.scenario.profile_comparison import Difference
    from rdmalab.scenario.report import RunModel
    from rdmalab.scenario.runner import Runner


def _profiles(_context: click.Context, _parameter: click.Parameter, given: str) -> list[str]:
    names = list(dict.fromkeys(name for name in given.split(",") if name))
    for name in names:
        if name not in PROFILES:
            raise click.BadParameter(f'"{name}" is no profile: {", ".join(PROFILES)}')
    if len(names) < 2:
        raise click.BadParameter(f"name two or more: {','.join(PROFILES)}")
    return names


@program.program.command()
@click.argument("path", metavar="FILE")
@click.option(
    "--profile", "profiles", default=",".join(PROFILES), show_default=True, callback=_profiles,
    metavar="NAME,NAME...", help="Profiles; each is compared with the first.",
)  # fmt: skip
@click.option(
    "--ignore", "ignored", multiple=True, metavar="CELL",
    help="Go on past a difference: the first profile gets the other's value of a cell; repeatable.",
)  # fmt: skip
@program.with_json
@program.with_set
def compare(
    *, path: str, profiles: list[str], ignored: tuple[str, ...], as_json: bool,
    given: tuple[str, ...],
) -> int:  # fmt: skip
    """Play a scenario under several profiles; print the first event that differs, and the cause.

    A profile is a table of what a device does; explain NAME says what a cell of it means. The cause
    is proved: with the cells of the other profile that are named, and not with fewer, the event is
    the same. Failed expectations do not end a play.
    Exit code 0: no event and no outcome differs, 1: something does.
    """
    from rdmalab.lab import open_session
    from rdmalab.scenario.profile_comparison import ProfilePair

    scenario, wrong = opened(path, program.values_of(given))
    if scenario is None:
        program.tell(f"ERROR {required_error(wrong)}")
        return program.Exit.USAGE
    left, *others = profiles
    try:
        pairs = [ProfilePair(scenario, open_session, left, each, ignored) for each in others]
    except KeyError as unknown:
        name = unknown.args[0]
        raise click.UsageError(f'--ignore: no cell "{name}" ({suggest(name, CELLS)})') from None
    found = [(right, pair.difference()) for right, pair in zip(others, pairs, strict=True)]
    if as_json:
        rows = [{"left": left, "right": r, "difference": d and asdict(d)} for r, d in found]
        document = {
            "rdmalab": 1, "file": scenario.path, "title": scenario.title, "compared": rows,
        }  # fmt: skip
        print_json(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        for right, difference in found:
            print("\n".join(_lines(left, right, difference)))
        names = {cause.name: 0 for _, each in found if each is not None for cause in each.causes}
        more = " ".join(f"--ignore {name}" for name in names)
        program.say(f"next difference: add {more}", unless=not names)
    return program.Exit.FAILED if any(d for _, d in found) else program.Exit.WELL


def _lines(left: str, right: str, difference: "Difference | None") -> "Iterator[str]":

    if difference is None:
        yield f"{left} and {right}: no difference"
        return
    where = f"event {difference.event}" if difference.event is not None else "no event differs"
    yield visible(f"{left} and {right}: {where}, step {difference.step}: {difference.line}")
    indent = max(len(left), len(right)) + 2
    for name, rows in ((left, difference.left), (right, difference.right)):
        for number, row in enumerate(rows):
            yield f"  {'' if number else name + ':':<{indent}}{visible(row)}"
    for cause in difference.causes:
        yield f"  cause: {cause.name}  {left}: {cause.left}  {right}: {cause.right}"
        yield f"    {cause.sentence}"
    if difference.event is not None and not difference.causes:
        yield "  cause unknown: no cells of the profile table explain it"


POLL_S = 0.3
_MOST_INCLUDED = 100
_INCLUDE = re.compile(r"\binclude:\s*[\"']?([\w./-]+\.yaml)", re.ASCII)

Stamp = tuple[int, int, int] | None
"""Time, size and inode of a file; None where there is none."""
Stamps = dict[str, tuple[Stamp, ...]]
"""File → the stamps of the file and of those that it includes."""


def repeat(files: Callable[[], Iterator[str]], play: Callable[[tuple[str, ...]], object]) -> None:
    """Play all files, then those that change, until KeyboardInterrupt.

    files: is called again for each look, so that new files are found.
    """
    seen = stamps(files())
    play(tuple(seen))
    while True:
        count = len(seen)
        program.tell(f"watching {count} file{'s' * (count != 1)}: ^C ends")
        changed, seen = _wait(files, seen)
        play(changed)


def _wait(files: Callable[[], Iterator[str]], seen: Stamps) -> tuple[tuple[str, ...], Stamps]:
    """The files that changed, and all stamps. A file that is being replaced is waited for."""
    while True:
        time.sleep(POLL_S)
        now = stamps(files())
        if changed := tuple(f for f, stamp in now.items() if stamp[0] and stamp != seen.get(f)):
            return changed, now
        seen = {**seen, **{file: stamp for file, stamp in now.items() if stamp[0]}}


def stamps(files: Iterator[str]) -> Stamps:
    """The stamps of some files."""
    return {file: tuple(_stamp(each) for each in _family(Path(file))) for file in files}


def _family(file: Path) -> list[Path]:
    """A file and those that it includes, directly or not. The text is searched, not understood:
    a file with a mistake is watched too.
    """
    found, front = [file], [file]
    while front and len(found) < _MOST_INCLUDED:
        including = front.pop()
        try:
            text = including.read_text("utf-8", "replace")
        except (OSError, ValueError):
            continue
        new = [including.parent / name for name in _INCLUDE.findall(text)]
        front += (each for each in new if each not in found)
        found += (each for each in new if each not in found)
    return found


def _stamp(file: Path) -> Stamp:
    try:
        there = file.stat()
    except (OSError, ValueError):
        return None
    return there.st_mtime_ns, there.st_size, there.st_ino


_HEAD = 200  # bytes in which the first element of a JUnit report stands


@program.program.command()
@program.with_paths
@click.option("-v", "--verbose", is_flag=True, help="Print each step.")
@program.with_json
@click.option("--junit", type=click.Path(dir_okay=False), help="Also write a JUnit report.")
@click.option("--watch", is_flag=True, help="Run a file again when it changes; ^C ends.")
@program.with_own_profile
@program.with_set
def run(  # noqa: PLR0913  (one for each option)
    *, paths: tuple[str, ...], verbose: bool, as_json: bool, junit: str | None, watch: bool,
    profile: str | None, given: tuple[str, ...],
) -> int:  # fmt: skip
    """Run scenarios; exit code 0 means that all expectations passed.

    A directory means all *.rdmalab.yaml below it.
    """
    values = program.values_of(given)

    def once(chosen: tuple[str, ...]) -> int:
        report = reported(chosen, profile, values, verbose=verbose, quiet=as_json)
        if as_json:
            print_json(report.model_dump_json(indent=2))
        if junit:
            _write_junit(report, junit)
        program.tell(report.summary)
        return verdict(report)

    if not watch:
        return once(paths)
    if as_json:
        raise click.UsageError("--watch and --json exclude each other: leave one out")
    repeat(lambda: files(paths), once)
    return program.Exit.INTERRUPTED


def reported(
    paths: tuple[str, ...], profile: str | None, values: Mapping[str, str], *, verbose: bool,
    quiet: bool,
) -> "RunModel":  # fmt: skip
    """Run labs and scenarios and print what fails. quiet: print nothing; verbose: each step."""
    from rdmalab.scenario.report import RunModel, of_error, of_runner

    report = RunModel()
    for lab in run_labs(paths, quiet=quiet):
        report.add(lab)
    for scenario, wrong in loaded(paths, values):
        if scenario is None:
            report.add(of_error(required_error(wrong)))
            program.say(f"ERROR {wrong}", unless=quiet)
        else:
            runner = played(scenario, profile, verbose=verbose and not quiet)
            report.add(of_runner(runner))
            if not runner.ok:
                program.say(runner.results[-1].text(scenario.path), unless=quiet)
    return report


def played(scenario: "Scenario", profile: str | None, *, verbose: bool) -> "Runner":
    """Run a scenario; profile None: that of the file. verbose: print each step."""
    from rdmalab.lab import open_session
    from rdmalab.scenario.report import narration
    from rdmalab.scenario.runner import Runner

    runner = Runner(scenario, open_session, profile=profile)
    if runner.replaced:
        program.tell(visible(runner.replaced))
    if verbose:
        print(f"# {visible(scenario.path)}: {visible(scenario.title)}")
    while (result := runner.next_step()) is not None:
        if verbose:
            print("\n".join(narration(runner, result)))
    return runner


@program.program.command()
@click.argument("path", metavar="FILE")
@click.argument("thing", required=False, metavar="[THING]")
@click.option("--at", metavar="MOMENT", help="The answer as of an event, 30, or a time, 9.2us.")
@click.option("-v", "--verbose", is_flag=True, help="Add effects, all evidence and warnings.")
@program.with_json
@program.with_own_profile
def why(
    *, path: str, thing: str | None, at: str | None, verbose: bool, as_json: bool,
    profile: str | None,
) -> int:  # fmt: skip
    """Run a scenario to its end, past failed expectations, and run why.

    THING as at the prompt: A.qp0.wr[7], B.cq0, an errno; without it: all errors. Exit code 1
    means an error, or work that was late; 0 no error, or work still in progress.
    """
    from rdmalab.doctor.consultation import consult
    from rdmalab.grammar.expressions import parse_expression
    from rdmalab.grammar.values import moment_of
    from rdmalab.lab import open_session
    from rdmalab.scenario.runner import StepOutcome, Through

    scenario, wrong = opened(path)
    if scenario is None:
        program.tell(f"ERROR {required_error(wrong)}")
        return program.Exit.USAGE
    runner = Through(scenario, open_session, profile=profile)
    if runner.replaced:
        program.tell(runner.replaced)
    runner.run()
    if runner.outcome is StepOutcome.ERROR:
        program.tell(runner.results[-1].text(scenario.path))
        return program.Exit.USAGE
    with program.understood():
        moment = None if at is None else moment_of(at)
        report = consult(runner.session, parse_expression(thing).node if thing else None, moment)
    report.detailed = verbose
    if as_json:
        print_json(json.dumps(report.as_json(), indent=2))
    else:
        print(answer(report))
    return program.Exit.FAILED if report.is_trouble else program.Exit.WELL


def answer(report: "Report") -> str:
    """Answer of `why`, wrapped to the width of the terminal, without colours."""
    from rdmalab.shell.show_why import answer_lines
    from rdmalab.shell.styled_text import text_of

    width = min(100, get_terminal_size((80, 24)).columns)
    return "\n".join(text_of(line) for line in answer_lines(report, width))


def loaded(
    paths: tuple[str, ...], values: Mapping[str, str] | None = None
) -> "Iterator[tuple[Scenario | None, FileError | None]]":
    """For each file its scenario or its error. values: of their parameters."""
    files = program.files_below(tuple(map(found, paths)), SUFFIX)
    return (opened(path, values) for path in files if not path.endswith(LAB_SUFFIX))


def opened(
    path: str, values: Mapping[str, str] | None = None
) -> "tuple[Scenario | None, FileError | None]":
    """Load a scenario; returns it or its error, the other is None. values: of its parameters."""
    from rdmalab.scenario.loader import FileError, load
    from rdmalab.vocabulary import VOCABULARY

    try:
        return load(found(path), VOCABULARY, values or {}), None
    except FileError as error:
        return None, error


def required_error(error: "FileError | None") -> "FileError":
    """The error of a file that could not be loaded; None is an AssertionError."""
    assert error is not None
    return error


def verdict(report: "RunModel") -> program.Exit:
    """The exit code for a report."""
    if not report.scenarios:
        return program.Exit.NOTHING
    if report.errors:
        return program.Exit.USAGE
    return program.Exit.FAILED if report.failed else program.Exit.WELL


def _write_junit(report: "RunModel", path: str) -> None:
    from rdmalab.scenario.report import document

    program.write(
        path, document(report), lambda there: b"<testsuites" in there[:_HEAD], "JUnit report"
    )
