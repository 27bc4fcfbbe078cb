"""The command line. Other modules are imported when a command needs them; none imports this.

Exit codes: 0 success, 1 an expectation failed, 2 bad usage, file or line, or output that cannot
be written, 3 a bug in rdmalab, 5 nothing selected, 130 ^C. Results go to standard output, messages
to standard error.
"""

import os
import sys
from collections.abc import Sequence

from rdmalab.cli.exits import PIPE_CLOSED, Exit, at_terminal, is_dumb
from rdmalab.shell.streams import Lost, detach_output, guarded

ISSUES = "the project's issue tracker"
__all__ = ["ISSUES", "Exit", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code. Reports unexpected exceptions as bugs."""
    with guarded():
        try:
            code = _run(arguments)
            sys.stdout.flush()
            return code
        except BrokenPipeError:
            detach_output()
            return PIPE_CLOSED
        except Lost as why:
            detach_output()
            print(f"standard output cannot be written: {why}", file=sys.stderr)
            return Exit.USAGE


def _run(arguments: Sequence[str] | None) -> int:
    """Run the app at once if nothing else is asked for: click and the commands take 30 ms."""
    try:
        if arguments is None and not sys.argv[1:] and at_terminal() and not is_dumb():
            from rdmalab.tui.launch import main as app

            return app()
        from rdmalab.cli.commands import run

        return run(arguments)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except (BrokenPipeError, Lost):
        raise
    except Exception as bug:  # noqa: BLE001  (whatever it is, it is ours)
        return _report_bug(bug)


def _report_bug(bug: Exception) -> Exit:
    if os.environ.get("RDMALAB_DEBUG"):
        import traceback

        traceback.print_exc()
    from rdmalab.recovery.bug_reports import called, report

    print(called(bug), file=sys.stderr)
    print(
        f"Please report it to {ISSUES}, with your commands; {report(bug, sys.argv)}",
        file=sys.stderr,
    )
    print("RDMALAB_DEBUG=1 shows where it happened.", file=sys.stderr)
    return Exit.BUG
