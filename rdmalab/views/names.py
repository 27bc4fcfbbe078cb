"""What a view asks of whoever gives names: `A.qp0` for a thing, the thing for `A.qp0`."""

from typing import Protocol

from rdmalab.command import Noun, Thing


class Names(Protocol):
    """Names of things that are, or were."""

    def of(self, thing: Thing) -> str:
        """`A.qp0`; for a thing without a name something readable, `A.qp#17`."""

    def find(self, name: str) -> Thing | None:
        """The thing of this name."""

    def all(self, noun: Noun | None = None) -> list[str]:
        """The names, in the order in which they were given."""
