"""The report of `run` as JUnit XML."""

import re
from xml.etree import ElementTree as ET

from rdmalab.scenario.report import RunModel, ScenarioModel
from rdmalab.scenario.runner import StepOutcome

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
        said = [f"expected  {last.expected}", *(f"actual    {line}" for line in last.actual)]
        failure = ET.SubElement(case, "failure", {"message": _clean(last.what or "")})
        failure.text = _clean("\n".join([last.text, *said, "", *last.ladder]))


def _clean(text: str) -> str:
    """The text without characters that XML does not allow."""
    return _NOT_XML.sub("�", text)
