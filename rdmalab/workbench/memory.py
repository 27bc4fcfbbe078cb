"""Commands write, fill, read and hexdump: the application accesses its own buffers."""

from dataclasses import dataclass
from typing import Annotated

from rdmalab.command import SCRIPTABLE, Bits, NotUnderstood, Noun, Region, command
from rdmalab.hca.mr import MemoryRegion
from rdmalab.session.session import Session
from rdmalab.spec.records import Kind
from rdmalab.world.world import World

Bytes_ = Annotated[Region, Noun.MR]
_MOST = 1 << 24
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
        message = f"[{start}:{stop}] lies outside the buffer"
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

    \\n, \\t, \\0 and \\x41 are understood inside the quotes.

    Example: write A.mr0[0:5] "hello"
    """
    octets = text.encode("latin-1", "replace")
    mr, start, stop = bounds(world, where)
    if len(octets) > stop - start:
        message = f"the text has {len(octets)} bytes, the range {stop - start}"
        hint = "make the range longer or the text shorter"
        raise NotUnderstood(message, hint=hint, argument="text")
    _put(world, where, mr.addr + start, octets)


@command(SCRIPTABLE)
def fill(world: World, where: Bytes_, byte: Annotated[int, Bits(8)] = 0) -> None:
    """Fill a buffer with one byte.

    Example: fill A.mr0[0:64] 0xaa
    """
    mr, start, stop = _few(world, where)
    _put(world, where, mr.addr + start, bytes([byte]) * (stop - start))


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
