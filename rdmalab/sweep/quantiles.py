"""Quantiles of a list of numbers."""

from collections.abc import Sequence


def quantile(ordered: Sequence[float], percent: int) -> float:
    """The value below which `percent` of the numbers are, interpolated as numpy does by default.

    ordered: at least one number, the smallest first. A quantile that needs no interpolation is
    one of the numbers, unchanged.
    """
    at = (len(ordered) - 1) * percent / 100
    low = int(at)
    if at == low:
        return ordered[low]
    value = ordered[low] + (ordered[low + 1] - ordered[low]) * (at - low)
    return round(value, 3)
