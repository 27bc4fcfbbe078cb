"""Rows as JSON, with a JSON Schema made from their fields; rows of one class as a grid."""

import dataclasses
import enum
import typing
from collections.abc import Iterable, Sequence
from typing import Annotated, ClassVar, NamedTuple

from rdmalab.views.columns import COLUMNS, USUAL, Cell, Column
from rdmalab.views.query_fields import parts_of_hint


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


Schema = dict[str, object]

_PLAIN: dict[object, str] = {
    bool: "boolean", int: "integer", float: "number", str: "string", bytes: "string",
    type(None): "null",
}  # fmt: skip


def schema(cls: type) -> Schema:
    """The schema of a class of rows: each field by its type, with its sentence if it has one."""
    hints = typing.get_type_hints(cls, include_extras=True)
    fields = [name for name, hint in hints.items() if typing.get_origin(hint) is not ClassVar]
    # A field without a meaning is null; which fields these are differs from row to row.
    nullable = "undefined" in fields
    return {
        "type": "object",
        "required": fields,
        "properties": {name: _field(hints[name], nullable) for name in fields},
    }


def schema_of_view(classes: Iterable[type]) -> Schema:
    """The schema of a value: what has rows names the class of each, and has its fields."""
    one_of = [
        {"if": {"properties": {"row": {"const": cls.__name__}}}, "then": schema(cls)}
        for cls in classes
    ]
    row = {"type": "object", "required": ["row"], "allOf": one_of}
    rows = {"properties": {"rows": {"type": "array", "items": row}}}
    return {"if": {"type": "object", "required": ["title", "rows"]}, "then": rows}


def _field(hint: object, nullable: bool) -> Schema:
    parts = [_part(part) for part in parts_of_hint(hint)]
    if nullable and {"type": "null"} not in parts:
        parts.append({"type": "null"})
    found: Schema = parts[0] if len(parts) == 1 else {"anyOf": parts}
    sentence = typing.get_args(hint)[1] if typing.get_origin(hint) is Annotated else ""
    return {**found, "description": sentence} if sentence else found


def _part(part: object) -> Schema:
    """The schema of a type; an empty one, which allows everything, for what is no plain type."""
    if part in _PLAIN:
        return {"type": _PLAIN[part]}
    if isinstance(part, type) and issubclass(part, enum.Flag):
        return {"type": ["string", "integer"]}  # names joined by |; 0 has no name
    if isinstance(part, type) and issubclass(part, enum.Enum):
        return {"enum": list(part.__members__)}
    if isinstance(part, type) and dataclasses.is_dataclass(part):
        return schema(part)
    inner = [item for item in typing.get_args(part) if item is not Ellipsis]
    if typing.get_origin(part) in (list, tuple):
        same = len(set(inner)) == 1
        return {"type": "array", "items": _field(inner[0], False)} if same else {"type": "array"}
    return {}
