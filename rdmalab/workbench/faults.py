"""Faults: what the experimenter does to the cable."""

from dataclasses import dataclass
from typing import Annotated, Literal

from rdmalab.command import (
    BitRate,
    Bits,
    Bytes,
    Direction,
    Nanoseconds,
    NotUnderstood,
    OneOf,
    Range,
    command,
)
from rdmalab.hca.srq import fail
from rdmalab.session.session import Session
from rdmalab.spec.opcodes import BY_LABEL
from rdmalab.spec.records import Kind
from rdmalab.spec.states import MTU
from rdmalab.verbs.nouns import Srq
from rdmalab.world.faults import Corrupt, Drop, Fault, Match
from rdmalab.world.world import World

_MTUS = tuple(mtu.octets for mtu in MTU)

WireOpcode = Annotated[str, OneOf(BY_LABEL)]


@dataclass(slots=True)
class Which:
    """Which packets a fault meets: all that is given must fit; nth counts the fitting ones."""

    opcode: WireOpcode = ""
    psn: Annotated[int, Bits(24)] | None = None
    nth: Annotated[int, Range(1)] | None = None
    byte: Annotated[int, Range(0)] = 0
    bit: Annotated[int, Range(0, 7)] = 0


@command
def fault(
    world: World,
    what: Literal["drop", "corrupt", "srq_error", "clear"],
    direction: Direction | None = None,
    *,
    which: Which | None = None,
    srq: Srq | None = None,
) -> str:
    """Spoil packets on the cable, or break a shared receive queue.

    drop: they never arrive. corrupt: bit `bit` of byte `byte` of the frame flips. clear: no faults.
    nth=2 means only the second packet that fits; without nth all of them. `faults` lists them.
    srq_error: the SRQ fails inside the adapter, for good: no receive is taken from it any more.

    Example: fault drop B->A opcode=ACKNOWLEDGE nth=1
    """
    cable = world.cable
    if what == "clear":
        world.trace.record(Kind.FAULT_CLEARED, "", 0, len(cable.faults))
        cable.faults.clear()
        return "no faults"
    if what == "srq_error":
        return _break(world, srq)
    made = _fault(world, what, direction, which or Which())
    cable.faults.append(made)
    cable.next_fault += 1
    world.trace.record(Kind.FAULT_SET, "", made.number, str(made))
    return f"fault {made.number}: {made}"


def _break(world: World, srq: Srq | None) -> str:
    if srq is None:
        raise NotUnderstood("which SRQ breaks?", hint="fault srq_error srq=B.srq0", argument="what")
    fail(*world.at(srq))
    return "the SRQ is in its error state"


def _fault(world: World, what: str, direction: Direction | None, which: Which) -> Fault:
    source, target = direction or ("", "")
    match = Match(source, target, which.opcode, which.psn, which.nth)
    number = world.cable.next_fault
    return Drop(number, match) if what == "drop" else Corrupt(number, match, which.byte, which.bit)


@command
def faults(session: Session) -> list[Fault]:
    """List the faults that are set.

    Example: faults
    """
    return session.world.cable.faults


@dataclass(slots=True)
class LinkSettings:
    """The cable's settings."""

    latency: Annotated[Nanoseconds, Range(0)] | None = None
    rate: Annotated[BitRate, Range(1)] | None = None
    mtu: Bytes | None = None


@command
def link(
    world: World,
    state: Literal["up", "down"] | None = None,
    *,
    settings: LinkSettings | None = None,
) -> None:
    """Pull the plug or put it back; set latency (one way), rate and MTU.

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
            world.tune_link(name, value)
    if state is not None:
        world.set_link(up=state == "up")
