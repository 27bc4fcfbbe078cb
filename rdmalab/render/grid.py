"""Rows of one class as a grid: the columns that any of them has."""

from collections.abc import Sequence
from typing import NamedTuple

from rdmalab.views.columns import COLUMNS, USUAL, Cell, Column


class Grid(NamedTuple):
    """Columns, and for each row a cell in each of them or None."""

    columns: list[Column]
    rows: list[list[Cell | None]]

    @property
    def is_headed(self) -> bool:
        """Whether a heading is needed: a column has a sign for what is absent."""
        return any(col.absent for col in self.columns)


def grid(rows: Sequence[object], most: int = USUAL) -> Grid:
    """Rows of one class, not empty; columns up to a rank. A column that is always empty goes."""
    columns = [col for col in COLUMNS[type(rows[0])] if col.rank <= most]
    found = [[col.cell(row) for col in columns] for row in rows]
    kept = [
        at
        for at, col in enumerate(columns)
        if col.absent or any(cells[at] is not None for cells in found)
    ]
    return Grid([columns[at] for at in kept], [[cells[at] for at in kept] for cells in found])
