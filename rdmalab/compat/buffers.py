"""The program's memory: real bytes of this process, mirrored in the memory of a node.

Addresses in the lab are the same in every run, those of this process are not; whatever a program
hands over is translated here, and nowhere else.

Bytes of this process by their address, read and written without a segmentation fault. A program may
unmap memory that it has registered. The kernel copies here, not the processor, and refuses what is
not mapped: on Linux process_vm_readv, elsewhere write() into a pipe.
"""

import ctypes
import mmap
import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from rdmalab.command import Ref
from rdmalab.spec.row import dataclass

_LIBC = ctypes.CDLL(None, use_errno=True)
_MAPS = Path("/proc/self/maps")  # of Linux
_PIECE = 4096  # bytes that fit into an empty pipe of any system


class UnmappedError(Exception):
    """Bytes that are not memory of this process, or that it may not write."""

    def __init__(self, addr: int, length: int) -> None:
        super().__init__(f"in C this would crash: no memory at {addr:#x}, length {length}")


class _Vector(ctypes.Structure):
    """`iovec`."""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def read(addr: int, length: int) -> bytes:
    """The bytes at an address of this process; UnmappedError if one of them cannot be read."""
    room = bytearray(length)
    read_into(room, addr)
    return bytes(room)


def read_into(room: bytearray, addr: int) -> None:
    """Fill `room` with the bytes at an address; UnmappedError if one of them cannot be read."""
    if room and not _copy("readv", room, addr) and not _from_pipe(room, addr):
        raise UnmappedError(addr, len(room))


def write(addr: int, octets: bytes) -> None:
    """Put bytes at an address of this process; UnmappedError if one of them cannot be written."""
    if octets and not _copy("writev", bytearray(octets), addr) and not _to_pipe(octets, addr):
        raise UnmappedError(addr, len(octets))


def is_mapped(addr: int, length: int, *, writable: bool) -> bool:
    """Whether pages for all these bytes can be pinned; True where no list of them is at hand."""
    if not _MAPS.exists():
        return True
    for line in _MAPS.read_text("utf-8", "replace").splitlines():
        (first, _, last), rights = line.split(" ", 1)[0].partition("-"), line.split(" ")[1]
        if int(last, 16) <= addr or not rights.startswith("rw" if writable else "r"):
            continue
        if int(first, 16) > addr:
            return False
        if addr + length <= int(last, 16):
            return True
        length -= int(last, 16) - addr
        addr = int(last, 16)
    return False


# --------------------------------------------------------------------------- how it is copied
def _copy(direction: str, room: bytearray, addr: int) -> bool:
    """Let the kernel copy between `room` and an address; False if it cannot."""
    call = getattr(_LIBC, f"process_vm_{direction}", None)
    if call is None:
        return False
    first, done = ctypes.addressof(ctypes.c_char.from_buffer(room)), 0
    while done < len(room):
        left = len(room) - done
        here, there = _Vector(first + done, left), _Vector(addr + done, left)
        count = call(os.getpid(), ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
        if count <= 0:
            return False
        done += count
    return True


def _from_pipe(room: bytearray, addr: int) -> bool:
    """`_copy` from an address into `room`; returns False if the kernel cannot."""
    out, into = os.pipe()
    try:
        for at in range(0, len(room), _PIECE):
            count = min(_PIECE, len(room) - at)
            if _LIBC.write(into, ctypes.c_void_p(addr + at), ctypes.c_size_t(count)) != count:
                return False
            room[at : at + count] = os.read(out, count)
        return True
    finally:
        os.close(out)
        os.close(into)


def _to_pipe(octets: bytes, addr: int) -> bool:
    """`_copy` from `octets` to an address; returns False if the kernel cannot."""
    out, into = os.pipe()
    try:
        for at in range(0, len(octets), _PIECE):
            count = os.write(into, octets[at : at + _PIECE])
            if _LIBC.read(out, ctypes.c_void_p(addr + at), ctypes.c_size_t(count)) != count:
                return False
        return True
    finally:
        os.close(out)
        os.close(into)


PAGE = mmap.PAGESIZE
# Bytes around each buffer: an address a little outside of it belongs to no other buffer.
_GUARD = 0x8_0000
# Up to this size a buffer is compared before each call; of a longer one only what was written
# through pyverbs is noticed.
_COMPARED = 1 << 20
_RUN = 64  # equal bytes that end a changed run


class Block:
    """Memory of this process, with room on both sides; freed when no object refers to it."""

    __slots__ = ("_first", "_room", "_view", "addr", "length")

    def __init__(self, length: int, alignment: int = PAGE) -> None:
        size = max(length, 1) + 2 * _GUARD + alignment
        # Private, as a heap is: madvise(MADV_DONTNEED) then leaves zeros, not the old bytes.
        self._room = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._view = ctypes.c_char.from_buffer(self._room)
        self._first = ctypes.addressof(self._view)
        first = self._first + _GUARD
        self.addr = first + -first % alignment
        self.length = length

    def read(self, addr: int, length: int) -> bytes:
        """Bytes at an address in it or in its guards."""
        return self._room[addr - self._first : addr - self._first + length]

    def write(self, addr: int, octets: bytes) -> None:
        """Put bytes at an address in it or in its guards."""
        self._room[addr - self._first : addr - self._first + len(octets)] = octets


@dataclass(slots=True)
class Mirror:
    """`length` bytes at `real` here and at `addr` in the memory of a node.

    regions: the MRs it was registered as. shadow: the bytes on which both sides agreed last; None
    if there are too many of them. written: ranges that pyverbs' own functions have written.
    unknown: it may have held something before it was mirrored. block: what must not be freed
    while an object refers to it; None: memory of the program, which it may unmap. The node then
    keeps the bytes, as an adapter keeps the pages that reg_mr has pinned (ib_umem_get of Linux).
    unmapped: an access has found that; warned: the program was warned of that.
    """

    node: str
    real: int
    addr: int
    length: int
    regions: list[Ref] = field(default_factory=list)
    shadow: bytes | None = None
    written: list[tuple[int, int]] = field(default_factory=list)
    unknown: bool = False
    block: Block | None = None
    unmapped: bool = False
    warned: bool = False
    _room: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        if self.length <= _COMPARED:
            self.shadow = bytes(self.length)

    def changes(self) -> Iterable[tuple[int, bytes]]:
        """Offsets and bytes that the program has written since the last call."""
        if self.shadow is None:
            return self._noted()
        now = self._compared(self.shadow)
        if now == self.shadow:
            return ()
        before, self.shadow = self.shadow, bytes(now)
        return differences(before, self.shadow)

    def _compared(self, before: bytes) -> bytes | bytearray:
        """All bytes of now; `before` has those of pages that are not mapped any more."""
        if self.block is not None:
            return self.block.read(self.real, self.length)
        if len(self._room) != self.length:
            self._room = bytearray(self.length)
        try:
            read_into(self._room, self.real)
        except UnmappedError:
            self._room[:] = before
            for start, stop in self._pages(0, self.length):
                self._room[start:stop] = self._piece(start, stop) or before[start:stop]
        return self._room

    def _pages(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """The part of each page in a range of offsets."""
        while start < stop:
            end = min(stop, start + PAGE - (self.real + start) % PAGE)
            yield start, end
            start = end

    def _piece(self, start: int, stop: int) -> bytes:
        """Bytes of the program; none if one of them is not mapped any more."""
        if self.block is not None:
            return self.block.read(self.real + start, stop - start)
        try:
            return read(self.real + start, stop - start)
        except UnmappedError:
            self.unmapped = True
            return b""

    def _noted(self) -> Iterator[tuple[int, bytes]]:
        """Noted offsets and bytes; at the first call for unknown content, all that is not zero."""
        ranges, self.written = self.written, []
        unknown, self.unknown = self.unknown, False
        for start, stop in [(0, self.length)] if unknown else ranges:
            for at in range(start, stop, _COMPARED):
                piece = self._piece(at, min(at + _COMPARED, stop))
                if piece and (not unknown or piece.strip(b"\0")):
                    yield at, piece

    def receive(self, offset: int, octets: bytes) -> None:
        """Copy bytes that the device has written to the program's memory."""
        if self.block is not None:
            self.block.write(self.real + offset, octets)
        else:
            self._put(offset, octets)
        if self.shadow is not None:
            shadow = self.shadow
            self.shadow = shadow[:offset] + octets + shadow[offset + len(octets) :]

    def _put(self, offset: int, octets: bytes) -> None:
        """Write what is mapped of the program's memory."""
        try:
            write(self.real + offset, octets)
        except UnmappedError:
            self.unmapped = True
            for start, stop in self._pages(offset, offset + len(octets)):
                with suppress(UnmappedError):
                    write(self.real + start, octets[start - offset : stop - offset])


def differences(before: bytes, now: bytes) -> Iterator[tuple[int, bytes]]:
    """Runs of bytes that differ, with no long equal stretch inside."""
    at, end = 0, len(now)
    while at < end:
        if now[at : at + _RUN] == before[at : at + _RUN]:
            at += _RUN
            continue
        start = at
        while at < end and now[at : at + _RUN] != before[at : at + _RUN]:
            at += _RUN
        stop = min(at, end)
        while now[start] == before[start]:
            start += 1
        while now[stop - 1] == before[stop - 1]:
            stop -= 1
        yield start, now[start:stop]


class Buffers:
    """All blocks and mirrors of the process."""

    def __init__(self) -> None:
        self.blocks: dict[int, Block] = {}
        self.mirrors: list[Mirror] = []  # by real address
        self._starts: list[int] = []

    def allocate(self, length: int, alignment: int = PAGE) -> int:
        """Allocate zeroed memory of this process and return its address."""
        block = Block(length, alignment)
        self.blocks[block.addr] = block
        return block.addr

    def free(self, addr: int) -> None:
        """Release the block that starts at this address; nothing if there is none."""
        self.blocks.pop(addr, None)

    def block_at(self, addr: int) -> Block | None:
        """The block that was allocated here and holds this address."""
        for block in self.blocks.values():
            if block.addr <= addr < block.addr + block.length:
                return block
        return None

    def holding(self, real: int, length: int) -> Block | None:
        """The block with all these bytes, or with its guard after them."""
        block = self.block_at(real)
        inside = block is not None and real + length <= block.addr + block.length + _GUARD
        return block if inside else None

    def is_mapped(self, real: int, length: int, *, writable: bool) -> bool:
        """Whether an MR can be made of these bytes."""
        inside = self.holding(real, length) is not None
        return inside or is_mapped(real, length, writable=writable)

    def covering(self, node: str, real: int, length: int) -> Mirror | None:
        """The mirror on this node that holds the whole range."""
        found = self._at(real)
        inside = found is not None and real + length <= found.real + found.length
        return found if found is not None and inside and found.node == node else None

    def mirror(
        self, node: str, real: int, addr: int, length: int, *, unknown: bool = True
    ) -> Mirror:
        """Add a mirror on this node for memory of the program."""
        made = Mirror(node, real, addr, length, unknown=unknown, block=self.holding(real, length))
        index = bisect_right(self._starts, real)
        self.mirrors.insert(index, made)
        self._starts.insert(index, real)
        return made

    def forget(self, region: Ref) -> None:
        """Remove an MR from its mirror, and the mirror with its last MR."""
        for mirror in [mirror for mirror in self.mirrors if region in mirror.regions]:
            mirror.regions.remove(region)
            if not mirror.regions:
                index = self.mirrors.index(mirror)
                del self.mirrors[index], self._starts[index]

    def note(self, real: int, length: int) -> None:
        """Record a write by pyverbs, where the mirror is too long to be compared."""
        mirror = self._at(real)
        if mirror is not None and mirror.shadow is None:
            start = real - mirror.real
            mirror.written.append((start, min(start + length, mirror.length)))

    def to_lab(self, real: int) -> int:
        """An address as the lab knows it; one that belongs to no buffer stays what it is."""
        mirror = self._at(real) or self._near(real)
        return real if mirror is None else mirror.addr + real - mirror.real

    def at_node(self, node: str, addr: int) -> Mirror | None:
        """The mirror that holds this address of a node's memory."""
        for mirror in self.mirrors:
            if mirror.node == node and mirror.addr <= addr < mirror.addr + mirror.length:
                return mirror
        return None

    def _at(self, real: int) -> Mirror | None:
        index = bisect_right(self._starts, real) - 1
        mirror = self.mirrors[index] if index >= 0 else None
        return mirror if mirror is not None and real < mirror.real + mirror.length else None

    def _near(self, real: int) -> Mirror | None:
        """A buffer that this address misses by little, as a program means it that counts on."""
        index = bisect_right(self._starts, real) - 1
        for mirror in self.mirrors[max(index, 0) : index + 2]:
            if mirror.real - _GUARD <= real < mirror.real + mirror.length + _GUARD:
                return mirror
        return None
