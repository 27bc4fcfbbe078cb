"""Commands settings, python, exec, cc and open."""

import os
import shutil
import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rdmalab import disk
from rdmalab.classroom.owner import file_advice
from rdmalab.cli.program import (
    Exit,
    program,
    reading,
    tell,
    with_own_profile,
    with_profile,
    write,
    writing,
)
from rdmalab.cli.scenarios import answer, opened, required_error
from rdmalab.compat.c.outputs import Outputs, labels
from rdmalab.recovery.user_paths import settings_file
from rdmalab.scenario.files import is_packed, read
from rdmalab.scenario.source import FileError
from rdmalab.shell.streams import unguarded
from rdmalab.spec.limits import LAYER_OF, LinkLayer
from rdmalab.spec.profiles import PROFILES, STRICT

if TYPE_CHECKING:
    from rdmalab.classroom.exercise import Exercise
    from rdmalab.compat.c.execute import Command, Execution
    from rdmalab.session.session import Session


@program.command()
@click.argument("name", default="", metavar="[NAME]")
@click.argument("value", default="", metavar="[VALUE]")
def settings(*, name: str, value: str) -> int:
    """List the settings, print the setting NAME, or change it to VALUE.

    They are kept in one file, which the list names: a line NAME = VALUE each. The options --theme,
    --ascii and --no-mouse replace them for one start. Exit code 2: the name or value is not legal.
    """
    from rdmalab.workbench.settings import SETTINGS, WrongSetting, read, setting, write

    try:
        if value:
            print(f"{name} = {value}, in {write(name, value)}")
            return Exit.WELL
        if name:
            setting(name)
    except WrongSetting as wrong:
        raise click.UsageError(str(wrong)) from None
    now = read()
    for text in now.wrong:
        click.echo(text, err=True)
    if name:
        print(now.text(name))
        return Exit.WELL
    for each, row in SETTINGS.items():
        print(f"{each:<10} {now.text(each):<9} {row.sentence}\n{'':<20} {row.legal}")
    print(f"file       {settings_file()}")
    return Exit.WELL


@program.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.argument("script", type=click.Path(exists=True, dir_okay=False))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARG]...")
@with_profile
@click.option(
    "--link-layer", type=click.Choice(list(LAYER_OF)), default=LinkLayer.ETHERNET.text,
    show_default=True, help="Link layer of the ports of both nodes; profile rxe has no InfiniBand.",
)  # fmt: skip
@click.option(
    "--poll-warning", type=click.FloatRange(min=0), default=1, show_default=True, metavar="SECONDS",
    help="Report a queue that is polled in vain for so long, in virtual time; 0: never.",
)  # fmt: skip
@click.option(
    "--call-time", type=click.IntRange(min=0), default=1000, show_default=True, metavar="NS",
    help="Virtual time that a call takes, in ns; 0 for exported programs.",
)  # fmt: skip
@click.option("--save", metavar="FILE", help="Write its verbs as a scenario; FILE.rdmalab: packed.")
@click.option("--tui", is_flag=True, help="Open the app on its session.")
@click.option("--why", "ask", is_flag=True, help="Run why at its end; exit code 1 for an error.")
@click.option(
    "--lab", "exercise", metavar="LAB", help="Solve a lab: run in its world, and print its tasks."
)
@click.option("--student", default="", metavar="ID", help="With --lab: who hands it in.")
@click.option("--submit", metavar="FILE", help="With --lab: write the submission.")
def python(  # noqa: PLR0913  (one argument an option)
    *, script: str, arguments: tuple[str, ...], profile: str, link_layer: str, poll_warning: float,
    call_time: int, save: str | None, tui: bool, ask: bool, exercise: str | None, student: str,
    submit: str | None,
) -> int:  # fmt: skip
    """Run a pyverbs program on a lab instead of RDMA hardware.

    The devices are rdmalab0 (node A) and rdmalab1 (node B), one process may use both. Time is
    virtual: sleeps and timeouts return at once. Options of the lab come before SCRIPT.
    """
    from rdmalab.compat.process import here
    from rdmalab.compat.script import run as play

    opened = _exercise(exercise, student, submit, is_other=profile != STRICT.name)
    layer = LAYER_OF[link_layer]
    if layer not in PROFILES[profile].link_layers:
        message = f"--link-layer: profile {profile} has no {link_layer} port"
        raise click.UsageError(message)
    with reading(script):
        disk.read(script)
    with unguarded():
        warned = round(poll_warning * 1e9) or None
        code = play(script, arguments, profile, layer, warned, opened, call_time)
    if opened is not None:
        _hand_in(opened, submit)
    session = here().session
    if save is not None or tui:
        keep(save, Path(script).name, session, tui=tui)
    found = _why(session) if ask else Exit.WELL
    return code or found


def _exercise(
    file: str | None, student: str, submit: str | None, *, is_other: bool
) -> "Exercise | None":
    """The lab that a program solves. is_other: another profile is requested."""
    if file is None:
        if student or submit:
            raise click.UsageError("--student and --submit go with --lab LAB")
        return None
    if is_other:
        raise click.UsageError("--lab and --profile exclude each other: a lab has its devices")
    from rdmalab.classroom.exercise import Exercise
    from rdmalab.classroom.lab_session import WrongWork
    from rdmalab.classroom.playing import BrokenLab

    try:
        return Exercise(file, student)
    except (FileError, BrokenLab, WrongWork) as wrong:
        raise click.UsageError(str(wrong)) from None


def _hand_in(exercise: "Exercise", file: str | None) -> None:
    """Print what the calls of the program are worth, and write them as a submission."""
    from rdmalab.classroom.submission import free_file, replaceable

    exercise.work.keep_calls()
    tell(exercise.report)
    if file is not None:
        work = exercise.work.so_far()
        own = free_file(work, file)
        with writing(file, replaceable(work)[0], own):
            exercise.submit(file)
        tell(f"{file}: hand in this file")
        if exercise.work.is_nameless:
            tell("No student is named in it: grade rejects it as foreign; add --student ID")
        elif advice := file_advice(file, work.student, own):
            tell(advice)


def _why(session: "Session") -> int:
    """Tell on standard error what is wrong in the session; the exit code of `why`."""
    from rdmalab.doctor.consultation import consult
    from rdmalab.doctor.diagnosis.examination import for_program

    report = for_program(session, consult(session))
    tell(answer(report))
    return Exit.FAILED if report.is_trouble else Exit.WELL


def keep(path: str | None, title: str, session: "Session", *, tui: bool) -> None:
    """Write the verbs of the program, each with its time, and open them in the app if requested."""
    from rdmalab.scenario.keeping import kept
    from rdmalab.scenario.saving import Unsavable

    with tempfile.TemporaryDirectory() as folder:
        file = path or str(Path(folder) / "program.rdmalab")
        try:
            made = kept(session, file, title, timed=True)
        except Unsavable as why:
            raise click.ClickException(f"{title} cannot be kept: {why}") from None
        write(made.file, made.octets, made.may_replace, made.replaces)
        if made.note:
            tell(f"{made.file}: a session file, because it has {made.note}")
        if tui:
            from rdmalab.tui.launch import main as app

            app(path=made.file)


@program.command(name="open")
@click.argument("text", metavar="TEXT")
@with_own_profile
def open_(*, text: str, profile: str | None) -> int:
    """Open a shared session. TEXT is the word of `share`, or a link that has it; -: from a pipe.

    Or the name of a file: a scenario, or a session file. At a terminal: the app, at the shared
    moment. Else: prints its scenario, to be run, loaded or read.
    """
    from rdmalab.scenario.share_text import LONGEST, Damaged, scenario_of, word_in

    is_file = text.endswith((".rdmalab", ".yaml")) or is_packed(text) or _is_file(text)
    word = word_in(sys.stdin.read(LONGEST + 1) if text == "-" else text)
    try:
        scenario = _scenario_in(text) if is_file else scenario_of(word)
    except Damaged as why:
        raise click.UsageError(f"this cannot be opened: {why}") from None
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        if profile is not None:
            raise click.UsageError("--profile is for the app: rdmalab run --profile plays a file")
        print(scenario, end="")
        return Exit.WELL
    from rdmalab.tui.launch import main as app

    if is_file:
        return app(profile=profile, path=text)
    return app(profile=profile, shared="".join(word.split()))


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # a word is too long for a name
        return False


def _scenario_in(path: str) -> str:
    """The text of a scenario, or of what a session file holds; raises UsageError for neither."""
    from rdmalab.lab import open_session
    from rdmalab.scenario.runner import Runner
    from rdmalab.scenario.saving import Unsavable, saved

    scenario, wrong = opened(path)
    if scenario is None:
        raise click.UsageError(str(required_error(wrong)))
    try:
        if not scenario.is_session:
            return read(path)
        runner = Runner(scenario, open_session)
        runner.run()
        return saved(runner.session, scenario.title, timed=True)
    except (FileError, Unsavable) as why:
        raise click.UsageError(f"{path} cannot be printed: {why}") from None


@program.command(
    name="exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED,
                metavar="-- PROGRAM [ARG]... [: PROGRAM [ARG]...]")  # fmt: skip
@with_profile
@click.option("--world", "lines", multiple=True, metavar="LINE",
              help="A line before they start, as 'fault drop A->B nth=3'; repeatable.")  # fmt: skip
@click.option("--node", "placed", multiple=True, type=click.Choice(["A", "B", "both"]),
              help="Where a program runs, in their order; default: A, B, A, ...; for a program "
              "that is alone: both.")  # fmt: skip
@click.option("--name", metavar="NAME",
              help="Without programs: the name of the lab that is opened, else lab.")  # fmt: skip
@click.option("--in", "joined", metavar="NAME", help="Run the programs on a lab that is open.")
@click.option("--clock", type=click.Choice(["real", "virtual"]),
              help="Time that clocks, sleeps and timeouts of the programs take; default: real, but "
              "the sleeps of a program that is alone on both nodes are virtual.")  # fmt: skip
@click.option("--save", metavar="FILE",
              help="Write what they did as a scenario; FILE.rdmalab: packed.")  # fmt: skip
@click.option("--tui", is_flag=True, help="Show their world in the app while they run.")
@click.option("--why", "ask", is_flag=True, help="Run why at the end; exit code 1 for an error.")
@click.option("--limit", type=click.FloatRange(min=0), metavar="SECONDS",
              help="End the programs after so much real time.")  # fmt: skip
@click.option(
    "--end-stuck", is_flag=True, help="End the programs when nothing can happen any more."
)
@click.option("--prefix/--no-prefix", default=None,
              help="Whether each line that a program prints begins with its node, as A |; default: "
              "at a terminal, and of several programs.")  # fmt: skip
def exec_(  # noqa: PLR0913  (one argument an option)
    *, words: tuple[str, ...], profile: str, lines: tuple[str, ...], placed: tuple[str, ...],
    clock: str | None, save: str | None, tui: bool, ask: bool, limit: float | None, end_stuck: bool,
    name: str | None, joined: str | None, prefix: bool | None,
) -> int:  # fmt: skip
    """Run compiled programs that use libibverbs on a lab instead of RDMA hardware.

    The first runs on node A, the second on B; a colon stands between two programs. What fails or
    hangs is explained on standard error while they run. Exit code: the largest of the programs.
    Without programs: opens a lab, to which others come with --in from other terminals, until ^C.
    """
    from rdmalab.compat.c.execute import Clock, Execution
    from rdmalab.lab import Lab

    if joined is not None:
        return _join(joined, words, placed, prefix)
    open_at = None if words else _opened(name)
    lab = Lab(profile=profile)
    for line in lines:
        for reply in lab.do(line):
            if reply.failed:
                raise click.UsageError(f"--world: {line}: {reply.error or reply.refusal}")
    commands = _commands(words, placed) if words else []
    kind = Clock(clock) if clock is not None else None
    outputs = _outputs(commands, prefix, tui=tui)
    execution = Execution(lab, commands, tell, open_at, clock=kind, outputs=outputs)
    with unguarded():
        execution.bound(limit, end_stuck=end_stuck)
        code = _shown(execution, save) if tui else _served(execution, limit, end_stuck=end_stuck)
    if save is not None or ask:
        for event in sorted(execution.server.calls.callers):
            lab.session.callers.note(event, execution.caller_of(event))
    lab.session.outside = execution.server.verdicts()
    if save is not None:
        title = " ".join(words) or f"Programs on the lab {name}"
        keep(save, title, lab.session, tui=False)
    found = _why(lab.session) if ask else Exit.WELL
    return code or found


def _served(execution: "Execution", limit_s: float | None, *, end_stuck: bool) -> int:
    from rdmalab.shell.interrupt import interrupts

    if execution.is_open:
        tell(_how_to_join(execution.path.name))
    with interrupts(execution.interrupt):
        return execution.run(limit_s=limit_s, end_stuck=end_stuck)


def _shown(execution: "Execution", save: str | None) -> int:
    """Run the app on the world of the programs; returns their largest exit code.

    save: the file in which the session is kept afterwards; None: it is lost.
    """
    from rdmalab.compat.c.open_labs import LivePrograms
    from rdmalab.tui.launch import show_programs

    programs = LivePrograms(execution)
    if execution.is_open:
        execution.tell(_how_to_join(execution.path.name))
    try:
        show_programs(programs, execution.lab)
    finally:
        code = programs.leave()
    if save is None:
        tell("the session of the programs was not kept: exec --save FILE, or save FILE in the app")
    return code


def _opened(name: str | None) -> Path:
    """The path at which the socket of a lab of this name belongs."""
    from rdmalab.compat.c.open_labs import USUAL, new_place

    return new_place(name or USUAL)


def _how_to_join(name: str) -> str:
    lines = [f"rdmalab: the lab {name} is open. To run programs on it from other terminals:"]
    lines += [f"  rdmalab exec --in {name} --node {node} -- PROGRAM [ARG]..." for node in "AB"]
    return "\n".join([*lines, "^C ends it."])


def _outputs(commands: "list[Command]", prefix: bool | None, *, tui: bool = False) -> "Outputs":
    """Return the outputs of programs. tui: the app shows them.

    prefix: whether lines have one; None: those of several programs, at a terminal.
    """
    from rdmalab.workbench.settings import read

    if prefix is False or (prefix is None and len(commands) < 2):
        return Outputs()
    taken = [each for each in (1, 2) if prefix or tui or os.isatty(each)]
    is_one = len(taken) == 2 and os.path.sameopenfile(*taken)  # then their order is kept
    colours = not tui and all(map(os.isatty, taken)) and read().colours != "none"
    given = labels([each.node for each in commands], colours=colours)
    return Outputs(given, {each: 1 if is_one else each for each in taken})


def _join(name: str, words: tuple[str, ...], placed: tuple[str, ...], prefix: bool | None) -> int:
    from rdmalab.compat.c.execute import CHOOSE, join
    from rdmalab.compat.c.open_labs import place_of

    if not words:
        raise click.UsageError("--in needs a program: rdmalab exec --in NAME -- PROGRAM [ARG]...")
    if mine := [each for each in _OF_THE_LAB if _is_given(each)]:
        raise click.UsageError(f"--{mine[0]} is for who opens the lab, not beside --in")
    commands = _commands(words, placed, places=CHOOSE)
    return join(commands, place_of(name), _outputs(commands, prefix))


_OF_THE_LAB = ("clock", "profile", "world", "name", "save", "tui", "why", "limit", "end-stuck")
_PARAMETERS = {"world": "lines", "why": "ask"}


def _is_given(option: str) -> bool:
    """Whether an option stands on the command line."""
    name = _PARAMETERS.get(option, option.replace("-", "_"))
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def _commands(
    words: tuple[str, ...], placed: tuple[str, ...], places: str = "AB"
) -> "list[Command]":
    """The programs. places: the nodes in turn of those that --node does not place."""
    from rdmalab.compat.c.execute import CHOOSE, Command

    parts: list[list[str]] = [[]]
    for word in words:
        if word == ":":
            parts.append([])
        else:
            parts[-1].append(word)
    if not all(parts):
        raise click.UsageError("a program is missing beside a colon")
    if len(parts) == 1 and not placed and places != CHOOSE:
        placed = ("both",)
    nodes = [
        *placed[: len(parts)],
        *(places[n % len(places)] for n in range(len(placed), len(parts))),
    ]
    for part in parts:
        if shutil.which(part[0]) is None:
            raise click.UsageError(_not_startable(part[0]))
    return [
        Command(tuple(part), "" if node == "both" else node)
        for part, node in zip(parts, nodes, strict=True)
    ]


def _not_startable(word: str) -> str:
    """The error for a word that is no program to start, with what to write instead."""
    if not Path(word).is_file():
        return f"program {word} is not found"
    if "/" not in word and os.access(word, os.X_OK):
        return f"program {word} is not in PATH: write ./{word}"
    if Path(word).suffix in (".c", ".cc", ".cpp"):
        return f"{word} is no program: rdmalab cc {word} makes one"
    if Path(word).suffix == ".py":
        return f"{word} is no program: rdmalab python {word} runs it"
    return f"{word} cannot be executed: chmod +x {word}"


class _CompilerCommand(click.Command):
    """A command whose words are the compiler's, but for `-o FILE`, `--output FILE` and `--help`.

    click takes a word such as `-DMODE=foo` for options of one letter, and finds its own `-o` in
    it; the compiler has many options of one dash and several letters.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give click the options of this command alone, and all other words as arguments."""
        own, others, words = list[str](), list[str](), iter(args)
        for word in words:
            if word in ("-o", "--output"):
                own += [word, *islice(words, 1)]
            elif word.startswith(("-o", "--output=")) or word == "--help":
                own.append(word)
            else:
                others.append(word)
        return super().parse_args(ctx, [*own, "--", *others])


@program.command(cls=_CompilerCommand)
@click.argument("files", nargs=-1, required=True, type=click.UNPROCESSED, metavar="FILE.c...")
@click.option("-o", "--output", metavar="FILE", help="The program; default: as the first file.")
def cc(*, files: tuple[str, ...], output: str | None) -> int:
    """Compile a C program with libibverbs and librdmacm, to be run by rdmalab exec.

    Other options go to the compiler, which is that of the variable CC, else cc.
    """
    from rdmalab.compat.c.building import compile_program

    sources = [each for each in files if each.endswith(".c") and not each.startswith("-")]
    if not sources:
        raise click.UsageError("no file that ends with .c")
    for each in sources:
        if not Path(each).is_file():
            raise click.UsageError(f"{each} cannot be read: no such file")
    made = output or str(Path(sources[0]).with_suffix(""))
    if compile_program(files, made):
        return Exit.FAILED
    if "/" in made:
        tell(made)
    else:
        tell(f"{made}: run it with rdmalab exec -- ./{made}")
        tell(f"event by event, in the app: rdmalab exec --tui -- ./{made}")
    return Exit.WELL
