"""The opcodes of the Base Transport Header, their services and extended headers.

A row holds what cannot be computed: the five low bits, the operation, the extended headers of RC,
and the services that have it. Labels, flags and the headers of other services are derived.

Names of packets and AETH syndromes on the screen, in filters and in expressions. The screen shows
an ACKNOWLEDGE by its syndrome: ACK, RNR_NAK, NAK_SEQUENCE, … These names are used beside the labels
of the opcodes.
"""

from collections.abc import Collection, Iterable, Iterator
from enum import IntEnum, auto
from typing import NamedTuple, Self

from rdmalab.spec.refusals import SYNDROMES, Syndrome
from rdmalab.spec.row import dataclass


class Service(IntEnum):
    """The top three bits of an opcode."""

    RC = 0x00
    UC = 0x20
    RD = 0x40
    UD = 0x60
    CNP = 0x80
    XRC = 0xA0


class Op(IntEnum):
    """The operation that a packet belongs to."""

    SEND = auto()
    RDMA_WRITE = auto()
    RDMA_READ_REQUEST = auto()
    RDMA_READ_RESPONSE = auto()
    ACKNOWLEDGE = auto()
    ATOMIC_ACKNOWLEDGE = auto()
    COMPARE_SWAP = auto()
    FETCH_ADD = auto()
    FLUSH = auto()
    ATOMIC_WRITE = auto()
    CNP = auto()


class PacketPlace(IntEnum):
    """The position of a packet in its message."""

    FIRST = auto()
    MIDDLE = auto()
    LAST = auto()
    ONLY = auto()


@dataclass(frozen=True, slots=True)
class Opcode:
    """One opcode; `headers` are its extended headers, in wire order."""

    code: int
    service: Service
    op: Op
    place: PacketPlace
    label: str
    headers: tuple[str, ...]
    immediate: bool
    invalidate: bool
    request: bool
    starts: bool
    ends: bool


class _Row(NamedTuple):
    low: int
    op: Op
    place: PacketPlace
    headers: tuple[str, ...]
    services: tuple[Service, ...]


_EVERY = (Service.RC, Service.UC, Service.UD, Service.XRC)
_CONNECTED = (Service.RC, Service.UC, Service.XRC)
_RELIABLE = (Service.RC, Service.XRC)

# fmt: off
_ROWS = (
    _Row(0x00, Op.SEND,               PacketPlace.FIRST,  (),                       _CONNECTED),
    _Row(0x01, Op.SEND,               PacketPlace.MIDDLE, (),                       _CONNECTED),
    _Row(0x02, Op.SEND,               PacketPlace.LAST,   (),                       _CONNECTED),
    _Row(0x03, Op.SEND,               PacketPlace.LAST,   ("immdt",),               _CONNECTED),
    _Row(0x04, Op.SEND,               PacketPlace.ONLY,   (),                       _EVERY),
    _Row(0x05, Op.SEND,               PacketPlace.ONLY,   ("immdt",),               _EVERY),
    _Row(0x06, Op.RDMA_WRITE,         PacketPlace.FIRST,  ("reth",),                _CONNECTED),
    _Row(0x07, Op.RDMA_WRITE,         PacketPlace.MIDDLE, (),                       _CONNECTED),
    _Row(0x08, Op.RDMA_WRITE,         PacketPlace.LAST,   (),                       _CONNECTED),
    _Row(0x09, Op.RDMA_WRITE,         PacketPlace.LAST,   ("immdt",),               _CONNECTED),
    _Row(0x0A, Op.RDMA_WRITE,         PacketPlace.ONLY,   ("reth",),                _CONNECTED),
    _Row(0x0B, Op.RDMA_WRITE,         PacketPlace.ONLY,   ("reth", "immdt"),        _CONNECTED),
    _Row(0x0C, Op.RDMA_READ_REQUEST,  PacketPlace.ONLY,   ("reth",),                _RELIABLE),
    _Row(0x0D, Op.RDMA_READ_RESPONSE, PacketPlace.FIRST,  ("aeth",),                _RELIABLE),
    _Row(0x0E, Op.RDMA_READ_RESPONSE, PacketPlace.MIDDLE, (),                       _RELIABLE),
    _Row(0x0F, Op.RDMA_READ_RESPONSE, PacketPlace.LAST,   ("aeth",),                _RELIABLE),
    _Row(0x10, Op.RDMA_READ_RESPONSE, PacketPlace.ONLY,   ("aeth",),                _RELIABLE),
    _Row(0x11, Op.ACKNOWLEDGE,        PacketPlace.ONLY,   ("aeth",),                _RELIABLE),
    _Row(0x12, Op.ATOMIC_ACKNOWLEDGE, PacketPlace.ONLY,   ("aeth", "atomicacketh"), _RELIABLE),
    _Row(0x13, Op.COMPARE_SWAP,       PacketPlace.ONLY,   ("atomiceth",),           _RELIABLE),
    _Row(0x14, Op.FETCH_ADD,          PacketPlace.ONLY,   ("atomiceth",),           _RELIABLE),
    _Row(0x16, Op.SEND,               PacketPlace.LAST,   ("ieth",),                _RELIABLE),
    _Row(0x17, Op.SEND,               PacketPlace.ONLY,   ("ieth",),                _RELIABLE),
    _Row(0x1C, Op.FLUSH,              PacketPlace.ONLY,   ("feth", "reth"),         _RELIABLE),
    _Row(0x1D, Op.ATOMIC_WRITE,       PacketPlace.ONLY,   ("reth",),                _RELIABLE),
    _Row(0x01, Op.CNP,                PacketPlace.ONLY,   (),                       (Service.CNP,)),
)



class Request(NamedTuple):
    """Answer to a request, and how the responder executes it.

    answer: what answers it; a newer ACK replaces an ACK only.
    word: it works on exactly ATOMIC_BYTES at an address that is a multiple of them (IBA 9.4.5, A19),
    and is executed once: a duplicate gets the result that was kept.
    """

    answer: Op
    word: bool


_ACK, _READ_RESPONSE, _ATOMIC_ACK = Op.ACKNOWLEDGE, Op.RDMA_READ_RESPONSE, Op.ATOMIC_ACKNOWLEDGE

# What is not in this table is no request: answers, and the congestion notice.
# IBTA A19: FLUSH and ATOMIC WRITE borrow the response of a READ of no bytes.
REQUESTS: dict[Op, Request] = {
    Op.SEND:              Request(_ACK,           word=False),
    Op.RDMA_WRITE:        Request(_ACK,           word=False),
    Op.RDMA_READ_REQUEST: Request(_READ_RESPONSE, word=False),
    Op.COMPARE_SWAP:      Request(_ATOMIC_ACK,    word=True),
    Op.FETCH_ADD:         Request(_ATOMIC_ACK,    word=True),
    Op.FLUSH:             Request(_READ_RESPONSE, word=False),
    Op.ATOMIC_WRITE:      Request(_READ_RESPONSE, word=True),
}
# fmt: on

ATOMIC_BYTES = 8

# What a request is answered with, where an ACK is not enough.
ANSWER: dict[Op, Op] = {op: row.answer for op, row in REQUESTS.items() if row.answer is not _ACK}

# The atomics, and of them those that fetch the old value.
WORD_OPS = tuple(op for op, row in REQUESTS.items() if row.word)
FETCHING_OPS = tuple(op for op, row in REQUESTS.items() if row.answer is _ATOMIC_ACK)

# What a service puts right after the BTH, before the headers of RC: in requests only.
# IBTA A14: an XRC request names its SRQ; answers go to the QP that asked.
_FIRST_HEADERS = {Service.UD: ("deth",), Service.XRC: ("xrceth",)}

# An operation that can only be one packet does not say so in its label.
_PLACED = tuple(op for op in Op if len({row.place for row in _ROWS if row.op is op}) > 1)


def _label(row: _Row) -> str:
    words = [row.op.name]
    if row.op in _PLACED:
        words.append(row.place.name)
    if "immdt" in row.headers:
        words.append("WITH_IMMEDIATE")
    if "ieth" in row.headers:
        words.append("WITH_INVALIDATE")
    return "_".join(words)


def _opcode(row: _Row, service: Service) -> Opcode:
    request = row.op in REQUESTS
    return Opcode(
        code=service | row.low,
        service=service,
        op=row.op,
        place=row.place,
        label=_label(row),
        headers=(_FIRST_HEADERS.get(service, ()) if request else ()) + row.headers,
        immediate="immdt" in row.headers,
        invalidate="ieth" in row.headers,
        request=request,
        starts=row.place in (PacketPlace.FIRST, PacketPlace.ONLY),
        ends=row.place in (PacketPlace.LAST, PacketPlace.ONLY),
    )


def _opcodes() -> Iterator[Opcode]:
    return (
        _opcode(row, service) for service in Service for row in _ROWS if service in row.services
    )


def _by_label(opcodes: Iterable[Opcode]) -> dict[str, tuple[int, ...]]:
    labels: dict[str, tuple[int, ...]] = {}
    for opcode in opcodes:
        labels[opcode.label] = (*labels.get(opcode.label, ()), opcode.code)
    return labels


# Of a message: starts it, ends it, with immediate, with invalidate.
_Part = tuple[bool, bool, bool, bool]


def _by_place(service: Service, op: Op) -> dict[_Part, int]:
    return {
        (row.starts, row.ends, row.immediate, row.invalidate): row.code
        for row in OPCODES.values()
        if (row.service, row.op) == (service, op)
    }


OPCODES: dict[int, Opcode] = {opcode.code: opcode for opcode in _opcodes()}

# (service, op, place, with immediate, with invalidate) → full code: for whoever builds a packet.
code_of: dict[tuple[Service | None, Op, PacketPlace, bool, bool], int] = {
    (opcode.service, opcode.op, opcode.place, opcode.immediate, opcode.invalidate): opcode.code
    for opcode in OPCODES.values()
}

# service → op → part → full code: for whoever cuts a message into packets.
message_codes: dict[Service | None, dict[Op, dict[_Part, int]]] = {
    service: {op: _by_place(service, op) for op in Op} for service in Service
}

# "SEND_ONLY" → its codes, one a service, RC first: for whoever reads or types a name.
BY_LABEL: dict[str, tuple[int, ...]] = _by_label(OPCODES.values())


FRAME = "FRAME"
"""The name of what is not RDMA."""

_ACKNOWLEDGE = "ACKNOWLEDGE"
_ANY = frozenset(Syndrome)


class _NamedPacket(NamedTuple):
    """The label of an opcode, and the syndromes that its AETH may have, None for no AETH."""

    label: str
    syndromes: frozenset[Syndrome | None]


# What a name of a packet matches.
PACKETS: dict[str, _NamedPacket] = {
    **{label: _NamedPacket(label, _ANY | {None}) for label in (*BY_LABEL, FRAME)},
    **{name: _NamedPacket(_ACKNOWLEDGE, frozenset(these)) for name, these in SYNDROMES.items()},
}


class PacketName(str):
    """The label of a packet's opcode, with the further names that its syndrome gives."""

    noun = "opcode"
    syndrome: Syndrome | None

    def __new__(cls, label: str = "", syndrome: Syndrome | None = None) -> Self:
        named = super().__new__(cls, label)
        named.syndrome = syndrome
        return named

    @property
    def shown(self) -> str:
        """The name on the screen: the syndrome of an ACKNOWLEDGE, else the label."""
        answers = self == _ACKNOWLEDGE and self.syndrome is not None
        return self.syndrome.name if answers and self.syndrome is not None else str(self)

    @staticmethod
    def legal() -> Collection[str]:
        """All names of packets."""
        return PACKETS

    def is_called(self, name: str) -> bool:
        """True if `name`, a legal name, matches this packet."""
        row = PACKETS[name]
        return self == row.label and self.syndrome in row.syndromes
