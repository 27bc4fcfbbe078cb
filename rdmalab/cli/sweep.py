"""The command sweep: a scenario with many values of its parameters, as a table and a plot."""

import sys
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from rdmalab import disk
from rdmalab.cli import program
from rdmalab.jobs.limits import Limits, Pool
from rdmalab.jobs.result_file import NotResults, Progress
from rdmalab.scenario.files import found
from rdmalab.shell.streams import progress_stream
from rdmalab.spec.row import dataclass

if TYPE_CHECKING:
    from rdmalab.sweep.measures import Measure
    from rdmalab.sweep.plot import ChartRequest, Plot
    from rdmalab.sweep.point import Experiment, Result
    from rdmalab.sweep.table import Campaign, Row

MOST_EVENTS = 1_000_000
_SECONDS = 60
_WALL = 10  # wall clock of a point, as a multiple of its CPU time: the machine may be busy
_LINES = 16
_JSON_LINES = ".jsonl"
_KIND = "table of a sweep"
_HEAD = 1 << 16  # bytes in which the first line of a table ends


@dataclass(frozen=True, slots=True)
class _Options:
    """The options, as click gives them."""

    path: str
    overs: tuple[str, ...]
    repeat: int
    seed: int
    texts: tuple[str, ...]
    given: tuple[str, ...]
    out: str
    as_json: bool
    draws: bool
    in_ascii: bool
    svg: str
    x: str
    y: str
    log: str
    jobs: int | None
    cluster: str | None
    events: int
    seconds: int
    profile: str | None


@program.program.command()
@click.argument("path", metavar="FILE")
@click.option(
    "--over",
    "overs",
    multiple=True,
    metavar="NAME=VALUES",
    help="Values of a parameter: 0..31, 0..100..10, 1us,5us; repeatable.",
)
@click.option("--repeat", type=click.IntRange(1), default=1, help="Seeds for each combination.")
@click.option("--seed", type=click.IntRange(0), default=0, help="The first seed; default: 0.")
@click.option(
    "--measure",
    "texts",
    multiple=True,
    metavar="NAME=EXPR,...",
    help="Columns: expressions, goodput(A->B), iops, time, latency.p99, p50(iops).",
)
@program.with_set
@click.option("-o", "--out", default="", metavar="FILE", help="The table; .jsonl: JSON lines.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines instead of CSV.")
@click.option("--plot", "draws", is_flag=True, help="Draw a measure on the terminal.")
@click.option("--ascii", "in_ascii", is_flag=True, help="Draw with * instead of braille.")
@click.option("--svg", default="", metavar="FILE", help="Draw an SVG file.")
@click.option("--x", default="", metavar="NAME", help="The parameter on the x axis.")
@click.option("--y", default="", metavar="NAME", help="The measure on the y axis.")
@click.option(
    "--log",
    type=click.Choice(["auto", "none", "x", "y", "xy"]),
    default="auto",
    help="Logarithmic axes; auto: y if its values differ by a factor of 1,000.",
)
@click.option("--jobs", type=click.IntRange(1), help="Worker processes; default: one for each CPU.")
@program.with_cluster
@click.option(
    "--events",
    type=click.IntRange(1),
    default=MOST_EVENTS,
    show_default=True,
    help="The most events of one run.",
)
@click.option(
    "--seconds",
    type=click.IntRange(1),
    default=_SECONDS,
    show_default=True,
    help="The most CPU time of one point.",
)
@program.with_own_profile
def sweep(**given: Any) -> int:  # fmt: skip
    """Run a scenario with every combination of values of its parameters, and measure each run.

    A run whose until is not met, or that reaches a limit, is a row with an error, without a number.
    Exit code 1 means that there is such a row. With -o, ^C loses nothing: the same command
    continues.
    """
    with program.understood():
        return _Sweep(_Options(**given)).run()


class _Sweep:
    """One call of the command."""

    def __init__(self, options: _Options) -> None:

        self.options = options
        self.title = ""
        wall_s = float(_WALL * options.seconds)
        self.limits = Limits(cpu_s=options.seconds, wall_s=wall_s, events=options.events)

    def run(self) -> int:
        from rdmalab.sweep.measures import measures
        from rdmalab.sweep.plot import check
        from rdmalab.sweep.point import over, points
        from rdmalab.sweep.table import Campaign, columns, rows

        given = self.options
        wanted = measures(given.texts or ("time",))
        seeds = range(given.seed, given.seed + given.repeat)
        grid = list(points([over(text) for text in given.overs], seeds))
        if given.draws or given.svg:
            check(self._choice, list(dict(grid[0].values)), [measure.name for measure in wanted])
        experiment = self._experiment(wanted, dict(grid[0].values))
        if experiment is None:
            return program.Exit.USAGE
        self._refuse_other(columns(grid[0], wanted))
        campaign = Campaign(experiment, grid, wanted, self.limits, given.out)
        results = self._results(campaign)
        if results is None:
            return program.Exit.INTERRUPTED
        table = rows(zip(grid, results, strict=True), wanted)
        self._show(table)
        campaign.finish()
        return self._verdict(table)

    def _experiment(
        self, wanted: "tuple[Measure, ...]", first: dict[str, str]
    ) -> "Experiment | None":
        """Data that all points share; None for a file that cannot be swept, after its errors.

        first: the values of the first point.
        """
        from rdmalab.scenario.loader import FileError, load
        from rdmalab.sweep.point import Experiment
        from rdmalab.sweep.table import require_condition
        from rdmalab.vocabulary import VOCABULARY

        path, values = found(self.options.path), program.values_of(self.options.given)
        both = next((name for name in values if name in first), None)
        if both is not None:
            raise click.UsageError(f"--set {both} and --over {both} exclude each other")
        try:
            scenario = load(path, VOCABULARY, {**values, **first})
        except FileError as wrong:
            program.tell(f"ERROR {wrong}")
            return None
        require_condition(scenario)
        self.title = scenario.title
        texts = tuple(measure.text for measure in wanted)
        given, included = tuple(values.items()), tuple(scenario.included.items())
        return Experiment(path, scenario.source.text, texts, given, self.options.profile, included)

    def _refuse_other(self, wanted: list[str]) -> None:
        """Refuse to replace a file that is no table, or has other columns, before a point runs."""
        from rdmalab.sweep.table import columns_of

        out = self.options.out
        if not out or not Path(out).is_file():
            return
        with program.writing(out, _KIND):
            if not (there := columns_of(disk.beginning(out, _HEAD))):
                raise disk.FileExistsAsOther
        if there != wanted:
            message = (
                f"{out} has the columns {', '.join(there)}; this sweep has {', '.join(wanted)}"
            )
            raise click.ClickException(f"{message}. Choose another name for -o, or delete {out}")

    # ------------------------------------------------------------------ running
    def _results(self, campaign: "Campaign") -> "list[Result] | None":
        """The results of all points; None after ^C, with a sentence on standard error."""
        from rdmalab.jobs.cluster import ClusterFailed
        from rdmalab.jobs.pool import CannotStart

        try:
            done = campaign.known()
            if done:
                known = f"{len(done)} of {len(campaign.points)} points are in {campaign.part}"
                program.tell(known)
            progress = Progress(progress_stream(), len(campaign.points), "points", len(done))
            return self._played(campaign, done, progress)
        except (ClusterFailed, CannotStart, NotResults) as wrong:
            raise click.ClickException(str(wrong)) from None
        except OSError as wrong:
            message = f"{campaign.part} cannot be written: {wrong.strerror or wrong}"
            raise click.ClickException(message) from None

    def _played(
        self, campaign: "Campaign", done: "dict[int, Result]", progress: "Progress"
    ) -> "list[Result] | None":
        from rdmalab.sweep.point import Ended

        bad = 0

        def see(_number: int, result: "Result") -> None:
            nonlocal bad
            bad += result.ended is not Ended.PASSED
            progress.advance(f"{bad} without a number" if bad else "")

        try:
            return campaign.results(self._pool(), done, see)
        except KeyboardInterrupt:
            progress.end()
            program.tell(f"stopped after {progress.done} of {progress.total} points")
            if campaign.part:
                program.tell(f"{campaign.part} has them: the same command continues")
            return None
        finally:
            progress.end()

    def _pool(self) -> "Pool":
        return program.workers(self.limits, self.options.jobs, self.options.cluster)

    # ------------------------------------------------------------------ showing
    def _show(self, table: "list[Row]") -> None:
        """The table and the plots; the table is written first, because a plot may be refused."""
        from rdmalab.sweep.table import as_csv, as_json_lines, columns_of

        given = self.options
        in_lines = given.as_json or given.out.endswith(_JSON_LINES)
        text = as_json_lines(table) if in_lines else as_csv(table)
        if given.out:
            program.write(given.out, text.encode(), lambda there: bool(columns_of(there)), _KIND)
        elif not given.draws:
            print(text, end="")
        if given.draws:
            from rdmalab.shell.script import speaks_unicode
            from rdmalab.sweep.charts import text as chart

            plain = given.in_ascii or not speaks_unicode(sys.stdout)
            columns = min(120, get_terminal_size((80, 24)).columns)
            print(chart(self._plot(table), columns, _LINES, ascii_only=plain))
        if given.svg:
            from rdmalab.sweep.charts import svg

            drawing = svg(self._plot(table)).encode()
            program.write(given.svg, drawing, program.begins_as(drawing), "drawing")

    def _plot(self, table: "list[Row]") -> "Plot":
        from rdmalab.sweep.plot import plot

        return plot(table, self._choice)

    @property
    def _choice(self) -> "ChartRequest":
        from rdmalab.sweep.plot import ChartRequest

        return ChartRequest(self.title, self.options.x, self.options.y, self.options.log)

    def _verdict(self, table: "list[Row]") -> int:
        from rdmalab.sweep.point import Ended

        bad = [row for row in table if row.ended is not Ended.PASSED]
        for row in bad[:3]:
            where = " ".join(f"{name}={value}" for name, value in row.values)
            program.tell(f"no number for {where or 'the scenario'}: {row.error}")
        program.tell(f"{len(table) - len(bad)} of {len(table)} rows have numbers")
        return program.Exit.FAILED if bad else program.Exit.WELL
