"""Commands run and why: run and diagnose scenarios."""

import json
from collections.abc import Iterator, Mapping
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import click

from rdmalab.cli import program
from rdmalab.cli.checking import files
from rdmalab.cli.labs import run_labs
from rdmalab.cli.watching import repeat
from rdmalab.shell.streams import print_json

if TYPE_CHECKING:
    from rdmalab.doctor.report import Report
    from rdmalab.scenario.loader import Scenario
    from rdmalab.scenario.report import RunModel
    from rdmalab.scenario.runner import Runner
    from rdmalab.scenario.source import FileError

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
    from rdmalab.scenario.source import visible

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
    means an error, 0 no error, or work still in progress.
    """
    from rdmalab.command import NotUnderstood
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
    try:
        moment = None if at is None else moment_of(at)
        report = consult(runner.session, parse_expression(thing).node if thing else None, moment)
    except NotUnderstood as error:
        raise click.UsageError(f"{error.message} ({error.hint})") from None
    report.detailed = verbose
    if as_json:
        print_json(json.dumps(report.as_json(), indent=2))
    else:
        print(answer(report))
    return program.Exit.FAILED if report.is_trouble else program.Exit.WELL


def answer(report: "Report") -> str:
    """What `why` says, folded to the terminal, without colours."""
    from rdmalab.shell.show_why import answer_lines
    from rdmalab.shell.styled_text import text_of

    width = min(100, get_terminal_size((80, 24)).columns)
    return "\n".join(text_of(line) for line in answer_lines(report, width))


def loaded(
    paths: tuple[str, ...], values: Mapping[str, str] | None = None
) -> "Iterator[tuple[Scenario | None, FileError | None]]":
    """For each file its scenario or its error. values: of their parameters."""
    from rdmalab.scenario.files import LAB_SUFFIX, SUFFIX, found

    files = program.files_below(tuple(map(found, paths)), SUFFIX)
    return (opened(path, values) for path in files if not path.endswith(LAB_SUFFIX))


def opened(
    path: str, values: Mapping[str, str] | None = None
) -> "tuple[Scenario | None, FileError | None]":
    """Load a scenario; returns it or its error, the other is None. values: of its parameters."""
    from rdmalab.scenario.files import found
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
    from rdmalab.scenario.junit import document

    program.write(
        path, document(report), lambda there: b"<testsuites" in there[:_HEAD], "JUnit report"
    )
