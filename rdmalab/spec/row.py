"""What the rows of a table have in common that engines keep hold of."""

from typing import Any, Self


class Row:
    """It never changes, so a copy of what holds it shares it."""

    __slots__ = ()

    def __deepcopy__(self, _memo: Any) -> Self:
        return self
