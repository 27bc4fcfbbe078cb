"""Programs that judge from outside: without one its tests are skipped; CI allows no skip."""

import shutil
import subprocess
from pathlib import Path

import pytest

# The one that modules of the distribution are installed for.
SYSTEM_PYTHON = "/usr/bin/python3"


def needs(program: str) -> pytest.MarkDecorator:
    """Mark tests that ask this program."""
    missing = shutil.which(program) is None
    return pytest.mark.skipif(missing, reason=f"{program} is not installed; .ci/run installs it")


def needs_module(module: str) -> pytest.MarkDecorator:
    """Mark tests that ask this module of the system's Python."""
    ask = [SYSTEM_PYTHON, "-c", f"import {module}"]
    missing = (
        not Path(SYSTEM_PYTHON).exists()
        or subprocess.run(ask, capture_output=True, check=False).returncode != 0
    )
    return pytest.mark.skipif(missing, reason=f"no {module} is installed; .ci/run installs it")
