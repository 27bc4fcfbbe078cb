"""One command line of `rdmalab`: its exit code, errors of usage printed."""

import sys
from collections.abc import Sequence

import click

from rdmalab.cli.exits import Exit
from rdmalab.cli.program import program as program


def run(arguments: Sequence[str] | None) -> int:
    """Run one command line, None: that of this process; returns the exit code.

    Errors of usage are printed; any other exception is the caller's.
    """
    try:
        code = program.main(args=arguments, prog_name="rdmalab", standalone_mode=False)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as wrong:
        wrong.show(sys.stderr)
        return Exit.USAGE
    except click.Abort:
        return Exit.INTERRUPTED
    return int(code) if isinstance(code, int) else Exit.WELL
