"""Command lab: check, draw, publish and begin labs, and their pages for the instructor."""

import json
from collections import Counter
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

import click

from rdmalab.classroom.owner import Roster, roster_of
from rdmalab.cli import program
from rdmalab.jobs.result_file import Progress
from rdmalab.scenario.files import LAB_SUFFIX, WHERE, found, of_instructor, read
from rdmalab.scenario.source import FileError
from rdmalab.shell.streams import print_json, progress_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rdmalab.classroom.checking import Trial
    from rdmalab.scenario.report import ScenarioModel

with_salt = click.option(
    "--salt", default="", metavar="TEXT",
    help="Of a class and year: other parameters are drawn. Default: the key salt of the lab.",
)  # fmt: skip
with_roster = click.option(
    "--roster", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
    help="The class: ids, one a line, # begins a comment; or a table of Moodle, Canvas or "
    "Gradescope with columns such as ID number, name, email address.",
)  # fmt: skip
with_file = click.argument("path", metavar="FILE")


def read_roster(path: str | None) -> "Roster | None":
    """The roster in a file; None: none was named. Rows without an id are reported."""
    if path is None:
        return None
    found = roster_of(program.text_of(path))
    for each in found.wrong:
        program.tell(f"{path}: {each}")
    if not found:
        raise click.ClickException(f"{path} names no student: write one id a line, or a table with "
                                   "a column id")  # fmt: skip
    return found


@program.program.group(name="lab")
def labs() -> None:
    """Write labs: tasks in a world of their own, for a class."""


@labs.command()
@program.with_paths
@click.option(
    "--students", default=5, show_default=True, type=click.IntRange(1, 1000),
    help="Draw the parameters of so many students.",
)  # fmt: skip
@with_salt
@click.option("-v", "--verbose", is_flag=True, help="Print each grade.")
def check(*, paths: tuple[str, ...], students: int, salt: str, verbose: bool) -> int:
    """Find mistakes of labs; grade their solutions, and what ways without work get.

    FILE|DIR: a folder stands for the labs below it. A lab with a mistake is not graded: exit code
    2. Solutions that create objects are graded again with other names for them. Then: a copy of
    another student's work, apply alone, memory writes alone, the file for students, and every
    choice tried. Exit code 1: a solution has another grade than the lab declares, a way gets more
    than the key bars of the lab allows (where that sets none: than an honest guess gets), a name of
    vary is used nowhere, the file for students holds a hidden text or is no lab, or a draft has
    fewer than three solutions of either kind. A copy and choices that can be tried are for the
    author to decide: without a bar they are a warning.
    """
    files = list(program.files_below(tuple(map(of_instructor, paths)), LAB_SUFFIX))
    progress = Progress(progress_stream(), len(files) * (students + 1), "students of labs")
    found: list[Finding] = []
    unsound = False
    for path in files:
        if errors := mistakes(path):
            unsound = True
            progress.end()
            print("\n".join(map(str, errors)))
            continue
        solutions = _graded(path, students, salt, progress.advance)
        for each in chain(solutions, _beside(path, students)):
            found.append(each)
            if each.is_wrong or verbose or not each.is_grade:
                progress.end()
                print(each.text)
        progress.advance()
    progress.end()
    return program.Exit.USAGE if unsound else _outcome(found)


def mistakes(path: str) -> "list[FileError]":
    """The mistakes of a lab file that are found without a solution, in the order of the file."""
    from rdmalab.classroom import lab_mistakes

    try:
        return lab_mistakes.mistakes(read(of_instructor(path)), path)
    except FileError as wrong:
        return wrong.all


def _outcome(found: "Sequence[Finding]") -> int:
    """The exit code of `lab check`, after its last line."""
    wrong = sum(each.is_wrong for each in found)
    grades = sum(each.is_grade for each in found)
    program.tell(f"{grades} grades, {wrong} not as declared")
    if not grades and not wrong:
        program.tell(f"no solutions: a lab for students has none; {WHERE}")
        return program.Exit.NOTHING
    return program.Exit.FAILED if wrong else program.Exit.WELL


class Finding(NamedTuple):
    """A line of `lab check`. is_grade: of a solution, whose line is for `--verbose`."""

    text: str
    is_wrong: bool = False
    is_grade: bool = False


def _graded(path: str, count: int, salt: str, advance: "Callable[[], None]") -> "Iterator[Finding]":
    """The grade of each solution for this many students; advance: called after each student."""
    for trial in tried(path, count, salt, advance):
        score = f"{trial.grade.score} of {trial.grade.of}"
        text = f"{path}: {trial.name}: {trial.wrong or score}"
        yield Finding(text, bool(trial.wrong), is_grade=True)


def tried(
    path: str, count: int, salt: str = "", advance: "Callable[[], None]" = lambda: None
) -> "Iterator[Trial]":
    """The grades of the solutions of a lab for this many students; advance: called after each."""
    from rdmalab.classroom import checking

    text = read(of_instructor(path))
    for student in checking.students(count):
        yield from checking.trials(text, path, [student], salt)
        advance()


def _beside(path: str, count: int) -> "Iterator[Finding]":
    """The mistakes of a lab beside its solutions; without one, what ways without work get.

    Mistakes: names of `vary`, hidden texts in the file for students, or that this is no lab.
    """
    from rdmalab.classroom import checking
    from rdmalab.classroom.lab_file import loads

    text = read(of_instructor(path))
    lab = loads(text, path, student="1")
    solutions = lab.document.solutions
    bad = [str(error) for error in checking.vary_errors(lab)]
    bad += [f"{path}: the file for students has the hidden text: {t}" for t in checking.leaks(lab)]
    if unusable := "" if bad else checking.unusable_handout(lab):
        bad.append(f"{path}: {unusable}")
    yield from (Finding(each, is_wrong=True) for each in bad)
    yield from (Finding(f"{path}: warning: {each}") for each in checking.idle_locks(lab))
    if not bad:
        yield from _ways(text, path, checking.students(count))
    if solutions and solutions.missing:
        yield Finding(f"{path}: a draft: {solutions.missing}", is_wrong=True)


def _ways(text: str, path: str, ids: "Sequence[str]") -> "Iterator[Finding]":
    """Points by ways without work, and ways that get too much; none for a lab without points."""
    from rdmalab.classroom import trust

    guess = trust.guessed(text, path, ids)
    if figures := trust.figures(text, path, ids, guess):
        texts = [*(each.text for each in figures), f"an honest guess gets {guess:.0%}"]
        yield Finding(f"{path}: {'; '.join(texts)}")
    for each in figures:
        if each.warning:
            yield Finding(f"{path}: warning: {each.warning}")
        elif each.wrong:
            yield Finding(f"{path}: {each.wrong}", is_wrong=True)


def run_labs(paths: tuple[str, ...], *, quiet: bool) -> "Iterator[ScenarioModel]":
    """The labs among files and below folders, each as a scenario; says what is not as declared."""
    for path in program.files_below(tuple(map(found, paths)), LAB_SUFFIX):
        if path.endswith(LAB_SUFFIX):
            lab = _as_scenario(path)
            for step in lab.steps:
                program.say(f"{path}: {step.text}: {step.what}", unless=quiet or not step.what)
            if lab.error is not None:
                program.say(f"ERROR {path}: {lab.error.message}", unless=quiet)
            yield lab


def _as_scenario(path: str) -> "ScenarioModel":
    """A lab as a scenario of a report: its steps are its solutions."""
    from rdmalab.scenario.report import ScenarioModel, StepModel, of_error
    from rdmalab.scenario.result import StepOutcome

    steps: list[StepModel] = []
    try:
        for number, trial in enumerate(tried(path, 1), 1):
            steps.append(
                StepModel(
                    number=number, id=trial.solution, action="do", text=trial.name, line=1,
                    outcome=StepOutcome.FAILED if trial.wrong else StepOutcome.PASSED, event=0,
                    now_ns=0, branch="main", what=trial.wrong or None,
                )
            )  # fmt: skip
    except FileError as error:
        return of_error(error)
    failed = any(step.outcome is StepOutcome.FAILED for step in steps)
    outcome = StepOutcome.FAILED if failed else StepOutcome.PASSED
    return ScenarioModel(file=path, title=None, outcome=outcome, planned=len(steps), steps=steps)


@labs.command(name="try")
@with_file
@click.option("--student", default="demo", show_default=True, metavar="ID", help="Who tries it.")
@click.option("--work", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
              help="A submission to be continued.")  # fmt: skip
def try_(*, path: str, student: str, work: str | None) -> int:
    """Open a lab in the app as a student does."""
    from rdmalab.grammar.text import in_quotes
    from rdmalab.tui.launch import main as app

    given = [f"student={in_quotes(student)}", *([f"work={in_quotes(work)}"] if work else [])]
    line = " ".join(["load", in_quotes(found(path)), *given])
    if not program.at_terminal() or program.is_dumb():
        message = f"the app needs a terminal; without one: rdmalab repl, and there: {line}"
        raise click.UsageError(message)
    return app(line=line)


@labs.command()
@with_file
@click.option("--student", "ids", multiple=True, metavar="ID", help="Repeatable.")
@with_roster
@with_salt
@program.with_json
def draw(*, path: str, ids: tuple[str, ...], roster: str | None, salt: str, as_json: bool) -> int:
    """Print the parameters that are drawn for students, and how often each value is drawn."""
    from rdmalab.classroom.lab_file import load

    people = read_roster(roster)
    everyone = [*ids, *(people.ids if people is not None else ())]
    if not everyone:
        raise click.UsageError("name a student: --student ID, or --roster FILE")
    labs = {each: load(found(path), each, salt) for each in everyone}
    values = {each: dict(lab.params) for each, lab in labs.items()}
    (used,) = {lab.salt for lab in labs.values()}
    program.tell(f"drawn with {f'the salt {used}' if used else 'no salt'}")
    if as_json:
        print_json(json.dumps(values, indent=2))
        return program.Exit.WELL
    for each, drawn in values.items():
        texts = [f"{name}={value}" for name, value in drawn.items()]
        print(f"{each}: {' '.join(texts) or 'no parameters'}")
    for name in next(iter(values.values())) if len(values) > 1 else ():
        often = Counter(drawn[name] for drawn in values.values())
        print(f"{name}: {', '.join(f'{value} x {n}' for value, n in sorted(often.items()))}")
    return program.Exit.WELL


@labs.command()
@with_file
@click.option("-o", "--out", required=True, type=click.Path(dir_okay=False), metavar="FILE")
@click.option(
    "--live", is_flag=True,
    help="The app judges answers at once, by seals in the file. A seal keeps answers from being "
    "read, and keeps no program from trying all of them.",
)  # fmt: skip
@with_salt
def publish(*, path: str, out: str, live: bool, salt: str) -> int:
    """Write the file for students: no solutions, nothing that is hidden, no right answer.

    Answers are judged by the grader alone, unless --live is given; tries count with it only. A salt
    is written into the file, so that the work of students is drawn with it; grade the works with
    the same. An older file for students is replaced, any other file is not.
    """
    from rdmalab.classroom.lab_file import load
    from rdmalab.classroom.public import digest, is_published, published, unlimited

    lab = load(of_instructor(path), "1", salt)
    text = published(lab, live=live)
    program.write(out, text.encode(), is_published, "lab for students")
    if free := unlimited(lab, live=live):
        program.tell(
            f"{', '.join(free)}: tries has no effect where the grader alone judges an answer, and "
            "the last answer counts; --live judges at once, and counts tries"
        )
    program.tell(f"{out}: {lab.document.id} {digest(lab)}")
    return program.Exit.WELL


@labs.command()
@program.with_paths
@click.option("--student", default="1", metavar="ID", help="Whose parameters stand in the page.")
@with_salt
def notes(*, paths: tuple[str, ...], student: str, salt: str) -> int:
    """Print the instructor's page of labs, in Markdown.

    What a lab teaches, its tasks with the right answers, what wrong answers show, what hidden tasks
    catch, and questions for the class: the key `instructor`, which no student gets. Exit code 5: no
    lab has that key.
    """
    from rdmalab.classroom.lab_file import load
    from rdmalab.classroom.notes_page import notes_page

    lacking = 0
    files = list(program.files_below(tuple(map(of_instructor, paths)), LAB_SUFFIX))
    for number, path in enumerate(files):
        lab = load(of_instructor(path), student, salt)
        page = notes_page(lab)
        print("\n" * bool(number) + page)
        if lab.document.instructor is None:
            lacking += 1
            program.tell(f"{path}: no key instructor; {WHERE}")
    return program.Exit.NOTHING if lacking == len(files) else program.Exit.WELL


@labs.command()
@with_file
@click.option(
    "--from-session", "session", type=click.Path(exists=True, dir_okay=False), metavar="SESSION",
    help="What save has written, or lines as they are typed: tasks and solutions come from it.",
)  # fmt: skip
def new(*, path: str, session: str | None) -> int:
    """Write a lab to begin with: one task, and the solutions that every lab has.

    With a session, what it made before its first request is the world of the lab; completions,
    bytes and states that came after it are the goals, and its lines the first solution.
    """
    import pkgutil

    from rdmalab.scenario.field_types import as_word

    named = path if path.endswith(".yaml") else f"{path}{LAB_SUFFIX}"
    if Path(named).exists():
        raise click.UsageError(f"{named} exists already: choose another name")
    name = as_word(Path(named).name.removesuffix(LAB_SUFFIX).removesuffix(".yaml"))
    template = pkgutil.get_data("rdmalab.classroom", f"template{LAB_SUFFIX}") or b""
    text = template.replace(b"LAB-ID", name.encode())
    if session is not None:
        text = _from_session(session, name)
    program.write(named, text, lambda _: False, "lab")
    program.tell(f"{named}: edit it, then: rdmalab lab check {quote(named)}")
    return program.Exit.WELL


def _from_session(path: str, name: str) -> bytes:
    """The text of a lab that is made of a saved session, or of lines."""
    from rdmalab.classroom.session_lab import NoLab, lab_of, lines_of
    from rdmalab.scenario.loader import is_scenario, load
    from rdmalab.vocabulary import VOCABULARY

    text = read(path)
    session = load(path, VOCABULARY) if is_scenario(text.encode()) else lines_of(text, path)
    try:
        return lab_of(session, name).encode()
    except NoLab as wrong:
        raise click.ClickException(f"{path}: {wrong}") from None
