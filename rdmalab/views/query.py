"""Answers: paths such as `A.qp0.sq.used`, and calls such as `wire.count(…)`, by walking rows."""

from collections.abc import Callable, Collection, Mapping
from types import SimpleNamespace

from rdmalab.command import Noun, Thing
from rdmalab.grammar.answers import Unknown, is_same
from rdmalab.grammar.hints import quoted, suggest
from rdmalab.grammar.nodes import Index, Path
from rdmalab.hca.mr import MemoryRegion
from rdmalab.session.names import Names
from rdmalab.spec.records import Kind, Record, cqe_of, kind_of, node_of, object_of
from rdmalab.views import calls, completions, memory, packet_facts, query_fields
from rdmalab.views.aggregates import Aggregates
from rdmalab.views.query_fields import FieldRow, Fold, Listing, continuations, fields
from rdmalab.views.row_fields import PathStep, field_hints, walk
from rdmalab.world.relations import exists
from rdmalab.world.world import World

MOST_BYTES = 65_536
_ROOTS = {root for root, _ in query_fields.WORLD}

__all__ = ["FieldRow", "QueryContext", "continuations", "fields"]


class QueryContext:
    """Answers the grammar's questions about one world; `more`: further calls, such as `why`."""

    def __init__(
        self,
        world: World,
        names: Names,
        more: Mapping[str, Callable[[list[object], dict[str, object]], object]] | None = None,
    ) -> None:
        self.world = world
        self.names = names
        self.more = more or {}
        self.folds = Aggregates()

    # ------------------------------------------------------------------ fields
    def field(self, path: Path) -> object:
        """The value at a path; Unknown where there is no such thing."""
        first, *rest = path.steps
        if first in query_fields.FACTS and not rest:
            return query_fields.FACTS[str(first)][1](self.world)
        if first in _ROOTS:
            return self._of_world(str(first), rest, path)
        if first in self.world.nodes:
            return self._of_node(str(first), rest, path)
        raise Unknown(f"nothing is called {quoted(str(first))}", suggest(str(first), self._known()))

    def _known(self) -> list[str]:
        return [*self.names.all(), *self.world.nodes, *query_fields.FACTS, *_ROOTS]

    def _of_world(self, root: str, rest: list[PathStep], path: Path) -> object:
        names = [second for first, second in query_fields.WORLD if first == root]
        if not rest or (sight := query_fields.WORLD.get((root, str(rest[0])))) is None:
            wanted = str(rest[0]) if rest else root
            raise Unknown(f"{path} is not a value", suggest(wanted, [f"{root}.{n}" for n in names]))
        row = sight.look(self.world, self.names)
        return walk(row, sight.row, rest[1:], f"{root}.{names[0]}")

    def _of_node(self, node: str, rest: list[PathStep], path: Path) -> object:
        if not rest or isinstance(rest[0], Index):
            raise Unknown(f"{path} is a node, not a value", f"write {node}.port.state")
        name = f"{node}.{rest[0]}"
        if (sight := query_fields.PARTS.get(rest[0])) is not None:
            row = sight.look(self.world, node, self.folds)
            return walk(row, sight.row, rest[1:], name)
        return self._of_thing(self.thing(name), rest[1:], name)

    def thing(self, name: str) -> Thing:
        """The thing of this name; Unknown if there is none, or it was destroyed."""
        thing = self.names.find(name)
        if thing is None:
            raise Unknown(f"nothing is called {quoted(name)}", suggest(name, self.names.all()))
        if not exists(self.world, thing):
            raise Unknown(f"{name} was destroyed", suggest(name, self._alive(name)))
        return thing

    def _alive(self, but: str) -> list[str]:
        found = ((name, self.names.find(name)) for name in self.names.all() if name != but)
        return [name for name, thing in found if thing and exists(self.world, thing)]

    def _of_thing(self, thing: Thing, rest: list[PathStep], name: str) -> object:
        noun, first = thing.noun, rest[0] if rest else ""
        if isinstance(first, Index):
            if noun is Noun.MR:
                return self._octets(thing, rest, name)
        elif first in query_fields.FIRSTS[noun]:
            if (listing := query_fields.LISTS.get((noun, first))) is not None:
                return self._listed(thing, rest, name, listing)
            dotted = ".".join(map(str, rest))
            if (fold := query_fields.FOLDS.get((noun, dotted))) is not None:
                return self._folded(thing, dotted, fold)
        sight = query_fields.OBJECTS[noun]
        row: object
        if sight.field is not None and isinstance(first, str) and first in field_hints(sight.row):
            row = SimpleNamespace(**{first: sight.field(self.world, self.names, thing, first)})
        else:
            row = sight.look(self.world, self.names, thing)
        return walk(row, sight.row, rest, name, query_fields.ALSO[noun])

    def _octets(self, thing: Thing, rest: list[PathStep], name: str) -> bytes | int:
        index = rest[0]
        assert isinstance(index, Index)
        length: int = self.world.find(thing, MemoryRegion).length
        stop = index.start + 1 if index.stop is None else index.stop
        if len(rest) > 1:
            raise Unknown(f"bytes have no {quoted(str(rest[1]))}", f"write {name}{index}")
        if not 0 <= index.start <= stop <= length:
            raise Unknown(f"{name} has {length} bytes", f"write {name}[0:{min(length, 64)}]")
        if stop - index.start > MOST_BYTES:
            raise Unknown("too many bytes at once", f"at most {MOST_BYTES}")
        octets = memory.octets(self.world, thing, index.start, stop)
        return octets[0] if index.stop is None else octets

    def _listed(self, thing: Thing, rest: list[PathStep], name: str, listing: Listing) -> object:
        word = str(rest[0])
        if len(rest) < 2 or not isinstance(rest[1], Index):
            raise Unknown(f"which {word} of {name}?", f"write {name}.{word}[0]")
        row = listing.look(self.world, self.names, thing, rest[1].start)
        where = f"{name}.{word}{rest[1]}"
        if row is None and listing.missing:
            raise Unknown(f"{where}: {listing.missing.format(rest[1].start)}", f"show {name}")
        return walk(row, listing.row, rest[2:], where)

    def _folded(self, thing: Thing, dotted: str, fold: Fold) -> object:
        def step(so_far: object, record: Record) -> object:
            return fold.step(thing, so_far, record)

        trace = self.world.trace
        return fold.result(self.folds.value((thing, dotted), trace, lambda: fold.first, step))

    # ------------------------------------------------------------------ calls
    def call(self, path: Path, positional: list[object], keywords: dict[str, object]) -> object:
        """The answer of a call; Unknown where there is no such call."""
        name = str(path)
        if name in self.more:
            return self.more[name](positional, keywords)
        if positional:
            raise Unknown(f"{name}() takes key=value only", f"write {name}(key=value)")
        match path.steps:
            case ("wire", "count"):
                return self._sent(keywords)
            case ("wire", "any"):
                return self._sent(keywords) > 0
            case ("log", "count"):
                return self._called(keywords)
            case ("log", "any"):
                return self._called(keywords) > 0
            case (str(node), str(thing), "total"):
                return self._completed(self.thing(f"{node}.{thing}"), keywords)
        legal = [row.path.partition("(")[0] for row in query_fields.CALLS] + list(self.more)
        raise Unknown(f"{name} cannot be called", suggest(name, legal))

    def _sent(self, wanted: dict[str, object]) -> int:
        _check_keys("wire", wanted, query_fields.WIRE_KEYS)
        for key in ("from", "to", "source", "target"):
            _check_word(wanted, key, self.world.nodes)

        def step(count: int, record: Record) -> int:
            return count + packet_facts.matches(self.world, self.names, record, wanted)

        return self._count("wire", wanted, step)

    def _called(self, wanted: dict[str, object]) -> int:
        _check_keys("log", wanted, query_fields.LOG_KEYS)
        if isinstance(verb := wanted.get("verb"), str):
            wanted = {**wanted, "verb": type(verb)(verb.removeprefix("ibv_"))}
        _check_word(wanted, "node", self.world.nodes)
        return self._count("log", wanted, lambda n, record: n + calls.matches(record, wanted))

    def _completed(self, thing: Thing, wanted: dict[str, object]) -> int:
        name = self.names.of(thing)
        if thing.noun is not Noun.CQ:
            raise Unknown(f"{name} is not a CQ", suggest(name, self.names.all(Noun.CQ)))
        _check_keys(f"{name}.total", wanted, query_fields.WC_KEYS)
        hca = self.world.nodes[thing.node]

        def step(count: int, record: Record) -> int:
            if not _is_cqe_of(record, thing):
                return count
            row = completions.wc_row(hca, self.names, cqe_of(record))
            return count + all(is_same(getattr(row, key), value) for key, value in wanted.items())

        return self._count(thing, wanted, step)

    def _count(
        self, what: str | Thing, wanted: dict[str, object], step: Callable[[int, Record], int]
    ) -> int:
        key = (what, *((k, type(v).__name__, v) for k, v in wanted.items()))
        return self.folds.value(key, self.world.trace, int, step)


def _is_cqe_of(record: Record, thing: Thing) -> bool:
    return kind_of(record) is Kind.CQE_ADDED and (
        (node_of(record), object_of(record)) == (thing.node, thing.number)
    )


def _check_keys(name: str, wanted: dict[str, object], legal: tuple[str, ...]) -> None:
    for key in wanted:
        if key not in legal:
            raise Unknown(f"{name} has no {quoted(key)}", suggest(key, legal))


def _check_word(wanted: dict[str, object], key: str, legal: Collection[str]) -> None:
    """A word that could never match is a mistake, not a no."""
    value = wanted.get(key)
    if isinstance(value, str) and value not in legal:
        raise Unknown(f"no {key} is called {quoted(value)}", suggest(value, legal))
