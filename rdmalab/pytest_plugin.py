"""pytest plugin: scenarios and labs are tests, and the fixture `rdmalab` is a lab.

pytest loads this module in every run where rdmalab is installed, so it imports the rest of rdmalab
only when a file is played or the fixture is used. `-p no:rdmalab` switches it off.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rdmalab.classroom.exercise import Exercise
    from rdmalab.lab import Lab
    from rdmalab.scenario.include import Opener
    from rdmalab.scenario.runner import Runner

FILES = "rdmalab_files"
"""The ini option: patterns of the files to collect."""

_LAB_SUFFIX = ".lab.yaml"  # as in scenario/files.py, which this module does not import
_DEFAULT = ("*.rdmalab.yaml", f"*{_LAB_SUFFIX}")
_YAML = (".yaml", ".yml")
_VERSION = re.compile(rb"^rdmalab:", re.MULTILINE)  # the first key of each scenario
_HEAD = 4096  # bytes in which it stands
_TITLE = re.compile(r"^title:", re.MULTILINE)
_WIDTH = 100
_STUDENT = "1"  # for whom a lab is played; `rdmalab lab check --students` plays more


class NotAsExpected(Exception):  # noqa: N818  (it is no error of the plugin)
    """Raised by an item that fails; its text is the whole report."""


# --------------------------------------------------------------------------- hooks
def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the ini option."""
    text = "Patterns of scenarios and labs to collect, as fnmatch knows them."
    parser.addini(FILES, text, type="args", default=list(_DEFAULT))


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker of the fixture."""
    text = "rdmalab(nodes, *, profile, seed): arguments for the Lab of the fixture rdmalab."
    config.addinivalue_line("markers", text)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Collect a scenario or a lab: by its name, or because the command line names it."""
    is_chosen = any(file_path.match(pattern) for pattern in parent.config.getini(FILES))
    is_named = file_path.suffix in _YAML and parent.session.isinitpath(file_path)
    if not is_chosen and not (is_named and _begins_as_scenario(file_path)):
        return None
    kind = LabFile if file_path.name.endswith(_LAB_SUFFIX) else ScenarioFile
    return kind.from_parent(parent, path=file_path)


def _begins_as_scenario(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return _VERSION.search(stream.read(_HEAD)) is not None
    except OSError:
        return False


@pytest.fixture
def rdmalab(request: pytest.FixtureRequest) -> "Iterator[Lab]":
    """A lab with the nodes A and B; the marker `rdmalab` has other arguments for it."""
    from rdmalab.lab import Lab

    marker = request.node.get_closest_marker("rdmalab")
    lab = Lab(*marker.args, **marker.kwargs) if marker is not None else Lab()
    yield lab
    lab.session.dispose()


@pytest.fixture
def rdmalab_lab() -> "Iterator[Callable[..., Exercise]]":
    """Opens labs: `rdmalab_lab("labs/sq-full", student="s1")` is an `Exercise`."""
    from rdmalab.classroom.exercise import Exercise

    opened: list[Exercise] = []

    def opener(file: str, student: str = "", work: str = "") -> Exercise:
        opened.append(Exercise(file, student, work))
        return opened[-1]

    yield opener
    for exercise in opened:
        exercise.session.dispose()


# --------------------------------------------------------------------------- items
class _Item(pytest.Item):
    """One test of a file. line: where it stands there, counted from 0."""

    line = 0

    def reportinfo(self) -> tuple[Path, int, str]:
        """The file, the line, and the name in reports."""
        return self.path, self.line, f"{self.file_name}: {self.name}"

    @property
    def file_name(self) -> str:
        """The file relative to the root directory of pytest, as messages have it."""
        root = self.config.rootpath
        try:
            return self.path.relative_to(root).as_posix()
        except ValueError:
            return str(self.path)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: object) -> str:
        """The report of a failure; a traceback only for a bug."""
        if isinstance(excinfo.value, NotAsExpected):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))


class ScenarioFile(pytest.File):
    """A file with one scenario, which is one test."""

    def collect(self) -> Iterable["ScenarioItem"]:
        """Return the only item; rdmalab reads the file when the item runs."""
        item = ScenarioItem.from_parent(self, name="scenario")
        item.line = _line_of_title(self.path)
        yield item


class ScenarioItem(_Item):
    """A scenario: passes if all expectations hold."""

    def runtest(self) -> None:
        """Play the scenario; raises NotAsExpected with the report of what is wrong."""
        from rdmalab.lab import open_session
        from rdmalab.scenario.files import read
        from rdmalab.scenario.include import opener_below
        from rdmalab.scenario.loader import loads
        from rdmalab.scenario.result import StepOutcome
        from rdmalab.scenario.runner import Runner
        from rdmalab.scenario.source import FileError
        from rdmalab.vocabulary import VOCABULARY

        opener, text = opener_below(str(self.path)), ""
        try:
            text = read(str(self.path))
            scenario = loads(text, self.file_name, VOCABULARY, opener=opener)
        except FileError as wrong:
            raise NotAsExpected(self._mistakes(text, opener) or str(wrong)) from None
        runner = Runner(scenario, open_session)
        try:
            runner.run()
            if runner.outcome is StepOutcome.ERROR:
                words = runner.results[-1].text(self.file_name)
                raise NotAsExpected(self._mistakes(text, opener) or words)
            if not runner.ok:
                raise NotAsExpected(_report(runner, self.file_name))
        finally:
            runner.session.dispose()

    def _mistakes(self, text: str, opener: "Opener") -> str:
        """All mistakes of the file, as `rdmalab check` prints them."""
        from rdmalab.lab import open_session
        from rdmalab.scenario.mistakes import Checker
        from rdmalab.vocabulary import VOCABULARY

        checker = Checker(VOCABULARY, open_session)
        return "\n".join(map(str, checker.mistakes(text, self.file_name, opener))) if text else ""


def _line_of_title(path: Path) -> int:
    """The line of the title, counted from 0; 0 if there is none."""
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        return 0
    found = _TITLE.search(text)
    return text.count("\n", 0, found.start()) if found else 0


def _report(runner: "Runner", file_name: str) -> str:
    """Expected and actual, the last packets, and what `why` answers where it ended."""
    from rdmalab.doctor.consultation import consult
    from rdmalab.shell.show_why import answer_lines
    from rdmalab.shell.styled_text import text_of

    result = runner.results[-1]
    text = result.text(file_name)
    answer = consult(runner.session)
    if not answer.is_trouble or (result.failure is not None and result.failure.because):
        return text
    lines = [text_of(line) for line in answer_lines(answer, _WIDTH)]
    return "\n".join([text, "", "  why:", *(f"    {line}" for line in lines)])


# --------------------------------------------------------------------------- labs
class LabFile(pytest.File):
    """A lab: each of its solutions is one test, `sq-full.lab.yaml::reject::no-poll`."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Return the solutions; one item that fails if the lab has mistakes."""
        from rdmalab.classroom.lab_file import loads
        from rdmalab.scenario.files import read
        from rdmalab.scenario.source import FileError

        item = LabItem.from_parent(self, name="lab")
        try:
            lab = loads(read(str(self.path)), str(self.path), student=_STUDENT)
        except FileError:
            yield item
            return
        solutions = lab.document.solutions
        if solutions is None:  # the file for students
            yield item
            return
        for kind, given in (("accept", solutions.accept), ("reject", solutions.reject)):
            places = [lab.spot("solutions", kind, n).node.start_mark for n in range(len(given))]
            group = Solutions.from_parent(self, name=kind)
            group.names = {one.name: at.line for one, at in zip(given, places, strict=True)}
            yield group


class Solutions(pytest.Collector):
    """The solutions of a lab that must pass, or those that must not. names: name → line from 0."""

    names: dict[str, int]

    def collect(self) -> Iterable["LabItem"]:
        """Return one item a solution."""
        for name, line in self.names.items():
            item = LabItem.from_parent(self, name=name)
            item.line, item.solution = line, name
            yield item


class LabItem(_Item):
    """A solution of a lab: passes if it has the grade that the lab declares.

    solution: empty for the lab itself, which passes if it has no mistake.
    """

    solution = ""

    def runtest(self) -> None:
        """Grade the solution; raises NotAsExpected with what differs."""
        from rdmalab.classroom.checking import trials
        from rdmalab.classroom.lab_file import loads
        from rdmalab.scenario.files import read
        from rdmalab.scenario.source import FileError

        try:
            text = read(str(self.path))
            if not self.solution:
                loads(text, self.file_name, student=_STUDENT)
                return
            tried = list(
                trials(text, self.file_name, [_STUDENT], only=self.solution)
            )  # fmt: skip
        except FileError as wrong:
            raise NotAsExpected("\n".join(map(str, wrong.all))) from None
        wrong_ones = [f"{trial.name}: {trial.wrong}" for trial in tried if trial.wrong]
        if wrong_ones:
            place = f"{self.file_name}:{self.line + 1}"
            raise NotAsExpected("\n".join(f"FAIL {place}  {each}" for each in wrong_ones))
