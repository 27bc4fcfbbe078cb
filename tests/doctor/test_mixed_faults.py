"""Two things wrong at once: both are found, the earlier first."""

from itertools import combinations

import pytest

from rdmalab.doctor.consult import consult
from tests.doctor.masks import together
from tests.doctor.test_root_causes import loaded

# Causes that are seen without asking about a thing; any two of them may come together.
SEEN = (
    "rnr-infinite", "rem-access", "wrong-qpn", "loc-prot", "unsignaled",
)  # fmt: skip
PAIRS = [*combinations(SEEN, 2)]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_both_are_found_in_their_order(first: str, second: str) -> None:
    scenarios = [loaded(f"{slug}.rdmalab.yaml") for slug in (first, second)]
    report = consult(together(*scenarios))
    found = [cause.check.slug for cause in report.causes]
    assert first in found
    assert second in found
    assert found.index(first) < found.index(second)
