"""The points of a sweep."""

import pytest

from rdmalab.command import NotUnderstood
from rdmalab.sweep.grid import over, points


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("n=0..3", ("0", "1", "2", "3")),
        ("n=0..100..50", ("0", "50", "100")),
        ("n=-2..0", ("-2", "-1", "0")),
        ("loss = 0, 1%,5 %", ("0", "1%", "5 %")),
        ("flags=A|B,8..9", ("A|B", "8", "9")),
    ],
)
def test_values_of_a_parameter(text: str, values: tuple[str, ...]) -> None:
    assert over(text).values == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n", "a parameter without values"),
        ("=1", "a parameter without values"),
        ("n=", "a value is missing"),
        ("n=1,,2", "a value is missing"),
        ("n=3..1", "3..1 is no range"),
        ("n=1..9..0", "1..9..0 is no range"),
        ("n=0..99999999999", "0..99999999999 is no range"),
        ("n=0..2,1", "1 is given twice"),
    ],
)
def test_values_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(NotUnderstood) as caught:
        over(text)
    assert message in caught.value.message
    assert caught.value.hint


def test_every_combination_with_every_seed() -> None:
    found = list(points([over("a=1,2"), over("b=x,y")], range(3, 5)))
    assert [(dict(p.values)["a"], dict(p.values)["b"], p.seed) for p in found] == [
        (a, b, seed) for a in "12" for b in "xy" for seed in (3, 4)
    ]
    assert [p.seed for p in points([], range(2))] == [0, 1]


def test_too_many_points_and_a_parameter_given_twice() -> None:
    with pytest.raises(NotUnderstood, match="--over a is given twice"):
        list(points([over("a=1"), over("a=2")], range(1)))
    with pytest.raises(NotUnderstood, match="1,001,000 points are more than 100,000"):
        list(points([over("a=0..1000"), over("b=0..999")], range(1)))
