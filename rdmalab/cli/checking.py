"""Commands check and fmt: find the mistakes of scenario files, and format them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rdmalab.cli import program
from rdmalab.cli.labs import LAB_SUFFIX

if TYPE_CHECKING:
    from rdmalab.scenario.mistakes import Checker
    from rdmalab.scenario.source import FileError


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
    program.tell(f"{count - wrong} of {count} files can run")
    if not count:
        return program.Exit.NOTHING
    return program.Exit.USAGE if wrong else program.Exit.WELL


def files(paths: tuple[str, ...]) -> Iterator[str]:
    """The files among paths, and the scenarios and labs below folders."""
    from rdmalab.scenario.files import SUFFIX, found

    named = tuple(map(found, paths))
    yield from program.files_below(named, SUFFIX)
    for path in program.files_below(named, LAB_SUFFIX):
        if path not in named:  # those that are named are among the others
            yield path


def mistakes(checker: "Checker", path: str) -> "Iterator[FileError]":
    """The errors of a scenario or a lab. Of a lab those that loading finds."""
    from rdmalab.classroom import lab_file
    from rdmalab.scenario.files import read
    from rdmalab.scenario.include import opener_below
    from rdmalab.scenario.source import FileError

    try:
        if path.endswith(LAB_SUFFIX):
            lab_file.load(path, checker.vocabulary, "1")
        else:
            yield from checker.mistakes(read(path), path, opener_below(path))
    except FileError as wrong:
        yield from wrong.all
