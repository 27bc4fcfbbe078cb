"""Commands export, pyverbs and open."""

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rdmalab import disk
from rdmalab.cli.program import Exit, program, tell, with_own_profile, with_profile, write, writing
from rdmalab.cli.scenarios import answer, opened, played, required_error, verdict
from rdmalab.export import FORMATS, format_called
from rdmalab.shell.streams import print_octets, unguarded
from rdmalab.spec.limits import LAYER_OF, LinkLayer
from rdmalab.spec.profiles import PROFILES, STRICT

if TYPE_CHECKING:
    from rdmalab.classroom.exercise import Exercise

_STANDARD_OUTPUT = "-"


@program.command()
@click.argument("form", type=click.Choice(FORMATS), metavar="|".join(FORMATS))
@click.argument("path", metavar="SCENARIO")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True),
    required=True,
    help="The file to write; - is standard output.",
)
@with_own_profile
def export(*, form: str, path: str, output: str, profile: str | None) -> int:
    """Run a scenario, and write the sent frames in the format of another program.

    pcapng: every frame that left a port, for Wireshark and tshark. An existing capture is
    replaced, any other file is not. If the scenario fails, the frames up to there are written.
    """
    from rdmalab.scenario.report import RunModel, of_runner
    from rdmalab.workbench.files import Exported

    if output == _STANDARD_OUTPUT and sys.stdout.isatty():
        raise click.UsageError("a terminal cannot show a capture: -o FILE, or -o - into a pipe")
    scenario, wrong = opened(path)
    if scenario is None:
        tell(f"ERROR {required_error(wrong)}")
        return Exit.USAGE
    runner = played(scenario, profile, verbose=False)
    kind = format_called(form)
    capture = kind.capture(runner.session.world, runner.session.names)
    replaced = False
    if output == _STANDARD_OUTPUT:
        print_octets(capture.octets)
    else:
        replaced = write(output, capture.octets, kind.is_capture, "capture")
    if not runner.ok:
        tell(runner.results[-1].text(scenario.path))
    named = "standard output" if output == _STANDARD_OUTPUT else output
    tell(Exported(named, capture.frames, capture.never_left, replaced).text)
    report = RunModel()
    report.add(of_runner(runner))
    return verdict(report)


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
@click.option("--save", metavar="FILE", help="Write its verbs as a scenario.")
@click.option("--tui", is_flag=True, help="Open the app on its session.")
@click.option("--why", "ask", is_flag=True, help="Run why at its end; exit code 1 for an error.")
@click.option(
    "--lab", "exercise", metavar="LAB", help="Solve a lab: run in its world, and print its tasks."
)
@click.option("--student", default="", metavar="ID", help="With --lab: who hands it in.")
@click.option("--submit", metavar="FILE", help="With --lab: write the submission.")
def python(  # noqa: PLR0913  (one argument an option)
    *, script: str, arguments: tuple[str, ...], profile: str, link_layer: str, poll_warning: float,
    save: str | None, tui: bool, ask: bool, exercise: str | None, student: str,
    submit: str | None,
) -> int:  # fmt: skip
    """Run a pyverbs program on a lab instead of RDMA hardware.

    The devices are rdmalab0 (node A) and rdmalab1 (node B), one process may use both. Time is
    virtual: sleeps and timeouts return at once. Options of the lab come before SCRIPT.
    """
    from rdmalab.compat.script import run as play

    opened = _exercise(exercise, student, submit, is_other=profile != STRICT.name)
    layer = LAYER_OF[link_layer]
    if layer not in PROFILES[profile].link_layers:
        message = f"--link-layer: profile {profile} has no {link_layer} port"
        raise click.UsageError(message)
    try:
        disk.read(script)
    except OSError as wrong:
        raise click.UsageError(f"{script} cannot be read: {wrong.strerror}") from None
    with unguarded():
        warned = round(poll_warning * 1e9) or None
        code = play(script, arguments, profile, layer, warned, opened)
    if opened is not None:
        _hand_in(opened, submit)
    if save is not None or tui:
        _keep(save, Path(script).name, tui=tui)
    found = _why() if ask else Exit.WELL
    return code or found


def _exercise(
    file: str | None, student: str, submit: str | None, *, is_other: bool
) -> "Exercise | None":
    """The lab that a program solves. is_other: another profile is requested."""
    from rdmalab.scenario.source import FileError

    if file is None:
        if student or submit:
            raise click.UsageError("--student and --submit go with --lab LAB")
        return None
    if is_other:
        raise click.UsageError("--lab and --profile exclude each other: a lab has its devices")
    from rdmalab.classroom.exercise import Exercise
    from rdmalab.classroom.playing import BrokenLab

    try:
        return Exercise(file, student)
    except (FileError, BrokenLab) as wrong:
        raise click.UsageError(str(wrong)) from None


def _hand_in(exercise: "Exercise", file: str | None) -> None:
    """Print what the calls of the program are worth, and write them as a submission."""
    exercise.work.keep_calls()
    tell(exercise.report)
    if file is not None:
        with writing(file, "submission"):
            exercise.submit(file)
        tell(f"{file}: hand in this file")


def _why() -> int:
    """Tell on standard error what is wrong in the session; the exit code of `why`."""
    from rdmalab.compat.process import here
    from rdmalab.doctor.consultation import consult

    report = consult(here().session)
    tell(answer(report))
    return Exit.FAILED if report.is_trouble else Exit.WELL


def _keep(path: str | None, title: str, *, tui: bool) -> None:
    """Write the verbs of the program as a scenario, and open it in the app if requested."""
    from rdmalab.compat.process import here
    from rdmalab.scenario.loader import is_scenario
    from rdmalab.scenario.saving import Unsavable, saved

    try:
        text = saved(here().session, title)
    except Unsavable as why:
        raise click.ClickException(f"{title} cannot be kept: {why}") from None
    with tempfile.TemporaryDirectory() as folder:
        kept = path or str(Path(folder) / "program.rdmalab.yaml")
        write(kept, text.encode(), is_scenario, "scenario")
        if tui:
            from rdmalab.tui.launch import main as app

            app(path=kept)


@program.command(name="open")
@click.argument("text", metavar="TEXT")
@with_own_profile
def open_(*, text: str, profile: str | None) -> int:
    """Open a shared session. TEXT is the output of `share`; - reads it from standard input.

    At a terminal: the app, at the shared moment. Else: prints its scenario, to be run, loaded or
    read.
    """
    from rdmalab.scenario.share_text import LONGEST, Damaged, scenario_of

    word = sys.stdin.read(LONGEST + 1) if text == _STANDARD_OUTPUT else text
    try:
        scenario = scenario_of(word)
    except Damaged as why:
        raise click.UsageError(f"this cannot be opened: {why}") from None
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        if profile is not None:
            raise click.UsageError("--profile is for the app: rdmalab run --profile plays a file")
        print(scenario, end="")
        return Exit.WELL
    from rdmalab.tui.launch import main as app

    return app(profile=profile, shared="".join(word.split()))
