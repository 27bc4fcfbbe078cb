"""Statements are bound to a file or to its steps, each once, and at most five of them."""

import pytest

from rdmalab.scenario.source import FileError
from tests.scenario.playing import PAIR, runner, scenario

SHOWN = "  - do: use rc_pair\n    expect: [A.qp0.state == RTS]\n    teaches: [{}]\n"


def wrong(steps: str, more: str = "") -> str:
    with pytest.raises(FileError) as caught:
        scenario(steps, more)
    return f"{caught.value.place.line if caught.value.place else 0}: {caught.value.message}"


def test_a_statement_knows_where_it_is_bound() -> None:
    teaches = scenario(PAIR + SHOWN.format("S002, S003"), "teaches: [S001]\n").teaches
    assert [(t.statement, t.place.line, t.line) for t in teaches] == [
        ("S001", 3, 0),
        ("S002", 8, 6),
        ("S003", 8, 6),
    ]


def test_the_setup_may_teach() -> None:
    assert [t.statement for t in scenario(PAIR, f"setup:\n{SHOWN.format('S224')}").teaches] == [
        "S224"
    ]


def test_five_are_the_most_wherever_they_stand() -> None:
    top = "teaches: [S001, S002, S003]\n"
    assert len(scenario(SHOWN.format("S004, S005"), top).teaches) == 5
    assert wrong(SHOWN.format("S004, S005, S006"), top) == (
        "7: a scenario teaches 5 statements at most"
    )


def test_a_statement_is_bound_once() -> None:
    assert wrong(SHOWN.format("S002, S001"), "teaches: [S001]\n") == (
        "7: S001 is bound already, in line 3"
    )


@pytest.mark.parametrize("without", ["expect", "nothing"])
def test_what_asserts_nothing_teaches_nothing(without: str) -> None:
    if without == "expect":
        assert "needs an assertion" in wrong("  - do: use rc_pair\n    teaches: [S001]\n")
    else:
        assert "needs an assertion" in wrong("  - note: so it is\n    teaches: [S001]\n")


def test_error_of_an_unknown_statement_has_its_place() -> None:
    with pytest.raises(FileError) as caught:
        scenario(SHOWN.format("S002, S261"))
    assert caught.value.message == '"S261" is not a statement'
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (6, 21)


def test_a_bound_step_is_played_like_any_other() -> None:
    assert runner(SHOWN.format("S224")).run()[-1].ok
