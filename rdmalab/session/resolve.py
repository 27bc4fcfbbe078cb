"""Bind arguments: names become objects, dicts become records.

It runs before the event begins, so that an unknown name is *not understood* and nothing happened.
"""

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from rdmalab.command import (
    ArgumentKind,
    BooleanKind,
    Command,
    Direction,
    DirectionKind,
    EnumKind,
    FieldGroup,
    Fresh,
    IntegerKind,
    Invocation,
    ListKind,
    New,
    NewKind,
    NotUnderstood,
    Noun,
    RecordKind,
    Ref,
    RefShorthand,
    Refused,
    Region,
    Thing,
    ThingKind,
)
from rdmalab.grammar.hints import world_hint
from rdmalab.session.names import Names
from rdmalab.world.world import World

_NOUNS = {
    Noun.NODE: "a node",
    Noun.PD: "a protection domain",
    Noun.MR: "a memory region",
    Noun.CQ: "a completion queue",
    Noun.QP: "a queue pair",
    Noun.AH: "an address handle",
    Noun.SRQ: "a shared receive queue",
    Noun.XRCD: "an XRC domain",
    Noun.MW: "a memory window",
    Noun.CHANNEL: "a completion channel",
    Noun.TD: "a thread domain",
    Noun.FLOW: "a flow rule",
    Noun.PROGRAM: "a program",
}


class Binder:
    """Binds arguments for one world and its names."""

    __slots__ = ("names", "world")

    def __init__(self, world: World, names: Names) -> None:
        self.world = world
        self.names = names

    def bind(self, command: Command, invocation: Invocation) -> dict[str, object]:
        """Keyword arguments for the function of `command`; raises NotUnderstood with the place."""
        given = invocation.arguments
        bound: dict[str, object] = {}
        for p in command.parameters:
            if p.name in given:
                try:
                    bound[p.name] = self.value(p.kind, given[p.name])
                except NotUnderstood as error:
                    error.argument = error.argument or p.name
                    raise
        return bound

    def value(self, kind: ArgumentKind, value: object) -> Any:
        """One argument, converted by its kind."""
        if value is None:
            return None
        if not value and kind.pointer and type(value) is int:
            return None  # a pointer that is 0
        what = type(kind)
        if type(value) is Ref and what is not ThingKind:
            return self._short(kind, value)
        bind = _BINDERS.get(what)
        return value if bind is None else bind(self, kind, value)

    def thing(self, ref: Ref, noun: Noun | None, also: tuple[Noun, ...] = ()) -> Thing:
        """The object of a name, existing or destroyed; its noun is `noun` or one of `also`."""
        name = f"{ref.node}.{ref.name}" if ref.name else ref.node
        thing = self.names.find(name)
        if thing is None:
            raise self._unknown(ref, name, noun)
        if noun is not None and thing.noun is not noun and thing.noun not in also:
            message = f"{name} is {_NOUNS[thing.noun]}, not {_NOUNS[noun]}"
            raise NotUnderstood(message, ref.place, self._offer(name, noun))
        return thing

    def _unknown(self, ref: Ref, name: str, noun: Noun | None) -> NotUnderstood:
        return NotUnderstood(f"nothing is called {name}", ref.place, self._offer(name, noun))

    def _offer(self, name: str, noun: Noun | None) -> str:
        if hint := world_hint(name):
            return hint
        living = self.names.all(noun)
        close = get_close_matches(name, living, 1, 0.6)
        if close:
            return f"did you mean {close[0]}?"
        if living:
            return f"there is: {' '.join(living)}"
        return f"there is not yet {_NOUNS[noun]}" if noun else "nothing exists yet"

    def _short(self, kind: ArgumentKind, ref: Ref) -> object:
        short = kind.short
        if short is None:
            raise NotUnderstood(f"{ref} is a name; a value is required here", ref.place)
        if ref.part:
            return self._field(kind, short, ref)
        return self._convert(short, ref)

    def _field(self, kind: ArgumentKind, short: RefShorthand, ref: Ref) -> int:
        """`mr->lkey`, `mr->addr + 8`: a field of a region or window, as a C program reads it."""
        thing = self.thing(ref, short.noun, (Noun.MR, Noun.MW))
        found: int | None = getattr(self.world.find(thing, object), ref.part, None)
        if found is None:
            message = f"{self.names.of(thing)} has no {ref.part}"
            raise NotUnderstood(message, ref.place, f"write {self.names.of(thing)}.rkey")
        value = found + (ref.start or 0)
        if isinstance(kind, IntegerKind) and kind.bits and value >> kind.bits.width:
            message = f"{ref} is {value:#x}, which does not fit in {kind.bits.width} bits"
            raise NotUnderstood(message, ref.place, f"write {ref.node}.{ref.name}.rkey")
        return value

    def _convert(self, how: RefShorthand | FieldGroup, ref: Ref) -> Any:
        thing = self.thing(ref, how.noun, how.also)
        try:
            return how.convert(self.world, thing, ref.start, ref.stop)
        except Refused as gone:
            gone.message = gone.message.replace(f"this {thing.noun}", self.names.of(thing))
            gone.place = ref.place
            raise

    # ------------------------------------------------------------------ one function a kind
    def thing_argument(self, kind: ThingKind, ref: Ref) -> Thing | Region:
        """The object of a name, or a Region of its bytes; raises NotUnderstood if unknown."""
        thing = self.thing(ref, kind.noun)
        return Region(thing, ref.start, ref.stop) if kind.ranged else thing

    def new_argument(self, kind: NewKind, new: New) -> New:
        """The name of an object to create; raises NotUnderstood if it is in use."""
        name = str(new)
        if new.node not in self.world.nodes:
            offer = f"nodes: {' '.join(self.world.nodes)}"
            raise NotUnderstood(f"there is no node {new.node}", new.place, offer)
        if not self.names.is_free(name):
            other = self.names.first_free(f"{new.node}.{kind.noun}")
            raise NotUnderstood(f"{name} exists already", new.place, f"free: {other}")
        return new

    def enum_argument(self, kind: EnumKind, value: int) -> int:
        """A number without a member stays a number; the device checks it."""
        if type(value) is kind.enum:  # to ask the enum takes as long as to bind the whole request
            return value
        try:
            return kind.enum(value)
        except ValueError:
            return value

    def direction_argument(self, _kind: DirectionKind, direction: Direction) -> Direction:
        """Both nodes of a direction, unchanged; raises NotUnderstood if one is missing."""
        for node in direction:
            if node not in self.world.nodes:
                offer = f"nodes: {' '.join(self.world.nodes)}"
                raise NotUnderstood(f"there is no node {node}", hint=offer)
        return direction

    def list_argument(self, kind: ListKind, values: list[object]) -> Fresh:
        """Each item of a list, converted by the kind of its items."""
        return Fresh([self.value(kind.item, value) for value in values])

    def boolean_argument(self, _kind: BooleanKind, value: object) -> bool:
        """True or False; a number is True unless it is 0."""
        return bool(value)

    def record_argument(self, kind: RecordKind, given: dict[str, Any] | int) -> object:
        """The record made of the given fields; an integer is its short form."""
        if isinstance(given, int):
            assert kind.short is not None
            assert kind.short.number is not None
            return kind.short.number(given)
        fields: dict[str, object] = {}
        for spread in kind.spreads:
            if spread.key in given:
                fields.update(self._convert(spread, given[spread.key]))
        kinds = _kinds_of(kind)
        for name, value in given.items():
            if (field := kinds.get(name)) is not None:
                as_it_is = value and type(value) is int and type(field) is IntegerKind
                fields[name] = value if as_it_is else self.value(field, value)
        make = getattr(kind.record, "from_given", None)  # it asks what was not given
        return kind.record(**fields) if make is None else make(fields)


_KINDS: dict[type, dict[str, ArgumentKind]] = {}


def _kinds_of(kind: RecordKind) -> dict[str, ArgumentKind]:
    """The kinds of a record's fields by name (cached; some have thirty fields)."""
    if kind.record not in _KINDS:
        _KINDS[kind.record] = {field.name: field.kind for field in kind.fields}
    return _KINDS[kind.record]


_BINDERS: dict[type[ArgumentKind], Callable[[Binder, Any, Any], object]] = {
    ThingKind: Binder.thing_argument,
    NewKind: Binder.new_argument,
    EnumKind: Binder.enum_argument,
    DirectionKind: Binder.direction_argument,
    ListKind: Binder.list_argument,
    BooleanKind: Binder.boolean_argument,
    RecordKind: Binder.record_argument,
}
