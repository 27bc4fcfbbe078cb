"""The table of statements: what shows each, whether it holds, and how much of it there is."""

import re
from functools import cache
from pathlib import Path

import pytest

from rdmalab.guide.sentences import MOST_PER_ITEM, not_applicable, statements
from rdmalab.lab import open_session
from rdmalab.scenario.coverage import Bound, lines, of_runner, table
from rdmalab.scenario.files import SUFFIX
from rdmalab.scenario.loader import load
from rdmalab.scenario.runner import Runner
from rdmalab.vocabulary import VOCABULARY
from tests.mutants.running import bindings
from tests.scenario.playing import PAIR, runner

TESTS = Path(__file__).parents[1]
FOLDER = TESTS.parent / "scenarios"
OWN = TESTS / "scenario" / "test_bound_tests.py"
LEAST_BOUND = 257
"""Of 260; it grows with scenarios and tests. 3 are not applicable."""

_COVERS = re.compile(r"^@covers\((.*)\)$", re.MULTILINE)

SHOWN = "  - do: show\n    expect: [A.qp0.state == {}]\n    teaches: [S224]\n"


def test_a_step_shows_what_it_teaches_when_all_passed() -> None:
    played = runner(PAIR + SHOWN.format("RTS"), "teaches: [S220]\n")
    played.run()
    assert list(of_runner(played)) == [
        Bound("S220", "x.yaml", passed=True),
        Bound("S224", "x.yaml:6", passed=True),
    ]


def test_a_failure_anywhere_shows_nothing() -> None:
    """The step itself passed; what comes behind it may be what proves it."""
    played = runner(PAIR + SHOWN.format("RTS") + "  - do: show\n    expect: [A.qp0.state == ERR]\n")
    played.run()
    assert [bound.passed for bound in of_runner(played)] == [False]


def test_what_was_not_played_to_its_end_shows_nothing() -> None:
    played = runner(PAIR + SHOWN.format("RTS"))
    played.next_step()
    assert [bound.passed for bound in of_runner(played)] == [False]


def test_one_failing_item_spoils_a_statement_in_any_order() -> None:
    for order in ((True, False), (False, True)):
        found = table([Bound("S001", "x", passed=passed) for passed in order], "none")
        assert [row.id for row in found.failed] == ["S001"]
        assert len(found.statements[0].items) == 2


def test_lines_of_coverage() -> None:
    found = table([Bound("S001", "a.yaml:3", passed=True), Bound("S002", "b", passed=False)], "no")
    texts = list(lines(found))
    assert texts[:5] == [
        "ibv_post_send",
        f"  S001  passed  {statements()['S001']}",
        "                a.yaml:3",
        f"  S002  FAILED  {statements()['S002']}",
        "                b  FAILED",
    ]
    assert f"  S003  unbound {statements()['S003']}" in texts
    assert f"                {not_applicable()['S090']}" in texts
    assert found.summary.startswith("2 of 260 statements are bound, 1 of them fail; ")


# --------------------------------------------------------------------------- what there is
FILES = sorted(FOLDER.rglob(f"*{SUFFIX}"))


@cache
def taught() -> dict[str, list[str]]:
    """Scenario → the statements it teaches; tests/test_scenarios.py asks that each passes."""
    return {str(path): [each.statement for each in bindings(path)] for path in FILES}


def test_many_statements_are_shown() -> None:
    shown = {statement for found in taught().values() for statement in found}
    assert len(shown | covered_by_tests()) >= LEAST_BOUND


@pytest.mark.parametrize("file", ["rc/zero-length", "infiniband/rearm", "srq/wr-id"])
def test_what_a_scenario_of_the_repository_teaches_is_bound_and_passes(file: str) -> None:
    path = FOLDER / f"{file}{SUFFIX}"
    played = Runner(load(str(path), VOCABULARY), open_session)
    played.run()
    bound = list(of_runner(played))
    assert [each.statement for each in bound] == taught()[str(path)]
    assert all(each.passed for each in bound)


def covered_by_tests() -> set[str]:
    """What tests bind. Whether they pass is seen where they run, which is in this very suite."""
    texts = [file.read_text("utf-8") for file in TESTS.rglob("test_*.py") if file != OWN]
    return {number for text in texts for each in _COVERS.findall(text) for number in _ids(each)}


def _ids(text: str) -> list[str]:
    return [word.strip(' "') for word in text.split(",")]


def test_what_tests_bind_is_found() -> None:
    assert {"S092", "S003", "S078"} <= covered_by_tests() <= set(statements())


def test_no_scenario_teaches_more_than_it_can_show() -> None:
    assert max(map(len, taught().values())) <= MOST_PER_ITEM


def test_what_is_not_applicable_is_not_shown_either() -> None:
    assert not {each for found in taught().values() for each in found} & set(not_applicable())
