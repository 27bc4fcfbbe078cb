"""Keys of a command or a record, and arguments from values: a missing key is named.

An inner name that is taken already is written dotted (`ah_attr.port_num`); dotted is always right,
and a step in the middle may be left out.
"""

from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import cache
from itertools import combinations
from typing import Any

from rdmalab.command import (
    ArgumentKind,
    Command,
    EnumKind,
    ExpressionKind,
    FieldGroup,
    ListKind,
    MomentKind,
    NotUnderstood,
    Noun,
    Parameter,
    RecordKind,
    Span,
    ThingKind,
    WordKind,
)
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.hints import listed, part_of_sge, quoted, suggest
from rdmalab.grammar.syntax import Argument, Atom, Braces, Reader, Value
from rdmalab.grammar.tokens import Token, tokenize
from rdmalab.grammar.values import NULLS, example, is_null, legal_words, scalar
from rdmalab.spec.row import dataclass

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


@cache
def keys_of_command(command: Command) -> Keys:
    """A command's keys; a parameter that is a list of records is flattened like one record."""
    return _keys([Slot((p.name,), p) for p in command.parameters], lists=True)


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


@dataclass(slots=True)
class ArgumentPart:
    """One argument: where it belongs, and what it says or what is wrong with it."""

    argument: Argument
    slot: Slot | None = None
    value: Any = None
    wrong: NotUnderstood | None = None
    inner: list["ArgumentPart"] = field(default_factory=list)  # of a struct inside a struct of C


def literal(text: str, kind: ArgumentKind, default_node: str | None = None, offset: int = 0) -> Any:
    """The value of a text that stands alone, such as a scalar of a scenario file."""
    if isinstance(kind, ExpressionKind):
        is_null = kind.nullable and text in NULLS
        return None if is_null else parse_expression(text, default_node, offset)
    reader = Reader(tokenize(text, offset))
    if reader.peek() is None:
        raise NotUnderstood("a value is missing here", Span(offset, offset), example(kind))
    values = reader.values()
    if (extra := reader.peek()) is not None:
        raise NotUnderstood(f"unexpected {quoted(extra.text)}", extra.place, example(kind))
    return meaning(values, kind, default_node)


def meaning(values: list[Value], kind: ArgumentKind, default_node: str | None) -> Any:
    """The value of a kind, from values with commas between them."""
    first, *more = values
    if isinstance(kind, ListKind):
        alone = first.text if isinstance(first, Atom) and not more else ""
        if is_null(alone, kind):
            return None
        return [] if alone == "[]" else [_one(v, kind.item, default_node) for v in values]
    if more:
        is_flags = isinstance(kind, EnumKind) and kind.is_flags
        words = [each.text for each in values if isinstance(each, Atom)]
        hint = f"write {'|'.join(words)}" if is_flags else "leave it out"
        raise NotUnderstood("only one value is wanted here", more[0].place, hint)
    return _one(first, kind, default_node)


def _both_forms(kind: RecordKind, noun: Noun) -> str:
    """`write A.mr0[0:64] or {addr=… length=… lkey=…}`."""
    fields = " ".join(f"{each.name}=…" for each in kind.fields)
    part = "[0:64]" if noun is Noun.MR else ""
    return f"write A.{noun}0{part} or {{{fields}}}"


def _one(value: Value, kind: ArgumentKind, default_node: str | None) -> object:
    if isinstance(value, Atom):
        try:
            return scalar(value, kind, default_node)
        except NotUnderstood as wrong:
            if (
                not isinstance(kind, RecordKind)
                or kind.short is None
                or not value.text[:1].isdecimal()
            ):
                raise
            hint = _both_forms(kind, kind.short.noun)
            raise NotUnderstood(wrong.message, wrong.place, hint) from None
    if not isinstance(kind, RecordKind):
        raise NotUnderstood("no braces are wanted here", value.place, example(kind))
    gathering = Gathering(keys_of_record(kind), default_node)
    for argument in value.arguments:
        gathering.take(argument)
    gathering.demand(_unfilled(kind, gathering.values), value.place, kind.c_name or "this struct")
    return gathering.values


class Gathering:
    """The arguments of one command or record on the way to their places, in nested dicts."""

    def __init__(self, keys: Keys, default_node: str | None) -> None:
        self.keys = keys
        self.default_node = default_node
        self.values: dict[str, Any] = {}
        self.places: dict[str, Span] = {}
        self._written: dict[Path, str] = {}
        self._items: dict[str, int] = {}  # how many of a list have their places

    def take(self, argument: Argument) -> None:
        """`key=value`; NotUnderstood as soon as something is wrong."""
        part = self.read(argument)
        if part.wrong is not None:
            raise part.wrong

    def read(self, argument: Argument) -> ArgumentPart:
        """`key=value`, kept if it is right."""
        part = ArgumentPart(argument)
        if _is_struct(argument, self.keys):
            part.inner = [self.read(inner) for inner in _unfolded(argument)]
            part.wrong = next((p.wrong for p in part.inner if p.wrong is not None), None)
            return part
        try:
            if argument.key is None:
                raise NotUnderstood("a key is missing here", argument.place, self._legal(""))
            part.slot = self.slot(argument.key)
            if not argument.values:
                lacks = f"{argument.key.text} has no value"
                raise NotUnderstood(lacks, argument.key.place, example(part.slot.kind))
            if not self._goes_on(part.slot):
                self._refuse_conflict(part.slot, argument)
            part.value = meaning(argument.values, part.slot.kind, self.default_node)
            self.put(part.slot, part.value, argument)
        except NotUnderstood as wrong:
            part.wrong = wrong
        return part

    def slot(self, key: Token) -> Slot:
        """The slot of a key."""
        if key.text not in self.keys.by_key:
            raise NotUnderstood(f"no key {quoted(key.text)}", key.place, self._legal(key.text))
        return self.keys.by_key[key.text]

    def put(self, slot: Slot, value: object, argument: Argument) -> None:
        """Keep a value; NotUnderstood where its place is taken, or a record of it."""
        written = argument.key.text if argument.key else slot.parameter.name
        if self._goes_on(slot) and value is not None:  # NULL is no entry of a list
            self._inner(slot.path[:-1])[slot.path[-1]].extend(value)
        else:
            self._refuse_conflict(slot, argument)
            self._inner(slot.path[:-1])[slot.path[-1]] = value
        self._written[slot.path] = written
        for key in (written, slot.parameter.name, slot.dotted):
            self.places.setdefault(key, argument.value_place)
        if isinstance(slot.kind, ListKind) and isinstance(value, list):
            self._put_item_places(slot, argument)

    def is_free(self, slot: Slot) -> bool:
        """True if a value for it would be taken."""
        return self._goes_on(slot) or self._rival(slot) is None

    def demand(
        self, parameters: tuple[Parameter, ...], place: Span, who: str, whole: str = ""
    ) -> None:
        """Everything required is there: all that is not is named at once.

        whole: a complete line, which is the hint where nothing was given.
        """
        missing = self.missing(parameters)
        slots = {slot.dotted: slot for slot in self.keys.slots}
        if missing:
            wanted = self.shortest(missing)
            hint = "add " + " ".join(f"{key}=…" for key in wanted)
            for key, slot in zip(wanted, map(slots.get, missing), strict=True):
                if slot is not None and isinstance(slot.kind, EnumKind):
                    hint += listed(legal_words(slot.kind), f"; legal for {key}: ")
            hint = f"for example: {whole}" if whole and not self._written else hint
            only = slots.get(missing[0]) if len(missing) == 1 else None
            if only is not None and isinstance(only.kind, MomentKind | ExpressionKind | WordKind):
                hint = example(only.kind)
            needs = "also needs" if self._written else "needs"
            raise NotUnderstood(f"{who} {needs} {', '.join(wanted)}", place, hint)

    def lacks(self, slot: Slot) -> bool:
        """True if nothing was given for it, nor for the record that it is a part of."""
        return self._rival(slot) is None

    def missing(self, parameters: tuple[Parameter, ...]) -> list[str]:
        """The paths of required parameters that were not given."""
        return [".".join(path) for path in _missing((), parameters, self.values)]

    def shortest(self, dotted: Iterable[str]) -> list[str]:
        """The keys that are written for these paths."""
        slots = {slot.dotted: slot for slot in self.keys.slots}
        return [self.keys.written(slots[path]) if path in slots else path for path in dotted]

    def _legal(self, word: str) -> str:
        free = [slot for slot in self.keys.slots if self.is_free(slot)]
        leaves_first = sorted(free, key=lambda slot: self.keys.record_in(slot) is not None)
        keys = [key for key in map(self.keys.written, leaves_first) if key]
        return part_of_sge(word, keys) or suggest(word, keys) or "leave it out"

    def _goes_on(self, slot: Slot) -> bool:
        """Whether a list of records goes on with another record: `wr={…} wr={…}`."""
        is_records = isinstance(slot.kind, ListKind) and isinstance(slot.kind.item, RecordKind)
        if not is_records or slot.path not in self._written:
            return False
        return isinstance(self._inner(slot.path[:-1])[slot.path[-1]], list)

    def _rival(self, slot: Slot) -> Path | None:
        """The key given before that is, holds or lies in this one; None if there is none."""
        for path in self._written:
            shorter = min(len(path), len(slot.path))
            if path[:shorter] == slot.path[:shorter]:
                return path
        return None

    def _refuse_conflict(self, slot: Slot, argument: Argument) -> None:
        rival = self._rival(slot)
        if rival is None:
            return
        place = argument.key.place if argument.key else argument.place
        written, other = argument.key.text if argument.key else "it", self._written[rival]
        if rival == slot.path:
            raise NotUnderstood(f"{other} is given twice", place, "leave one out")
        message = f"{other} and {written} give parts of one record in two ways"
        raise NotUnderstood(message, place, "write all of it in the braces, or none")

    def _inner(self, path: Path) -> dict[str, Any]:
        """The dict a path leads to, made on the way."""
        inner = self.values
        for name in path:
            inner = inner.setdefault(name, {})
        return inner

    def _put_item_places(self, slot: Slot, argument: Argument) -> None:
        first = self._items.get(slot.dotted, 0)
        for number, value in enumerate(argument.values, first):
            self.places[f"{slot.dotted}[{number}]"] = value.place
        self._items[slot.dotted] = first + len(argument.values)


def _is_struct(argument: Argument, keys: Keys) -> bool:
    """Whether it is written as `wr.rdma={…}`: its fields are keys of the record around it."""
    if argument.key is None or not argument.values or not isinstance(argument.values[0], Braces):
        return False
    return bool(keys.below(argument.key.text))


def _unfolded(argument: Argument) -> Iterable[Argument]:
    """`wr.rdma.rkey=1` for `wr.rdma={rkey=1}`; other values than braces are left as they are."""
    assert argument.key is not None
    for value in argument.values:
        for inner in value.arguments if isinstance(value, Braces) else []:
            key = inner.key
            if key is not None:
                key = key._replace(text=f"{argument.key.text}.{key.text}")
            yield Argument(key, inner.values, inner.place)


def _missing(
    outer: Path, parameters: tuple[Parameter, ...], values: dict[str, object]
) -> Iterable[Path]:
    """The required arguments that are absent; a required record without a field is an empty one."""
    for parameter in parameters:
        path = (*outer, parameter.name)
        record = flat_record(parameter.kind, lists=not outer)
        may_be_absent = parameter.kind.nullable and parameter.kind is record
        is_empty = record is not None and record.short is None and not may_be_absent
        if parameter.required and is_empty:
            values.setdefault(parameter.name, {})
        inner = values.get(parameter.name)
        if parameter.required and parameter.name not in values:
            yield path
        elif record is not None and isinstance(inner, dict):
            yield from _missing(path, _unfilled(record, inner), inner)


def _unfilled(record: RecordKind, values: dict[str, object]) -> tuple[Parameter, ...]:
    """The fields that no key which stands for several has filled."""
    filled = {name for spread in record.spreads if spread.key in values for name in spread.fills}
    return tuple(field for field in record.fields if field.name not in filled)
