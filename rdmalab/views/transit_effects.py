"""Effects of the cable on a packet: the records that follow the one that sent it."""

from collections.abc import Callable, Sequence
from enum import IntEnum, auto

from rdmalab.spec.records import Kind, Record, frame_of, injection_of, kind_of, wait_ns_of
from rdmalab.views import fmt


class Origin(IntEnum):
    """The origin of a packet on the cable."""

    SENT = auto()
    COPIED = auto()  # by a fault: the sender knows nothing of it
    INJECTED = auto()  # by the experimenter: no device sent it


ORIGINS = {
    Kind.PACKET_SENT: Origin.SENT,
    Kind.PACKET_COPIED: Origin.COPIED,
    Kind.PACKET_INJECTED: Origin.INJECTED,
}

PACKETS = tuple(ORIGINS)
"""Kinds that put a packet on the cable."""

_TOUCHED = (Kind.PACKET_HARMED, Kind.PACKET_MARKED)
_SUFFERED = (
    Kind.PACKET_LOST, *_TOUCHED, Kind.PACKET_DELAYED, Kind.PACKET_HELD, Kind.PACKET_COPIED,
    Kind.PACKET_RELEASED,
)  # fmt: skip
# What happens to one packet, but stands behind the packet that made it happen, or happens to its
# original only.
_NOT_ITS_OWN = (Kind.PACKET_COPIED, Kind.PACKET_RELEASED)


def effects_of(records: Sequence[Record], number: int) -> list[Record]:
    """Records of effects of the cable on the packet of record `number`; a copy shares some."""
    first = number
    while kind_of(records[first]) is Kind.PACKET_COPIED:
        first = _sent(records, first)
    found = []
    for later in range(first + 1, len(records)):
        kind = kind_of(records[later])
        if kind not in _SUFFERED:
            break
        if kind in _TOUCHED or (first == number and kind not in _NOT_ITS_OWN):
            found.append(records[later])
    return found


def _sent(records: Sequence[Record], copy: int) -> int:
    """The record that sent what was copied."""
    while kind_of(records[copy]) in _SUFFERED:
        copy -= 1
    return copy


def original(records: Sequence[Record], number: int) -> int:
    """The record that sent this packet; of a copy, the one that sent what was copied."""
    is_copy = kind_of(records[number]) is Kind.PACKET_COPIED
    return _sent(records, number) if is_copy else number


def octets(records: Sequence[Record], number: int) -> bytes:
    """The bytes of the packet on the cable if a fault changed them; else empty."""
    if kind_of(records[number]) is Kind.PACKET_INJECTED:
        return bytes(injection_of(records[number]).octets)
    touched = [r for r in effects_of(records, number) if kind_of(r) in _TOUCHED]
    return bytes(frame_of(touched[-1])) if touched else b""


_TROUBLES: dict[Kind, Callable[[Record], str]] = {
    Kind.PACKET_HARMED: lambda _r: "corrupted",
    Kind.PACKET_MARKED: lambda _r: "marked",
    Kind.PACKET_DELAYED: lambda r: f"delayed by {fmt.duration(wait_ns_of(r))}",
    Kind.PACKET_HELD: lambda _r: "held back",
}


def troubles(records: Sequence[Record], number: int) -> list[str]:
    """`corrupted`, `marked`, `delayed by 3 us`, `held back`; the fate shows why it was lost."""
    found = effects_of(records, number)
    return [_TROUBLES[kind_of(r)](r) for r in found if kind_of(r) in _TROUBLES]
