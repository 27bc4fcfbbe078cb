"""The recorded runs are of today's table; nothing is run here."""

import pytest

from tests.mutants.__main__ import FIRST, LATEST
from tests.mutants.running import Outcome, Result, read, totals
from tests.mutants.test_table import MUTANTS

FIRST_RUN, RESULTS = read(FIRST), read(LATEST)
_LEAST = 0.95  # of the mutants must be noticed


def test_every_mutant_has_a_result_of_what_it_is_today() -> None:
    assert set(RESULTS) == set(MUTANTS)
    stale = [name for name, row in RESULTS.items() if row.fingerprint != MUTANTS[name].fingerprint]
    assert stale == [], f"run them again: python -m tests.mutants {' '.join(stale)}"


def test_no_mutant_was_exchanged_after_the_first_run() -> None:
    assert set(FIRST_RUN) == set(MUTANTS)
    changed = {n for n, row in FIRST_RUN.items() if row.fingerprint != MUTANTS[n].fingerprint}
    assert changed == {name for name, mutant in MUTANTS.items() if mutant.moved}


def test_the_bound_items_notice_nearly_all_mutants() -> None:
    judged = [row for row in RESULTS.values() if row.outcome != Outcome.EQUIVALENT]
    survived = [row for row in judged if row.outcome == Outcome.SURVIVED]
    assert len(survived) <= (1 - _LEAST) * len(judged)


def test_a_mutant_that_is_called_equivalent_has_its_proof() -> None:
    names = {name for name, row in RESULTS.items() if row.outcome == Outcome.EQUIVALENT}
    assert names == {name for name, mutant in MUTANTS.items() if mutant.equivalent}


@pytest.mark.parametrize(
    ("outcomes", "text"),
    [
        (["noticed", "noticed", "survived", "hung"], "1 survived; 75.0 % noticed"),
        (["noticed", "equivalent"], "1 equivalent; 100.0 % noticed"),
    ],
)
def test_equivalent_mutants_do_not_count(outcomes: list[str], text: str) -> None:
    assert totals(Result(outcome) for outcome in outcomes).endswith(text)
