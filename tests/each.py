"""One test item for many cases: all are tried, and each that fails is told by its name."""

import enum
import inspect
import os
from collections.abc import Callable, Iterable
from functools import wraps
from random import Random
from typing import Any, TypeVar

import pytest

_MOST_TOLD = 20
Test = Callable[..., None]
SEED, ALL = "RDMALAB_SEED", "RDMALAB_ALL"


Name = TypeVar("Name")


def a_third(names: Iterable[Name]) -> list[Name]:
    """Each run tries another third of the names, drawn by the printed seed; RDMALAB_ALL=1: all."""
    return _drawn(list(names), 3)


def a_tenth(names: Iterable[Name]) -> list[Name]:
    """The same with a tenth of them."""
    return _drawn(list(names), 10)


def a_twentieth(names: Iterable[Name]) -> list[Name]:
    """The same with a twentieth of them."""
    return _drawn(list(names), 20)


def drawn_numbers(of: str, count: int, all_of_them: int) -> list[int]:
    """`count` numbers below `all_of_them`, drawn by the printed seed; RDMALAB_ALL=1: every number.

    of: what they are numbers of. A test makes its input of a number with `chance_of`, so that a
    usual run tries nothing that RDMALAB_ALL=1 does not try.
    """
    every = range(all_of_them)
    if os.environ.get(ALL):
        return list(every)
    return sorted(Random(f"{os.environ.get(SEED, '0')}/{of}").sample(every, count))


def chance_of(of: str, number: int) -> Random:
    """Chance that depends on the number alone, not on the seed of the run."""
    return Random(f"{of}/{number}")


def examples(every: int) -> int:
    """How many examples Hypothesis tries: a third in a usual run, RDMALAB_ALL=1: every one."""
    return every if os.environ.get(ALL) else max(1, every // 3)


DRAWING = {"a_third", "a_tenth", "a_twentieth", "drawn_numbers", "lessons", "tally_of"}
"""The seed is printed when a test ran of a module that has one of these."""


def _drawn(names: list[Name], parts: int) -> list[Name]:
    """Equally many in each run, so that each takes as long; at least one, or pytest would skip."""
    if os.environ.get(ALL):
        return names
    seed = os.environ.get(SEED, "0")
    order = sorted(names, key=lambda name: Random(f"{seed}/{name}").random())
    drawn = set(order[: max(1, len(names) // parts)])
    return [name for name in names if name in drawn]


def each(arguments: str, cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Run the test once for each case, in one item.

    arguments: the names of the arguments that a case gives, separated by commas. With several names
    a case is a tuple of as many values. Other arguments are fixtures; all cases share them.
    """
    names = [name.strip() for name in arguments.split(",")]
    tried = list(cases)

    def decorate(test: Test) -> Test:
        @wraps(test)
        def of_all(**fixtures: Any) -> None:
            failed = list[str]()
            for case in tried:
                values = case if len(names) > 1 else (case,)
                try:
                    test(**dict(zip(names, values, strict=True)), **fixtures)
                except (Exception, pytest.fail.Exception) as wrong:  # noqa: BLE001
                    failed.append(f"{_named(case)}: {_error_text(wrong)}")
            assert tried, f"{test.__name__} has no case"
            if failed:
                head = f"{len(failed)} of {len(tried)} cases failed"
                pytest.fail("\n".join([head, *failed[:_MOST_TOLD]]), pytrace=False)

        signature = inspect.signature(test)
        left = [value for name, value in signature.parameters.items() if name not in names]
        of_all.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return of_all

    return decorate


def _named(case: Any) -> str:
    if isinstance(case, enum.Enum):
        return f"{type(case).__name__}.{case.name}"
    for attribute in ("name", "__name__", "slug"):
        if isinstance(name := getattr(case, attribute, None), str):
            return name
    return "-".join(map(_named, case)) if isinstance(case, tuple) else str(case)


def _error_text(wrong: BaseException) -> str:
    """The failure and the line of the test it comes from."""
    trace, place = wrong.__traceback__, ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if "/tests/" in file and file != __file__:
            place = f" ({file.rpartition('/')[2]}:{trace.tb_lineno})"
        trace = trace.tb_next
    return f"{type(wrong).__name__}: {wrong}{place}"
