"""A host's memory: sparse pages, so that a buffer of 2^31 bytes costs nothing until touched."""

from functools import lru_cache
from typing import NamedTuple

PAGE = 4096
_SHIFT = 12
_GUARD = 0x10_0000  # between two buffers, so that one byte too many never hits a neighbour


class Buffer(NamedTuple):
    """A mapped range."""

    addr: int
    length: int


NOT_MAPPED, READ_ONLY = (1 << 64) - (1 << 33), (1 << 64) - (1 << 34)
"""Addresses, 8 GiB each, of what a Python program registers and the process has not mapped, or has
mapped without write permission; a node has no memory there."""


# Payloads stay in the trace. Whoever sends the same bytes again sends the same object: else they
# take 8 MB of the 58 MB of a million events, and 6 % of the time of a long message.
_MOST_READS = 1024
_zeros = lru_cache(64)(bytes)


class Memory:
    """Bytes by virtual address; bytes never written read as zero.

    reads: what was read last, by address and length, at most _MOST_READS.
    """

    __slots__ = ("buffers", "chosen", "first", "pages", "reads")

    def __init__(self, first: int) -> None:
        self.first = first
        self.pages: dict[int, bytearray] = {}
        self.reads: dict[tuple[int, int], bytes] = {}
        self.buffers: list[Buffer] = []
        self.chosen: list[Buffer] = []  # of which the caller chose the address

    def map(self, length: int) -> Buffer:
        """A new buffer at the next free page-aligned address after all others."""
        last = self.buffers[-1] if self.buffers else Buffer(self.first - _GUARD, 0)
        addr = (last.addr + last.length + _GUARD + PAGE - 1) & ~(PAGE - 1)
        buffer = Buffer(addr, length)
        self.buffers.append(buffer)
        return buffer

    def map_at(self, addr: int, length: int) -> None:
        """Map whole pages at an address that the caller chose; those that overlap become one."""
        start, stop = addr & ~(PAGE - 1), (addr + length + PAGE - 1) & ~(PAGE - 1)
        kept = []
        for buffer in self.chosen:
            if buffer.addr <= stop and start <= buffer.addr + buffer.length:
                start = min(start, buffer.addr)
                stop = max(stop, buffer.addr + buffer.length)
            else:
                kept.append(buffer)
        self.chosen = [*kept, Buffer(start, stop - start)]

    def is_mapped(self, addr: int, length: int) -> bool:
        """True if the whole range lies in one mapped buffer."""
        return any(
            buffer.addr <= addr and addr + length <= buffer.addr + buffer.length
            for buffers in (self.buffers, self.chosen)
            for buffer in buffers
        )

    def read(self, addr: int, length: int) -> bytes:
        """The bytes of the range; the same object as long as they do not change."""
        offset = addr & (PAGE - 1)
        if offset + length <= PAGE:
            page = self.pages.get(addr >> _SHIFT)
            if page is None:
                return _zeros(length)
            octets, key = page[offset : offset + length], (addr, length)
            known = self.reads.get(key)
            if known is not None and known == octets:
                return known
            return self._share(key, octets)
        octets = bytearray(length)
        start = 0
        while start < length:
            offset = (addr + start) & (PAGE - 1)
            count = min(PAGE - offset, length - start)
            page = self.pages.get((addr + start) >> _SHIFT)
            if page:
                octets[start : start + count] = page[offset : offset + count]
            start += count
        return bytes(octets)

    def _share(self, key: tuple[int, int], octets: bytearray) -> bytes:
        if len(self.reads) >= _MOST_READS:
            self.reads.clear()
        found = self.reads[key] = bytes(octets)
        return found

    def write(self, addr: int, octets: bytes) -> None:
        """Write the bytes at the address."""
        offset, length = addr & (PAGE - 1), len(octets)
        if offset + length <= PAGE:
            page = self.pages.get(addr >> _SHIFT) or self._fresh(addr)
            page[offset : offset + length] = octets
            return
        start = 0
        while start < length:
            offset = (addr + start) & (PAGE - 1)
            part = octets[start : start + PAGE - offset]
            page = self.pages.get((addr + start) >> _SHIFT) or self._fresh(addr + start)
            page[offset : offset + len(part)] = part
            start += len(part)

    def _fresh(self, addr: int) -> bytearray:
        page = self.pages[addr >> _SHIFT] = bytearray(PAGE)
        return page
