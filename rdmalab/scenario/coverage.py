"""Coverage: which scenario or test shows each statement of the documents, and its outcome.

A pure table; the bindings of scenarios and tests are arguments.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

from pydantic import Field

from rdmalab.guide.sentences import not_applicable, page, statements
from rdmalab.scenario.field_types import FORMAT, Printed
from rdmalab.scenario.runner import Runner
from rdmalab.version import VERSION


class Bound(NamedTuple):
    """A statement, the item that shows it, and whether that item passed just now."""

    statement: str
    item: str
    passed: bool


class ItemModel(Printed):
    """A scenario or a test."""

    item: str
    """`FILE`, `FILE:LINE` of the step, or `FILE::TEST`."""
    passed: bool


class StatementModel(Printed):
    """A statement of the documents, and what shows it."""

    id: str
    page: str
    """The page that says it."""
    sentence: str
    not_applicable: str | None
    """The reason it is not applicable; empty if it is."""
    passed: bool | None
    """Whether all its items passed; null if it has none."""
    items: list[ItemModel] = Field(default_factory=list)


class CoverageModel(Printed, title="rdmalab coverage"):
    """Document that `rdmalab lessons --coverage --json` prints."""

    rdmalab: int = FORMAT
    """Version of this document."""
    engine: str = VERSION
    tests: str
    """The place in which tests were run, or the reason none were."""
    statements: list[StatementModel]

    @property
    def bound(self) -> list[StatementModel]:
        """Statements with at least one item."""
        return [row for row in self.statements if row.items]

    @property
    def failed(self) -> list[StatementModel]:
        return [row for row in self.bound if not row.passed]

    @property
    def summary(self) -> str:
        """`101 of 260 statements are bound, all pass; 3 are not applicable`."""
        count = len(self.bound)
        passing = f"{len(self.failed)} of them fail" if self.failed else "all pass"
        excused = sum(not row.items for row in self.statements if row.not_applicable)
        return (f"{count} of {len(self.statements)} statements are bound, {passing}; "
                f"{excused} are not applicable; tests: {self.tests}")  # fmt: skip


def table(bindings: Iterable[Bound], tests: str) -> CoverageModel:
    """All statements in their order, each with its items."""
    excused = not_applicable()
    rows = {
        n: StatementModel(
            id=n, page=page(n), sentence=text, not_applicable=excused.get(n), passed=None
        )
        for n, text in statements().items()
    }
    for binding in bindings:
        row = rows[binding.statement]
        row.items.append(ItemModel(item=binding.item, passed=binding.passed))
        row.passed = binding.passed and row.passed is not False
    return CoverageModel(tests=tests, statements=list(rows.values()))


def of_runner(runner: Runner) -> Iterator[Bound]:
    """The bindings of a scenario that ran; a failed scenario shows no statement."""
    scenario = runner.scenario
    passed = runner.ok and runner.position == len(scenario.steps)
    for taught in scenario.teaches:
        line = f":{taught.line}" if taught.line else ""
        yield Bound(taught.statement, f"{scenario.path}{line}", passed)


def lines(coverage: CoverageModel) -> Iterator[str]:
    """The table in words: statement, outcome, items, grouped by page."""
    text = ""
    for row in coverage.statements:
        if row.page != text:
            yield f"{'' if not text else chr(10)}{row.page}"
            text = row.page
        yield f"  {row.id}  {_verdict(row):7} {row.sentence}"
        for item in row.items:
            yield f"{'':16}{item.item}{'' if item.passed else '  FAILED'}"
        if row.not_applicable and not row.items:
            yield f"{'':16}{row.not_applicable}"


def _verdict(row: StatementModel) -> str:
    if row.items:
        return "passed" if row.passed else "FAILED"
    return "n/a" if row.not_applicable else "unbound"


MARK = "covers"
_ANSWERED = (0, 1)  # all passed; some failed
_BAD = ("failure", "error", "skipped")


class Answer(NamedTuple):
    """The bindings of tests, a description of the run, and whether collection failed."""

    bound: list[Bound]
    stated: str
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
    text = f"{len({bound.item for bound in found})} asked below {folder}"
    if run.returncode not in _ANSWERED:
        return Answer(found, f"{text}, other tests cannot be collected", broken=True)
    return Answer(found, text)


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
