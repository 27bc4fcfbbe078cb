"""PSNs on their circle of 24 bits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.hca.psn import MASK, WINDOW, diff

psns = st.integers(0, MASK)
steps = st.integers(-WINDOW, WINDOW - 1)


@given(psns, steps)
def test_psn_diff(psn: int, step: int) -> None:
    """Anywhere on the circle, over its seam too."""
    assert diff((psn + step) & MASK, psn) == step


@given(psns, psns)
def test_psn_order_is_antisymmetric(one: int, other: int) -> None:
    distance = diff(one, other)
    assert -WINDOW <= distance < WINDOW
    assert diff(other, one) == (distance if distance == -WINDOW else -distance)
    assert (other + distance) & MASK == one
    assert (distance == 0) is (one == other)


@pytest.mark.parametrize(
    ("newer", "older", "distance"),
    [
        (0, 0xFFFFFF, 1),
        (0xFFFFFF, 0, -1),
        (0x7FFFFF, 0, 0x7FFFFF),
        (0x800000, 0, -0x800000),
        (5, 0xFFFFFE, 7),
    ],
)
def test_psn_diff_by_hand(newer: int, older: int, distance: int) -> None:
    assert diff(newer, older) == distance
