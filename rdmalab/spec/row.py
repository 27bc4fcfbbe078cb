"""The base class of table rows that engine objects refer to."""

from typing import Any, Self


class Row:
    """Immutable: a copy of an object that refers to a row shares the row."""

    __slots__ = ()

    def __deepcopy__(self, _memo: Any) -> Self:
        return self
