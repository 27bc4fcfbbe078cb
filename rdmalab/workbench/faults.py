"""Commands fault, faults and link: packet loss, delay, corruption, host failures."""

from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Literal, NamedTuple

from rdmalab.command import (
    SCRIPTABLE,
    CallArguments,
    Direction,
    Facts,
    NotUnderstood,
    Thing,
    command,
    metadata,
)
from rdmalab.hca.attributes import Gid
from rdmalab.hca.qp import SharedReceiveQueue
from rdmalab.hca.srq import fail
from rdmalab.session.session import Session
from rdmalab.spec.opcodes import FRAME, PACKETS
from rdmalab.spec.records import Kind
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import MTU
from rdmalab.verbs.nouns import Qp, Srq
from rdmalab.wire.headers import UDP, Ethernet, IPv4
from rdmalab.wire.packet import MULTICAST_LID
from rdmalab.world.faults import (
    DEREG,
    KILL,
    MILLION,
    VICTIMS,
    Chance,
    Corrupt,
    Delay,
    Drop,
    Duplicate,
    Fault,
    Mark,
    Match,
    Rate,
    Reorder,
    TimedFault,
)
from rdmalab.world.world import World

WireOpcode = Annotated[str, metadata.OneOf([name for name in PACKETS if name != FRAME])]


@dataclass(slots=True)
class Which:
    """The packets that a fault applies to: all given fields must match; nth counts the matches."""

    opcode: WireOpcode = ""
    psn: Annotated[int, metadata.Bits(24)] | None = None
    qp: Qp | None = None
    qpn: Annotated[int, metadata.Bits(24)] | None = None
    nth: Annotated[int, metadata.Range(1)] | None = None
    every: Annotated[int, metadata.Range(1)] | None = None
    p: Annotated[metadata.Probability, metadata.Range(0, MILLION)] | None = None
    count: Annotated[int, metadata.Range(1)] | None = None
    longer: Annotated[int, metadata.Range(0)] | None = None
    gid: Gid | None = None
    dlid: Annotated[int, metadata.Range(1, MULTICAST_LID - 1)] | None = None
    byte: Annotated[int, metadata.Range(0)] | None = None
    bit: Annotated[int, metadata.Range(0, 7)] | None = None
    after: Annotated[metadata.Nanoseconds, metadata.Range(0)] | None = None
    behind: Annotated[int, metadata.Range(1)] | None = None
    limit: Annotated[metadata.Nanoseconds, metadata.Range(1)] | None = None
    at: Annotated[metadata.Nanoseconds, metadata.Range(0)] | None = None
    srq: Srq | None = None


@dataclass(slots=True)
class Amounts:
    """Number of packets, time and rate."""

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
        "`rate A->B 1Gbps`: the packets pass at this rate.", (*_SELECT, "rate"),
        lambda n, match, a: Rate(n, match, a.rate_bps or 1),
        ("rate", "how fast?", "fault rate A->B 1Gbps"),
    ),
    "mark": FaultRow(
        "An ECN-capable packet (traffic_class ends in bits 01 or 10) arrives with 11.",
        _SELECT, lambda n, match, _a: Mark(n, match)
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
    "list": FaultRow("Show the faults.", ()),
    "clear": FaultRow("Remove all; `clear 2` removes the second.", ("number",)),
}  # fmt: skip


_MTUS = tuple(mtu.octets for mtu in MTU)


@command(Facts(in_scenarios=True, help_rows={name: row.help for name, row in FAULTS.items()}))
def fault(  # noqa: PLR0913, PLR0917  (one sentence has these parts)
    world: World,
    what: Annotated[str, metadata.OneOf(FAULTS), metadata.ReadOnlyWhen("list")],
    direction: Direction | None = None,
    victim: Thing | None = None,
    number: Annotated[int, metadata.Range(1)] | None = None,
    by: Annotated[metadata.Nanoseconds, metadata.Range(1)] | None = None,
    rate: Annotated[metadata.BitRate, metadata.Range(1)] | None = None,
    *,
    which: Which | None = None,
) -> str | list[Fault]:
    """Spoil packets on the cable, or objects of a host.

    {rows}

    The keys say which packets: all that are given must match. Lost packets count too. dereg and
    kill happen once: at a time, when a matching packet has left, or now.

    * qp: packets that it sends, or that go to it
    * nth: nth=2: only the second match from now on
    * every: every=3: each third, starting with nth
    * p: p=2%: random, by the seed of the session
    * count: this many, then no more
    * longer: longer=1514: only frames of more bytes, as a switch of MTU 1500 drops them
    * gid: only packets from or to this address, as without a route
    * dlid: only packets to this LID of an InfiniBand port, as if one path was cut
    * at: the time of a dereg or kill

    Example: fault drop B->A opcode=ACKNOWLEDGE nth=1
    """
    given = {"direction": direction, "victim": victim, "number": number, "by": by, "rate": rate}
    return _carry_out(world, what, given, which or Which())


def _carry_out(world: World, what: str, given: CallArguments, chosen: Which) -> str | list[Fault]:
    if what == "list":
        return world.network.cable.faults
    _check(what, given, chosen)
    _check_layer(world, what, chosen)
    if what == "clear":
        return _clear(world, given["number"])
    if what == "srq_error":
        return _break(world, chosen.srq)
    if given["victim"] is not None:
        return _await(world, what, given["victim"], given["direction"], chosen)
    return _spoil(world, what, given["direction"], Amounts(chosen, given["by"], given["rate"]))


# --------------------------------------------------------------------------- what goes with what
def _check(what: str, given: CallArguments, chosen: Which) -> None:
    """Raises NotUnderstood for a key that this fault does not take, or that is missing."""
    given = given | {f.name: getattr(chosen, f.name) for f in fields(chosen)}
    for name, value in given.items():
        if value not in (None, "") and name not in FAULTS[what].takes:
            legal = " ".join(FAULTS[what].takes)
            raise NotUnderstood(f"{what} takes no {name}", hint=f"it takes: {legal}", argument=name)
    lacks, question, example = FAULTS[what].needs
    if lacks and given[lacks] is None:
        raise NotUnderstood(question, hint=example, argument="what")
    if chosen.qp is not None and chosen.qpn is not None:
        raise NotUnderstood("qp and qpn name one queue pair twice", hint="leave one out",
                            argument="qpn")  # fmt: skip


def _check_layer(world: World, what: str, chosen: Which) -> None:
    """Raises NotUnderstood for a key that packets of this link layer do not have."""
    layers = {bool(hca.lids) for hca in world.nodes.values()}
    if chosen.dlid is not None and True not in layers:
        hint = "for InfiniBand: port A link_layer=InfiniBand"
        raise NotUnderstood("packets of RoCE have no LIDs", hint=hint, argument="dlid")
    if what == "mark" and False not in layers:
        message = "mark changes an IP header, and InfiniBand packets have none"
        raise NotUnderstood(message, hint="drop, corrupt, delay …", argument="what")


def _match(world: World, direction: Direction | None, chosen: Which) -> Match:
    source, target = direction or ("", "")
    qp, text = _whose(chosen.qp, chosen.qpn)
    number = world.network.cable.next_fault
    chance = None if chosen.p is None else Chance(chosen.p, world.seed, number)
    return Match(
        source, target, chosen.opcode, chosen.psn, chosen.nth,
        qp, text, chosen.every, chance, chosen.count, chosen.longer, chosen.gid,
        chosen.dlid,
    )  # fmt: skip


def _whose(qp: Thing | None, qpn: int | None) -> tuple[tuple[str, int] | None, str]:
    if qp is not None:
        return (qp.node, qp.number), f"{qp.node}.{qp.noun}#{qp.number}"
    return (None, "") if qpn is None else (("", qpn), f"{qpn:#x}")


def _spoil(world: World, what: str, direction: Direction | None, amounts: Amounts) -> str:
    """Set a fault of the cable."""
    match = _match(world, direction, amounts.which)
    make = FAULTS[what].make
    assert make is not None  # a fault of the cable
    return _set(world, make(world.network.cable.next_fault, match, amounts))


def _await(
    world: World, what: str, victim: Thing, direction: Direction | None, chosen: Which
) -> str:
    """Plan a fault of a host object."""
    world.find(victim, object)
    wanted = VICTIMS[what]
    if victim.noun is not wanted:
        hint = f"{what} takes a {wanted}"
        raise NotUnderstood(
            f"this fault does not apply to a {victim.noun}", hint=hint, argument="victim"
        )
    match = _match(world, direction, chosen)
    has_match = match != Match()
    if chosen.at is not None and (has_match or chosen.at < world.now_ns):
        wrong = "at a time, or at a packet?" if has_match else "this time is in the past"
        raise NotUnderstood(wrong, hint="leave one out" if has_match else "choose a later time",
                            argument="at")  # fmt: skip
    at_ns = None if has_match else max(chosen.at or 0, world.now_ns)
    text = f"{victim.node}.{victim.noun}#{victim.number}"
    number = world.network.cable.next_fault
    made = TimedFault(number, match, what, victim, text, at_ns, not has_match)
    return _set(world, made)


def _set(world: World, made: Fault) -> str:
    world.network.cable.next_fault += 1
    world.trace.record(Kind.FAULT_SET, "", made.number, str(made))
    world.network.set_fault(made)
    return f"fault {made.number}: {made}"


def _clear(world: World, number: int | None) -> str:
    there = world.network.cable.faults
    gone = [each for each in there if number in (None, each.number)]
    if number is not None and not gone:
        numbers = " ".join(str(each.number) for each in there)
        hint = f"there is: {numbers}" if numbers else "there are no faults"
        raise NotUnderstood(f"no fault has the number {number}", hint=hint, argument="number")
    world.trace.record(Kind.FAULT_CLEARED, "", number or 0, len(gone))
    for each in gone:
        world.network.clear_fault(each)
    return f"{len(there)} left" if there else "no faults"


def _break(world: World, srq: Srq | None) -> str:
    assert srq is not None
    fail(*world.at(srq, SharedReceiveQueue))
    return "the SRQ is in its error state"


@command(SCRIPTABLE)
def faults(session: Session, what: Literal["clear", "list"] = "list") -> list[Fault]:
    """List the faults that are set.

    To set and to clear them: fault.

    Example: faults
    """
    if what == "clear":
        raise NotUnderstood("faults only lists them", hint="fault clear", argument="what")
    return session.world.network.cable.faults


@dataclass(slots=True)
class LinkSettings:
    """The cable's settings."""

    latency: Annotated[metadata.Nanoseconds, metadata.Range(0)] | None = None
    rate: Annotated[metadata.BitRate, metadata.Range(1)] | None = None
    mtu: metadata.Bytes | None = None


@command(SCRIPTABLE)
def link(
    world: World,
    state: Literal["up", "down"] | None = None,
    *,
    settings: LinkSettings | None = None,
) -> None:
    """Set the link up or down, its latency (one way), rate and MTU.

    Example: link latency=5us rate=25Gbps
    """
    chosen = settings or LinkSettings()
    if chosen.mtu not in (None, *_MTUS):
        legal = " ".join(map(str, _MTUS))
        wrong = f"no port has an MTU of {chosen.mtu}"
        raise NotUnderstood(wrong, hint=f"mtu: {legal}", argument="mtu")
    for name, value in (
        ("latency_ns", chosen.latency),
        ("rate_bps", chosen.rate),
        ("mtu", chosen.mtu),
    ):
        if value is not None:
            world.network.tune_link(name, value)
    if state is not None:
        world.network.set_link(up=state == "up")
