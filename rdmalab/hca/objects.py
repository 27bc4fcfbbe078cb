"""The objects of an adapter as plain data, their tables, and the keys of memory.

What verbs and engines do with them stands in the other files; queues are in `qp.py` and `cq.py`.
"""

from collections import deque
from collections.abc import Mapping
from typing import Annotated, Generic, Protocol, TypeVar

from rdmalab.command import Bits, Noun, RefShorthand, Thing, Unit
from rdmalab.hca.attributes import AhAttr, Gid
from rdmalab.spec.access import MWType
from rdmalab.spec.flows import FlowFlags, FlowType
from rdmalab.spec.row import dataclass

_Found = TypeVar("_Found")


class Numbered(Protocol):
    """An object in a table."""

    number: int


_T = TypeVar("_T", bound=Numbered)


class Table(Generic[_T]):
    """All objects of one kind, by number; numbers are never used twice."""

    __slots__ = ("items", "next_number", "noun")

    def __init__(self, noun: str, first_number: int) -> None:
        self.noun = noun
        self.next_number = first_number
        self.items: dict[int, _T] = {}

    def add(self, item: _T) -> None:
        """Add the object under its number."""
        # Devices use numbers again. Here each is used once, so that a record names one object only,
        # and `world/snapshots.py` sees in the next number that one was created.
        self.items[item.number] = item
        self.next_number = item.number + 1

    def remove(self, item: _T) -> None:
        """Remove the object."""
        del self.items[item.number]

    def find(self, number: int) -> _T:
        """The object of this number; KeyError if it is destroyed."""
        return self.items[number]


# --------------------------------------------------------------------------- objects
class ProtectionDomain:
    """`ibv_pd`. A parent domain uses the protection of `base` and has a thread domain, `td`."""

    __slots__ = ("base", "number", "td")

    def __init__(self, number: int, base: int | None = None, td: int | None = None) -> None:
        self.number = number
        self.base = number if base is None else base
        self.td = td


@dataclass(slots=True)
class ThreadDomain:
    """`ibv_td`."""

    number: int


class XrcDomain:
    """`ibv_xrcd`, one opening of a domain. fd: the file it hangs on, PRIVATE for none.

    domain: the number of the opening that made it; openings of one file share it.
    """

    __slots__ = ("domain", "fd", "number")

    def __init__(self, number: int, fd: int, domain: int) -> None:
        self.number = number
        self.fd = fd
        self.domain = domain


@dataclass(slots=True)
class AddressHandle:
    """`ibv_ah`: the destination of datagrams, created once and given with each work request."""

    number: int
    pd: int
    attr: AhAttr


class CompChannel:
    """`ibv_comp_channel`: the numbers of the CQs with unread events, oldest first."""

    __slots__ = ("events", "node", "number")

    def __init__(self, node: str, number: int) -> None:
        self.node = node
        self.number = number
        self.events: deque[int] = deque()


class MemoryRegion:
    """`ibv_mr`: `length` bytes from `addr`; local requests use its `lkey`, peers its `rkey`.

    In work requests its first byte is `iova`: `addr`, the value given to `ibv_reg_mr_iova`, or 0.
    """

    __slots__ = (
        "access", "addr", "iova", "length", "lkey", "number", "pd", "qp", "rkey", "version",
    )  # fmt: skip

    def __init__(self, number: int, pd: int, addr: int, length: int, access: int) -> None:
        self.number = number
        self.pd = pd
        self.addr = addr
        self.iova = addr
        self.length = length
        self.access = access
        self.lkey = 0
        self.rkey = 0
        self.version = 0  # how often its keys were replaced by new ones
        self.qp: int | None = None  # which queue pair may use it: all of its protection domain


@dataclass(slots=True)
class Binding:
    """The target of the key of a bound window, a `KeyTarget`.

    mr: the region by number. start, count: the requested bytes; a device that does not check them
    allows all of the region.
    """

    key: int
    mr: int
    pd: int
    access: int
    iova: int
    addr: int
    length: int
    qp: int | None
    start: int
    count: int


@dataclass(slots=True)
class MemoryWindow:
    """`ibv_mw`. rkey, iova, length: the program's values, from the newest posted bind.

    executed: the three values of the newest executed bind; None before the first.
    """

    number: int
    pd: int
    type: MWType
    rkey: int
    iova: int = 0
    length: int = 0
    binding: Binding | None = None
    executed: tuple[int, int, int] | None = None


KeyTarget = MemoryRegion | Binding
"""Object that a key names. `qp`: only this QP may use it; None: all of the protection domain."""


class Regions(Protocol):
    """One node, as a reference to its memory reads it."""

    @property
    def mrs(self) -> Table[MemoryRegion]:
        """The memory regions."""

    @property
    def mws(self) -> Table[MemoryWindow]:
        """The memory windows."""


class Objects(Protocol):
    """The objects of all nodes, as a reference in a line finds them."""

    @property
    def nodes(self) -> Mapping[str, Regions]:
        """The nodes by their names."""

    def find(self, thing: Thing, of: type[_Found]) -> _Found:
        """The object that a Thing stands for. Refused if it is gone."""


# --------------------------------------------------------------------------- flow rules
U16 = Annotated[int, Bits(16)]


Mac = Annotated[
    int,
    Unit.MAC,
    Bits(48),
    RefShorthand(Noun.NODE, lambda world, thing, _a, _b: world.find(thing, object).mac),
]


_NO_FLAGS = FlowFlags(0)


@dataclass(slots=True)
class FlowSpec:
    """The fields that a frame must have: of its Ethernet, IP and TCP or UDP header."""

    dst_mac: Mac | None = None
    src_mac: Mac | None = None
    ether_type: U16 | None = None
    src_ip: Gid | None = None
    dst_ip: Gid | None = None
    protocol: Annotated[int, Bits(8)] | None = None
    src_port: U16 | None = None
    dst_port: U16 | None = None

    def given(self) -> dict[str, int]:
        """The fields that have a value, by name."""
        return {
            name: value for name in self.__slots__ if (value := getattr(self, name)) is not None
        }


@dataclass(slots=True)
class FlowAttr:
    """`ibv_flow_attr`; a lower number is a higher priority."""

    C_NAME = "ibv_flow_attr"

    type: FlowType = FlowType.NORMAL
    priority: U16 = 0
    port: Annotated[int, Bits(8)] = 1
    flags: FlowFlags = _NO_FLAGS


@dataclass(slots=True)
class Flow:
    """`ibv_flow`: a rule, and the queue pair it leads to."""

    number: int
    qp: int
    attr: FlowAttr
    spec: dict[str, int]


# --------------------------------------------------------------------------- keys
# 32 bits: a 24-bit index and an 8-bit variant that distinguishes old and new keys.
WINDOWS = 0x80000  # windows have the indices from here on, regions those below
_VARIANT = 0xFF


def key_of(index: int, host: int, version: int = 0) -> int:
    """The key of an index: its variant is arbitrary, so that no key fits elsewhere.

    Yet it is alike in every run; each version moves it on by one.
    """
    first = index * 0x9D + host * 0x35 + 0x1A
    return index << 8 | (first + version) & _VARIANT


def inc_rkey(rkey: int) -> int:
    """`ibv_inc_rkey`: the same index, the next variant."""
    return rkey & ~_VARIANT | (rkey + 1) & _VARIANT


def varied(key: int, choice: int) -> int:
    """The key of the same index with the variant of `choice`."""
    return key & ~_VARIANT | choice & _VARIANT


def window_key(number: int, host: int) -> int:
    """The first R_Key of a window; it is invalid before a bind."""
    return key_of(WINDOWS + number, host)


def window_number(rkey: int) -> int:
    """Number of the window that an R_Key is of; one that no window has if it is of none."""
    return (rkey >> 8) - WINDOWS


def region_number(key: int) -> int:
    """Number of the region that a key is of: each has two, and they follow one another."""
    return (key >> 8) // 2
