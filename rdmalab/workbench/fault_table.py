"""The table of faults: the sentence of each, the keys that it takes and needs, how it is made."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from rdmalab.command import Bits, Nanoseconds, OneOf, Probability, Range
from rdmalab.hca.attributes import Gid
from rdmalab.spec.packet_names import FRAME, PACKETS
from rdmalab.verbs.nouns import Qp, Srq
from rdmalab.wire.headers import UDP, Ethernet, IPv4
from rdmalab.wire.packet import MULTICAST_LID
from rdmalab.world.chance import MILLION
from rdmalab.world.faults import Corrupt, Delay, Drop, Duplicate, Fault, Mark, Match, Rate, Reorder
from rdmalab.world.timed_faults import DEREG, KILL

WireOpcode = Annotated[str, OneOf([name for name in PACKETS if name != FRAME])]


@dataclass(slots=True)
class Which:
    """The packets that a fault applies to: all given fields must match; nth counts the matches."""

    opcode: WireOpcode = ""
    psn: Annotated[int, Bits(24)] | None = None
    qp: Qp | None = None
    qpn: Annotated[int, Bits(24)] | None = None
    nth: Annotated[int, Range(1)] | None = None
    every: Annotated[int, Range(1)] | None = None
    p: Annotated[Probability, Range(0, MILLION)] | None = None
    count: Annotated[int, Range(1)] | None = None
    longer: Annotated[int, Range(0)] | None = None
    gid: Gid | None = None
    dlid: Annotated[int, Range(1, MULTICAST_LID - 1)] | None = None
    byte: Annotated[int, Range(0)] | None = None
    bit: Annotated[int, Range(0, 7)] | None = None
    after: Annotated[Nanoseconds, Range(0)] | None = None
    behind: Annotated[int, Range(1)] | None = None
    limit: Annotated[Nanoseconds, Range(1)] | None = None
    at: Annotated[Nanoseconds, Range(0)] | None = None
    srq: Srq | None = None


@dataclass(slots=True)
class Amounts:
    """How many packets, how long, how fast."""

    which: Which
    by_ns: int | None
    rate_bps: int | None


class FaultRow(NamedTuple):
    """A word of `fault`. help: its sentence in the help text. takes: keys that may be given.

    make: a fault of the cable. needs: a key that must be given, the question, an example.
    """

    help: str
    takes: tuple[str, ...]
    make: Callable[[int, Match, Amounts], Fault] | None = None
    needs: tuple[str, str, str] = ("", "", "")


_AWAITED = ("direction", "opcode", "psn", "qp", "qpn", "nth", "p", "longer", "gid", "dlid")


_SELECT = (*_AWAITED, "every", "count")
_BTH = Ethernet.LENGTH + IPv4.LENGTH + UDP.LENGTH  # an ICRC covers this byte on every link layer


def _reorder(number: int, match: Match, amounts: Amounts) -> Reorder:
    made, which = Reorder(number, match), amounts.which
    made.behind = which.behind or made.behind
    made.limit_ns = which.limit or made.limit_ns
    return made


FAULTS: dict[str, FaultRow] = {
    "drop": FaultRow("The packets never arrive.", _SELECT, lambda n, match, _a: Drop(n, match)),
    "corrupt": FaultRow(
        "Bit `bit` of byte `byte` of the frame flips, by default bit 0 of byte 42, the opcode of a "
        "BTH over IPv4.", (*_SELECT, "byte", "bit"),
        lambda n, match, a: Corrupt(
            n, match, _BTH if a.which.byte is None else a.which.byte, a.which.bit or 0
        ),
    ),
    "duplicate": FaultRow(
        "A copy arrives `after` this time, or directly after the packet.", (*_SELECT, "after"),
        lambda n, match, a: Duplicate(n, match, a.which.after or 0),
    ),
    "delay": FaultRow(
        "`delay A->B 3us`: the packets arrive 3 us later.", (*_SELECT, "by"),
        lambda n, match, a: Delay(n, match, a.by_ns or 0),
        ("by", "how long?", "fault delay A->B 3us"),
    ),
    "reorder": FaultRow(
        "The packets wait until `behind` later ones have passed, by default 1, or for `limit`.",
        (*_SELECT, "behind", "limit"), _reorder,
    ),
    "rate": FaultRow(
        "`rate A->B 1Gbps`: the packets pass one after the other at this rate.", (*_SELECT, "rate"),
        lambda n, match, a: Rate(n, match, a.rate_bps or 1),
        ("rate", "how fast?", "fault rate A->B 1Gbps"),
    ),
    "mark": FaultRow(
        "The IP header says congestion experienced.", _SELECT, lambda n, match, _a: Mark(n, match)
    ),
    DEREG: FaultRow(
        "`dereg A.mr0`: the application deregisters the region, see at.",
        ("victim", "at", *_AWAITED), None,
        ("victim", "which memory region?", "fault dereg A.mr0 at=9.2us"),
    ),
    KILL: FaultRow(
        "`kill A.qp0`: the adapter moves the queue pair to ERR, see at.",
        ("victim", "at", *_AWAITED), None,
        ("victim", "which queue pair?", "fault kill A.qp0 A->B nth=2"),
    ),
    "srq_error": FaultRow(
        "`srq=B.srq0`: the SRQ fails inside the adapter and provides no receives any more.",
        ("srq",), None, ("srq", "which SRQ breaks?", "fault srq_error srq=B.srq0"),
    ),
    "list": FaultRow("Show the faults that are set.", ()),
    "clear": FaultRow("Remove all faults; `clear 2` removes the second.", ("number",)),
}  # fmt: skip
