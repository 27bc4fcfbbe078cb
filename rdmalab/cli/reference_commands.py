"""Commands explain, help, capabilities, schema and selfcheck."""

import json
import sys

import click

from rdmalab import disk
from rdmalab.cli.program import Exit, begins_as, program, understood, with_json, with_profile, write
from rdmalab.shell.streams import print_json, print_svg
from rdmalab.spec.profiles import PROFILES
from rdmalab.spec.states import QPType


@program.command()
@click.argument("words", nargs=-1, metavar="WORD...|-")
@click.option("--all", "everything", is_flag=True, help="The whole guide, to be printed.")
@click.option("--svg", is_flag=True, help="Draw it: explain modify_qp [RC|UC|UD|…] --svg")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write to a file instead.")
@with_json
def explain(
    *, words: tuple[str, ...], everything: bool, svg: bool, output: str | None, as_json: bool
) -> int:
    """Explain a status, state, attribute, opcode or errno.

    A line of a log works too: its terms are recognised. With - it is read from standard input.
    modify_qp can be drawn: the state machine of a QP type, RC unless another is named.
    """
    if everything == bool(words) or (everything and (svg or as_json)) or (svg and as_json):
        raise click.UsageError("one of these: explain WORD... [--json], --all, modify_qp --svg")
    text = _guide() if everything else _drawing(words) if svg else _answer(words, as_json=as_json)
    if output is not None:
        octets = text.encode()
        write(output, octets, begins_as(octets), "such document")
    elif as_json:
        print_json(text.rstrip("\n"))
    elif svg:
        print_svg(text)
    else:
        print(text, end="")
    return Exit.WELL


def _guide() -> str:
    from rdmalab.guide.book import lines
    from rdmalab.vocabulary import VOCABULARY

    return "\n".join([*lines(VOCABULARY), ""])


def _answer(words: tuple[str, ...], *, as_json: bool) -> str:
    from rdmalab.doctor.article import SUSPICIONS
    from rdmalab.guide.explain import answer, document
    from rdmalab.vocabulary import VOCABULARY

    text = _log() if words == ("-",) else " ".join(words)
    with understood():
        found = answer(text, VOCABULARY, SUSPICIONS)
    if as_json:
        return json.dumps(document(found), indent=2, ensure_ascii=False) + "\n"
    return "\n".join([*found.article.lines(min(100, _width())), ""])


def _log() -> str:
    """The text on standard input, up to a limit."""
    stream = getattr(sys.stdin, "buffer", None)
    octets = stream.read(disk.MOST + 1) if stream else sys.stdin.read(disk.MOST + 1).encode()
    if len(octets) > disk.MOST:
        raise click.UsageError(f"standard input is larger than {disk.MOST:,} bytes")
    return str(octets.decode("utf-8", "replace"))


def _drawing(words: tuple[str, ...]) -> str:
    from rdmalab.guide.machine import state_machine

    types = "|".join(qp_type.name for qp_type in QPType)
    verb, _, wanted = " ".join(words).casefold().strip().partition(" ")
    if verb.removeprefix("ibv_") != "modify_qp":
        raise click.UsageError(f"only modify_qp can be drawn: explain modify_qp [{types}] --svg")
    named = {qp_type.name.casefold(): qp_type for qp_type in QPType}
    wanted = wanted.strip().removeprefix("ibv_qpt_") or QPType.RC.name.casefold()
    if wanted not in named:
        raise click.UsageError(f'"{wanted}" is not a QP type: {types}')
    return state_machine(named[wanted])


@program.command("help")
@click.argument("words", nargs=-1, metavar="[WORD...]")
def help_of_the_prompt(words: tuple[str, ...]) -> int:
    """Print a page of the manual, or help on a command of the prompt; without a word: a list.

    Pages: keys, screen, time, why, scenarios, teaching, environment and more. A word such as zoom
    or copy finds its part of the manual. The commands of the shell: rdmalab --help.
    """
    from rdmalab.lab import Lab
    from rdmalab.workbench.help import help_

    with understood():
        page = help_.function(Lab().session, " ".join(words))
    print("\n".join([*page.lines(min(100, _width())), ""]), end="")
    return Exit.WELL


@program.command()
@with_json
@with_profile
def capabilities(*, as_json: bool, profile: str) -> int:
    """List what is emulated and what is not, with reasons."""
    from dataclasses import asdict

    from rdmalab.guide.capabilities import lines, rows
    from rdmalab.vocabulary import VERBS

    found = rows(PROFILES[profile], VERBS)
    if as_json:
        listed = [asdict(row) for row in found]
        print_json(json.dumps({"profile": profile, "capabilities": listed}, indent=2))
    else:
        print("\n".join(lines(found, min(100, _width()))))
    return Exit.WELL


def _width() -> int:
    import shutil

    return shutil.get_terminal_size((80, 24)).columns


_DOCUMENTS = (
    "scenario", "lab", "submission", "run", "repl", "lessons", "coverage", "explain", "why",
    "grade", "course", "gradebook", "compare", "selfcheck",
)  # fmt: skip


@program.command()
@click.option(
    "--of", "what", type=click.Choice(_DOCUMENTS), default="scenario", show_default=True,
    help="A file: scenario, lab, submission, course; or the document that --json prints.",
)  # fmt: skip
def schema(*, what: str) -> int:
    """Print a JSON Schema."""
    from rdmalab.cli.schemas import schema_of

    print_json(json.dumps(schema_of(what), indent=2, ensure_ascii=False))
    return Exit.WELL


@program.command()
@with_json
def selfcheck(*, as_json: bool) -> int:
    """Check terminal, colours, characters, clipboard, versions and paths, each with its remedy.

    ✓ works, ! works with a limit, ✗ does not work, · optional or not known. Exit code 1: something
    does not work.
    """
    from rdmalab.cli.selfcheck import report

    return report(as_json=as_json)
