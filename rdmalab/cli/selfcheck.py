"""Command selfcheck: whether this terminal and this installation are fit for rdmalab."""

import json
import sys
from dataclasses import asdict
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from rdmalab.cli import program
from rdmalab.shell.streams import print_json
from rdmalab.version import VERSION

if TYPE_CHECKING:
    from rdmalab.cli.self_checks import Check

_NAME = 16  # columns
_STYLES = {"good": "class:good", "odd": "class:warn", "bad": "class:error", "dim": "class:dim"}


@program.program.command()
@program.with_json
def selfcheck(*, as_json: bool) -> int:
    """Check terminal, colours, characters, clipboard, versions and paths, each with its remedy.

    ✓ works, ! works with a limit, ✗ does not work, · optional or not known. Exit code 1: something
    does not work.
    """
    from rdmalab.cli.self_checks import CHARACTERS, State, checks
    from rdmalab.cli.terminal_questions import ask

    found = list(checks(ask(CHARACTERS)))
    if as_json:
        rows = [asdict(check) for check in found]
        document = {"rdmalab": 1, "version": VERSION, "checks": rows}
        print_json(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        _print(found)
    failed = any(check.state is State.FAILED for check in found)
    return program.Exit.FAILED if failed else program.Exit.WELL


def _print(found: "list[Check]") -> None:
    """A row for each check, and the remedy below it; words in place of signs where ASCII is."""
    from rdmalab.cli.self_checks import MEANINGS
    from rdmalab.render.meanings import LOOKS
    from rdmalab.shell.script import Printer, speaks_unicode
    from rdmalab.shell.styled_text import fold, in_ascii
    from rdmalab.workbench.settings import read

    chosen = read()
    ascii_only = not speaks_unicode(sys.stdout) if chosen.ascii is None else chosen.ascii
    printer = Printer(plain=chosen.colours == "none")
    width = get_terminal_size((100, 24)).columns
    for check in found:
        look = LOOKS[MEANINGS[check.state]]
        sign = f"{check.state:<9}" if ascii_only else look.sign
        head = f"{sign} {check.name:<{_NAME}} "
        rows = fold([(_STYLES[look.tone], head), ("", check.found)], width, len(head))
        if check.remedy:
            rows += fold([(_STYLES["dim"], " " * len(head) + check.remedy)], width, 0)
        for row in rows:
            printer(in_ascii(row) if ascii_only else row, sys.stdout)
