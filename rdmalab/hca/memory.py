"""A host's memory: sparse pages of bytes, so that a buffer of 2^31 bytes costs nothing untouched."""

from typing import NamedTuple

PAGE = 4096
_SHIFT = 12
_FIRST = 0x1000_0000
_GUARD = 0x10_0000  # between two buffers, so that one byte too many never hits a neighbour


class Buffer(NamedTuple):
    """A mapped range."""

    addr: int
    length: int


class Memory:
    """Bytes by virtual address; what was never written reads as zero."""

    __slots__ = ("buffers", "pages")

    def __init__(self) -> None:
        self.pages: dict[int, bytearray] = {}
        self.buffers: list[Buffer] = []

    def map(self, length: int) -> Buffer:
        """A fresh buffer at the next free page-aligned address behind all others."""
        last = self.buffers[-1] if self.buffers else Buffer(_FIRST - _GUARD, 0)
        addr = (last.addr + last.length + _GUARD + PAGE - 1) & ~(PAGE - 1)
        buffer = Buffer(addr, length)
        self.buffers.append(buffer)
        return buffer

    def is_mapped(self, addr: int, length: int) -> bool:
        return any(b.addr <= addr and addr + length <= b.addr + b.length for b in self.buffers)

    def read(self, addr: int, length: int) -> bytes:
        offset = addr & (PAGE - 1)
        if offset + length <= PAGE:
            page = self.pages.get(addr >> _SHIFT)
            return bytes(page[offset : offset + length]) if page else bytes(length)
        head = PAGE - offset
        return self.read(addr, head) + self.read(addr + head, length - head)

    def write(self, addr: int, octets: bytes) -> None:
        start = 0
        while start < len(octets):
            offset = (addr + start) & (PAGE - 1)
            part = octets[start : start + PAGE - offset]
            number = (addr + start) >> _SHIFT
            page = self.pages.get(number)
            if page is None:
                page = self.pages[number] = bytearray(PAGE)
            page[offset : offset + len(part)] = part
            start += len(part)
