"""Cells of the profile table: where two profiles differ, copies with other values, who reads them.

A watched profile notes which of its parts the engines read. No engine knows of that: it is a
profile whose attributes are looked up by a method.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import NamedTuple, TypeVar

from rdmalab.spec.limits import DeviceCaps
from rdmalab.spec.profiles import CELLS, PROFILES, Profile
from rdmalab.spec.refusals import REFUSALS, Refusal
from rdmalab.spec.rules import RULES, errno_name
from rdmalab.spec.states import Attribute

_CAPS = "caps"
_MAPPINGS = ("errnos", "batch_errnos", "refusals", "attributes")
PARTS = frozenset({*CELLS, _CAPS, *_MAPPINGS})
"""The cells of a profile, and its parts that are no cells."""
_ENGINES = ("rdmalab.hca.", "rdmalab.world.", "rdmalab.verbs.")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Cause:
    """A cell that differs. name: `joins_acks`, `errnos[send-state]`, `caps.max_qp`.

    sentence: what the cell means. left, right: its values. asked_by: the module that read it;
    empty: none was seen to read it.
    """

    name: str
    sentence: str
    left: str
    right: str
    asked_by: str = ""


class Reading(NamedTuple):
    """Who read a part of a profile first, and during which event."""

    event: int
    module: str


class Cell(NamedTuple):
    """A cell of the table, or one entry of a part of a profile."""

    part: str
    key: str = ""

    @property
    def text(self) -> str:
        if not self.key:
            return self.part
        return f"{self.part}.{self.key}" if self.part == _CAPS else f"{self.part}[{self.key}]"

    def value(self, profile: Profile) -> object:
        """Its value; None where a mapping has no such entry."""
        whole = getattr(profile, self.part)
        if not self.key:
            return whole
        return getattr(whole, self.key) if self.part == _CAPS else whole.get(self.key)


def watching(asked: dict[str, Reading], now: Callable[[], int]) -> type[Profile]:
    """A class of profiles that note which parts an engine reads, and during which event first."""

    class Watched(Profile):
        """A copy made by `dataclasses.replace` is watched as well."""

        __slots__ = ()

        def __getattribute__(self, name: str) -> object:
            if name in PARTS and name not in asked:
                here = inspect.currentframe()
                caller = here.f_back if here is not None else None
                module = str(caller.f_globals["__name__"]) if caller is not None else ""
                if module.startswith(_ENGINES):
                    asked[name] = Reading(now(), module)
            return object.__getattribute__(self, name)

    return Watched


def differing(ours: Profile, theirs: Profile) -> list[Cell]:
    """The cells in which two profiles differ."""
    found: list[Cell] = []
    for part in sorted(PARTS):
        if part == _CAPS:
            cells = [Cell(part, each.name) for each in fields(ours.caps)]
        elif part in _MAPPINGS:
            keys = sorted({*getattr(ours, part), *getattr(theirs, part)})
            cells = [Cell(part, key) for key in keys]
        else:
            cells = [Cell(part)]
        found += [cell for cell in cells if cell.value(ours) != cell.value(theirs)]
    return found


def changed(profile: Profile, cells: Sequence[Cell], other: Profile) -> Profile:
    """The profile with the values of another in these cells; limits of the file are kept."""
    values: dict[str, object] = {}
    caps: dict[str, object] = {}
    for cell in cells:
        if cell.part == _CAPS:
            if cell.value(profile) == cell.value(PROFILES[profile.name]):
                caps[cell.key] = cell.value(other)
        elif cell.key:
            given = values.setdefault(cell.part, dict(getattr(profile, cell.part)))
            assert isinstance(given, dict)
            given.pop(cell.key, None)
            if (value := cell.value(other)) is not None:
                given[cell.key] = value
        else:
            values[cell.part] = cell.value(other)
    if caps:
        values[_CAPS] = copied(DeviceCaps, profile.caps, caps)
    return copied(Profile, profile, values) if values else profile


def copied(kind: type[_T], of: Profile | DeviceCaps, values: Mapping[str, object]) -> _T:
    """A copy with other values, as an object of this class."""
    made = object.__new__(kind)
    for each in fields(of):
        object.__setattr__(made, each.name, values.get(each.name, getattr(of, each.name)))
    return made


def cause(left: str, right: str, cell: Cell, notes: Mapping[str, Reading]) -> Cause:
    """A cell with its values of two profiles, by name. notes: who read which part."""
    by = notes[cell.part].module if cell.part in notes else ""
    ours, theirs = (_value_text(cell, PROFILES[name]) for name in (left, right))
    return Cause(cell.text, _sentence(cell), ours, theirs, by.removeprefix("rdmalab."))


def _sentence(cell: Cell) -> str:
    """What a cell means."""
    match cell.part:
        case "caps":
            return f"The limit {cell.key} of the device."
        case "errnos" | "batch_errnos":
            return f"The errno of the rule {cell.key}: {RULES[cell.key].general}"
        case "refusals":
            return f"How the responder refuses {cell.key}: {REFUSALS[cell.key].sentence}"
        case "attributes":
            return f"The range of {cell.key} in modify_qp."
    return CELLS[cell.part]


def _value_text(cell: Cell, profile: Profile) -> str:
    value = cell.value(profile)
    if cell.part in ("errnos", "batch_errnos"):
        return errno_name(value if isinstance(value, int) else RULES[cell.key].errno)
    if isinstance(value, Attribute):
        return f"{value.low} to {value.limit or value.high}"
    if isinstance(value, Refusal):
        status = value.status.name if value.status is not None else "no status"
        return f"{value.syndrome.name if value.syndrome else 'no answer'}, {status}"
    if isinstance(value, frozenset):
        return ", ".join(sorted(map(plain, value))) or "none"
    return plain(value)


def plain(value: object) -> str:
    """A value of a cell or of a row as text: the name of an enum, words of a tuple."""
    if isinstance(value, tuple):
        return " ".join(map(plain, value))
    if isinstance(value, Enum):
        return str(value.name)
    return str(value)
