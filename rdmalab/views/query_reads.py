"""Whether the last event may have changed the value of an expression.

A condition is asked after each event, and most events are packets that do not concern it. After an
event of one node (a packet arrives or leaves, a timer fires, a thread posts or polls) only objects
of that node can have changed, and a field that UNMOVED lists only if the event left another record
than the kinds there. Whatever is not known here is asked again: after a command or a fault
everything, of a node without such an entry every field.
"""

from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.grammar.functions import is_of_kind
from rdmalab.grammar.nodes import WORLD, Index, Node, Path
from rdmalab.grammar.trees import paths
from rdmalab.session.names import Names
from rdmalab.spec.records import KINDS, Kind, Record, event_of, kind_of, object_of
from rdmalab.views import query_fields
from rdmalab.views.query_fields import field_hints
from rdmalab.views.transit_effects import PACKETS
from rdmalab.world.world import World

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
            if event_of(record) != event:
                return False
            if kind_of(record) not in unmoved and _is_about(record, thing):
                return True
        return False

    def _moves_elsewhere(self, read: _Read) -> bool:
        """Whether a fact of the world, or an object of another node, can have changed."""
        if read.root not in _ROOTS:  # a program may go on after an event of another node
            thing = self._names.thing_of.get(read.name)
            return (read.kind if thing is None else thing.noun) is Noun.PROGRAM
        kinds, event = _OF_ROOT.get(read.root), self._trace.event
        newest = takewhile(lambda record: event_of(record) == event, reversed(self._trace.tail))
        return kinds is None or any(kind_of(record) in kinds for record in newest)


def _may_move_at(read: _Read, local: str) -> bool:
    """Whether an event of this node alone may move what is read, whatever the name stands for."""
    if read.root == local or read.root in _ROOTS:
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
    noun = KINDS[kind_of(record)].noun
    return thing is None or noun != thing.noun or object_of(record) == thing.number


_EVERY = frozenset(Kind)
_ROOTS = frozenset({*WORLD, *query_fields.FACTS})
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
