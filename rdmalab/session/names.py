"""Names: `A.qp0` ↔ object. A name outlives its object, so that use after destroy is detected."""

from collections.abc import Iterable
from itertools import count

from rdmalab.command import Noun, Thing
from rdmalab.world.relations import exists
from rdmalab.world.world import World


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
