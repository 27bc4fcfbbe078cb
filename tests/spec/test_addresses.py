"""Fields of an address: the edges of their ranges."""

import pytest

from rdmalab.spec.addresses import ADDRESS, EVERY_FIELD


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("static_rate", (0, 2, 23), (1, 24, 173, 255)),
        ("sl", (0, 15), (16, 255)),
        ("flow_label", (0, 0xFFFFF), (0x100000, 0xFFFFFFFF)),
    ],
)
def test_the_edges(name: str, good: tuple[int, ...], bad: tuple[int, ...]) -> None:
    assert all(map(ADDRESS[name].has, good))
    assert not any(map(ADDRESS[name].has, bad))


def test_the_words_for_a_range() -> None:
    assert ADDRESS["static_rate"].takes == "0 2..23"
    assert ADDRESS["sl"].takes == "0..15"
    assert frozenset(ADDRESS) == EVERY_FIELD
