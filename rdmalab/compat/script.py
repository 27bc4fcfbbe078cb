"""A pyverbs program, carried out on a lab."""

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from rdmalab.compat import install, process, virtual_time


def run(script: str, arguments: Sequence[str], profile: str) -> process.Process:
    """Carry it out as `python SCRIPT` would; what it raises is raised here."""
    played = process.begin(profile)
    install.install()
    virtual_time.install()
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path(script).resolve().parent))
    runpy.run_path(script, run_name="__main__")
    return played
