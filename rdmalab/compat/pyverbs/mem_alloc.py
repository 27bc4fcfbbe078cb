"""Memory of the process, from which MRs are made."""

import ctypes
from typing import Any

from rdmalab.compat.buffers import PAGE
from rdmalab.compat.process import here

PROT_NONE_, PROT_READ_, PROT_WRITE_, PROT_EXEC_ = 0, 1, 2, 4
MAP_SHARED_, MAP_PRIVATE_, MAP_FIXED_, MAP_ANONYMOUS_ = 0x1, 0x2, 0x10, 0x20
MAP_GROWSDOWN_, MAP_LOCKED_, MAP_NORESERVE_ = 0x100, 0x2000, 0x4000
MAP_POPULATE_, MAP_STACK_, MAP_HUGETLB_ = 0x8000, 0x20000, 0x40000

_NOT_HERE = MAP_HUGETLB_ | MAP_FIXED_


def mmap(
    addr: int = 0, length: int = 100, prot: int = PROT_READ_ | PROT_WRITE_,
    flags: int = MAP_PRIVATE_ | MAP_ANONYMOUS_, fd: int = 0, offset: int = 0,
) -> int:  # fmt: skip
    """Fresh pages; huge ones, fixed addresses and files are not there. MemoryError says so."""
    del addr, prot, fd, offset
    if flags & _NOT_HERE or not flags & MAP_ANONYMOUS_:
        raise MemoryError("Failed to mmap memory")
    return here().buffers.allocate(length)


def munmap(addr: int, length: int) -> None:
    del length
    here().buffers.free(addr)


def malloc(size: int, /) -> int:
    return here().buffers.allocate(size)


def posix_memalign(size: int, alignment: int = 8) -> int:
    return here().buffers.allocate(size, max(alignment, PAGE))


def free(ptr: int, /) -> None:
    here().buffers.free(ptr)


def write(addr: int, data: str | bytes, length: int, offset: int = 0) -> None:
    octets = data.encode() if isinstance(data, str) else bytes(data)
    ctypes.memmove(addr + offset, octets, length)
    here().buffers.note(addr + offset, length)


def read(addr: int, length: int, offset: int = 0) -> bytes:
    return ctypes.string_at(addr + offset, length)


def _put(addr: int, octets: bytes) -> None:
    write(addr, octets, len(octets))


def writebe32(addr: int, val: int, offset: int = 0) -> None:
    _put(addr + 4 * offset, (val & 0xFFFFFFFF).to_bytes(4, "big"))


def writebe64(addr: int, val: int, offset: int = 0) -> None:
    _put(addr + 8 * offset, (val & (1 << 64) - 1).to_bytes(8, "big"))


def read32(addr: int, offset: int = 0) -> Any:
    return int.from_bytes(read(addr + 4 * offset, 4), "little")


def read64(addr: int, offset: int = 0) -> Any:
    return int.from_bytes(read(addr + 8 * offset, 8), "little")
