"""Faults, one class each: of the cable, or of an object at a time or a packet; random draws."""

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from rdmalab.command import Noun, Refused, Thing, Unit
from rdmalab.grammar.quantities import spelled
from rdmalab.hca import flush, mr
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.opcodes import OPCODES, PacketName
from rdmalab.spec.records import Kind
from rdmalab.spec.refusals import syndrome_of
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import QPState
from rdmalab.wire.congestion import marked
from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import Packet, gid_text
from rdmalab.world.transit import HeldPacket, Transit

if TYPE_CHECKING:
    from rdmalab.hca.device import Hca
    from rdmalab.hca.objects import MemoryRegion
    from rdmalab.hca.qp import QueuePair


MILLION = 1_000_000  # parts: probabilities are whole numbers of these

_BITS = 64
_ALL = (1 << _BITS) - 1
# The constants of SplitMix64, a bijection of 64 bits that mixes them well.
_GAMMA, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def mix64(number: int) -> int:
    """A 64-bit hash of a number."""
    number = (number ^ number >> 30) * _FIRST & _ALL
    number = (number ^ number >> 27) * _SECOND & _ALL
    return number ^ number >> 31


@dataclass(slots=True)
class Chance:
    """A random condition that is true in `ppm` of a million draws.

    Each condition has its own stream, which other draws do not shift. drawn: the number of draws so
    far, its whole state.
    """

    ppm: int
    seed: int
    stream: int
    drawn: int = 0

    def happens(self) -> bool:
        """True if the next draw is a hit."""
        self.drawn += 1
        start = mix64(mix64(self.seed & _ALL) + self.stream * _GAMMA & _ALL)
        return mix64(start + self.drawn * _GAMMA & _ALL) * MILLION >> _BITS < self.ppm

    def __str__(self) -> str:
        whole, rest = divmod(self.ppm, MILLION // 100)
        return f"{whole}.{rest:04}".rstrip("0").rstrip(".") + "%"


_BYTE_NS = 8 * 1_000_000_000  # at one bit per second


@dataclass(slots=True)
class Match:
    """Filter of packets: every field that is given must fit.

    qp: (node, number) of the queue pair that sent it or that it is for, the node empty for any;
    qp_text: the same in words. Of the fitting ones, counted from 1: nth, from there on (or from
    the first multiple on) each `every`th, of these as many as chance has it, and `count` at most.
    longer: only frames of more bytes, from the Ethernet header to the ICRC. gid: only from this
    address or to it. dlid: only to this LID.
    """

    source: str = ""
    target: str = ""
    opcode: str = ""
    psn: int | None = None
    nth: int | None = None
    qp: tuple[str, int] | None = None
    qp_text: str = ""
    every: int | None = None
    chance: Chance | None = None
    count: int | None = None
    longer: int | None = None
    gid: int | None = None
    dlid: int | None = None
    seen: int = 0
    met: int = 0

    def hits(self, transit: Transit) -> bool:
        """True if the fault applies to this packet; called once per packet, in order of sending."""
        if not self._fits(transit):
            return False
        # Counted before chance is asked: which packet is the nth does not depend on the seed.
        self.seen += 1
        if not self._has_its_turn() or self.met == self.count:
            return False
        if self.chance is not None and not self.chance.happens():
            return False
        self.met += 1
        return True

    @property
    def is_spent(self) -> bool:
        """Whether no later packet can match: the nth one has passed, or `count` of them have."""
        has_passed = self.nth is not None and self.every is None and self.seen >= self.nth
        return has_passed or (self.count is not None and self.met >= self.count)

    def _fits(self, transit: Transit) -> bool:
        packet = transit.packet
        if self.source not in ("", transit.source) or self.target not in ("", transit.target):
            return False
        if self.opcode and not self._is_called_so(packet):
            return False
        if self.psn is not None and self.psn != packet.psn:
            return False
        return self._has_size_and_address(transit) and (
            self.qp is None or self._is_of(self.qp, transit)
        )

    def _has_size_and_address(self, transit: Transit) -> bool:
        if self.longer is not None and len(transit.octets) <= self.longer:
            return False
        packet = transit.packet  # a frame of no RDMA has no GIDs
        if self.dlid is not None:
            return isinstance(packet, Packet) and packet.flow.dst == self.dlid
        if self.gid is None:
            return True
        return isinstance(packet, Packet) and self.gid in packet.flow.gids

    def _is_called_so(self, packet: Packet | Frame) -> bool:
        row = OPCODES.get(packet.opcode) if packet.opcode is not None else None
        aeth = None if packet.aeth is None else syndrome_of(packet.aeth.syndrome)
        return row is not None and PacketName(row.label, aeth).is_called(self.opcode)

    def _is_of(self, qp: tuple[str, int], transit: Transit) -> bool:
        node, number = qp
        ends = ((transit.source, transit.sender), (transit.target, transit.packet.dest_qp))
        return any(number == qpn and node in ("", end) for end, qpn in ends)

    def _has_its_turn(self) -> bool:
        if self.every is None:
            return self.nth in (None, self.seen)
        first = self.nth or self.every
        return self.seen >= first and (self.seen - first) % self.every == 0

    def __str__(self) -> str:
        parts = [f"{self.source}->{self.target}"] if self.source else []
        given: dict[str, object] = {
            "opcode": self.opcode or None, "psn": self.psn, "qp": self.qp_text or None,
            "longer": self.longer, "gid": None if self.gid is None else gid_text(self.gid),
            "dlid": self.dlid,
            "nth": self.nth, "every": self.every, "p": self.chance,
            "count": self.count,
        }  # fmt: skip
        parts += [f"{key}={value}" for key, value in given.items() if value is not None]
        return " ".join(parts) or "every packet"


class Fault(Protocol):
    """The interface of a fault, called in the order in which faults were set.

    watches: the fault changes no packet and also gets the lost ones.
    """

    watches: ClassVar[bool]
    number: int
    match: Match

    def apply(self, transit: Transit) -> None:
        """Apply the fault to a matching packet."""

    def passed_through(self, transit: Transit) -> None:
        """A packet, matching or not, has passed all faults."""


@dataclass(slots=True)
class _OneByOne:
    """A fault that applies to each matching packet alone."""

    watches: ClassVar[bool] = False
    number: int
    match: Match

    def passed_through(self, transit: Transit) -> None:
        """Nothing to do."""


@dataclass(slots=True)
class Drop(_OneByOne):
    """The packet never arrives."""

    def apply(self, transit: Transit) -> None:
        """Lose the packet."""
        transit.lost = f"fault {self.number}: {self}"

    def __str__(self) -> str:
        return f"drop {self.match}"


@dataclass(slots=True)
class Corrupt(_OneByOne):
    """One bit of the packet flips; it is delivered, and the receiver checks the ICRC."""

    byte: int
    bit: int = 0

    def apply(self, transit: Transit) -> None:
        """Flip one bit of the frame."""
        corrupted = bytearray(transit.octets)
        # A packet with a wrong ICRC is dropped without a NAK (measured). TOS, TTL, checksums, FECN
        # and BECN are not in the ICRC (transport.md 3): such a packet is accepted.
        corrupted[self.byte % len(corrupted)] ^= 1 << self.bit
        transit.frame, transit.corrupted = bytes(corrupted), True

    def __str__(self) -> str:
        return f"corrupt {self.match} byte={self.byte} bit={self.bit}"


@dataclass(slots=True)
class Duplicate(_OneByOne):
    """A copy arrives too, `after_ns` after the packet."""

    after_ns: int = 0

    def apply(self, transit: Transit) -> None:
        """Add a copy."""
        transit.copies_after_ns.append(self.after_ns)

    def __str__(self) -> str:
        return f"duplicate {self.match} after={spelled(self.after_ns, Unit.NS)}"


@dataclass(slots=True)
class Delay(_OneByOne):
    """The packet arrives later; what leaves after it may overtake it."""

    by_ns: int

    def apply(self, transit: Transit) -> None:
        """Add the delay."""
        transit.late_ns += self.by_ns

    def __str__(self) -> str:
        return f"delay {self.match} by={spelled(self.by_ns, Unit.NS)}"


@dataclass(slots=True)
class Reorder(_OneByOne):
    """The packet is held until a number of later packets in its direction have passed it.

    limit_ns: or until this time has passed; otherwise the last packet would never arrive.
    """

    behind: int = 1
    limit_ns: int = 100_000
    held: list[HeldPacket] = field(default_factory=list)

    def apply(self, transit: Transit) -> None:
        """Hold the packet."""
        transit.held_ns = max(transit.held_ns, self.limit_ns)
        transit.held_by.append(self.number)

    def passed_through(self, transit: Transit) -> None:
        """Count a packet for those held before it; a held packet does not count."""
        if self.number in transit.held_by:
            self.held.append(HeldPacket(
                transit.source, transit.target, transit.packet, transit.sender, transit.sent,
                self.behind,
            ))  # fmt: skip
        # Otherwise two held packets would count as having passed each other.
        if transit.held_by:
            return
        for held in self.held:
            if (held.source, held.target) == (transit.source, transit.target):
                held.behind -= 1
        transit.released += [held for held in self.held if not held.behind]
        self.held = [held for held in self.held if held.behind]

    def __str__(self) -> str:
        limit = spelled(self.limit_ns, Unit.NS)
        return f"reorder {self.match} behind={self.behind} limit={limit}"


@dataclass(slots=True)
class Rate(_OneByOne):
    """A rate limit: the matching packets of a direction pass one after the other at this rate.

    free_ns: when the last one has passed, by direction.
    """

    rate_bps: int
    free_ns: dict[str, int] = field(default_factory=dict)

    def apply(self, transit: Transit) -> None:
        """Delay the packet until the packets before it have passed."""
        lane = f"{transit.source}->{transit.target}"
        takes_ns = -(len(transit.octets) * -_BYTE_NS // self.rate_bps)
        # The lane is free when the packet before has passed, also if that one was delayed.
        through_ns = max(transit.left_ns + transit.late_ns, self.free_ns.get(lane, 0)) + takes_ns
        self.free_ns[lane] = through_ns
        transit.late_ns = max(transit.late_ns, through_ns - transit.left_ns - transit.busy_ns)

    def __str__(self) -> str:
        return f"rate {self.match} rate={spelled(self.rate_bps, Unit.BITS_PER_S)}"


@dataclass(slots=True)
class Mark(_OneByOne):
    """A router near congestion sets the congestion mark in the IP header."""

    def apply(self, transit: Transit) -> None:
        """Set the mark."""
        if (frame := marked(transit.octets)) != transit.octets:
            transit.frame, transit.marked = frame, True

    def __str__(self) -> str:
        return f"mark {self.match}"


# --------------------------------------------------------------------------- timed faults
DEREG, KILL = "dereg", "kill"
VICTIMS = {DEREG: Noun.MR, KILL: Noun.QP}
"""Kind of object that each applies to."""


@dataclass(slots=True)
class TimedFault:
    """One of the faults of the cable; removed once applied.

    victim: the object it applies to, victim_text: its name. at_ns: when, or None: as soon as a
    matching packet has been sent, whether it arrives or not. due: it is scheduled, no further
    packet triggers it.
    """

    watches: ClassVar[bool] = True
    number: int
    match: Match
    what: str
    victim: Thing
    victim_text: str
    at_ns: int | None = None
    due: bool = False

    def apply(self, transit: Transit) -> None:
        """Schedule the fault."""
        if not self.due:
            self.due = True
            transit.accidents.append(self.number)

    def passed_through(self, transit: Transit) -> None:
        """Nothing to do."""

    def __str__(self) -> str:
        when = self.match if self.at_ns is None else f"at={spelled(self.at_ns, Unit.NS)}"
        return f"{self.what} {self.victim_text} {when}"


def trigger(hca: "Hca", accident: TimedFault) -> None:
    """Apply the fault now; if that is not possible, the record has the reason."""
    thing = hca.tables[accident.victim.noun].items.get(accident.victim.number)
    why_not = f"there is no {accident.victim.noun} any more"
    if hca.unavailable_rule:
        why_not = "the device is gone"
    elif thing is not None:
        why_not = _DEEDS[accident.what](hca, thing)
    hca.trace.record(Kind.FAULT_TRIGGERED, "", accident.number, str(accident), why_not)


def _dereg(hca: "Hca", region: "MemoryRegion") -> str:
    """Another thread calls ibv_dereg_mr; why it is refused, if it is."""
    try:
        mr.deregister(hca, region)
    except Refused as refusal:
        return refusal.message
    return ""


def _kill(hca: "Hca", qp: "QueuePair") -> str:
    """Something inside the adapter fails: the QP goes to ERR, and the device says so."""
    if qp.state in (QPState.RESET, QPState.ERR):
        return f"the QP is in {qp.state.name}"
    # QP_FATAL, not a CQE with an error: no work request caused this.
    hca.raise_event(AsyncEvent.QP_FATAL, qp.number)
    flush.fail(hca, qp)
    return ""


_DEEDS: dict[str, Callable[["Hca", Any], str]] = {DEREG: _dereg, KILL: _kill}
