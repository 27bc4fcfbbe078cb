"""Tables of test cases in YAML."""

from pathlib import Path
from typing import Any

import yaml


def read_table(path: Path) -> Any:
    """The content of a YAML file, read by libyaml: each worker reads all tables."""
    return yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)
