"""Likeness of submissions: which share most of their lines. It says alike, never copied."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

_SHINGLE = 3  # lines
_NUMBER = re.compile(r"\d+")


def shingles(lines: Sequence[str]) -> frozenset[tuple[str, ...]]:
    """Each run of three lines, without numbers and spaces."""
    plain = [" ".join(_NUMBER.sub("0", line).split()) for line in lines]
    count = max(1, len(plain) - _SHINGLE + 1)
    return frozenset(tuple(plain[n : n + _SHINGLE]) for n in range(count)) if plain else frozenset()


def alike(
    works: Mapping[str, Sequence[str]], solutions: Iterable[Sequence[str]], least: float
) -> list[tuple[float, str, str]]:
    """Pairs of students whose likeness is at least `least` (0 to 1), the greatest first.

    Likeness is the share of common shingles among all of both. What an accepted solution of the
    lab has as well is left out.
    """
    known = frozenset(each for lines in solutions for each in shingles(lines))
    own = {student: shingles(lines) - known for student, lines in works.items()}
    found = []
    for one, other in combinations(own, 2):
        union = own[one] | own[other]
        share = len(own[one] & own[other]) / len(union) if union else 0.0
        if share >= least:
            found.append((share, one, other))
    return sorted(found, reverse=True)
