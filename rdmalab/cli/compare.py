"""Command compare: play a scenario under several profiles."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from rdmalab.cli import program
from rdmalab.cli.scenarios import opened, required_error
from rdmalab.shell.streams import print_json
from rdmalab.spec.profiles import CELLS, PROFILES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdmalab.scenario.profile_comparison import Difference


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
    help="Look past this cell: the first profile has the other's value in it; repeatable.",
)  # fmt: skip
@program.with_json
@program.with_set
def compare(
    *, path: str, profiles: list[str], ignored: tuple[str, ...], as_json: bool,
    given: tuple[str, ...],
) -> int:  # fmt: skip
    """Play a scenario under several profiles; print the first event that differs, and the cause.

    The cause is what the scenario does with single cells of the other profile: with those that are
    named, and not with fewer, the event is the same. Failed expectations do not end a play.
    Exit code 0: no event and no outcome differs, 1: something does.
    """
    from rdmalab.grammar.hints import suggest
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
    from rdmalab.scenario.source import visible

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
        yield f"    {cause.sentence}" + (f"  (read by {cause.asked_by})" if cause.asked_by else "")
    if difference.event is not None and not difference.causes:
        yield "  cause unknown: no cells of the profile table explain it"
