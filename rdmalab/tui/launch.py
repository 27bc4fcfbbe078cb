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
    face: Face | None = None,
) -> Rdmalab:  # fmt: skip
    """The application that carries out these lines first; without any it has a finished SEND.

    is_kept: as for `launched`. face: where the app is shown; None: in the terminal.
    """

    def make() -> Main:
        """The main screen with its world; a thread makes it, because it imports the engine."""
        from rdmalab.lab import Lab
        from rdmalab.shell.prompt_setup import kept_history, no_history
        from rdmalab.tui.app_model import AppModel
        from rdmalab.tui.screens.main import Main

        lab = Lab(profile=profile or "strict", seed=seed)
        model = AppModel(lab, ascii_only=ascii_wanted(read().ascii))
        if not lines:
            model.begin()
        history = no_history()
        if is_kept:
            log = model.keep()
            log.listener = face.record if face is not None else None
            history = kept_history(log.report)
        return Main(model, history, lines)

    return Rdmalab(make, face)


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

    def make() -> Main:
        from rdmalab.shell.prompt_setup import no_history
        from rdmalab.tui.app_model import AppModel
        from rdmalab.tui.screens.main import Main

        model = AppModel(lab, ascii_only=ascii_wanted(read().ascii))
        model.programs = programs  # no log: without the programs their session cannot go on
        return Main(model, no_history(), [])

    app = Rdmalab(make)
    app.run(mouse=read().mouse)
    return app.return_code or 0


def left(app: Rdmalab) -> int:
    """Close the session log of an application that has ended; returns the exit code."""
    if app.return_code == 0 and app.model is not None:
        from rdmalab.recovery.write_ahead_log import WriteAheadLog

        log = app.model.conversation.log
        if isinstance(log, WriteAheadLog):
            log.leave()
    return app.return_code or 0
