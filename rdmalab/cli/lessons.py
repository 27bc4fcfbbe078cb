"""Command lessons: list lessons and labs, and the statements of the documents."""

import sys
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import click

from rdmalab.cli import program
from rdmalab.cli.checking import files
from rdmalab.cli.scenarios import loaded, played, required_error
from rdmalab.scenario.files import LAB_SUFFIX, found, lessons_folder
from rdmalab.scenario.source import FileError
from rdmalab.shell.streams import print_json

if TYPE_CHECKING:
    from rdmalab.scenario.coverage import Answer, Bound
    from rdmalab.scenario.lessons import ListedLesson
    from rdmalab.scenario.model import Document

_UNFOLDED = 1_000  # columns, where no terminal limits them


@program.program.command()
@click.argument("paths", nargs=-1, metavar="[FILE|DIR|WORD]...")
@click.option("--path", default="", metavar="NAME", help="Of this learning path or folder.")
@click.option("--tag", default="", metavar="TAG", help="With this tag.")
@click.option("--level", type=click.IntRange(1, 3), help="Of this level.")
@click.option("--done/--not-done", default=None, help="That were walked to their end here, or not.")
@click.option("--coverage", is_flag=True, help="Run them, and list the statement that each shows.")
@click.option("--tests", metavar="DIR", help="With --coverage: run the bound tests in DIR too.")
@program.with_json
@program.with_own_profile
def lessons(  # noqa: PLR0913  (one for each option)
    *, paths: tuple[str, ...], path: str, tag: str, level: int | None, done: bool | None,
    coverage: bool, tests: str | None, as_json: bool, profile: str | None,
) -> int:  # fmt: skip
    """List lessons and labs in the order of the learning paths, or find them by a WORD.

    Each with its state (done, next), level, minutes and title. --path, --tag and --level also find
    the lessons that are on no path. Without FILE or DIR: those in ./scenarios, or of the
    installed package.

    With --coverage: run them, and list the statements of the documents with their items; without a
    path the tests in ./tests, too. With a path, tests run only if --tests names them, because a
    test, unlike a scenario, can run any code. Everything runs now; no record of another run is
    used. Exit code 1 means that an item of a statement failed.
    """
    if coverage:
        if path or tag or level or done is not None:
            raise click.UsageError("--coverage is of all: leave out --path, --tag, --level, --done")
        if not paths:
            paths = (str(lessons_folder()),)
            tests = tests or ("tests" if Path("tests").is_dir() else None)
        return _coverage(paths, tests, profile, as_json=as_json)
    found, wrong = _chosen(paths, path, tag, level)
    finished = _finished()
    found = [each for each in found if done is None or (each.name in finished) == done]
    if as_json:
        wrong += _print_json(found)
    else:
        _print_table(found, whole=bool(paths or path or tag or level or done is not None))
    if wrong:
        return program.Exit.USAGE
    return program.Exit.WELL if found else program.Exit.NOTHING


def _finished() -> frozenset[str]:
    from rdmalab.classroom.progress import done

    return done()


def _chosen(
    paths: tuple[str, ...], path: str, tag: str, level: int | None
) -> "tuple[list[ListedLesson], int]":
    """The lessons that the options ask for, in order, and how many files are wrong."""
    from rdmalab.scenario.lessons import UnknownWord, catalogue, chosen

    wrong = 0
    try:
        found = catalogue()
        if paths and not path and not any(map(_is_there, paths)):
            path = " ".join(paths)
        elif paths:
            found, wrong = _named(paths, found)
        return chosen(found, path, tag, level), wrong
    except FileError as error:
        raise click.ClickException(str(error)) from None
    except UnknownWord as unknown:
        raise click.UsageError(str(unknown)) from None


def _is_there(name: str) -> bool:
    """Whether this is a file or a folder, or the name of a lesson."""
    try:
        return Path(found(name)).exists()
    except (OSError, ValueError):  # too long, or a NUL in it
        return True  # reading it gives the error


def _named(paths: tuple[str, ...], known: "list[ListedLesson]") -> "tuple[list[ListedLesson], int]":
    """The lessons of files, and below folders; how many of the files are wrong."""
    from rdmalab.scenario.lessons import listed

    by_file = {Path(each.file).resolve(): each for each in known}
    wrong, good = 0, [each for each in files(paths) if each.endswith(LAB_SUFFIX)]
    for scenario, error in loaded(paths):
        if scenario is None:
            wrong += 1
            program.tell(f"ERROR {required_error(error)}")
        else:
            good.append(scenario.path)
    found = (by_file.get(Path(file).resolve()) or listed(file) for file in good)
    return [each for each in found if each is not None], wrong


def _print_json(found: "list[ListedLesson]") -> int:
    """Print the document; returns how many of the files are wrong."""
    from rdmalab.scenario.lessons import LessonsModel, lesson

    document, wrong, finished = LessonsModel(), 0, _finished()
    for each in found:
        try:
            loaded_file = _document(each)
        except FileError as error:
            wrong += 1
            program.tell(f"ERROR {error}")
        else:
            document.lessons.append(lesson(each, *loaded_file, done=each.name in finished))
    print_json(document.model_dump_json(indent=2))
    return wrong


def _document(each: "ListedLesson") -> "tuple[Document, int, list[str]]":
    """The document of a file, its number of steps or tasks, its statements; raises FileError."""
    from rdmalab.classroom import lab_file
    from rdmalab.scenario.loader import load
    from rdmalab.vocabulary import VOCABULARY

    if each.is_lab:
        lab = lab_file.load(each.file, "1").document
        return lab, len(lab.tasks), list(lab.teaches or ())
    scenario = load(each.file, VOCABULARY)
    teaches = [taught.statement for taught in scenario.teaches]
    return scenario.document, len(scenario.steps), teaches


def _print_table(found: "list[ListedLesson]", *, whole: bool) -> None:
    from rdmalab.classroom.progress import table
    from rdmalab.shell.script import Printer

    is_terminal = sys.stdout.isatty()
    width = get_terminal_size((80, 24)).columns if is_terminal else _UNFOLDED
    printer = Printer(plain=False)
    for line in table(found, width, whole=whole):
        printer(line, sys.stdout)


def _coverage(
    paths: tuple[str, ...], tests: str | None, profile: str | None, *, as_json: bool
) -> int:
    from rdmalab.scenario import coverage
    from rdmalab.scenario.coverage import lines, of_runner, table

    bindings: list[Bound] = []
    asked, wrong = coverage.Answer([], "not run"), 0
    for scenario, error in loaded(paths):
        if scenario is None:
            wrong += 1
            program.tell(f"ERROR {required_error(error)}")
        else:
            bindings += of_runner(played(scenario, profile, verbose=False))
    if tests is not None:
        asked = _asked(tests)
    found = table([*bindings, *asked.bound], asked.stated)
    text = found.model_dump_json(indent=2)
    print_json(text) if as_json else print("\n".join(lines(found)))
    program.tell(found.summary)
    if wrong:
        return program.Exit.USAGE
    if found.failed or asked.broken:
        return program.Exit.FAILED
    return program.Exit.WELL if found.bound else program.Exit.NOTHING


def _asked(tests: str) -> "Answer":
    from rdmalab.scenario.coverage import ask

    with program.reading(tests):
        return ask(Path(tests))
