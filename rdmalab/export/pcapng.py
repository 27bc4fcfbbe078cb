"""A capture of the cable as pcapng: one interface a node, each frame where and when it left.

InfiniBand ports have link type 247, packets with their LRH, ICRC and VCRC.

The capture point is the cable end of the sender's port. A frame corrupted by a fault is captured
with the changed bytes, a frame lost on the cable is captured too, a frame that never left its
port is not. Its comment names the fate of each frame.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rdmalab.hca import port
from rdmalab.session.interruption import check
from rdmalab.session.names import Names
from rdmalab.spec.limits import LinkLayer
from rdmalab.spec.records import Kind, Record, at_ns_of, kind_of, node_of, packet_of, reason_of
from rdmalab.spec.row import dataclass
from rdmalab.version import VERSION
from rdmalab.views import fmt, ladder
from rdmalab.views.fates import Fate
from rdmalab.views.ladder import PacketRow
from rdmalab.views.requests import RequestRow, request_rows
from rdmalab.views.transit_effects import ORIGINS, PACKETS, Origin, effects_of, octets, original
from rdmalab.wire.frame import Frame, octets_of
from rdmalab.wire.packet import Packet
from rdmalab.world.network import NEVER_LEFT
from rdmalab.world.world import World

MAGIC = b"\x0a\x0d\x0d\x0a"  # the same in either byte order

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6  # block types
_BYTE_ORDER = 0x1A2B3C4D
_VERSION = (1, 0)
_UNKNOWN_LENGTH = -1
# LINKTYPE_ETHERNET; LINKTYPE_INFINIBAND: from the LRH to the VCRC.
_LINK_TYPES = {LinkLayer.ETHERNET: 1, LinkLayer.INFINIBAND: 247}
_NO_LIMIT = 0
_OUTBOUND = 0b10

# Option codes; each block has its own but for the first two.
_END, _COMMENT = 0, 1
_SECTION_APPLICATION = 4
_INTERFACE_NAME, _INTERFACE_MAC, _INTERFACE_EUI, _INTERFACE_SPEED = 2, 6, 7, 8
_INTERFACE_RESOLUTION = 9
_PACKET_FLAGS = 2
_NANOSECONDS = b"\x09"  # 10^-9 s
_LONGEST_TEXT = 0xFFFF  # bytes
_LARGEST = (1 << 64) - 1  # a time, of 584 years, or a speed; what is larger is written as this

_Option = tuple[int, bytes]


def is_capture(octets: bytes) -> bool:
    """Whether these bytes are a pcapng file, of any program."""
    return octets.startswith(MAGIC)


@dataclass(slots=True)
class Captured:
    """One frame on the cable: the packet that was sent, and its bytes as they went on.

    number: of its record. corrupted: a fault changed the bytes. marked: ECN CE was set by a router.
    """

    number: int
    node: str
    at_ns: int
    packet: Packet | Frame
    octets: bytes
    corrupted: bool
    marked: bool
    origin: Origin


@dataclass(slots=True)
class Capture:
    """The bytes of a capture, the number of its frames, and of those that never left their port."""

    octets: bytes
    frames: int
    never_left: int


# --------------------------------------------------------------------------- what a tap sees
def captured(records: Sequence[Record]) -> Iterator[Captured]:
    """Each frame that left its port, in the order of the records."""
    many = len(records)
    for number, record in enumerate(records):
        check(number, many)
        if kind_of(record) in PACKETS and (frame := _captured(records, number)) is not None:
            yield frame


def _captured(records: Sequence[Record], number: int) -> Captured | None:
    """One frame; None if it never left its port."""
    record, suffered = records[number], effects_of(records, number)
    lost = [each for each in suffered if kind_of(each) is Kind.PACKET_LOST]
    if any(reason_of(each) in NEVER_LEFT for each in lost):
        return None
    kinds = [kind_of(each) for each in suffered]
    packet, node, at_ns = packet_of(record), node_of(record), at_ns_of(record)
    return Captured(
        number, node, at_ns, packet, octets(records, number) or octets_of(packet),
        Kind.PACKET_HARMED in kinds, Kind.PACKET_MARKED in kinds, ORIGINS[kind_of(record)],
    )  # fmt: skip


# --------------------------------------------------------------------------- the capture
def capture(world: World, names: Names) -> Capture:
    """The capture of all frames since time 0. Raises Stopped on ^C."""
    records = world.trace.records
    frames = list(captured(records))
    sent = sum(kind_of(record) in PACKETS for record in records)
    never_left = sent - len(frames)
    interface = {node: number for number, node in enumerate(world.nodes)}
    blocks = [_section(never_left), *(_interface(world, node) for node in world.nodes)]
    for frame, comment in zip(frames, _comments(world, names, frames), strict=True):
        blocks.append(_packet(interface[frame.node], frame, comment))
    return Capture(b"".join(blocks), len(frames), never_left)


def _comments(world: World, names: Names, frames: list[Captured]) -> Iterator[str]:
    numbers, records = [frame.number for frame in frames], world.trace.records
    requests = request_rows(world, names, set(numbers))
    rows = ladder.packet_rows(world, names, numbers)
    for at, (frame, row) in enumerate(zip(frames, rows, strict=True)):
        check(at, len(frames))
        yield _comment(frame, row, requests.get(original(records, frame.number)))


def _comment(frame: Captured, row: PacketRow, request: RequestRow | None) -> str:
    """`event 31 · A.qp0 wr7 SEND 2000 B (packet 2 of 4) · arrives 9.210 us`."""
    parts = [f"event {row.event}", _whose(frame.packet, row, request)]
    if frame.origin is not Origin.SENT:
        parts.append(f"{frame.origin.name.lower()} on the cable")
    if frame.corrupted:
        parts.append(f"corrupted on the cable: {_flips(octets_of(frame.packet), frame.octets)}")
        row = replace(row, troubles=[each for each in row.troubles if each != "corrupted"])
    lost = row.fate is Fate.LOST
    return " · ".join([*parts, f"lost on the cable: {row.reason}" if lost else row.fate_text])


def _whose(packet: Packet | Frame, row: PacketRow, request: RequestRow | None) -> str:
    if row.origin is Origin.INJECTED:
        return f"{row.source} has not sent {fmt.packet_words(packet)}"
    if request is None:
        return f"{row.qp} sends {fmt.packet_words(packet)}"
    if request.answers:
        return f"{row.qp} answers {fmt.packet_words(packet)} to {request.text}"
    return request.text


def _flips(good: bytes, corrupted: bytes) -> str:
    """`bit 3 of byte 60 flipped`, as `fault corrupt` counts; a bit may have flipped back."""
    flips = [
        f"bit {bit} of byte {at}"
        for at, (was, became) in enumerate(zip(good, corrupted, strict=True))
        for bit in range(8)
        if (was ^ became) >> bit & 1
    ]
    return f"{', '.join(flips)} flipped" if flips else "bits flipped twice, bytes unchanged"


# --------------------------------------------------------------------------- blocks
def _section(never_left: int) -> bytes:
    options = [(_SECTION_APPLICATION, _text(f"rdmalab {VERSION}"))]
    if never_left:
        frames = "1 frame is" if never_left == 1 else f"{never_left} frames are"
        text = f"{frames} not captured: the port was not ACTIVE"
        options.append((_COMMENT, _text(text)))
    body = struct.pack("<IHHq", _BYTE_ORDER, *_VERSION, _UNKNOWN_LENGTH)
    return _block(_SECTION, body, options)


def _interface(world: World, node: str) -> bytes:
    hca = world.nodes[node]
    mac = (_INTERFACE_MAC, hca.mac.to_bytes(6, "big"))
    eui = (_INTERFACE_EUI, port.guid(hca).to_bytes(8, "big"))
    options = [
        (_INTERFACE_NAME, _text(node)),
        eui if hca.lids else mac,
        (_INTERFACE_SPEED, struct.pack("<Q", min(world.network.cable.rate_bps, _LARGEST))),
        (_INTERFACE_RESOLUTION, _NANOSECONDS),
    ]
    link_type = _LINK_TYPES[port.link_layer(hca)]
    return _block(_INTERFACE, struct.pack("<HHI", link_type, 0, _NO_LIMIT), options)


def _packet(interface: int, frame: Captured, comment: str) -> bytes:
    high, low = divmod(min(frame.at_ns, _LARGEST), 1 << 32)
    length = len(frame.octets)
    body = struct.pack("<IIIII", interface, high, low, length, length) + _padded(frame.octets)
    flags = struct.pack("<I", _OUTBOUND)
    return _block(_PACKET, body, [(_COMMENT, _text(comment)), (_PACKET_FLAGS, flags)])


def _block(block_type: int, body: bytes, options: Iterable[_Option]) -> bytes:
    """Type, total length, body, options, total length once more."""
    whole = body + b"".join(_option(*option) for option in options) + _option(_END, b"")
    length = len(whole) + 12
    return struct.pack("<II", block_type, length) + whole + struct.pack("<I", length)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _text(text: str) -> bytes:
    """The text as UTF-8, cut at a character to the largest size of an option."""
    return text.encode()[:_LONGEST_TEXT].decode(errors="ignore").encode()


def _padded(octets: bytes) -> bytes:
    """The bytes padded to a multiple of four."""
    return octets + bytes(-len(octets) & 3)
