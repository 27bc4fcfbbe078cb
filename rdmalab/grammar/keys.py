"""Keys of a command or a record: the fields of records in it are its own keys.

An inner name that is taken already is written dotted (`ah_attr.port_num`); dotted is always right,
and a step in the middle may be left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from rdmalab.command import ArgumentKind, FieldGroup, ListKind, Parameter, RecordKind, ThingKind

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a key's value: the names that lead there, from the outside."""

    path: Path
    parameter: Parameter
    spread: FieldGroup | None = None

    @property
    def kind(self) -> ArgumentKind:
        return self.parameter.kind

    @property
    def dotted(self) -> str:
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Keys:
    """All keys of a command or record: `slots` from the outside in, and what may be written."""

    slots: tuple[Slot, ...]
    by_key: dict[str, Slot]
    lists: bool  # lists of records are flattened at the first level

    def record_in(self, slot: Slot) -> RecordKind | None:
        """The record whose fields are keys beside the key of this slot."""
        return flat_record(slot.kind, lists=self.lists and len(slot.path) == 1)

    def at(self, path: Path) -> Slot:
        """The slot of a path."""
        return next(slot for slot in self.slots if slot.path == path)

    def written(self, slot: Slot) -> str:
        """The canonical key of a slot: the shortest that means it."""
        keys = [key for key, found in self.by_key.items() if found.path == slot.path]
        return min(keys, key=lambda key: (key.count("."), key not in slot.path), default="")

    def below(self, struct: str) -> dict[str, Slot]:
        """The keys between the braces of a struct inside a struct of C: `rdma={…}`."""
        if struct in self.by_key:
            return {}
        outer = f"{struct}."
        inner = {key: slot for key, slot in self.by_key.items() if key.startswith(outer)}
        return {key.removeprefix(outer): slot for key, slot in inner.items()}

    @property
    def words(self) -> list[str]:
        """The keys that may be written, each slot once."""
        return [key for slot in self.slots if (key := self.written(slot))]


def keys_of_command(parameters: tuple[Parameter, ...]) -> Keys:
    """A command's keys; a parameter that is a list of records is flattened like one record."""
    return _keys([Slot((p.name,), p) for p in parameters], lists=True)


def keys_of_record(kind: RecordKind) -> Keys:
    """The keys between the braces of a record."""
    return _keys(list(_inside((), kind)), lists=False)


def flat_record(kind: ArgumentKind, *, lists: bool) -> RecordKind | None:
    """The record whose fields are keys in place of this kind, if there is one.

    What can be written short, `sg=A.mr0[0:64]`, is one value and keeps its key; some may be written
    both ways.
    """
    if lists and isinstance(kind, ListKind):
        kind = kind.item
    if not isinstance(kind, RecordKind):
        return None
    return kind if kind.short is None or kind.flat else None


def _inside(path: Path, kind: RecordKind) -> Iterator[Slot]:
    for parameter in kind.fields:
        yield Slot((*path, parameter.name), parameter)
    for spread in kind.spreads:
        stand_in = Parameter(spread.key, ThingKind(spread.noun, ranged=True), None)
        yield Slot((*path, spread.key), stand_in, spread)


def _keys(slots: list[Slot], *, lists: bool) -> Keys:
    for slot in slots:  # it grows while it is walked: the outer ones come first
        record = flat_record(slot.kind, lists=lists and len(slot.path) == 1)
        if record is not None:
            slots.extend(_inside(slot.path, record))
    by_key: dict[str, Slot] = {}
    for slot in slots:
        for key in _dotted(slot.path):
            by_key.setdefault(key, slot)
    for slot in slots:
        for alias in (*slot.parameter.aliases, *slot.parameter.dotted):
            for key in _dotted((*slot.path[:-1], alias)):
                by_key.setdefault(key, slot)
    return Keys(tuple(slots), by_key, lists)


def _dotted(path: Path) -> Iterator[str]:
    """`c`, `a.c`, `b.c`, `a.b.c`: the last name, with any of the outer ones before it."""
    *outer, last = path
    for count in range(len(outer) + 1):
        for some in combinations(outer, count):
            yield ".".join((*some, last))
