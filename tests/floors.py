"""The lowest versions that pyproject.toml admits: python -m tests.floors > FILE; pip -c FILE."""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def floors() -> Iterator[str]:
    """A constraint of pip for each dependency; ValueError for one without a lower bound."""
    for text in tomllib.loads(PROJECT.read_text("utf-8"))["project"]["dependencies"]:
        needed = Requirement(text)
        lowest = [bound.version for bound in needed.specifier if bound.operator in (">=", "==")]
        if len(lowest) != 1:
            raise ValueError(f"{text}: no lower bound")
        yield f"{needed.name}=={lowest[0]}"


if __name__ == "__main__":
    sys.stdout.write("\n".join([*floors(), ""]))
