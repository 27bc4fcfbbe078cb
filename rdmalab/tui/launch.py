"""Start the application: its world, its first commands, its history."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

from rdmalab.tui.app import Rdmalab
from rdmalab.tui.filters import ascii_wanted
from rdmalab.workbench.settings import read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdmalab.lab import Lab
    from rdmalab.tui.app_model import LivePrograms
    from rdmalab.tui.face import Face
    from rdmalab.tui.screens.main import Main


_BUG = 3  # the exit code; `cli.exits` has the table


class _Reporting(Rdmalab):
    """The app that ends with a report, where Textual prints a traceback, when a bug ends it.

    bug: what is printed then.
    """

    bug = ""

    def _fatal_error(self) -> None:
        from rdmalab.recovery.bug_reports import called, report

        bug, model = sys.exc_info()[1], self.model
        assert bug is not None
        typed = model.conversation.last_typed if model is not None else ()
        is_kept = model is not None and model.conversation.can_be_continued
        rest = "rdmalab, and then continue, restores the session.\n" if is_kept else ""
        self._return_code = _BUG
        self.bell()
        self.bug = f"{called(bug)}; {report(bug, typed)}\n{rest}"
        self.panic()


def launched(
    profile: str | None = None, seed: int = 0, path: str | None = None, shared: str | None = None,
    line: str | None = None, *, is_kept: bool = False,
) -> Rdmalab:  # fmt: skip
    """The application; its world has a finished SEND, a scenario, or a shared session.

    profile: of all devices; None: that of the scenario, else strict. line: a command that is
    carried out first. is_kept: lines are kept in a write-ahead log and in the history.
    """
    other = f" profile={profile}" if profile else ""
    script = [f'load "{path}"{other}'] if path is not None else []
    script += [f"open {shared}{other}"] if shared is not None else []
    script += [line] if line is not None else []

    return application(script, profile, seed, is_kept=is_kept)


def application(
    lines: Sequence[str], profile: str | None = None, seed: int = 0, *, is_kept: bool,
    face: Face | None = None, live: tuple[LivePrograms, Lab] | None = None,
) -> Rdmalab:  # fmt: skip
    """The application that carries out these lines first; without any it has a finished SEND.

    is_kept: as for `launched`. face: where the app is shown; None: in the terminal. live: programs
    of the host and their lab, whose world is shown as they have made it.
    """

    def make() -> Main:
        """The main screen with its world; a thread makes it, because it imports the engine."""
        from rdmalab.lab import Lab
        from rdmalab.shell.prompt_setup import kept_history, no_history
        from rdmalab.tui.app_model import AppModel
        from rdmalab.tui.screens.main import Main

        programs, lab = live or (None, Lab(profile=profile or "strict", seed=seed))
        model = AppModel(lab, ascii_only=ascii_wanted(read().ascii))
        model.programs = programs
        if not (lines or programs):
            model.begin()
        history = no_history()
        if is_kept:
            log = model.keep()
            log.listener = face.record if face is not None else None
            history = kept_history(log.report)
        return Main(model, history, lines)

    # A face shows and keeps what ends its app itself.
    return _Reporting(make) if face is None else Rdmalab(make, face)


def main(
    profile: str | None = None, seed: int = 0, path: str | None = None, shared: str | None = None,
    line: str | None = None,
) -> int:  # fmt: skip
    """Run the application; returns the exit code."""
    gc.disable()  # importing makes no garbage, and a tenth of its time went into looking for some
    app = launched(profile, seed, path, shared, line, is_kept=True)
    app.run(mouse=read().mouse)
    is_kept = app.model is not None and app.model.conversation.can_be_continued
    code = left(app)
    if is_kept and not code:
        sys.stdout.write("The session is kept: rdmalab, and then continue, restores it.\n")
    return code


def show_programs(programs: LivePrograms, lab: Lab) -> int:
    """Run the application on the world of programs of the host; returns the exit code."""
    # No log: without the programs their session cannot go on.
    app = application([], is_kept=False, live=(programs, lab))
    app.run(mouse=read().mouse)
    return left(app)


def left(app: Rdmalab) -> int:
    """Close the session log of an application that has ended; returns the exit code.

    Print the report of the bug that ended it.
    """
    if isinstance(app, _Reporting):
        sys.stderr.write(app.bug)
    if app.return_code == 0 and app.model is not None:
        from rdmalab.recovery.write_ahead_log import WriteAheadLog

        log = app.model.conversation.log
        if isinstance(log, WriteAheadLog):
            log.leave()
    return app.return_code or 0
