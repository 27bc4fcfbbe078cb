"""Command inject: put bytes on the cable that no port has sent."""

from dataclasses import fields, replace
from typing import Annotated

from rdmalab.command import (
    SCRIPTABLE,
    Bits,
    CallArguments,
    Direction,
    NotUnderstood,
    Range,
    ReadOnlyWhen,
    command,
)
from rdmalab.hca.port import link_layer
from rdmalab.session.lines import Script
from rdmalab.spec.limits import LinkLayer
from rdmalab.spec.refusals import MALFORMED
from rdmalab.spec.row import dataclass
from rdmalab.views import occurrences, packets
from rdmalab.wire.links import decode, encode
from rdmalab.wire.packet import Packet
from rdmalab.wire.roce import Malformed
from rdmalab.world.world import World

_LONGEST = 65_536  # bytes


@dataclass(slots=True)
class Changes:
    """Changes to a copied packet; the ICRC is recomputed, except after byte and bit."""

    psn: Annotated[int, Bits(24)] | None = None
    dest_qp: Annotated[int, Bits(24)] | None = None
    pkey: Annotated[int, Bits(16)] | None = None
    byte: Annotated[int, Range(0)] | None = None
    bit: Annotated[int, Range(0, 7)] | None = None


@command(SCRIPTABLE)
def inject(
    world: World,
    direction: Direction,
    octets: str | None = None,
    *,
    packet: Annotated[str | None, ReadOnlyWhen()] = None,
    changes: Changes | None = None,
) -> Script | str:
    """Put bytes on the cable as if a port had sent them.

    octets: a whole Ethernet frame without FCS, or an InfiniBand packet from LRH to VCRC, in
    hexadecimal. Any bytes are allowed; the receiving port counts and drops malformed ones. Faults
    do not apply to them.
    packet=ev12: a copy of the packet of event 12, with another psn, dest_qp or pkey and a correct
    ICRC, or with bit `bit` of byte `byte` flipped and a wrong one. The command prints the bytes.

    Example: inject A->B packet=ev15 psn=7
    """
    if packet is not None:
        if octets is not None:
            raise NotUnderstood("bytes, or a packet?", hint="leave one out", argument="octets")
        layer = link_layer(world.nodes[direction.target])
        frame = _changed(_frame_of(world, packet), changes or Changes(), layer)
        return Script([f'inject {"->".join(direction)} "{frame.hex()}"'])
    if changes is not None:
        raise NotUnderstood("change which packet?", hint="add packet=ev12", argument="direction")
    if octets is None:
        hint = "add its bytes, or packet=ev12"
        raise NotUnderstood("inject what?", hint=hint, argument="direction")
    frame = _bytes(octets)
    world.network.inject(*direction, frame)
    return f"{len(frame)} bytes"


def _bytes(text: str) -> bytes:
    try:
        frame = bytes.fromhex(text)
    except ValueError:
        hint = 'write two digits a byte, "ff02 0a"'
        raise NotUnderstood("these are not bytes in hexadecimal", hint=hint,
                            argument="octets") from None  # fmt: skip
    if not 0 < len(frame) <= _LONGEST:
        count = len(frame)
        raise NotUnderstood(f"no frame has {count:,} bytes", hint=f"1 to {_LONGEST:,}",
                            argument="octets")  # fmt: skip
    return frame


def _frame_of(world: World, text: str) -> bytes:
    """The bytes of the packet that an event sent, received or dropped."""
    number = text.removeprefix("ev")
    row = packets.of_event(world, int(number)) if number.isdecimal() else None
    if row is None:
        raise NotUnderstood(f"{text} has no packet", hint=_newest(world), argument="packet")
    return row.raw


def _newest(world: World) -> str:
    """The hint that names the newest event with a packet, if it is in recent records."""
    last, records = packets.last_event(world), world.trace.records
    if last is not None:
        return f"the last one is ev{last}"
    if len(records) > occurrences.REACH:
        return f"none was sent in the last {occurrences.REACH:,} records: show wire"
    return "nothing was sent yet"


def _changed(frame: bytes, changes: Changes, layer: LinkLayer) -> bytes:
    given = {
        f.name: value for f in fields(changes) if (value := getattr(changes, f.name)) is not None
    }
    place = {name: given.pop(name, 0) for name in ("byte", "bit")} if _flips(given) else {}
    if given:
        frame = encode(replace(_read(frame, layer, next(iter(given))), **given))
    if place:
        corrupted = bytearray(frame)
        corrupted[place["byte"] % len(corrupted)] ^= 1 << place["bit"]
        frame = bytes(corrupted)
    return frame


def _flips(given: CallArguments) -> bool:
    return "byte" in given or "bit" in given


def _read(frame: bytes, layer: LinkLayer, wanted: str) -> Packet:
    try:
        return decode(frame, layer)
    except Malformed as malformed:
        message = f"these bytes are not an RDMA packet: {MALFORMED[malformed.reason]}"
        raise NotUnderstood(message, hint="flip a bit: byte=", argument=wanted) from None
