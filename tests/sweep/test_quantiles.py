"""Quantiles: values from the definition, and laws that hold for any numbers."""

import statistics

from hypothesis import given
from hypothesis import strategies as st

from rdmalab.sweep.measures import quantile

_NUMBERS = st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=30).map(sorted)


@given(_NUMBERS)
def test_the_ends_the_middle_and_the_order(numbers: list[int]) -> None:
    found = [quantile(numbers, percent) for percent in range(101)]
    assert (found[0], found[50], found[100]) == (
        numbers[0], statistics.median(numbers), numbers[-1]
    )  # fmt: skip
    assert found == sorted(found)


def test_between_two_numbers() -> None:
    assert quantile([10, 20], 10) == 11
    assert quantile([1, 2, 3, 4], 90) == 3.7
