"""Images: what the fields of an object held at one moment, put back into the very same object.

No object is ever copied or made anew: an image keeps the object and what its fields held, so
whoever refers to it goes on referring to it. Lists, dicts and deques are copied, what never changes
after making is shared. Things of the tables have an image each, taken again only when the log has
named them since the last one: the deed writes the log, so whatever changed is named in it.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import is_dataclass
from enum import Enum
from operator import attrgetter
from typing import Any, cast

from rdmalab.command import Noun
from rdmalab.hca.ah import AddressHandle
from rdmalab.hca.attributes import AhAttr, Capacity
from rdmalab.hca.channels import CompChannel
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.device import Hca, Table
from rdmalab.hca.memory import PAGE, Memory
from rdmalab.hca.mr import MemoryRegion
from rdmalab.hca.mw import MemoryWindow
from rdmalab.hca.outside import Timer
from rdmalab.hca.pd import ProtectionDomain
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.srq import SharedReceiveQueue
from rdmalab.hca.steering import Flow, FlowAttr, FlowSpec
from rdmalab.hca.thread_domains import ThreadDomain
from rdmalab.hca.wr import SGE, Buffer, Cqe, RecvWqe, RecvWR, SendWqe, SendWR, WildPointer
from rdmalab.hca.xrcd import XrcDomain
from rdmalab.spec.records import Field, Kind, Record
from rdmalab.wire import packet
from rdmalab.wire.frame import Frame
from rdmalab.world.agenda import Agenda
from rdmalab.world.programs import Program, Programs
from rdmalab.world.world import World

# (node, what, number): a thing by its noun, a page of memory, a table, the adapter itself; or
# the world, which is what lies between the nodes.
Key = tuple[str, str, int]
# An object and what its fields held, by identity; of a page its bytes.
Image = dict[int, tuple[Any, list[Any]]] | bytes
Images = dict[Key, Image]

_WORLD: Key = ("", "world", 0)
_PAGE, _TABLE, _ADAPTER = "page", "table", "adapter"
_PAGE_SHIFT = PAGE.bit_length() - 1

# They have an image of their own, or none: whoever meets one elsewhere only refers to it.
_THINGS = (
    Hca, Table, World, QueuePair, CompletionQueue, MemoryRegion, MemoryWindow, ProtectionDomain,
    SharedReceiveQueue, XrcDomain, CompChannel, ThreadDomain, Flow, AddressHandle, Program,
)  # fmt: skip
# Never changed after making, like all that is frozen.
_SHARED = (
    packet.Packet, packet.Flow, Frame, SendWqe, RecvWqe, Cqe, SGE, WildPointer, Buffer, SendWR,
    RecvWR, AhAttr, Capacity, FlowAttr, FlowSpec,
)  # fmt: skip
# What stands in images of its own, or in none: the hour is set at every door, and which timer is
# filed where follows from those that are armed.
_APART = {
    World: {"nodes", "trace"},
    Agenda: {"timers"},
    Timer: {"filed", "filed_ns"},
    Hca: {"trace", "outside", "now_ns"},
    Memory: {"pages"},
    Programs: {"carry_out", "holds"},
}

_LEAVES = (int, str, bytes, tuple, Enum, type(None))

_CONTENTS: dict[type, Callable[[Any], Any]] = {}
_NAMES: dict[type, tuple[str, ...]] = {}


# --------------------------------------------------------------------------- one object
def portray(thing: Any, image: dict[int, tuple[Any, list[Any]]] | None = None) -> Image:
    """The image of an object and of all parts that are its own."""
    image = {} if image is None else image
    image[id(thing)] = (thing, held := [])  # before its parts, which may refer to it
    for value in _fields_of(type(thing))(thing):
        held.append(_kept(value, image))  # noqa: PERF401  (`image` must have it before its parts)
    return image


def put_back(image: Image) -> None:
    """Each object of the image holds again what it held."""
    assert not isinstance(image, bytes)
    for thing, held in image.values():
        for name, value in zip(_NAMES[type(thing)], held, strict=True):
            copy = _COPIES.get(type(value))
            setattr(thing, name, value if copy is None else copy(value))


def _fields_of(cls: type) -> Callable[[Any], Any]:
    """Gets the values of all fields of an object of this class."""
    if cls not in _CONTENTS:
        slots = [name for base in cls.__mro__ for name in vars(base).get("__slots__", ())]
        names = tuple(name for name in slots if name not in _APART.get(cls, ()))
        _NAMES[cls] = names
        get = attrgetter(*names)
        _CONTENTS[cls] = get if len(names) > 1 else lambda thing: (get(thing),)
    return _CONTENTS[cls]


# --------------------------------------------------------------------------- one value
def _unknown(value: Any, image: Image) -> Any:
    """A value of a type that is met for the first time."""
    cls = type(value)
    frozen = is_dataclass(cls) and cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    if frozen or issubclass(cls, (*_SHARED, *_THINGS, *_LEAVES)):
        _WAYS[cls] = None
        return value
    if "__slots__" not in vars(cls):
        raise TypeError(f"no image of {cls.__name__}: state is plain data in slotted classes")
    _WAYS[cls] = _part
    return _part(value, image)


def _part(value: Any, image: Any) -> Any:
    if id(value) not in image:
        portray(value, image)
    return value


def _sequence(values: Any, image: Image) -> Any:
    return type(values)([_kept(value, image) for value in values])


def _fixed(values: tuple[Any, ...], image: Image) -> tuple[Any, ...]:
    """A tuple stays; what it holds may change."""
    for value in values:
        _kept(value, image)
    return values


def _mapping(values: dict[Any, Any], image: Image) -> dict[Any, Any]:
    return {key: _kept(value, image) for key, value in values.items()}


def _kept(value: Any, image: Image) -> Any:
    way = _WAYS.get(type(value), _UNKNOWN)
    return value if way is None else way(value, image)


_Way = Callable[[Any, Any], Any]
_UNKNOWN: _Way = _unknown
_WAYS: dict[type, _Way | None] = {
    list: _sequence, deque: _sequence, tuple: _fixed, dict: _mapping,
    set: lambda values, _image: set(values),
    bytearray: lambda octets, _image: bytearray(octets),
}  # fmt: skip


def _again(value: Any) -> Any:
    copy = _COPIES.get(type(value))
    return value if copy is None else copy(value)


# What was copied into the image is copied out of it: it may be put back more than once.
_COPIES: dict[type, Callable[[Any], Any]] = {
    list: lambda values: [_again(value) for value in values],
    deque: lambda values: deque([_again(value) for value in values]),
    dict: lambda values: {key: _again(value) for key, value in values.items()},
    set: set,
    bytearray: bytearray,
}


# --------------------------------------------------------------------------- the world
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


def named(world: World, records: list[Record], before: Images) -> set[Key]:
    """Everything that may differ from `before`, if these records are all that was written since.

    What a CQ tells its channel is a record of the CQ, so channels count as named; so does whatever
    a node has when its port, its addresses or its device change.
    """
    numbers = {(record[4], record[5]) for record in records}
    keys = {_WORLD}
    telling = _telling(world)
    for record in [record for record in records if record[3] in telling]:
        keys.update(_BY_CONTENT[record[3]](world, record))
    for node, hca in world.nodes.items():
        mine = {number for name, number in numbers if name == node}
        keys.add((node, _ADAPTER, 0))
        keys.update((node, Noun.CHANNEL, number) for number in hca.channels.items)
        for index, (noun, table) in enumerate(hca.tables.items()):
            keys.update((node, noun, number) for number in mine if number in table.items)
            key = (node, _TABLE, index)
            if _has_changed(table, before.get(key)):
                keys.add(key)
    return keys


def _telling(world: World) -> set[Kind]:
    """The kinds of record that also name others; without windows posting does not, and so on."""
    kinds = set(_BY_CONTENT)
    for noun, kind in ((Noun.MW, Kind.SEND_POSTED), (Noun.SRQ, Kind.RECV_TAKEN)):
        if not any(hca.tables[noun].items for hca in world.nodes.values()):
            kinds.discard(kind)
    return kinds


def _has_changed(table: Table[Any], image: Image | None) -> bool:
    """Numbers are never used twice: who came is seen in the next one, who went in the count."""
    if image is None or isinstance(image, bytes):
        return True
    _, held = image[id(table)]
    kept = dict(zip(_NAMES[Table], held, strict=True))
    return kept["next_number"] != table.next_number or len(kept["items"]) != len(table.items)


def _pages_of(_world: World, record: Record) -> Iterable[Key]:
    _, _, _, _, node, _, addr, length = record
    first, last = addr >> _PAGE_SHIFT, (addr + length - 1) >> _PAGE_SHIFT
    if first >= last:  # who writes nothing touches a page all the same
        return ((node, _PAGE, first),)
    return [(node, _PAGE, number) for number in range(first, last + 1)]


def _srq_of(_world: World, record: Record) -> Iterable[Key]:
    wqe: Any = record[6]
    return ((record[4], Noun.SRQ, wqe.srq),) if wqe.srq else ()


def _destroyed(_world: World, record: Record) -> Iterable[Key]:
    _, _, _, _, node, number, noun, _ = record
    return [(node, noun, number)]


def _mw_of(_world: World, record: Record) -> Iterable[Key]:
    """A window knows its next key as soon as a bind is posted."""
    mw: int | None = record[6].wr.mw
    return () if mw is None else ((record[4], Noun.MW, mw),)


def _things_of(world: World, record: Record) -> Iterable[Key]:
    """All things of the node; of all nodes, if it is the cable that has changed."""
    nodes = [record[Field.NODE]] if record[Field.NODE] else world.nodes
    return [key for key in all_keys(world) if key[0] in nodes and key[1] != _PAGE]


_BY_CONTENT: dict[Kind, Callable[[World, Record], Iterable[Key]]] = {
    kind: find
    for find, kinds in (
        (_pages_of, (Kind.MEMORY_WRITTEN, Kind.HOST_WROTE)),
        (_destroyed, (Kind.DESTROYED,)),
        (_srq_of, (Kind.RECV_TAKEN,)),
        (_mw_of, (Kind.SEND_POSTED,)),
        (_things_of, (
            Kind.PKEY_SET, Kind.GID_SET, Kind.LINK_SET, Kind.PORT_CHANGED, Kind.DEVICE_OPENED,
            Kind.DEVICE_CLOSED, Kind.DEVICE_DIED,
        )),
    )
    for kind in kinds
}  # fmt: skip


def take(world: World, keys: Iterable[Key], before: Images) -> Images:
    """`before`, with new images of these; all others are shared with it."""
    images = dict(before)
    for key in keys:
        image = _take_one(world, key)
        if image is not None:
            images[key] = image
        else:  # destroyed: what it holds now is of no interest, what it held will be
            images.pop(key, None)
    return images


def _take_one(world: World, key: Key) -> Image | None:
    node, what, number = key
    if key == _WORLD:
        return portray(world)
    hca = world.nodes[node]
    if what == _PAGE:
        page = hca.memory.pages.get(number)
        return None if page is None else bytes(page)
    subject = _subject(hca, what, number)
    return None if subject is None else portray(subject)


def _subject(hca: Hca, what: str, number: int) -> Any:
    if what == _ADAPTER:
        return hca
    if what == _TABLE:
        return list(hca.tables.values())[number]
    return hca.tables[what].items.get(number)


def restore(world: World, target: Images, present: Images, touched: Iterable[Key]) -> None:
    """The world is again as it was when `target` was taken.

    present: the images it has evolved from since, touched: what may differ from them.
    """
    stale = set(touched)
    stale.update(key for key, image in target.items() if present.get(key) is not image)
    stale.update(key for key in present if key not in target)
    for key in stale:
        image = target.get(key)
        node, what, number = key
        if what == _PAGE:
            _restore_page(world.nodes[node], number, cast("bytes | None", image))
        elif image is not None:
            put_back(image)
    world.agenda.refile(qp.timer for hca in world.nodes.values() for qp in hca.qps.items.values())


def _restore_page(hca: Hca, number: int, octets: bytes | None) -> None:
    if octets is None:
        hca.memory.pages.pop(number, None)
    else:
        hca.memory.pages[number] = bytearray(octets)
