"""The report of `run`: as text, and as a JSON document with a schema from these models."""

import re
from typing import Any
from xml.etree import ElementTree as ET

from pydantic import BaseModel, Field

from rdmalab.scenario.field_types import FORMAT, Printed
from rdmalab.scenario.planned_step import PlannedStep
from rdmalab.scenario.reading import read_in
from rdmalab.scenario.result import ladder_text
from rdmalab.scenario.runner import Runner, StepOutcome, StepResult
from rdmalab.scenario.source import FileError, visible
from rdmalab.session.history import MAIN
from rdmalab.spec.rules import errno_name
from rdmalab.version import VERSION
from rdmalab.views import fmt, ladder

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class PlaceModel(Printed):
    """A place in a file, counted from 1."""

    line: int
    column: int


class StepModel(Printed):
    """The result of one step."""

    number: int
    """Counted from 1, the setup included."""
    id: str | None
    action: str
    """do, run, fault, checkpoint, note, predict, reveal or why."""
    text: str
    """The command, or the note."""
    line: int
    """Its first line in the file."""
    outcome: StepOutcome
    event: int
    """The last event after it."""
    now_ns: int
    """The virtual time after it; less than before if it went back."""
    branch: str
    """The branch of time on which it ended; main is the first."""
    what: str | None = None
    """The assertion that failed: `expect line 2`."""
    expected: str | None = None
    actual: list[str] = Field(default_factory=list)
    because: list[str] = Field(default_factory=list)
    """The reply of `why`, for a step with why."""
    ladder: list[str] = Field(default_factory=list)
    """The last rows of the wire before a failure."""
    warnings: list[str] = Field(default_factory=list)
    """Deviations between devices and documents that concern the step."""


class ErrorModel(Printed):
    """A file with errors, which cannot run."""

    message: str
    hint: str
    place: PlaceModel | None


class ScenarioModel(Printed):
    """The result of one file."""

    file: str
    title: str | None
    outcome: StepOutcome
    error: ErrorModel | None = None
    events: int = 0
    """Number of events at its end."""
    now_ns: int = 0
    """The virtual time where it ended."""
    planned: int = 0
    """Number of steps of the file; those after a failure do not run."""
    steps: list[StepModel] = Field(default_factory=list)


class RunModel(Printed, title="rdmalab run"):
    """Document that `rdmalab run --json` prints."""

    rdmalab: int = FORMAT
    """Version of this document."""
    engine: str = VERSION
    passed: int = 0
    failed: int = 0
    errors: int = 0
    scenarios: list[ScenarioModel] = Field(default_factory=list)

    def add(self, scenario: ScenarioModel) -> None:
        """Add a file and count it by its outcome."""
        self.scenarios.append(scenario)
        self.passed += scenario.outcome is StepOutcome.PASSED
        self.failed += scenario.outcome is StepOutcome.FAILED
        self.errors += scenario.outcome is StepOutcome.ERROR

    @property
    def summary(self) -> str:
        """`14 scenarios passed, 1 failed`."""
        count = len(self.scenarios)
        parts = [f"{self.passed} of {count} scenario{'s' * (count != 1)} passed"]
        parts += [f"{self.failed} failed"] if self.failed else []
        parts += [f"{self.errors} cannot run"] if self.errors else []
        return ", ".join(parts)


# --------------------------------------------------------------------------- from results
def of_runner(runner: Runner) -> ScenarioModel:
    """The result of a scenario that ran, to its end or to a failure."""
    world, results = runner.session.world, runner.results
    error = results[-1].error if results else None
    return ScenarioModel(
        file=runner.scenario.path,
        title=runner.scenario.title,
        outcome=runner.outcome,
        error=_error(error) if error else None,
        events=world.event + 1,
        now_ns=world.now_ns,
        planned=len(runner.scenario.steps),
        steps=[_step(result) for result in results],
    )


def of_error(error: FileError) -> ScenarioModel:
    """The result of a file with errors."""
    return ScenarioModel(
        file=error.path, title=None, outcome=StepOutcome.ERROR, error=_error(error)
    )


def _error(error: FileError) -> ErrorModel:
    place = error.place and PlaceModel(line=error.place.line, column=error.place.column)
    return ErrorModel(message=error.message, hint=error.hint, place=place or None)


def _step(result: StepResult) -> StepModel:
    step, failure = result.step, result.failure
    return StepModel(
        number=result.number,
        id=step.step.id,
        action=step.step.action,
        text=step.line or step.step.reveal or step.text,
        line=step.place.line,
        outcome=result.outcome,
        event=result.event,
        now_ns=result.now_ns,
        branch=result.branch,
        what=failure.what if failure else None,
        expected=failure.expected if failure else None,
        actual=failure.actual if failure else [],
        because=failure.because if failure else [],
        ladder=result.tail,
        warnings=result.warnings,
    )


# --------------------------------------------------------------------------- in words
def narration(runner: Runner, result: StepResult) -> list[str]:
    """One step for `run -v`: its commands, its packets, its expectations."""
    step = result.step
    world, names = runner.session.world, runner.session.names
    lines = ["", f"== {visible(step.step.name)}"] if step.step.name else []
    if read := "\n".join(read_in(step)):
        lines += ["", *(f"  {visible(line)}" for line in read.splitlines()), ""]
    if step.calls:
        return _calls(step)
    lines += [f"{fmt.clock(result.now_ns):>14}  {visible(t)}" for t in step.line.splitlines()]
    lines += [f"{'':16}warning: {each}" for each in result.warnings]
    before = runner.results[result.number - 2].branch if result.number > 1 else MAIN
    lines += [f"{'':16}on {result.branch}"] if result.branch != before else []
    rows = ladder.rows(world, names, last=None, since=result.first_record)
    lines += [f"{'':16}{visible(ladder_text(row))}" for row in rows]
    if result.ok:
        lines += [f"{'':16}ok  {visible(text)}" for text in step.step.asserted]
    return lines


def _calls(step: PlannedStep) -> list[str]:
    """The calls of a session file, each with its time where it has one."""
    lines = []
    for call in step.calls:
        clock = fmt.clock(call.at_ns) if call.at_ns is not None else ""
        errno = f"  errno {errno_name(call.errno)}" if call.errno else ""
        lines.append(f"{clock:>14}  {visible(call.text)}{errno}")
    return lines


# --------------------------------------------------------------------------- schemas
def schema_of_file(model: type[BaseModel], name: str) -> dict[str, Any]:
    """The JSON Schema of a kind of file, for editors."""
    schema = _present(model.model_json_schema())
    return {"$schema": DIALECT, "$id": f"rdmalab:{name}-{FORMAT}", **schema}


def _present(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without null for optional keys; only `run:` may be empty."""
    for name, field in schema.get("properties", {}).items():
        kinds = [kind for kind in field.get("anyOf", []) if kind != {"type": "null"}]
        if kinds and name != "run":
            del field["anyOf"]
            field.update(kinds[0] if len(kinds) == 1 else {"anyOf": kinds})
        if field.get("default", 0) is None:
            del field["default"]
    for below in (*schema.get("$defs", {}).values(), *schema.get("oneOf", [])):
        _present(below)
    return schema


def schema_of_document(model: type[BaseModel], name: str) -> dict[str, Any]:
    """The JSON Schema of a document that a command prints with --json."""
    schema = model.model_json_schema(mode="serialization")
    return {"$schema": DIALECT, "$id": f"rdmalab:{name}-{FORMAT}", **schema}


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def document(report: RunModel) -> bytes:
    """One test suite with one test case for each file."""
    counts = {"tests": len(report.scenarios), "failures": report.failed, "errors": report.errors}
    numbers = {name: str(count) for name, count in counts.items()}
    root = ET.Element("testsuites", numbers)
    suite = ET.SubElement(root, "testsuite", {"name": "rdmalab", **numbers, "skipped": "0"})
    for scenario in report.scenarios:
        _case(suite, scenario)
    ET.indent(root)
    octets: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return octets + b"\n"


def _case(suite: ET.Element, scenario: ScenarioModel) -> None:
    last = scenario.steps[-1] if scenario.steps else None
    error = scenario.error
    line = error.place.line if error and error.place else last.line if last else 1
    attributes = {
        "classname": _clean(scenario.file),
        "name": _clean(scenario.title or scenario.file),
        "file": _clean(scenario.file),
        "line": str(line),
    }
    case = ET.SubElement(suite, "testcase", attributes)
    if error is not None:
        ET.SubElement(case, "error", {"message": _clean(error.message)}).text = _clean(error.hint)
    elif scenario.outcome is StepOutcome.FAILED and last is not None:
        parts = [f"expected  {last.expected}", *(f"actual    {line}" for line in last.actual)]
        failure = ET.SubElement(case, "failure", {"message": _clean(last.what or "")})
        failure.text = _clean("\n".join([last.text, *parts, "", *last.ladder]))


def _clean(text: str) -> str:
    """The text without characters that XML does not allow."""
    return _NOT_XML.sub("�", text)
