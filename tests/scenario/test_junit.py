"""The report for continuous integration."""

from xml.etree import ElementTree as ET

from rdmalab.scenario.report import RunModel, document, of_error, of_runner
from rdmalab.scenario.source import FileError
from tests.scenario.playing import PAIR, WRITE, runner
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


def test_a_failure_after_a_jump_shows_the_packets_before_it() -> None:
    walk = runner(f"{PAIR}{WRITE}  - run:\n  - run: back 2 packet\n    wire: [skip]\n"
                  "    expect: [A.cq0.count == 1]\n")  # fmt: skip
    walk.run()
    made = RunModel()
    made.add(of_runner(walk))
    failure = ET.fromstring(document(made)).find("testsuite/testcase/failure")
    assert failure is not None
    text = (failure.text or "").splitlines()
    assert text[:3] == ["back 2 packet", "expected  A.cq0.count == 1", "actual    A.cq0.count = 0"]
    assert len(text[4:]) == 1
    assert "RDMA_WRITE_ONLY psn=0" in text[4]


def test_characters_that_xml_cannot_hold_are_replaced() -> None:
    made = RunModel()
    made.add(of_error(FileError("a\x00\x1b\ud800.yaml", "\x0b<&>")))
    case = ET.fromstring(document(made)).find("testsuite/testcase")
    assert case is not None
    assert case.attrib["file"] == "a���.yaml"


def test_no_files_are_an_empty_suite() -> None:
    assert ET.fromstring(document(RunModel())).attrib["tests"] == "0"
