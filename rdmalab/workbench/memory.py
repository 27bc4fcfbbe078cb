"""Commands by which the application accesses its own memory: write, fill, read, hexdump, poke."""

from typing import Annotated

from rdmalab.command import SCRIPTABLE, Bits, NotUnderstood, Noun, Range, Region, Thing, command
from rdmalab.hca.objects import MemoryRegion
from rdmalab.session.session import Session
from rdmalab.spec.records import Kind
from rdmalab.spec.row import dataclass
from rdmalab.world.world import World

Node = Annotated[Thing, Noun.NODE]
Address = Annotated[int, Bits(64)]
Bytes_ = Annotated[Region, Noun.MR]
_MOST = 1 << 24
_MOST_MAPPED = 1 << 31  # as the longest MR
_END = 1 << 64
_MOST_BITS = 64  # of a number that is to be written
_LINE = 64  # what hexdump shows of a buffer when no range is given


@dataclass(slots=True)
class Window:
    """Bytes [start, stop) of a memory region, to be shown."""

    region: Region
    start: int
    stop: int


def bounds(world: World, region: Region) -> tuple[MemoryRegion, int, int]:
    """The MR and its range (start, stop); `[n]` means from n to the end."""
    mr = world.find(region.thing, MemoryRegion)
    start = region.start or 0
    stop = mr.length if region.stop is None else region.stop
    if not 0 <= start <= stop <= mr.length:
        message = f"[{start}:{stop}] is outside the buffer"
        raise NotUnderstood(message, hint=f"it has bytes 0:{mr.length}", argument="where")
    return mr, start, stop


def _few(world: World, region: Region) -> tuple[MemoryRegion, int, int]:
    """The MR and its range; NotUnderstood if the range has more than 16 MiB."""
    mr, start, stop = bounds(world, region)
    if stop - start > _MOST:
        raise NotUnderstood("too many bytes at once", hint=f"at most {_MOST}", argument="where")
    return mr, start, stop


@command(SCRIPTABLE)
def write(world: World, where: Bytes_, text: str) -> None:
    """Write text into a buffer, as the application would; its length must equal the range.

    Without an end, as in A.mr0[8], the range is as long as the text. \\n, \\t, \\0 and \\x41 are
    understood inside the quotes. A number for an atomic has its lowest byte first: \\x05\\0\\0\\0….

    Example: write A.mr0[0:5] "hello"
    """
    octets = text.encode("latin-1", "replace")
    mr, start, stop = bounds(world, where)
    stop = stop if where.stop is not None else min(stop, start + len(octets))
    if len(octets) != stop - start:
        message = f"the text has {len(octets)} bytes, the range {stop - start}"
        hint = f"end the range at {start + len(octets)}, or write {stop - start} bytes"
        if number := _as_octets(text, stop - start):
            hint = f"for the number {text}, its lowest byte first, write {number}"
        raise NotUnderstood(message, hint=hint, argument="text")
    _put(world, where, mr.addr + start, octets)


def _as_octets(text: str, size: int) -> str:
    """`"\\x05\\0"`: the number in a text as so many bytes; empty if it is none, or too large."""
    try:
        number = int(text, 0)
    except ValueError:
        return ""
    if 8 * size > _MOST_BITS or not 0 <= number < 1 << 8 * size:
        return ""
    octets = number.to_bytes(size, "little")
    return '"' + "".join(f"\\x{each:02x}" if each else "\\0" for each in octets) + '"'


@command(SCRIPTABLE)
def fill(world: World, where: Bytes_, byte: Annotated[int, Bits(8)] = 0) -> None:
    """Fill a buffer with one byte.

    Example: fill A.mr0[0:64] 0xaa
    """
    mr, start, stop = _few(world, where)
    _put(world, where, mr.addr + start, bytes([byte]) * (stop - start))


@command(SCRIPTABLE)
def map_memory(
    world: World, node: Node, *, addr: Address, length: Annotated[int, Range(1, _MOST_MAPPED)]
) -> None:
    """Map pages of a node's memory at an address, as the process of a program has them there.

    reg_mr addr=… can register them then. Where reg_mr has no addr the lab maps memory for it.

    Example: map_memory A addr=0x7f0000001000 length=8192
    """
    if addr + length > _END:
        message = f"{length} bytes at {addr:#x} go beyond 2^64"
        raise NotUnderstood(message, hint="map less, or lower", argument="length")
    world.node(node).memory.map_at(addr, length)


@command(SCRIPTABLE)
def poke(world: World, node: Node, *, addr: Address, text: str) -> None:
    """Write text at an address of a node's memory, also where no MR is, as the application would.

    \\n, \\t, \\0 and \\x41 are understood inside the quotes. Inside an MR `write` names the bytes.

    Example: poke A addr=0x7f0000001000 text="hello"
    """
    octets = text.encode("latin-1", "replace")
    hca = world.node(node)
    if not hca.memory.is_mapped(addr, len(octets)):
        message = f"node {hca.node} has no memory at {addr:#x}, {len(octets)} bytes"
        hint = f"map_memory {hca.node} addr={addr:#x} length={max(len(octets), 1)}"
        raise NotUnderstood(message, hint=hint, argument="addr")
    hca.memory.write(addr, octets)


def _put(world: World, where: Region, addr: int, octets: bytes) -> None:
    hca = world.node(where.thing)
    hca.memory.write(addr, octets)
    world.trace.record(Kind.HOST_WROTE, hca.node, where.thing.number, addr, len(octets))


@command(SCRIPTABLE)
def read(session: Session, where: Bytes_) -> bytes:
    """Read bytes of a buffer as text.

    Example: read B.mr0[0:5]
    """
    mr, start, stop = _few(session.world, where)
    return bytes(session.world.node(where.thing).memory.read(mr.addr + start, stop - start))


@command(SCRIPTABLE)
def hexdump(session: Session, where: Bytes_) -> Window:
    """Show bytes of a buffer, and which of them the last event touched.

    Example: hexdump B.mr0[0:64]
    """
    _, start, stop = bounds(session.world, where)
    unsaid = where.start is None and where.stop is None
    return Window(where, start, min(stop, start + _LINE) if unsaid or where.stop is None else stop)
