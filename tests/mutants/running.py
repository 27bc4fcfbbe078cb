"""A mutant's run: a copy of the program with the mutant in it, and the bound items alone."""

import ast
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

from rdmalab.scenario import yaml_tree
from rdmalab.scenario.files import SUFFIX
from rdmalab.scenario.loader import Taught, taught
from rdmalab.scenario.source import Source
from tests.mutants.table import PACKAGE, Mutant, mutated

REPOSITORY = PACKAGE.parent
_COPIED = (
    "rdmalab",
    "tests",
    "scenarios",
    "instructor",
)  # others may change them while mutants run
_LINKED = ("README.md", "pyproject.toml", "screenshots")
_MOST_BYTES = 4 << 30  # of memory; a mutant may ask for a buffer of 2^31 bytes
_WELL, _FAILED = 0, 1


class Outcome(StrEnum):
    """What came of a mutant."""

    NOTICED = "noticed"  # a bound item failed
    CRASHED = "crashed"  # the program reported a bug in itself, or could not start
    HUNG = "hung"  # the item did not end in time
    SURVIVED = "survived"  # every bound item passed
    EQUIVALENT = "equivalent"  # no item can notice it: the table has the proof


@dataclass(slots=True)
class Items:
    """What is bound to a statement: scenario files, and tests by node id; or to a lab: its file."""

    scenarios: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    labs: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.scenarios or self.tests or self.labs)


@dataclass(slots=True)
class Result:
    """One mutant's run. by: the item that noticed it."""

    outcome: str
    by: str = ""
    fingerprint: str = ""


# --------------------------------------------------------------------------- what is bound
def bound() -> dict[str, Items]:
    """statement → the items bound to it."""
    found: dict[str, Items] = {}
    for file in sorted((REPOSITORY / "scenarios").rglob(f"*{SUFFIX}")):
        for binding in bindings(file):
            items = found.setdefault(binding.statement, Items())
            items.scenarios.append(str(file.relative_to(REPOSITORY)))
    for file in sorted((REPOSITORY / "tests").rglob("test_*.py")):
        if "@covers(" in (source := file.read_text("utf-8")):
            _add_tests(found, str(file.relative_to(REPOSITORY)), ast.parse(source))
    return found


def bindings(file: Path) -> tuple[Taught, ...]:
    """What a scenario teaches; its commands are not read."""
    source = Source(str(file), file.read_text("utf-8"))
    return taught(source, yaml_tree.compose(source))


def _add_tests(found: dict[str, Items], file: str, tree: ast.Module) -> None:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for number in _covered(node):
                found.setdefault(number, Items()).tests.append(f"{file}::{node.name}")


def _covered(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and getattr(mark.func, "id", "") == "covers":
            yield from (str(arg.value) for arg in mark.args if isinstance(arg, ast.Constant))


# --------------------------------------------------------------------------- one run
class Copy:
    """A copy of the program and its tests in a temporary folder, in which mutants come and go."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="rdmalab-mutants-")
        self.root = Path(self._folder.name)
        for name in _COPIED:
            shutil.copytree(REPOSITORY / name, self.root / name)
        for name in _LINKED:
            (self.root / name).symlink_to(REPOSITORY / name)

    def close(self) -> None:
        self._folder.cleanup()

    def run(self, mutant: Mutant, items: Items, timeout_s: float) -> Result:
        """Ask the items about one mutant."""
        if mutant.equivalent:
            return Result(Outcome.EQUIVALENT, "", mutant.fingerprint)
        before = {file: (self.root / "rdmalab" / file).read_bytes() for edit in mutant.edits
                  for file in [edit.file]}  # fmt: skip
        try:
            for file, source in mutated(mutant, self.root / "rdmalab").items():
                self._put(file, source.encode())
            result = self.ask(items, timeout_s)
        finally:
            for file, octets in before.items():
                self._put(file, octets)
        result.fingerprint = mutant.fingerprint
        return result

    def _put(self, file: str, octets: bytes) -> None:
        """Python must not find the compiled form of another version."""
        path = self.root / "rdmalab" / file
        path.write_bytes(octets)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()

    def ask(self, items: Items, timeout_s: float) -> Result:
        """The first item that fails."""
        for ask, names in (
            (self._play, items.scenarios), (self._test, items.tests), (self._grade, items.labs),
        ):  # fmt: skip
            if names and (result := ask(names, timeout_s)) is not None:
                return result
        return Result(Outcome.SURVIVED)

    def _run(
        self, command: list[str], names: list[str], timeout_s: float,
        noticed_by: Callable[[str], str],
    ) -> Result | None:  # fmt: skip
        """What came of a command on these names; None: it noticed nothing.

        noticed_by: what noticed the mutant, of the output of a command that failed.
        """
        done = self._python([*command, *names], timeout_s)
        if done is None:
            return Result(Outcome.HUNG, names[0])
        if done.returncode == _WELL:
            return None
        if done.returncode != _FAILED:
            return Result(Outcome.CRASHED, names[0])
        return Result(Outcome.NOTICED, noticed_by(done.stdout) or names[0])

    def _play(self, files: list[str], timeout_s: float) -> Result | None:
        def failed(output: str) -> str:
            played = json.loads(output)["scenarios"]
            return next(str(each["file"]) for each in played if each["outcome"] != "passed")

        return self._run(["-m", "rdmalab", "run", "--json"], files, timeout_s, failed)

    def _test(self, names: list[str], timeout_s: float) -> Result | None:
        def failed(output: str) -> str:
            lines = [line for line in output.splitlines() if line.startswith("FAILED ")]
            return lines[0].split()[1] if lines else ""

        wanted = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--tb=no"]
        return self._run(wanted, names, timeout_s, failed)

    def _grade(self, files: list[str], timeout_s: float) -> Result | None:
        """The first solution that is not judged as its lab declares."""
        wanted = ["-m", "rdmalab", "lab", "check", "--students", "2"]
        return self._run(
            wanted, files, timeout_s, lambda output: output.splitlines()[0].partition(": ")[2]
        )

    def _python(
        self, arguments: list[str], timeout_s: float
    ) -> "subprocess.CompletedProcess[str] | None":
        """None if it took too long."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        own = {"PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            return subprocess.run(
                [sys.executable, *arguments], cwd=self.root, env=kept | own, capture_output=True,
                text=True, check=False, timeout=timeout_s, preexec_fn=_limit,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None

    def imports_itself(self) -> bool:
        """Whether Python takes the program from the copy, and not from where it is installed."""
        done = self._python(["-c", "import rdmalab; print(rdmalab.__file__)"], 60)
        return done is not None and done.stdout.startswith(str(self.root))


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))


# --------------------------------------------------------------------------- recorded
def read(path: Path) -> dict[str, Result]:
    """mutant → what came of it."""
    if not path.exists():
        return {}
    return {name: Result(**row) for name, row in json.loads(path.read_text("utf-8")).items()}


def write(path: Path, results: dict[str, Result]) -> None:
    """In the order of the statements, so that two runs can be compared line by line."""
    rows = [f"  {json.dumps(name)}: {json.dumps(asdict(row))}" for name, row in _sorted(results)]
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")


def _sorted(results: dict[str, Result]) -> list[tuple[str, Result]]:
    return sorted(results.items(), key=lambda pair: _key(pair[0]))


def _key(name: str) -> tuple[str, int]:
    statement, _, number = name.partition("-")
    return statement, int(number)


def totals(results: Iterable[Result]) -> str:
    """`270 mutants: 250 noticed, 2 hung, …: 97.8 % noticed`; equivalent ones are not counted."""
    outcomes = [result.outcome for result in results]
    counts = {kind: outcomes.count(kind) for kind in Outcome if kind in outcomes}
    judged = len(outcomes) - outcomes.count(Outcome.EQUIVALENT)
    found = judged - outcomes.count(Outcome.SURVIVED)
    parts = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    return f"{len(outcomes)} mutants: {parts}; {100 * found / max(1, judged):.1f} % noticed"
