"""Commands check and fmt: find the mistakes of scenario files, and format them."""

import difflib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rdmalab import disk
from rdmalab.cli import program
from rdmalab.scenario.files import LAB_SUFFIX, SUFFIX, found, is_packed, read
from rdmalab.scenario.source import FileError

if TYPE_CHECKING:
    from rdmalab.scenario.mistakes import Checker


@program.program.command()
@program.with_paths
@program.with_own_profile
@program.with_set
def check(*, paths: tuple[str, ...], profile: str | None, given: tuple[str, ...]) -> int:
    """Print all mistakes of scenarios: of shape, of words, and of names.

    Each file is played in memory, because only that shows which objects exist at a step. A failed
    expectation is not a mistake. Exit code 2: run cannot play one of the files.
    """
    from rdmalab.lab import open_session
    from rdmalab.scenario.mistakes import Checker
    from rdmalab.scenario.shape_errors import MOST_MISTAKES
    from rdmalab.vocabulary import VOCABULARY

    checker = Checker(
        VOCABULARY, open_session, profile=profile, values=program.values_of(given)
    )  # fmt: skip
    count = wrong = 0
    for path in files(paths):
        errors = list(mistakes(checker, path))
        count += 1
        wrong += bool(errors)
        if errors:
            print("\n".join(map(str, errors)))
        if len(errors) == MOST_MISTAKES:
            program.tell(f"{path}: only the first {MOST_MISTAKES} errors are shown")
    tests = "; rdmalab run tests what they expect" if wrong < count else ""
    program.tell(f"{count - wrong} of {count} files can run{tests}")
    if not count:
        return program.Exit.NOTHING
    return program.Exit.USAGE if wrong else program.Exit.WELL


def files(paths: tuple[str, ...]) -> Iterator[str]:
    """The files among paths, and the scenarios and labs below folders."""
    named = tuple(map(found, paths))
    yield from program.files_below(named, SUFFIX)
    for path in program.files_below(named, LAB_SUFFIX):
        if path not in named:  # those that are named are among the others
            yield path


def mistakes(checker: "Checker", path: str) -> "Iterator[FileError]":
    """The errors of a scenario or a lab."""
    from rdmalab.classroom import lab_mistakes
    from rdmalab.scenario.include import opener_below

    try:
        if path.endswith(LAB_SUFFIX):
            yield from lab_mistakes.mistakes(read(path), path)
        elif is_packed(path):
            yield from checker.mistakes_of_session(path)
        else:
            yield from checker.mistakes(read(path), path, opener_below(path))
    except FileError as wrong:
        yield from wrong.all


@program.program.command()
@program.with_paths
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit code 1 if a file "
              "would change.")  # fmt: skip
@click.option("--diff", is_flag=True, help="Print the changes and write nothing.")
@click.option("--schema", metavar="FILE|URL", help="Begin each file with the line by which editors "
              "find the JSON Schema.")  # fmt: skip
def fmt(*, paths: tuple[str, ...], only_check: bool, diff: bool, schema: str | None) -> int:
    """Format scenario files: indentation, space, empty lines. Words and comments stay.

    A list stands two columns right of its key; the lines of a program show its loops. A directory
    means all scenarios and labs below it. Exit code 2: a file is not YAML.
    """
    count = changed = wrong = 0
    for path in files(paths):
        count += 1
        try:
            before, after = _layouts(path, schema)
        except FileError as error:
            wrong += 1
            print(error.report)
            continue
        if before == after:
            continue
        changed += 1
        if diff:
            print(_difference(path, before, after))
        elif only_check:
            print(path)
        else:
            program.write(path, after, before.__eq__, "file as it was read")
    verb = "would change" if only_check or diff else "changed"
    program.tell(f"{changed} of {count} files {verb}")
    if not count:
        return program.Exit.NOTHING
    if wrong:
        return program.Exit.USAGE
    return program.Exit.FAILED if changed and (only_check or diff) else program.Exit.WELL


def _layouts(path: str, schema: str | None) -> tuple[bytes, bytes]:
    """A file as it is, and in the usual layout."""
    from rdmalab.scenario.layout import formatted, with_schema

    text = formatted(read(path), path)
    if schema is not None:
        text = with_schema(text, _seen_from(path, schema))
    return disk.read(path), text.encode()


def _seen_from(path: str, schema: str) -> str:
    """The name of a schema as a file needs it: a path relative to its folder, or a URL."""
    if "://" in schema:
        return schema
    return Path(os.path.relpath(schema, Path(path).parent)).as_posix()


def _difference(path: str, before: bytes, after: bytes) -> str:
    old, new = (text.decode("utf-8-sig").splitlines() for text in (before, after))
    return "\n".join(difflib.unified_diff(old, new, path, f"{path} (formatted)", lineterm=""))
