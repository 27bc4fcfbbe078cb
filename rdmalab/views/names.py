"""The interface between views and names: `A.qp0` for an object, the object for `A.qp0`."""

from typing import Protocol

from rdmalab.command import Noun, Thing


class Names(Protocol):
    """Names of objects that exist or existed."""

    def of(self, thing: Thing) -> str:
        """`A.qp0`; for an object without a name a readable number, `A.qp#17`."""

    def find(self, name: str) -> Thing | None:
        """The object of this name; None if there is none."""

    def all(self, noun: Noun | None = None) -> list[str]:
        """The names, in the order in which they were given."""
