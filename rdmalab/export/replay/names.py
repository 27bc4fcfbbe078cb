"""Names and values of the lab as a program writes them: constants of verbs.h, variables."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import field
from enum import IntEnum, IntFlag

from rdmalab.command import New, Noun, Thing
from rdmalab.export.replay.calls import Bound, Call, NotExportable
from rdmalab.hca.device import Hca
from rdmalab.hca.objects import inc_rkey
from rdmalab.hca.port import gid_at
from rdmalab.spec.c_names import ANY_PREFIX, full_name
from rdmalab.spec.row import dataclass
from rdmalab.world.world import World

_DECIMAL = 1 << 16  # numbers from here on are written in hexadecimal digits
_PRINTABLE = {ord(sign) for sign in map(chr, range(32, 127))} - {ord('"'), ord("\\"), ord("?")}
_LINE = 64  # bytes of a string in a line


def number(value: int) -> str:
    """An integer: `64`, `0x11111111`."""
    if value < 0 or value < _DECIMAL:
        return str(value)
    return hex(value) if value < 1 << 32 else f"UINT64_C({value:#x})"


def constant(value: int) -> str:
    """An enum's member, flags joined by |; a plain number where verbs.h has no name."""
    prefix = ANY_PREFIX.get(type(value))
    if prefix is None:
        return number(int(value))
    if isinstance(value, IntFlag):
        return _flags(int(value), value.__class__, prefix)
    return full_name(value) if isinstance(value, IntEnum) else number(int(value))


def _flags(value: int, kind: type[IntFlag], prefix: str) -> str:
    names = []
    for name, member in kind.__members__.items():
        if member.value.bit_count() == 1 and value & member.value:
            names.append(prefix + name)
            value &= ~member.value
    if value:
        names.append(hex(value))
    return " | ".join(names) or "0"


_IN_8_BITS = frozenset({
    "port_num", "timeout", "retry_cnt", "rnr_retry", "min_rnr_timer", "max_rd_atomic",
    "max_dest_rd_atomic", "en_sqd_async_notify", "alt_port_num", "alt_timeout",
})  # fmt: skip
_IN_16_BITS = frozenset({"pkey_index", "alt_pkey_index"})


def attribute_width(name: str) -> int:
    """The bits of a number in `ibv_qp_attr`."""
    return 8 if name in _IN_8_BITS else 16 if name in _IN_16_BITS else 32


def string(octets: bytes) -> str:
    """A string literal with these bytes; the zero that C appends is one more."""
    return f'"{_escaped(octets)}"'


def string_lines(octets: bytes) -> list[str]:
    """C string literals of these bytes, one a line."""
    return [string(octets[at : at + _LINE]) for at in range(0, len(octets), _LINE)]


def _escaped(octets: bytes) -> str:
    return "".join(chr(o) if o in _PRINTABLE else f"\\{o:03o}" for o in octets)


def variable(name: str) -> str:
    """The variable of an object: `A.qp0` is `A_qp0`."""
    return re.sub(r"\W", "_", name)


_VARIANTS = 3  # of a window's key, that a program may have counted on


@dataclass(slots=True)
class Writing:
    """State that the calls of a program share while it is written.

    needs: helpers that the text uses. keys: the rkey that the variable of each window holds.
    completions: polled so far.
    """

    needs: set[str] = field(default_factory=set)
    keys: dict[Thing, int] = field(default_factory=dict)
    completions: int = 0


@dataclass(slots=True)
class Names(ABC):
    """A call, and the names that things have in its text, in one language."""

    call: Call
    writer: Writing

    # ------------------------------------------------------------------ of the language
    @abstractmethod
    def declare(self, name: str, noun: Noun) -> None:
        """A variable is made."""

    @abstractmethod
    def member(self, name: str, field_: str) -> str:
        """A field of the object of a variable."""

    @abstractmethod
    def base(self, name: str) -> str:
        """The address of the first byte of a region."""

    @abstractmethod
    def next_key(self, text: str) -> str:
        """The next variant of a key."""

    @abstractmethod
    def literal(self, value: int) -> str:
        """A number."""

    @abstractmethod
    def srq_number(self, name: str) -> str:
        """The number of the shared receive queue of a variable."""

    @abstractmethod
    def gid_entry(self, node: str, index: int) -> str:
        """An entry of a node's GID table."""

    @abstractmethod
    def gid_bytes(self, value: int) -> str:
        """A GID of its own."""

    @abstractmethod
    def immediate(self, value: int) -> str:
        """The argument of a builder for the immediate that lies in memory as this number."""

    @abstractmethod
    def memory(self, node: str, addr: int) -> str:
        """The argument of a builder for memory of the host at an address."""

    # ------------------------------------------------------------------ the same in all
    @property
    def world(self) -> World:
        return self.call.world

    def argument(self, name: str) -> Bound:
        """A value of the command; None if it was left out."""
        return self.call.arguments.get(name)

    def var(self, what: Thing | New | None) -> str:
        """The variable of an object; NULL for none."""
        if what is None:
            return "NULL"
        if isinstance(what, New):
            name = variable(str(what))
            self.declare(name, what.noun)
            return name
        return variable(self.call.session.names.of(what))

    def numbered(self, noun: Noun, node: str, number_: int | None) -> str:
        """The variable of the object with this number; NULL for none."""
        if not number_:
            return "NULL"
        thing = Thing(noun, node, number_)
        if thing not in self.call.session.names.name_of:
            raise NotExportable(
                f"{noun} {number_:#x} is no object: C would read an invalid pointer"
            )
        return self.var(thing)

    def addr(self, node: str, value: int) -> str:
        """An address: relative to the region that holds it, on this node first."""
        for hca in self._nodes(node):
            for mr in hca.mrs.items.values():
                if mr.iova == mr.addr and mr.addr <= value <= mr.addr + mr.length:
                    name = self.var(Thing(Noun.MR, hca.node, mr.number))
                    more = f" + {value - mr.addr}" if value != mr.addr else ""
                    return f"{self.base(name)}{more}"
        return self.literal(value)

    def lkey(self, node: str, value: int) -> str:
        """The local key of a region on this node."""
        mr = self.world.nodes[node].lkeys.get(value)
        if mr is None:
            return self.literal(value)
        return self.member(self.var(Thing(Noun.MR, node, mr.number)), "lkey")

    def rkey(self, node: str, value: int) -> str:
        """A remote key: of the other node first, of a region or a window."""
        for hca in [*self._nodes(node)][::-1]:
            for mr in hca.mrs.items.values():
                if mr.rkey == value:
                    return self.member(self.var(Thing(Noun.MR, hca.node, mr.number)), "rkey")
            for window in hca.mws.items.values():
                thing = Thing(Noun.MW, hca.node, window.number)
                if (text := self._window_key(thing, value)) is not None:
                    return text
        for hca in self._nodes(node):
            if value and (local := hca.lkeys.get(value)) is not None:
                return self.member(self.var(Thing(Noun.MR, hca.node, local.number)), "lkey")
        return self.literal(value)

    def _window_key(self, thing: Thing, value: int) -> str | None:
        """`B_mw0->rkey`, or that key some variants on."""
        held, text = self.writer.keys.get(thing, 0), self.member(self.var(thing), "rkey")
        for _ in range(_VARIANTS):
            if held == value:
                return text
            held, text = inc_rkey(held), self.next_key(text)
        return None

    def qpn(self, node: str, value: int) -> str:
        """The number of a queue pair: of the other node first."""
        for hca in [*self._nodes(node)][::-1]:
            if value in hca.qps.items:
                thing = Thing(Noun.QP, hca.node, value)
                if thing in self.call.session.names.name_of:
                    return self.member(self.var(thing), "qp_num")
        return self.literal(value)

    def srqn(self, node: str, value: int) -> str:
        """The number of a shared receive queue: of the other node first."""
        for hca in [*self._nodes(node)][::-1]:
            thing = Thing(Noun.SRQ, hca.node, value)
            if value in hca.srqs.items and thing in self.call.session.names.name_of:
                return self.srq_number(self.var(thing))
        return self.literal(value)

    def _nodes(self, first: str) -> Iterator[Hca]:
        yield self.world.nodes[first]
        yield from (hca for node, hca in self.world.nodes.items() if node != first)

    def gid(self, value: int) -> str:
        """An entry of a node's table, else its bytes."""
        for node, hca in self.world.nodes.items():
            for index in range(len(hca.gids)):
                if value and gid_at(hca, index) == value:
                    return self.gid_entry(variable(node), index)
        return self.gid_bytes(value)
