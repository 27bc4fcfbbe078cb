"""The three faces in a terminal, each with its own state directory."""

import sys
from pathlib import Path

from tests.terminal import Terminal

ROOT = Path(__file__).parents[2]
FACES = {"plain": ("repl", "--plain"), "prompt": ("repl",), "app": ()}
_LIMITED = (
    "import os, resource, sys; n = int(sys.argv[1]); "
    "resource.setrlimit(resource.RLIMIT_FSIZE, (n, n)); os.execv(sys.argv[2], sys.argv[2:])"
)


def started(face: str, state: Path, most: int = 0) -> Terminal:
    """A face that asks for a line. most: bytes that a file of it may have; 0: any number."""
    argv = [sys.executable, "-B", "-m", "rdmalab", *FACES[face]]
    if most:
        argv = [sys.executable, "-c", _LIMITED, str(most), *argv]
    sized = {"COLUMNS": "", "LINES": "", "PYTHONPATH": str(ROOT)}
    terminal = Terminal(
        argv, columns=100, rows=30, cwd=state.parent, env={"RDMALAB_STATE": str(state), **sized}
    )
    terminal.wait_for("A>")
    return terminal


def answered(terminal: Terminal, name: str) -> None:
    """Make a PD of this name, and wait for the answer."""
    terminal.send(f"alloc_pd {name}\r".encode())
    terminal.wait_for(f"{name} created.")
