"""The command line. Other modules are imported when a command needs them; none imports this.

Exit codes: 0 success, 1 an expectation failed, 2 bad usage, file or line, or output that cannot
be written, 3 a bug in rdmalab, 5 nothing selected, 130 ^C. Results go to standard output, messages
to standard error.
"""

import os
import sys
from collections.abc import Sequence

import click

from rdmalab.cli import (
    book,
    checking,
    grading,
    labs,
    reference_commands,
    scenarios,
    session_commands,
    sweep,
)
from rdmalab.cli.program import PIPE_CLOSED, Exit, program
from rdmalab.shell.streams import Lost, forget_output, guarded

ISSUES = "the project's issue tracker"
__all__ = [
    "Exit",
    "book",
    "checking",
    "grading",
    "labs",
    "main",
    "reference_commands",
    "scenarios",
    "session_commands",
    "sweep",
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code. Reports unexpected exceptions as bugs."""
    with guarded():
        try:
            code = _run(arguments)
            sys.stdout.flush()
            return code
        except BrokenPipeError:
            forget_output()
            return PIPE_CLOSED
        except Lost as why:
            forget_output()
            print(f"standard output cannot be written: {why}", file=sys.stderr)
            return Exit.USAGE


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = program.main(args=arguments, prog_name="rdmalab", standalone_mode=False)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as wrong:
        wrong.show(sys.stderr)
        return Exit.USAGE
    except (KeyboardInterrupt, click.Abort):
        return Exit.INTERRUPTED
    except (BrokenPipeError, Lost):
        raise
    except Exception as bug:  # noqa: BLE001  (whatever it is, it is ours)
        return _report_bug(bug)
    return int(code) if isinstance(code, int) else Exit.WELL


def _report_bug(bug: Exception) -> Exit:
    if os.environ.get("RDMALAB_DEBUG"):
        import traceback

        traceback.print_exc()
    from rdmalab.workbench.bug_reports import called, report

    print(called(bug), file=sys.stderr)
    print(
        f"Please report it to {ISSUES}, with your commands; {report(bug, sys.argv)}",
        file=sys.stderr,
    )
    print("RDMALAB_DEBUG=1 shows where it happened.", file=sys.stderr)
    return Exit.BUG
