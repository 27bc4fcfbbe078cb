"""The differences between two moments: every field of every object, and the bytes."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rdmalab.hca.memory import PAGE
from rdmalab.session.names import Names
from rdmalab.views import fmt
from rdmalab.views.changes import ChangeRow
from rdmalab.views.query_fields import OBJECTS
from rdmalab.views.row_fields import fields_of_row
from rdmalab.world.relations import exists
from rdmalab.world.world import World

_SHOWN = 8  # bytes of a difference that are spelled out
_NOT_YET, _GONE = "(does not exist)", "(gone)"


class Facts(NamedTuple):
    """All values of a moment. fields: by path; pages: by node and number."""

    fields: dict[str, str]
    pages: dict[tuple[str, int], bytes]


def facts(world: World, names: Names) -> Facts:
    """All values of all objects."""
    fields = {"now": fmt.exact(world.now_ns)}
    for name in names.all():
        thing = names.find(name)
        sight = OBJECTS.get(thing.noun) if thing is not None else None
        if thing is not None and sight is not None and exists(world, thing):
            row = sight.look(world, names, thing)
            fields.update((f"{name}.{path}", _text(value)) for path, value in fields_of_row(row))
    pages = {
        (node, number): bytes(page)
        for node, hca in world.nodes.items()
        for number, page in hca.memory.pages.items()
    }
    return Facts(fields, pages)


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(_text, value)) or "none"
    if dataclasses.is_dataclass(value):
        return str(getattr(value, "text", value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value in (None, "") else str(getattr(value, "name", None) or value)


def difference_rows(world: World, names: Names, before: Facts, after: Facts) -> list[ChangeRow]:
    """The differences, field by field; an object of only one moment gets one row."""
    rows = []
    for path in {**before.fields, **after.fields}:
        old, new = before.fields.get(path), after.fields.get(path)
        if old != new:
            was, now = (_NOT_YET if old is None else old), (_GONE if new is None else new)
            rows.append(ChangeRow("", path, was, now))
    return rows + list(_bytes(world, names, before, after))


_FOLLOWS = ("now", "free", "left_ns")  # fields that follow from another field or from the time


def further_rows(rows: Sequence[ChangeRow], before: Facts, after: Facts) -> Iterator[ChangeRow]:
    """The fields of objects of both moments that differ and that `rows` do not name."""
    named = {f"{row.name}.{row.field}" for row in rows}
    for path, new in after.fields.items():
        old = before.fields.get(path)
        follows = path.rpartition(".")[2] in _FOLLOWS
        if old not in (None, new) and path not in named and not follows:
            yield ChangeRow("", path, str(old), new)


def _bytes(world: World, names: Names, before: Facts, after: Facts) -> Iterator[ChangeRow]:
    empty = bytes(PAGE)
    for key in sorted({*before.pages, *after.pages}):
        node, number = key
        old, new = before.pages.get(key, empty), after.pages.get(key, empty)
        for start, stop in _runs(old, new):
            where = fmt.thing_at(world, names, node, number * PAGE + start)
            was, now = _hex(old[start:stop]), _hex(new[start:stop])
            yield ChangeRow(where, f"{stop - start} bytes", was, now)


def _runs(old: bytes, new: bytes) -> Iterator[tuple[int, int]]:
    """Where two pages differ; a gap of a few equal bytes does not part a difference."""
    unlike = [n for n in range(PAGE) if old[n] != new[n]] if old != new else []
    start = last = None
    for n in unlike:
        if last is None or n > last + _SHOWN:
            if start is not None and last is not None:
                yield start, last + 1
            start = n
        last = n
    if start is not None and last is not None:
        yield start, last + 1


def _hex(octets: bytes) -> str:
    return octets[:_SHOWN].hex(" ") + (" …" if len(octets) > _SHOWN else "")
