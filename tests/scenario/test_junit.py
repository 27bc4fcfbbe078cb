"""The report for continuous integration."""

from xml.etree import ElementTree as ET

from rdmalab.scenario.junit import document
from rdmalab.scenario.report import RunModel, of_error
from rdmalab.scenario.source import FileError
from tests.scenario.test_report import report


def test_it_has_a_case_for_each_file() -> None:
    root = ET.fromstring(document(report()))
    assert root.tag == "testsuites"
    assert root.attrib == {"tests": "4", "failures": "1", "errors": "2"}
    cases = root.findall("testsuite/testcase")
    assert [len(case) for case in cases] == [0, 1, 1, 1]
    failure = cases[1].find("failure")
    assert failure is not None
    assert failure.attrib["message"] == "expect line 1"
    assert "expected  A.cq0.count == 2" in (failure.text or "")
    assert cases[1].attrib["line"] == "6"


def test_characters_that_xml_cannot_hold_are_replaced() -> None:
    made = RunModel()
    made.add(of_error(FileError("a\x00\x1b\ud800.yaml", "\x0b<&>")))
    case = ET.fromstring(document(made)).find("testsuite/testcase")
    assert case is not None
    assert case.attrib["file"] == "a���.yaml"


def test_no_files_are_an_empty_suite() -> None:
    assert ET.fromstring(document(RunModel())).attrib["tests"] == "0"
