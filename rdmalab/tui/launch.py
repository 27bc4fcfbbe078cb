"""Start the application: its world, its first commands, its history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdmalab.shell.prompt_setup import kept_history
from rdmalab.tui import stylesheet
from rdmalab.tui.app import Rdmalab
from rdmalab.tui.app_model import AppModel

if TYPE_CHECKING:
    from prompt_toolkit.history import History


def build(
    profile: str | None = None,
    seed: int = 0,
    path: str | None = None,
    history: History | None = None,
    shared: str | None = None,
    line: str | None = None,
) -> Rdmalab:
    """The application with its world: a finished SEND, a scenario, or a shared session.

    profile: of all devices; None: that of the scenario, else strict. line: a command that is
    carried out first.
    """
    ascii_only = stylesheet.ascii_wanted()
    scene = AppModel(profile or "strict", seed, ascii_only=ascii_only)
    app = Rdmalab(scene, ascii_only=ascii_only, history=history)
    other = f" profile={profile}" if profile else ""
    app.script += [f'load "{path}"{other}'] if path is not None else []
    app.script += [f"open {shared}{other}"] if shared is not None else []
    app.script += [line] if line is not None else []
    if not app.script:
        scene.begin()
    return app


def main(
    profile: str | None = None, seed: int = 0, path: str | None = None, shared: str | None = None,
    line: str | None = None,
) -> int:  # fmt: skip
    """Run the application; returns the exit code."""
    app = build(profile, seed, path, shared=shared, line=line)
    diary = app.scene.keep()
    app.history = kept_history(diary.report)
    app.run()
    if app.return_code == 0:
        diary.leave()
    return app.return_code or 0
