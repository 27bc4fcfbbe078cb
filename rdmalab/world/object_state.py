"""The field values of objects at one moment, which can be restored into the same objects.

No object is copied or created: a state keeps the object and its field values, so that all
references stay valid. Lists, dicts and deques are copied, immutable values are shared. A state
covers all parts that belong to the object alone, and stops at objects with a state of their own.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import is_dataclass
from enum import Enum
from operator import attrgetter
from typing import Any, TypeVar

from rdmalab.hca.attributes import AhAttr, Capacity
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.device import Hca
from rdmalab.hca.environment import Timer
from rdmalab.hca.memory import Memory
from rdmalab.hca.objects import (
    AddressHandle,
    CompChannel,
    Flow,
    FlowAttr,
    FlowSpec,
    MemoryRegion,
    MemoryWindow,
    ProtectionDomain,
    Table,
    ThreadDomain,
    XrcDomain,
)
from rdmalab.hca.qp import QueuePair, SharedReceiveQueue
from rdmalab.hca.wr import SGE, Buffer, Cqe, RecvWqe, RecvWR, SendWqe, SendWR, WildPointer
from rdmalab.wire import packet
from rdmalab.wire.frame import Frame
from rdmalab.world.event_queue import EventQueue
from rdmalab.world.network import Network
from rdmalab.world.program_state import Program, Programs
from rdmalab.world.world import World

# An object and what its fields held, and so for each of its parts, by identity.
ObjectState = dict[int, tuple[object, list[object]]]

# They have a state of their own, or none: elsewhere they are only referred to.
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
    Memory: {"pages"},
    Programs: {"carry_out", "holds", "touches"},
}

_Sequence = TypeVar("_Sequence", list[object], deque[object])
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


def _sequence(values: _Sequence, state: ObjectState) -> _Sequence:
    return type(values)([_kept(value, state) for value in values])


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
    list: _sequence, deque: _sequence, tuple: _fixed, dict: _mapping,
    set: lambda values, _state: set(values),
    bytearray: lambda octets, _state: bytearray(octets),
}  # fmt: skip


def _again(value: object) -> object:
    copy = _COPIES.get(type(value))
    return value if copy is None else copy(value)


# What was copied into the state is copied out of it: it may be put back more than once.
_COPIES: dict[type, Callable[[Any], object]] = {
    list: lambda values: [_again(value) for value in values],
    deque: lambda values: deque([_again(value) for value in values]),
    dict: lambda values: {key: _again(value) for key, value in values.items()},
    set: set,
    bytearray: bytearray,
}
