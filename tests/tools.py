"""Programs that judge from outside: without one its tests are skipped; CI allows no skip."""

import shutil

import pytest


def needs(program: str) -> pytest.MarkDecorator:
    """Mark tests that ask this program."""
    missing = shutil.which(program) is None
    return pytest.mark.skipif(missing, reason=f"{program} is not installed; .ci/run installs it")
