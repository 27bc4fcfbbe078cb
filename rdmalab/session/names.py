"""Names: `A.qp0` ↔ object, and arguments bound: names become objects, dicts become records.

A name outlives its object, so that use after destroy is detected. Arguments are bound before the
event begins, so that an unknown name is *not understood* and nothing happened.
"""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from itertools import count
from typing import Any

from rdmalab.command import (
    Command,
    Direction,
    FieldGroup,
    Fresh,
    Invocation,
    New,
    NotUnderstood,
    Noun,
    Ref,
    RefShorthand,
    Refused,
    Region,
    Thing,
    kinds,
)
from rdmalab.grammar.hints import suggest, world_hint
from rdmalab.world.relations import exists
from rdmalab.world.world import World

_BEGIN = "begin with: use rc_pair"
_MADE_BY = {
    Noun.PD: "alloc_pd A.pd0",
    Noun.MR: "reg_mr A.mr0 pd=A.pd0 length=4096 access=LOCAL_WRITE",
    Noun.CQ: "create_cq A.cq0 cqe=16",
    Noun.QP: "create_qp A.qp0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0",
    Noun.CHANNEL: "create_comp_channel A.ch0",
    Noun.TD: "alloc_td A.td0",
    Noun.FLOW: "create_flow B.flow0 qp=B.qp0 dst_mac=B",
    Noun.AH: "create_ah A.ah0 pd=A.pd0 to=B",
    Noun.SRQ: "create_srq A.srq0 pd=A.pd0 max_wr=16",
    Noun.XRCD: "open_xrcd A.xrcd0 oflag=O_CREAT",
    Noun.MW: "alloc_mw A.mw0 pd=A.pd0 type=TYPE_2",
    Noun.PROGRAM: "program A.tx lines={…}; help program",
}
"""A line that makes an object of each kind, where there is none."""


class Names:
    """Names and objects in both directions, in the order of creation."""

    __slots__ = ("name_of", "retired", "thing_of")

    def __init__(self, nodes: Iterable[str]) -> None:
        self.thing_of: dict[str, Thing] = {}
        self.name_of: dict[Thing, str] = {}
        self.retired: set[str] = set()
        for node in nodes:
            self.give(node, Thing(Noun.NODE, node, 0))

    def give(self, name: str, thing: Thing) -> None:
        """Name a new object; the name of a destroyed object may be used again."""
        self.thing_of[name] = thing
        self.name_of[thing] = name
        self.retired.discard(name)

    def retire(self, thing: Thing) -> None:
        """Mark an object as destroyed; its name still refers to it."""
        if thing in self.name_of:
            self.retired.add(self.name_of[thing])

    def retire_destroyed(self, world: World) -> None:
        """Mark the objects that faults have destroyed."""
        while world.destroyed_by_fault:
            self.retire(world.destroyed_by_fault.pop())

    @property
    def counts(self) -> tuple[int, int, int]:
        """The numbers of names; while they stay equal, no name has changed."""
        return len(self.thing_of), len(self.name_of), len(self.retired)

    def find(self, name: str) -> Thing | None:
        """The object of a name, existing or destroyed; None if the name was never given."""
        return self.thing_of.get(name)

    def of(self, thing: Thing) -> str:
        """The name of an object; a description if it has none."""
        if name := self.name_of.get(thing):
            return name
        number = f"{thing.number:#x}" if thing.noun is Noun.QP else thing.number
        return f"{thing.node}.{thing.noun}#{number}"

    def is_free(self, name: str) -> bool:
        """True if a new object may take the name: it is unused, or its object is destroyed."""
        return name not in self.thing_of or name in self.retired

    def first_free(self, stem: str) -> str:
        """The stem with the lowest number that is free: `A.ah` gives `A.ah0`."""
        return next(name for n in count() if self.is_free(name := f"{stem}{n}"))

    def living(self, world: World, noun: Noun | None = None, node: str = "") -> list[Thing]:
        """All things of a noun that exist, of one node or of all, oldest first."""
        found = (self.thing_of[name] for name in self.all(noun))
        return [it for it in found if node in ("", it.node) and exists(world, it)]

    def all(self, noun: Noun | None = None) -> list[str]:
        """Names of all existing objects of a noun, oldest first."""
        return [
            name
            for name, thing in self.thing_of.items()
            if name not in self.retired and noun in (None, thing.noun)
        ]

    @property
    def is_empty(self) -> bool:
        """Whether there are only nodes."""
        return all(self.thing_of[name].noun is Noun.NODE for name in self.all())

    def way_to(self, noun: Noun | None = None) -> str:
        """A hint what to type to get the first object of a noun; None: the first at all."""
        if noun is Noun.PD and self.is_empty:  # with it one begins by hand
            return f"type: {_MADE_BY[noun]}, or use rc_pair"
        return _BEGIN if noun is None or self.is_empty else f"type: {_MADE_BY[noun]}"

    def hint(self, unknown: str, among: Iterable[str]) -> str:
        """A hint for a name that nothing has: how to begin, or the most similar of these names."""
        return self.way_to() if self.is_empty else suggest(unknown, among)


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
        given, name = invocation.arguments, ""
        bound: dict[str, object] = {}
        bindings = _COMMANDS.get(command.function) or _bindings_of(command)
        try:
            for name, binding in bindings:
                if name in given:
                    bound[name] = binding(self, given[name])
        except NotUnderstood as error:
            error.argument = error.argument or name
            raise
        return bound

    def value(self, kind: kinds.ArgumentKind, value: object) -> Any:
        """One argument, converted by its kind."""
        return binding_of(kind)(self, value)

    def thing(self, ref: Ref, noun: Noun | None, also: tuple[Noun, ...] = ()) -> Thing:
        """The object of a name, existing or destroyed; its noun is `noun` or one of `also`."""
        name = f"{ref.node}.{ref.name}" if ref.name else ref.node
        thing = self.names.thing_of.get(name)
        if thing is None:
            raise NotUnderstood(f"nothing is called {name}", ref.place, self._offer(name, noun))
        if noun is not None and thing.noun is not noun and thing.noun not in also:
            message = f"{name} is {_NOUNS[thing.noun]}, not {_NOUNS[noun]}"
            raise NotUnderstood(message, ref.place, self._offer(name, noun))
        return thing

    def _offer(self, name: str, noun: Noun | None) -> str:
        if hint := world_hint(name):
            return hint
        living = self.names.all(noun)
        close = get_close_matches(name, living, 1, 0.6)
        if close:
            return f"did you mean {close[0]}?"
        if living and (noun is Noun.NODE or not self.names.is_empty):
            return f"there is: {' '.join(living)}"
        how = self.names.way_to(noun)
        return f"there is not yet {_NOUNS[noun]}; {how}" if noun else how

    def field(self, kind: kinds.ArgumentKind, short: RefShorthand, ref: Ref) -> int:
        """`mr->lkey`, `mr->addr + 8`: a field of a region or window, as a C program reads it."""
        thing = self.thing(ref, short.noun, (Noun.MR, Noun.MW))
        found: int | None = getattr(self.world.find(thing, object), ref.part, None)
        if found is None:
            message = f"{self.names.of(thing)} has no {ref.part}"
            raise NotUnderstood(message, ref.place, f"write {self.names.of(thing)}.rkey")
        value = found + (ref.start or 0)
        if isinstance(kind, kinds.IntegerKind) and kind.bits and value >> kind.bits.width:
            message = f"{ref} is {value:#x}, which does not fit in {kind.bits.width} bits"
            raise NotUnderstood(message, ref.place, f"write {ref.node}.{ref.name}.rkey")
        return value

    def convert(self, how: RefShorthand | FieldGroup, ref: Ref) -> Any:
        """The value or the fields that a name stands for."""
        thing = self.thing(ref, how.noun, how.also)
        try:
            return how.convert(self.world, thing, ref.start, ref.stop)
        except Refused as gone:
            gone.message = gone.message.replace(f"this {thing.noun}", self.names.of(thing))
            gone.place = ref.place
            raise

    # ------------------------------------------------------------------ what is rarely bound
    def new_argument(self, kind: kinds.NewKind, new: New) -> New:
        """The name of an object to create; raises NotUnderstood if it is in use."""
        name = str(new)
        if new.node not in self.world.nodes:
            offer = f"nodes: {' '.join(self.world.nodes)}"
            raise NotUnderstood(f"there is no node {new.node}", new.place, offer)
        if not self.names.is_free(name):
            other = self.names.first_free(f"{new.node}.{kind.noun}")
            taken = self.names.find(name)
            if taken is not None and taken.noun is not kind.noun:
                wrong = f"{name} is {_NOUNS[taken.noun]}, no name for {_NOUNS[kind.noun]}"
                raise NotUnderstood(wrong, new.place, f"the name comes first: {other}")
            raise NotUnderstood(f"{name} exists already", new.place, f"free: {other}")
        return new

    def enum_argument(self, kind: kinds.EnumKind, value: int) -> int:
        """A number without a member stays a number; the device checks it."""
        try:
            return kind.enum(value)
        except ValueError:
            return value

    def direction_argument(self, _kind: kinds.DirectionKind, direction: Direction) -> Direction:
        """Both nodes of a direction, unchanged; raises NotUnderstood if one is missing."""
        for node in direction:
            if node not in self.world.nodes:
                offer = f"nodes: {' '.join(self.world.nodes)}"
                raise NotUnderstood(f"there is no node {node}", hint=offer)
        return direction

    def boolean_argument(self, _kind: kinds.BooleanKind, value: object) -> bool:
        """True or False; a number is True unless it is 0."""
        return bool(value)


# ------------------------------------------------------------------ one binding a kind
Binding = Callable[[Binder, Any], Any]
"""The binding of values of one kind. It is made once, so that binding looks up no kinds."""


def binding_of(kind: kinds.ArgumentKind) -> Binding:
    """The binding of a kind."""
    return _BINDINGS.get(type(kind), _plain_binding)(kind)


def _special_binding(kind: kinds.ArgumentKind) -> Binding:
    """The binding of NULL, of a pointer that is 0, or of a short form."""
    short, pointer = kind.short, kind.pointer

    def bind(binder: Binder, value: Ref | int | None) -> object:
        if isinstance(value, Ref):
            if short is None:
                raise NotUnderstood(f"{value} is a name; a value is required here", value.place)
            return binder.field(kind, short, value) if value.part else binder.convert(short, value)
        if value is None or (pointer and not value):
            return None
        assert short is not None
        assert short.number is not None
        return short.number(value)

    return bind


def _plain_binding(kind: kinds.ArgumentKind) -> Binding:
    """Values that stay as they are, or that a method of the binder takes."""
    special, pointer, convert = _special_binding(kind), kind.pointer, _METHODS.get(type(kind))

    def bind(binder: Binder, value: object) -> object:
        if value is None or type(value) is Ref or (pointer and type(value) is int and not value):
            return special(binder, value)
        return value if convert is None else convert(binder, kind, value)

    return bind


def _thing_binding(kind: kinds.ThingKind) -> Binding:
    """The object of a name, or a Region of its bytes; raises NotUnderstood if unknown."""
    noun, ranged, special = kind.noun, kind.ranged, _special_binding(kind)

    def bind(binder: Binder, ref: Ref) -> object:
        if type(ref) is not Ref:
            return special(binder, ref)
        thing = binder.thing(ref, noun)
        return Region(thing, ref.start, ref.stop) if ranged else thing

    return bind


def _list_binding(kind: kinds.ListKind) -> Binding:
    """Each item of a list, converted by the kind of its items."""
    item, special = binding_of(kind.item), _special_binding(kind)

    def bind(binder: Binder, values: list[object] | Ref | int | None) -> object:
        if values is None or isinstance(values, (int, Ref)):
            return special(binder, values)
        return Fresh([item(binder, value) for value in values])

    return bind


def _record_binding(kind: kinds.RecordKind) -> Binding:
    """The record made of the given fields."""
    spreads = sorted({spread.key: spread for spread in kind.spreads}.items())
    special = _special_binding(kind)
    bindings = {field.name: binding_of(field.kind) for field in kind.fields}
    unchanged = {field.name: _unchanged(field.kind) for field in kind.fields}
    # from_given asks what was not given
    make = getattr(kind.record, "from_given", None) or (lambda fields: kind.record(**fields))

    def bind(binder: Binder, given: dict[str, Any]) -> object:
        if type(given) is not dict:
            return special(binder, given)
        fields: dict[str, object] = {}
        for key, spread in spreads:
            if key in given:
                fields.update(binder.convert(spread, given[key]))
        for name, value in given.items():
            if type(value) is unchanged.get(name):
                fields[name] = value
            elif (binding := bindings.get(name)) is not None:
                fields[name] = binding(binder, value)
        return make(fields)

    return bind


def _unchanged(kind: kinds.ArgumentKind) -> type | None:
    """The type whose values need no binding: to ask an enum takes as long as all the rest."""
    if isinstance(kind, kinds.EnumKind):
        return kind.enum
    return int if isinstance(kind, kinds.IntegerKind) and not kind.pointer else None


def _bindings_of(command: Command) -> tuple[tuple[str, Binding], ...]:
    """The bindings of the parameters of a command, from now on in _COMMANDS."""
    made = tuple((each.name, binding_of(each.kind)) for each in command.parameters)
    _COMMANDS[command.function] = made
    return made


_COMMANDS: dict[Callable[..., Any], tuple[tuple[str, Binding], ...]] = {}
_BINDINGS: dict[type[kinds.ArgumentKind], Callable[[Any], Binding]] = {
    kinds.ThingKind: _thing_binding,
    kinds.ListKind: _list_binding,
    kinds.RecordKind: _record_binding,
}
_METHODS: dict[type[kinds.ArgumentKind], Callable[[Binder, Any, Any], object]] = {
    kinds.NewKind: Binder.new_argument,
    kinds.EnumKind: Binder.enum_argument,
    kinds.DirectionKind: Binder.direction_argument,
    kinds.BooleanKind: Binder.boolean_argument,
}
