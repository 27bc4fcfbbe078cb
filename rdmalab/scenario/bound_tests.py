"""Run the tests that are bound to statements with pytest, and collect the outcomes.

No record of an earlier run is read, because it is about another state of the code. Only the files
that bind something are collected, and of them only the marked tests; what pytest itself writes of
each test, outcome and properties, is the answer. A test that was skipped shows nothing.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

from rdmalab.scenario.coverage import Bound

MARK = "covers"
_ANSWERED = (0, 1)  # all passed; some failed
_BAD = ("failure", "error", "skipped")


class Answer(NamedTuple):
    """The bindings of tests, a description of the run, and whether collection failed."""

    bound: list[Bound]
    said: str
    broken: bool = False


def ask(folder: Path) -> Answer:
    """Run the tests below a folder; returns their bindings with outcomes."""
    files = [str(file) for file in sorted(folder.rglob("test_*.py")) if _binds(file)]
    if not files:
        return Answer([], f"none below {folder}")
    if find_spec("pytest") is None:
        return Answer([], "pytest is not installed")
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "tests.xml"
        wanted = ["-m", MARK, "-p", "no:cacheprovider", f"--junitxml={report}"]
        command = [sys.executable, "-m", "pytest", "-q", *wanted, *files]
        run = subprocess.run(command, capture_output=True, check=False)
        found = list(read(report)) if report.exists() else []
    said = f"{len({bound.item for bound in found})} asked below {folder}"
    if run.returncode not in _ANSWERED:
        return Answer(found, f"{said}, other tests cannot be collected", broken=True)
    return Answer(found, said)


def _binds(file: Path) -> bool:
    return file.is_file() and f"@{MARK}(" in file.read_text("utf-8", "replace")


def read(report: Path) -> Iterator[Bound]:
    """The bindings in what pytest wrote."""
    for case in ET.parse(report).iter("testcase"):
        passed = not any(case.find(name) is not None for name in _BAD)
        item = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        for prop in case.iter("property"):
            if prop.get("name") == MARK:
                yield Bound(str(prop.get("value")), item, passed)
