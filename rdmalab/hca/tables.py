"""The tables of an adapter: its objects by number."""

from typing import Generic, Protocol, TypeVar


class Numbered(Protocol):
    """An object in a table."""

    number: int


_T = TypeVar("_T", bound=Numbered)


class Table(Generic[_T]):
    """All objects of one kind, by number; numbers are never used twice."""

    __slots__ = ("items", "next_number", "noun")

    def __init__(self, noun: str, first_number: int) -> None:
        self.noun = noun
        self.next_number = first_number
        self.items: dict[int, _T] = {}

    def add(self, item: _T) -> None:
        """Add the object under its number."""
        self.items[item.number] = item
        self.next_number = item.number + 1

    def remove(self, item: _T) -> None:
        """Remove the object."""
        del self.items[item.number]

    def find(self, number: int) -> _T:
        """The object of this number; None if it is destroyed."""
        return self.items[number]
