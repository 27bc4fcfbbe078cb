"""Snapshots of the world: a state of each object, and a copy of each page of memory.

A new state is taken only of objects that the trace has named since the last snapshot: each change
is recorded, so the trace names all changed objects. All others are shared with earlier snapshots.

No object is copied or created: a state keeps the object and its field values, so that all
references stay valid. Lists, dicts and deques are copied, immutable values are shared. A state
covers all parts that belong to the object alone, and stops at objects with a state of their own.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import is_dataclass
from enum import Enum
from operator import attrgetter
from typing import Any, cast

from rdmalab.command import Noun
from rdmalab.hca.attributes import AhAttr, Capacity
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.device import Hca
from rdmalab.hca.environment import Timer
from rdmalab.hca.memory import PAGE, Memory
from rdmalab.hca.objects import (
    AddressHandle,
    CompChannel,
    Flow,
    FlowAttr,
    FlowSpec,
    MemoryRegion,
    MemoryWindow,
    Numbered,
    ProtectionDomain,
    Table,
    ThreadDomain,
    XrcDomain,
)
from rdmalab.hca.qp import QueuePair, SharedReceiveQueue
from rdmalab.hca.wr import SGE, Buffer, Cqe, RecvWqe, RecvWR, SendWqe, SendWR, WildPointer
from rdmalab.spec.records import (
    Kind,
    Record,
    kind_of,
    new_state_of,
    node_of,
    objects_named,
    of_kinds,
    recv_wqe_of,
    send_wqe_of,
)
from rdmalab.spec.states import QPState
from rdmalab.wire import packet
from rdmalab.wire.frame import Frame
from rdmalab.world.event_queue import EventQueue
from rdmalab.world.network import Network
from rdmalab.world.programs import Program, Programs
from rdmalab.world.world import World

# An object and what its fields held, and so for each of its parts, by identity.
ObjectState = dict[int, tuple[object, list[object]]]

# They have a state of their own, or none: elsewhere they are only referred to.
# A deep copy of a small world takes milliseconds and megabytes; a snapshot of states is 60 times
# smaller, since most objects have not changed since the last one.
_THINGS = (
    Hca, Table, World, QueuePair, CompletionQueue, MemoryRegion, MemoryWindow, ProtectionDomain,
    SharedReceiveQueue, XrcDomain, CompChannel, ThreadDomain, Flow, AddressHandle, Program,
)  # fmt: skip
# Never changed after making, like all that is frozen.
_SHARED = (
    packet.Packet, packet.Flow, Frame, SendWqe, RecvWqe, Cqe, SGE, WildPointer, Buffer, SendWR,
    RecvWR, AhAttr, Capacity, FlowAttr, FlowSpec,
)  # fmt: skip
# What stands in states of its own, or in none: the time is set at every entry, and which timer is
# filed where follows from those that are armed.
_APART = {
    World: {"nodes", "trace"},
    EventQueue: {"timers", "trace"},
    Network: {"agenda", "nodes", "trace"},
    Timer: {"filed", "filed_ns"},
    Hca: {"trace", "network", "agenda", "now_ns"},
    Memory: {"pages", "reads"},
    Programs: {"carry_out", "holds", "touches"},
}

_LEAVES = (int, str, bytes, tuple, Enum, type(None))

_CONTENTS: dict[type, Callable[[object], tuple[object, ...]]] = {}
_NAMES: dict[type, tuple[str, ...]] = {}


# --------------------------------------------------------------------------- one object
def capture_object(thing: object, state: ObjectState | None = None) -> ObjectState:
    """The state of an object and of all parts that belong to it."""
    state = {} if state is None else state
    state[id(thing)] = (thing, held := [])  # before its parts, which may refer to it
    for value in _fields_of(type(thing))(thing):
        held.append(_kept(value, state))  # noqa: PERF401  (`state` must have it before its parts)
    return state


def restore_object(state: ObjectState) -> None:
    """Restore the fields of each object in the state."""
    for thing, held in state.values():
        for name, value in zip(_NAMES[type(thing)], held, strict=True):
            copy = _COPIES.get(type(value))
            setattr(thing, name, value if copy is None else copy(value))


def held_by(state: ObjectState, thing: object) -> dict[str, object]:
    """The values of the fields of one of its objects, by name."""
    _, held = state[id(thing)]
    return dict(zip(_NAMES[type(thing)], held, strict=True))


def _fields_of(cls: type) -> Callable[[object], tuple[object, ...]]:
    """Gets the values of all fields of an object of this class."""
    if cls not in _CONTENTS:
        slots = [name for base in cls.__mro__ for name in vars(base).get("__slots__", ())]
        names = tuple(name for name in slots if name not in _APART.get(cls, ()))
        _NAMES[cls] = names
        get = attrgetter(*names)
        _CONTENTS[cls] = get if len(names) > 1 else lambda thing: (get(thing),)
    return _CONTENTS[cls]


# --------------------------------------------------------------------------- one value
def _unknown(value: object, state: ObjectState) -> object:
    """A value of a type that is met for the first time."""
    cls = type(value)
    frozen = is_dataclass(cls) and cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    if frozen or issubclass(cls, (*_SHARED, *_THINGS, *_LEAVES)):
        _WAYS[cls] = None
        return value
    if "__slots__" not in vars(cls):
        raise TypeError(f"no state of {cls.__name__}: state is plain data in slotted classes")
    _WAYS[cls] = _part
    return _part(value, state)


def _part(value: object, state: ObjectState) -> object:
    if id(value) not in state:
        capture_object(value, state)
    return value


class _Line(list[object]):
    """A deque as a state keeps it: an empty deque takes 600 bytes, and most are empty."""

    __slots__ = ()


def _sequence(values: Iterable[object], state: ObjectState) -> list[object]:
    return [_kept(value, state) for value in values]


def _fixed(values: tuple[object, ...], state: ObjectState) -> tuple[object, ...]:
    """A tuple stays; what it holds may change."""
    for value in values:
        _kept(value, state)
    return values


def _mapping(values: dict[object, object], state: ObjectState) -> dict[object, object]:
    return {key: _kept(value, state) for key, value in values.items()}


def _kept(value: object, state: ObjectState) -> object:
    way = _WAYS.get(type(value), _UNKNOWN)
    return value if way is None else way(value, state)


_Way = Callable[[Any, ObjectState], object]
_UNKNOWN: _Way = _unknown
_WAYS: dict[type, _Way | None] = {
    list: _sequence, deque: lambda values, state: _Line(_sequence(values, state)),
    tuple: _fixed, dict: _mapping,
    set: lambda values, _state: set(values),
    bytearray: lambda octets, _state: bytearray(octets),
}  # fmt: skip


def _again(value: object) -> object:
    copy = _COPIES.get(type(value))
    return value if copy is None else copy(value)


# What was copied into the state is copied out of it: it may be put back more than once.
_COPIES: dict[type, Callable[[Any], object]] = {
    list: lambda values: [_again(value) for value in values],
    _Line: lambda values: deque([_again(value) for value in values]),
    dict: lambda values: {key: _again(value) for key, value in values.items()},
    set: set,
    bytearray: bytearray,
}


# --------------------------------------------------------------------------- one object
# (node, what, number): a thing by its noun, a page of memory, a table, the adapter itself; or
# the world, which is what lies between the nodes.
Key = tuple[str, str, int]
SavedState = ObjectState | bytes  # of a page its bytes
SavedStates = dict[Key, SavedState]

_WORLD: Key = ("", "world", 0)
_PAGE, _TABLE, _ADAPTER = "page", "table", "adapter"
_PAGE_SHIFT = PAGE.bit_length() - 1


def all_keys(world: World) -> set[Key]:
    """Everything there is."""
    keys = {_WORLD}
    for node, hca in world.nodes.items():
        keys.add((node, _ADAPTER, 0))
        keys.update((node, _PAGE, number) for number in hca.memory.pages)
        for index, (noun, table) in enumerate(hca.tables.items()):
            keys.add((node, _TABLE, index))
            keys.update((node, noun, number) for number in table.items)
    return keys


def named(world: World, records: list[Record], before: SavedStates) -> set[Key]:
    """Objects that may differ from `before`, if these records are all that were written since.

    An event of a CQ is a record of the CQ, so its channel counts as named; so do all objects of a
    node when its port, its addresses or its device change.
    """
    numbers = objects_named(records)
    keys = {_WORLD}
    telling = _telling(world)
    for record in of_kinds(records, telling):
        keys.update(_BY_CONTENT[kind_of(record)](world, record))
    for node, hca in world.nodes.items():
        mine = {number for name, number in numbers if name == node}
        keys.add((node, _ADAPTER, 0))
        keys.update((node, Noun.CHANNEL, number) for number in hca.channels.items)
        keys.update((node, Noun.QP, number) for number in _left_the_line(hca, before, node))
        for index, (noun, table) in enumerate(hca.tables.items()):
            keys.update((node, noun, number) for number in mine if number in table.items)
            key = (node, _TABLE, index)
            if _has_changed(table, before.get(key)):
                keys.add(key)
    return keys


def _left_the_line(hca: Hca, before: SavedStates, node: str) -> Iterable[int]:
    """QPs that were in line for the port: those with nothing to send leave it without a record."""
    image = before.get((node, _ADAPTER, 0))
    if image is None or isinstance(image, bytes):
        return ()
    waiting = held_by(image, hca)["ready"]
    assert isinstance(waiting, _Line)
    queues = (qp for qp in waiting if isinstance(qp, QueuePair))
    return [qp.number for qp in queues if qp.number in hca.qps.items]


# Records of a work request that may be a bind.
_BINDING = (Kind.SEND_POSTED, Kind.WQE_STARTED, Kind.WQE_COMPLETED)


def _telling(world: World) -> set[Kind]:
    """The kinds of record that name other objects too; without windows posting names none."""
    kinds = set(_BY_CONTENT)
    for noun, named in ((Noun.MW, _BINDING), (Noun.SRQ, (Kind.RECV_TAKEN,))):
        if not any(hca.tables[noun].items for hca in world.nodes.values()):
            kinds.difference_update(named)
    return kinds


def _has_changed(table: Table[Numbered], image: SavedState | None) -> bool:
    """Whether objects were created or destroyed: numbers are never used twice."""
    if image is None or isinstance(image, bytes):
        return True
    kept = held_by(image, table)
    items = kept["items"]
    assert isinstance(items, dict)
    return kept["next_number"] != table.next_number or len(items) != len(table.items)


def _pages_of(_world: World, record: Record) -> Iterable[Key]:
    _, _, _, _, node, _, addr, length = record
    first, last = addr >> _PAGE_SHIFT, (addr + length - 1) >> _PAGE_SHIFT
    if first >= last:  # who writes nothing touches a page all the same
        return ((node, _PAGE, first),)
    return [(node, _PAGE, number) for number in range(first, last + 1)]


def _srq_of(_world: World, record: Record) -> Iterable[Key]:
    srq = recv_wqe_of(record).srq
    return ((node_of(record), Noun.SRQ, srq),) if srq else ()


def _destroyed(_world: World, record: Record) -> Iterable[Key]:
    _, _, _, _, node, number, noun, _ = record
    return [(node, noun, number)]


def _mw_of(_world: World, record: Record) -> Iterable[Key]:
    """A window has its next key as soon as a bind is posted, and the old one if the bind fails."""
    mw = send_wqe_of(record).wr.mw
    return () if mw is None else ((node_of(record), Noun.MW, mw),)


def _mws_of(world: World, record: Record) -> Iterable[Key]:
    """Binds that vanish with their queue give the windows their old keys."""
    node = node_of(record)
    return [(node, Noun.MW, number) for number in world.nodes[node].mws.items]


def _purged_by(world: World, record: Record) -> Iterable[Key]:
    """Into RESET some devices take the completions off the CQs, and slots of an SRQ are free."""
    if new_state_of(record) is not QPState.RESET:
        return ()
    node = node_of(record)
    tables = world.nodes[node].tables
    return [(node, noun, number) for noun in (Noun.CQ, Noun.SRQ) for number in tables[noun].items]


def _things_of(world: World, record: Record) -> Iterable[Key]:
    """All things of the node; of all nodes, if it is the cable that has changed."""
    nodes = [node_of(record)] if node_of(record) else world.nodes
    return [key for key in all_keys(world) if key[0] in nodes and key[1] != _PAGE]


_BY_CONTENT: dict[Kind, Callable[[World, Record], Iterable[Key]]] = {
    kind: find
    for find, kinds in (
        (_pages_of, (Kind.MEMORY_WRITTEN, Kind.HOST_WROTE)),
        (_destroyed, (Kind.DESTROYED,)),
        (_srq_of, (Kind.RECV_TAKEN,)),
        (_mw_of, _BINDING),
        (_mws_of, (Kind.QUEUE_DISCARDED,)),
        (_purged_by, (Kind.STATE_CHANGED,)),
        (_things_of, (
            Kind.PKEY_SET, Kind.GID_SET, Kind.LINK_SET, Kind.LINK_LAYER_SET, Kind.PORT_CHANGED,
            Kind.DEVICE_OPENED, Kind.DEVICE_CLOSED, Kind.DEVICE_DIED,
        )),
    )
    for kind in kinds
}  # fmt: skip


def take(world: World, keys: Iterable[Key], before: SavedStates) -> SavedStates:
    """`before`, with new images of these; all others are shared with it."""
    images = dict(before)
    for key in keys:
        image = _take_one(world, key)
        if image is not None:
            if not isinstance(image, bytes) or before.get(key) != image:  # a page of other bytes
                images[key] = image
        else:  # destroyed: what it holds now is of no interest, what it held will be
            images.pop(key, None)
    return images


def _take_one(world: World, key: Key) -> SavedState | None:
    node, what, number = key
    if key == _WORLD:
        return capture_object(world)
    hca = world.nodes[node]
    if what == _PAGE:
        page = hca.memory.pages.get(number)
        return None if page is None else bytes(page)
    subject = _subject(hca, what, number)
    return None if subject is None else capture_object(subject)


def _subject(hca: Hca, what: str, number: int) -> object:
    if what == _ADAPTER:
        return hca
    if what == _TABLE:
        return list(hca.tables.values())[number]
    return hca.tables[what].items.get(number)


def restore(
    world: World, target: SavedStates, present: SavedStates, touched: Iterable[Key]
) -> None:
    """Restore the world as it was when `target` was taken.

    present: the states it has evolved from since, touched: what may differ from them.
    """
    stale = set(touched)
    stale.update(key for key, image in target.items() if present.get(key) is not image)
    stale.update(key for key in present if key not in target)
    for key in stale:
        image = target.get(key)
        node, what, number = key
        if what == _PAGE:
            _restore_page(world.nodes[node], number, cast("bytes | None", image))
        elif isinstance(image, dict):
            restore_object(image)
    world.agenda.refile(qp.timer for hca in world.nodes.values() for qp in hca.qps.items.values())


def _restore_page(hca: Hca, number: int, octets: bytes | None) -> None:
    if octets is None:
        hca.memory.pages.pop(number, None)
    else:
        hca.memory.pages[number] = bytearray(octets)
