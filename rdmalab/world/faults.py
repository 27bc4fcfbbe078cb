"""Faults: what may happen to a packet on its way, by script. One class a fault."""

from dataclasses import dataclass
from typing import Protocol

from rdmalab.spec.opcodes import OPCODES
from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import Packet


@dataclass(slots=True)
class Match:
    """Which packets: every field that is given must fit. nth counts the fitting ones from 1."""

    source: str = ""
    target: str = ""
    opcode: str = ""
    psn: int | None = None
    nth: int | None = None
    seen: int = 0

    def hits(self, source: str, target: str, packet: Packet | Frame) -> bool:
        if self.source not in ("", source) or self.target not in ("", target):
            return False
        row = OPCODES.get(packet.opcode) if packet.opcode is not None else None
        if self.opcode and (row is None or row.label != self.opcode):
            return False
        if self.psn is not None and self.psn != packet.psn:
            return False
        self.seen += 1
        return self.nth is None or self.nth == self.seen

    def __str__(self) -> str:
        parts = [f"{self.source}->{self.target}"] if self.source else []
        parts += [f"opcode={self.opcode}"] if self.opcode else []
        parts += [f"psn={self.psn}"] if self.psn is not None else []
        parts += [f"nth={self.nth}"] if self.nth is not None else []
        return " ".join(parts) or "every packet"


class Fault(Protocol):
    """What the cable asks of each fault, in the order in which they were set."""

    number: int
    match: Match

    def loses(self) -> str:
        """The reason why a matching packet is lost; empty if it is not."""

    def harms(self, frame: bytes) -> bytes:
        """The bytes of a matching packet after the fault."""


@dataclass(slots=True)
class Drop:
    """The packet never arrives."""

    number: int
    match: Match

    def loses(self) -> str:
        return f"fault {self.number}: drop {self.match}"

    def harms(self, frame: bytes) -> bytes:
        return frame

    def __str__(self) -> str:
        return f"drop {self.match}"


@dataclass(slots=True)
class Corrupt:
    """One bit of the packet flips; it travels on, and whether anybody notices is up to the ICRC."""

    number: int
    match: Match
    byte: int
    bit: int = 0

    def loses(self) -> str:
        return ""

    def harms(self, frame: bytes) -> bytes:
        harmed = bytearray(frame)
        harmed[self.byte % len(harmed)] ^= 1 << self.bit
        return bytes(harmed)

    def __str__(self) -> str:
        return f"corrupt {self.match} byte={self.byte} bit={self.bit}"
