"""Axes: numbers of typed values, ticks, and places for any numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.command import NotUnderstood, Unit
from rdmalab.sweep.plot import axis, scale_of, short


@pytest.mark.parametrize(
    ("texts", "numbers", "unit"),
    [
        (["1us", "10 us", "1ms"], [1e3, 1e4, 1e6], Unit.NS),
        (["0", "0.4%", "5%"], [0, 4_000, 50_000], Unit.PPM),
        (["1", "0x10", "2.5"], [1, 16, 2.5], Unit.NUMBER),
        (["4KiB", "8192"], [4096, 8192], Unit.BYTES),
        (["10Gbps", "100Gbps"], [1e10, 1e11], Unit.BITS_PER_S),
        (["RC", "UD", "RC"], [0, 1], Unit.NUMBER),
        (["1us", "5%"], [0, 1], Unit.NUMBER),
        (["nan", "inf"], [0, 1], Unit.NUMBER),
    ],
)
def test_values_as_numbers(texts: list[str], numbers: list[float], unit: Unit) -> None:
    scale = scale_of(texts)
    assert (list(scale.numbers.values()), scale.unit) == (numbers, unit)


@pytest.mark.parametrize(
    ("values", "log", "labels"),
    [
        ([1.5, 68_282], None, ["1", "10", "100", "1k", "10k", "100k"]),
        ([3e9, 9e10], None, ["0", "20G", "40G", "60G", "80G", "100G"]),
        ([5], None, ["0", "1", "2", "3", "4", "5"]),
        ([-3, 4], False, ["-3", "-2", "-1", "0", "1", "2", "3", "4"]),
    ],
)
def test_labels_of_a_measure(values: list[float], log: bool | None, labels: list[str]) -> None:
    assert [label for _, label in axis("y", values, log=log).labels] == labels


def test_labels_of_a_parameter() -> None:
    depth = scale_of(["1", "2", "4", "16"])
    found = axis("depth", [1, 2, 4, 16], log=True, scale=depth)
    assert [label for _, label in found.labels] == ["1", "2", "4", "16"]
    times = scale_of(["1us", "3us"])
    found = axis("t", [1e3, 3e3], log=False, scale=times)
    assert [label for _, label in found.labels][:2] == ["1us", "1.5us"]
    names = scale_of(["RC", "UC"])
    assert axis("type", [0, 1], log=False, scale=names).labels == ((0, "RC"), (1, "UC"))


def test_zero_has_no_logarithm() -> None:
    with pytest.raises(NotUnderstood, match="no place for y = 0"):
        axis("y", [0, 5], log=True)


_VALUES = st.lists(st.floats(1e-6, 1e15), min_size=1, max_size=6)


@given(_VALUES, st.sampled_from([None, True, False]), st.booleans())
def test_every_value_and_label_is_on_the_axis(
    values: list[float], log: bool | None, of_parameter: bool
) -> None:
    scale = scale_of([repr(value) for value in values]) if of_parameter else None
    found = axis("v", values, log=log, scale=scale)
    assert len(found.labels) <= 18
    for value in (*values, *(mark for mark, _ in found.labels)):
        assert -1e-6 <= found.place(value) <= 1 + 1e-6
    assert [mark for mark, _ in found.labels] == sorted(mark for mark, _ in found.labels)


def test_short_numbers() -> None:
    assert [short(n) for n in (0, 1.526, 999, 68281.5, 3e6, 92236671733)] == [
        "0", "1.526", "999", "68.28k", "3M", "92.24G"
    ]  # fmt: skip
