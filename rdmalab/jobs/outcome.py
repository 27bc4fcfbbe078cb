"""The outcome of one item of work, and the interface of a pool."""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from rdmalab.jobs.limits import Limits

I = TypeVar("I")  # noqa: E741  (item)
V = TypeVar("V")
I_contra = TypeVar("I_contra", contravariant=True)
V_co = TypeVar("V_co", covariant=True)

Work = Callable[[I, Limits], V]
"""Function for one item. It belongs to a module: a worker imports it by its name.

It may raise Cut. Any other exception is an error of the work, not of the item.
"""


class Ending(StrEnum):
    """The end of the work on an item."""

    DONE = "done"
    CUT = "cut"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Outcome(Generic[V_co]):
    """The outcome of the item `number`, counted from 0 in the order given.

    value: None unless DONE. reason: which limit ended it (CUT), or the traceback (BROKEN).
    """

    number: int
    ending: Ending
    value: V_co | None = None
    reason: str = ""


class Pool(Protocol):
    """Does work on many items; `LocalPool` here, `ClusterPool` on other machines."""

    def results(self, work: Work[I, V], items: Iterable[I]) -> Generator[Outcome[V], None, None]:
        """One outcome for each item, in the order in which they end.

        Closing the iterator ends all work that is not done.
        """


__all__ = ["Ending", "Outcome", "Pool", "Work"]
