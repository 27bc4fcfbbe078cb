"""A drawn part of the campaign: a mutant of the engine that a lab notices."""

from collections.abc import Iterator

import pytest

from tests.classroom import campaign
from tests.each import drawn_numbers, each
from tests.mutants.running import Copy, Outcome, Result
from tests.mutants.table import mutated

MUTANTS = campaign.lab_mutants()


@pytest.fixture(scope="module")
def copy() -> Iterator[Copy]:
    made = Copy()
    yield made
    made.close()


def test_every_lab_has_one_mutant_that_applies_and_compiles() -> None:
    labs = set(campaign.names())
    assert set(MUTANTS) == labs, (
        f"{set(MUTANTS) ^ labs}: each lab has a mutant in tests/classroom/lab_mutants.yaml"
    )
    for mutant in MUTANTS.values():
        for file, source in mutated(mutant).items():
            compile(source, file, "exec")


@pytest.mark.parametrize("number", drawn_numbers("lab mutants", 1, len(MUTANTS)))
def test_a_mutant_of_what_a_lab_teaches_is_noticed_by_its_solutions(
    number: int, copy: Copy
) -> None:
    name = sorted(MUTANTS)[number]
    assert copy.imports_itself()
    result = campaign.asked(copy, MUTANTS[name])
    assert campaign.is_noticed(result), f"{MUTANTS[name].says}: {result}"


@each(
    "outcome, by, expected",
    [
        (Outcome.NOTICED, "a, student 1: x must fail, and is passed", True),
        (Outcome.NOTICED, "a, student 1: it must pass, and is not-graded; at: FAIL", False),
        (Outcome.CRASHED, "x.lab.yaml", False),
        (Outcome.SURVIVED, "", False),
    ],
)
def test_a_crash_or_a_setup_that_fails_is_no_notice(
    outcome: Outcome, by: str, expected: bool
) -> None:
    assert campaign.is_noticed(Result(outcome, by)) is expected


def test_the_figures_count_grades_with_and_without_other_names() -> None:
    count = campaign.played("immediate", ["1", "2"])
    assert (count.plain, count.renamed, count.wrong) == (22, 0, ())
    assert str(count + count).startswith("   44 grades,     0 with other names, 0 not as declared")
