"""The command export."""

import sys
from typing import TYPE_CHECKING

import click

from rdmalab.cli.program import Exit, program, tell, with_own_profile, write
from rdmalab.cli.scenarios import opened, played, required_error, verdict
from rdmalab.export import FORMATS, PROGRAMS, format_called
from rdmalab.export.texts import HELP_ROWS, TEXTS
from rdmalab.shell.streams import print_octets

if TYPE_CHECKING:
    from rdmalab.scenario.loader import Scenario
    from rdmalab.scenario.runner import Runner

_STANDARD_OUTPUT = "-"
_AS_TEXT = "text"
_FORMS = (*FORMATS, _AS_TEXT, *TEXTS)
_DRAWN_WIDTH = 100  # columns
_SENTENCES = " ".join(f"{word}: {text}" for word, text in HELP_ROWS.items())
_HELP = f"""Run a scenario, and write its frames, its ladder, a recording of it or a program.

{_SENTENCES} text: the ladder as `show wire` prints it.

A ladder has the packets after the setup. A file of the same kind is replaced, any other file is
not; text is never replaced. If the scenario fails, what happened up to there is written.
"""


@program.command(help=_HELP)
@click.argument("form", type=click.Choice(_FORMS), metavar="|".join(_FORMS))
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
    """Run a scenario and write what it shows."""
    from rdmalab.workbench.files import Exported

    if output == _STANDARD_OUTPUT and form in FORMATS and sys.stdout.isatty():
        raise click.UsageError("a terminal cannot show a capture: -o FILE, or -o - into a pipe")
    scenario, wrong = opened(path)
    if scenario is None:
        tell(f"ERROR {required_error(wrong)}")
        return Exit.USAGE
    if form in PROGRAMS:
        return _programmed(scenario, profile, form, output)
    runner = played(scenario, profile, verbose=False)
    if form not in FORMATS:
        return _drawn(runner, form, output)
    kind = format_called(form)
    capture = kind.capture(runner.session.world, runner.session.names)
    replaced = False
    if output == _STANDARD_OUTPUT:
        print_octets(capture.octets)
    else:
        replaced = write(output, capture.octets, kind.is_capture, "capture")
    named = "standard output" if output == _STANDARD_OUTPUT else output
    status = _judged(runner)
    tell(Exported(named, capture.frames, capture.never_left, replaced).text)
    return status


def _programmed(scenario: "Scenario", profile: str | None, language: str, output: str) -> int:
    """Write the scenario as a program."""
    from rdmalab.cli.exported_programs import PlayedScenario
    from rdmalab.export.replay.calls import NotExportable

    try:
        played_scenario = PlayedScenario(scenario, profile)
        octets = played_scenario.text(language).encode()
    except NotExportable as wrong:
        raise click.ClickException(f"{scenario.path}, {wrong}") from None
    _to(output, octets, language)
    return _judged(played_scenario.runner)


def _judged(runner: "Runner") -> int:
    """The exit status of a scenario that was played; a failure is reported."""
    from rdmalab.scenario.report import RunModel, of_runner

    if not runner.ok:
        tell(runner.results[-1].text(runner.scenario.path))
    report = RunModel()
    report.add(of_runner(runner))
    return verdict(report)


def _drawn(runner: "Runner", form: str, output: str) -> int:
    """Write the ladder of the packets after the setup, or a recording of all."""
    from rdmalab.shell.show_wire import drawing
    from rdmalab.shell.styled_text import in_ascii, text_of
    from rdmalab.workbench.settings import read

    session = runner.session
    steps = [result for result in runner.results if not result.step.is_setup]
    first = steps[0].first_record if steps else 0
    if form == _AS_TEXT:
        drawn = f"{drawing(session.world, session.names, _DRAWN_WIDTH, first)}\n"
        # A file can be read anywhere: only what the user has set counts, not this terminal.
        drawn = text_of(in_ascii([("", drawn)])) if read().ascii else drawn
    else:
        drawn = TEXTS[form].write(session, runner.scenario.title, first)
    _to(output, drawn.encode(), form)
    return _judged(runner)


def _to(output: str, octets: bytes, form: str) -> None:
    """Write the text of a form to a file or to standard output."""
    if output == _STANDARD_OUTPUT:
        print_octets(octets)
    elif form == _AS_TEXT:
        write(output, octets, lambda _: False, "drawing")
    else:
        write(output, octets, TEXTS[form].is_one, TEXTS[form].kind)
