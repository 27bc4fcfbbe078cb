"""Causes: every status that can happen has some, and what tests them can be typed."""

import pytest

from rdmalab.grammar.line import parse
from rdmalab.guide.causes import CAUSES, EVIDENCE
from rdmalab.spec.statuses import STATUS, Side, WCStatus
from tests.guide.saying import WORDS

COMING = ("why", "show")  # words of rooms that are built later; once there, they are parsed too
TESTS = sorted({cause.test for causes in CAUSES.values() for cause in causes})


def test_every_error_that_can_happen_has_causes() -> None:
    assert set(CAUSES) == set(WCStatus)
    for status, causes in CAUSES.items():
        possible = STATUS[status].side is not Side.NEITHER
        assert bool(causes) == possible, status


def test_evidence_is_of_statuses_that_happen() -> None:
    assert all(STATUS[status].side is not Side.NEITHER for status in EVIDENCE)


@pytest.mark.parametrize("line", TESTS)
def test_what_tests_a_cause_is_a_command(line: str) -> None:
    verb = line.split()[0]
    if verb in WORDS:
        assert parse(line, WORDS, file=True)
    else:
        assert verb in COMING
