"""Answers: paths such as `A.qp0.sq.used`, and calls such as `wire.count(…)`, by walking rows.

Whether the last event may have changed the value of an expression. A condition is asked after each
event, and most events are packets that do not concern it. After an event of one node (a packet
arrives or leaves, a timer fires, a thread posts or polls) only objects of that node can have
changed, and a field that UNMOVED lists only if the event left another record than the kinds there.
Whatever is not known here is asked again: after a command or a fault everything, of a node without
such an entry every field.
"""

from collections.abc import Callable, Collection, Mapping
from itertools import takewhile
from types import SimpleNamespace
from typing import NamedTuple

from rdmalab.command import Moment, Noun, Thing
from rdmalab.grammar.answers import Unknown, fits, plain
from rdmalab.grammar.hints import quoted, suggest
from rdmalab.grammar.nodes import NOUN_WORDS, SINCE, WORLD, Index, Node, Path, is_of_kind
from rdmalab.grammar.trees import paths
from rdmalab.hca.objects import MemoryRegion
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.records import KINDS, Kind, Record
from rdmalab.spec.row import dataclass
from rdmalab.views import calls, completions, memory, packets, query_fields
from rdmalab.views.counters import Aggregates
from rdmalab.views.query_fields import (
    FieldRow,
    Fold,
    Listing,
    PathStep,
    continuations,
    field_hints,
    fields,
    walk,
)
from rdmalab.views.query_types import check_filters, not_callable
from rdmalab.views.transit_effects import PACKETS
from rdmalab.world.relations import exists
from rdmalab.world.world import World

MOST_BYTES = 65_536
_ROOTS = {root for root, _ in query_fields.WORLD}

__all__ = ["FieldRow", "QueryContext", "continuations", "fields"]


class QueryContext:
    """Answers the grammar's questions about one world.

    more: further calls, such as `why`. marks: the event of a checkpoint such as `@ready`.
    """

    def __init__(
        self,
        world: World,
        names: Names,
        more: Mapping[str, Callable[[list[object], dict[str, object]], object]] | None = None,
        marks: Callable[[str], int] | None = None,
    ) -> None:
        self.world = world
        self.names = names
        self.more = more or {}
        self.marks = marks
        self.checked: set[object] = set()  # filters whose values were found to be possible
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
        known = [*self.names.all(), *self.world.nodes, *query_fields.FACTS, *_ROOTS]
        raise Unknown(f"nothing is called {quoted(str(first))}", suggest(str(first), known))

    def _of_world(self, root: str, rest: list[PathStep], path: Path) -> object:
        names = [second for first, second in query_fields.WORLD if first == root]
        if not rest or (sight := query_fields.WORLD.get((root, str(rest[0])))) is None:
            wanted = str(rest[0]) if rest else root
            raise Unknown(f"{path} is not a value", suggest(wanted, [f"{root}.{n}" for n in names]))
        row = sight.row_of(self.world, self.names)
        return walk(row, sight.row, rest[1:], f"{root}.{names[0]}")

    def _of_node(self, node: str, rest: list[PathStep], path: Path) -> object:
        if not rest or isinstance(rest[0], Index):
            raise Unknown(f"{path} is a node, not a value", f"write {node}.port.state")
        name = f"{node}.{rest[0]}"
        if (sight := query_fields.PARTS.get(rest[0])) is not None:
            row = sight.row_of(self.world, node, self.folds)
            return walk(row, sight.row, rest[1:], name)
        return self._of_thing(self.thing(name), rest[1:], name)

    def thing(self, name: str) -> Thing:
        """The thing of this name; Unknown if there is none, or it was destroyed."""
        thing = self.names.find(name)
        if thing is None:
            word = name.partition(".")[2]
            hint = f"write any({name}.… == …) or {name}0" if word in NOUN_WORDS else ""
            hint = hint or self.names.hint(name, self.names.all())
            raise Unknown(f"nothing is called {quoted(name)}", hint)
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
            row = sight.row_of(self.world, self.names, thing)
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
        word, index = str(rest[0]), query_fields.index_of(rest, name)
        where = f"{name}.{word}{index}"
        if listing.times and rest[2:] and rest[2] in completions.FIELDS:
            return self._time(thing, word, rest, where, listing)
        row = listing.row_of(self.world, self.names, thing, index.start)
        if row is None and listing.missing:
            raise Unknown(f"{where}: {listing.missing.format(index.start)}", f"show {name}")
        return walk(row, listing.row, rest[2:], where, listing.also)

    def _time(
        self, thing: Thing, word: str, rest: list[PathStep], where: str, listing: Listing
    ) -> int | None:
        """`posted_ns` and `completed_ns`, which the log knows after the slot is free."""
        number, field = rest[1], str(rest[2])
        assert isinstance(number, Index)
        if rest[3:]:
            raise Unknown(f"{where}.{field} has no fields", f"write {where}.{field}")
        times = self.folds.value(
            "work", self.world.trace, completions.WorkTimes, completions.WorkTimes.with_record
        )
        if (time := times.of(thing, word, number.start)) is None:
            raise Unknown(
                f"{where}: {listing.missing.format(number.start)}", f"show {self.names.of(thing)}"
            )
        value: int | None = getattr(time, field)
        return value

    def _folded(self, thing: Thing, dotted: str, fold: Fold) -> object:
        def step(so_far: object, record: Record) -> object:
            return fold.step(thing, so_far, record)

        trace = self.world.trace
        return fold.result(self.folds.value((thing, dotted), trace, lambda: fold.first, step))

    # ------------------------------------------------------------------ calls
    def members(self, node: str, noun: str) -> list[str]:
        """The names of all living objects of a kind on a node, oldest first."""
        if node not in self.world.nodes:
            raise Unknown(f"no node is called {quoted(node)}", suggest(node, self.world.nodes))
        return [self.names.of(thing) for thing in self.names.living(self.world, Noun(noun), node)]

    def call(self, path: Path, positional: list[object], keywords: dict[str, object]) -> object:
        """The answer of a call; Unknown where there is no such call."""
        name = str(path)
        if name in self.more:
            return self.more[name](positional, keywords)
        if positional:
            raise Unknown(f"{name}() takes key=value only", f"write {name}(key=value)")
        match path.steps:
            case ("wire" | "log" as root, "count"):
                return self._counted(root, keywords)
            case ("wire" | "log" as root, "any"):
                return self._counted(root, keywords) > 0
            case (str(node), str(thing), "total"):
                return self._completed(self.thing(f"{node}.{thing}"), keywords)
        if not path.is_single:
            raise not_callable(path)
        legal = [row.path.partition("(")[0] for row in query_fields.CALLS] + list(self.more)
        raise Unknown(f"{name} cannot be called", suggest(name, legal))

    def _counted(self, root: str, wanted: dict[str, object]) -> int:
        """Packets, or calls of verbs."""
        if isinstance(verb := wanted.get("verb"), str):
            wanted = {**wanted, "verb": type(verb)(verb.removeprefix("ibv_"))}
        for key in ("from", "to", "source", "target", "node"):
            _check_word(wanted, key, self.world.nodes)
        if root == "log":
            return self._count(root, root, wanted, calls.matches)

        def matches(record: Record, filters: Mapping[str, object]) -> bool:
            return packets.matches(self.world, self.names, record, filters)

        return self._count(root, root, wanted, matches)

    def _completed(self, thing: Thing, wanted: dict[str, object]) -> int:
        name = self.names.of(thing)
        if thing.noun is not Noun.CQ:
            raise Unknown(f"{name} is not a CQ", suggest(name, self.names.all(Noun.CQ)))
        hca = self.world.nodes[thing.node]

        def matches(record: Record, filters: Mapping[str, object]) -> bool:
            if not _is_cqe_of(record, thing):
                return False
            row = completions.wc_row(hca, self.names, rec.cqe_of(record))
            return all(fits(getattr(row, key), value) for key, value in filters.items())

        return self._count("total", thing, wanted, matches)

    def _count(
        self,
        of: str,
        what: str | Thing,
        wanted: dict[str, object],
        matches: Callable[[Record, Mapping[str, object]], bool],
    ) -> int:
        """Number of records that pass the filters, since a moment if they name one."""
        since = wanted.get(SINCE)
        filters = {key: value for key, value in wanted.items() if key != SINCE}
        key = (what, *((k, type(plain(v)).__name__, v) for k, v in filters.items()))
        if key not in self.checked:
            check_filters(of, str(what) if what == of else f"{self.names.of(what)}.{of}", filters)  # type: ignore[arg-type]
            self.checked.add(key)
        after, least = self._moment(since) if isinstance(since, Moment) else (rec.event_of, -2)

        def step(count: int, record: Record) -> int:
            return count + (after(record) > least and matches(record, filters))

        return self.folds.value((*key, after, least), self.world.trace, int, step)

    def _moment(self, moment: Moment) -> tuple[Callable[[Record], int], int]:
        """Accessor of a record, and the number above which the record is later than the moment."""
        if moment.at_ns is not None:
            return rec.at_ns_of, moment.at_ns
        if moment.event is not None:
            return rec.event_of, moment.event
        if self.marks is None:
            raise Unknown(f"{moment.mark} is not known here", "write since=10us")
        return rec.event_of, self.marks(moment.mark)


def _is_cqe_of(record: Record, thing: Thing) -> bool:
    return rec.kind_of(record) is Kind.CQE_ADDED and (
        (rec.node_of(record), rec.object_of(record)) == (thing.node, thing.number)
    )


def _check_word(wanted: dict[str, object], key: str, legal: Collection[str]) -> None:
    """A word that could never match is a mistake, not a no."""
    value = plain(wanted.get(key))
    if isinstance(value, str) and value not in legal:
        noun = "node" if key in ("from", "to") else key
        raise Unknown(f"{quoted(value)} is no {noun}", suggest(value, legal))


_MOST_KEPT = 256  # expressions; a session has a few, each replay makes its own

_PASSING = frozenset({
    Kind.PACKET_SENT, Kind.PACKET_RECEIVED, Kind.PACKET_DROPPED, Kind.PACKET_LOST,
    Kind.PACKET_HARMED, Kind.PACKET_MARKED, Kind.PACKET_DELAYED, Kind.PACKET_HELD,
    Kind.PACKET_RELEASED, Kind.PACKET_COPIED, Kind.REQUEST_REFUSED, Kind.WQE_STARTED,
    Kind.WQE_COMPLETED, Kind.WENT_BACK, Kind.MEMORY_READ, Kind.TIMER_ARMED, Kind.TIMER_FIRED,
    Kind.PROGRAM_RAN, Kind.PROGRAM_WAITED, Kind.PROGRAM_WOKEN, Kind.PROGRAM_DONE, Kind.CALLED,
    Kind.REFUSED,
})  # fmt: skip
_TAKEN = frozenset({Kind.RECV_TAKEN, Kind.SLOTS_FREED})
_POSTED = frozenset({Kind.SEND_POSTED, Kind.RECV_POSTED, Kind.SRQ_POSTED})
_QUEUED = frozenset({Kind.CQE_ADDED, Kind.CQE_POLLED})
_CHANGES = _PASSING | _TAKEN | _POSTED | {Kind.MEMORY_WRITTEN}
_SENDS = _PASSING | _QUEUED | {Kind.MEMORY_WRITTEN, Kind.RECV_TAKEN, Kind.RECV_POSTED}
_RECEIVES = _PASSING | _QUEUED | {Kind.MEMORY_WRITTEN, Kind.SEND_POSTED}
_SET = ("state", "name", "timeout", "retry_cnt", "rnr_retry", "min_rnr_timer", "path_mtu")

# By noun and field, "" for all fields of the noun: the records that leave the value as it is.
UNMOVED: dict[tuple[Noun, str], frozenset[Kind]] = {
    (Noun.CQ, ""): _CHANGES,
    **{(Noun.QP, field): _CHANGES | _QUEUED for field in _SET},
    **{(Noun.QP, f"sq.{field}"): _SENDS for field in ("used", "free", "max_used", "posted")},
    **{(Noun.QP, f"rq.{field}"): _RECEIVES for field in ("used", "free", "max_used", "posted")},
    (Noun.SRQ, "count"): _PASSING | _QUEUED | {Kind.MEMORY_WRITTEN, Kind.SEND_POSTED},
    (Noun.MR, "[]"): _PASSING | _TAKEN | _POSTED | _QUEUED,
}


@dataclass(slots=True)
class _Read:
    """Path that an expression reads: a root of the world, or an object of a node.

    unmoved: the kinds of record that leave its field as it is, None where none is known to. kind:
    of a path such as `A.qp.state`, about all objects of a kind. thing: what the name stood for.
    """

    root: str
    name: str
    field: str
    unmoved: frozenset[Kind] | None
    kind: Noun | None = None
    thing: Thing | None = None


class _Question(NamedTuple):
    """An expression, and by node what an event of this node alone may move of it."""

    node: Node
    reads: tuple[_Read, ...]
    at: dict[str, tuple[_Read, ...]]


class Reads:
    """Of one session: expressions, and what each of them reads."""

    __slots__ = ("_kept", "_names", "_trace")

    def __init__(self, world: World, names: Names) -> None:
        self._trace = world.trace
        self._names = names
        # by identity, beside the tree itself, so that no other tree gets its identity
        self._kept: dict[int, _Question] = {}

    def may_change(self, node: Node) -> bool:
        """Whether the last event may have changed the value; True where that is not known."""
        local = self._trace.local
        if not local:
            return True
        kept = self._kept.get(id(node)) or self._keep(node)
        reads = kept.at.get(local)
        if reads is None:
            reads = kept.at[local] = tuple(r for r in kept.reads if _may_move_at(r, local))
        for read in reads:
            if self._moves(read) if read.root == local else self._moves_elsewhere(read):
                return True
        return False

    def _keep(self, node: Node) -> _Question:
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        kept = self._kept[id(node)] = _Question(node, tuple(map(_read, paths(node))), {})
        return kept

    def _moves(self, read: _Read) -> bool:
        """Whether a record of the last event concerns this field of an object of its node."""
        thing = self._names.thing_of.get(read.name)
        if thing is not read.thing:
            _resolve(read, thing)
        if (unmoved := read.unmoved) is None:
            return True
        event = self._trace.event
        for record in reversed(self._trace.tail):
            if rec.event_of(record) != event:
                return False
            if rec.kind_of(record) not in unmoved and _is_about(record, thing):
                return True
        return False

    def _moves_elsewhere(self, read: _Read) -> bool:
        """Whether a fact of the world, or an object of another node, can have changed."""
        if read.root not in _ALWAYS_THERE:  # a program may go on after an event of another node
            thing = self._names.thing_of.get(read.name)
            return (read.kind if thing is None else thing.noun) is Noun.PROGRAM
        kinds, event = _OF_ROOT.get(read.root), self._trace.event
        newest = takewhile(lambda record: rec.event_of(record) == event, reversed(self._trace.tail))
        return kinds is None or any(rec.kind_of(record) in kinds for record in newest)


def _may_move_at(read: _Read, local: str) -> bool:
    """Whether an event of this node alone may move what is read, whatever the name stands for."""
    if read.root == local or read.root in _ALWAYS_THERE:
        return True
    return read.field.partition(".")[0] in field_hints(query_fields.OBJECTS[Noun.PROGRAM].row)


def _resolve(read: _Read, thing: Thing | None) -> None:
    """Note what a name stands for; without an object nothing moves until a command makes one."""
    read.thing = thing
    if thing is not None and read.kind is not None:  # its name is the word for a kind: ask
        read.unmoved = None
    elif thing is not None:
        read.unmoved = UNMOVED.get((thing.noun, read.field)) or UNMOVED.get((thing.noun, ""))


def _is_about(record: Record, thing: Thing | None) -> bool:
    """Whether a record may say something about this object: not if it is about another one."""
    noun = KINDS[rec.kind_of(record)].noun
    return thing is None or noun != thing.noun or rec.object_of(record) == thing.number


_EVERY = frozenset(Kind)
_ALWAYS_THERE = frozenset({*WORLD, *query_fields.FACTS})
_OF_ROOT: dict[str, tuple[Kind, ...]] = {"wire": PACKETS, "log": (Kind.CALLED,)}


def _read(path: Path) -> _Read:
    root, *rest = path.steps
    name = f"{root}.{rest[0]}" if rest else ""
    first = rest[1:2]
    field = "[]" if first and isinstance(first[0], Index) else ".".join(map(str, rest[1:]))
    if field.endswith("left_ns"):
        return _Read("now", "", field, None)
    if is_of_kind(path):
        noun = Noun(str(rest[0]))
        unmoved = UNMOVED.get((noun, field)) or UNMOVED.get((noun, ""))
        return _Read(str(root), name, field, unmoved, noun)
    is_part = bool(rest) and rest[0] in query_fields.PARTS
    return _Read(str(root), name, field, unmoved=None if is_part else _EVERY)
