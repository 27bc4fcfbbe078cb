"""Memory of the process, from which MRs are made."""

import ctypes
from operator import index

from rdmalab.compat.buffers import PAGE
from rdmalab.compat.process import here
from rdmalab.compat.pyverbs.base import octets_at, put_octets
from rdmalab.compat.pyverbs.c_types import INT, SIZE, U64, converted
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError

PROT_NONE_, PROT_READ_, PROT_WRITE_, PROT_EXEC_ = 0, 1, 2, 4
MAP_SHARED_, MAP_PRIVATE_, MAP_FIXED_, MAP_ANONYMOUS_ = 0x1, 0x2, 0x10, 0x20
MAP_GROWSDOWN_, MAP_LOCKED_, MAP_NORESERVE_ = 0x100, 0x2000, 0x4000
MAP_POPULATE_, MAP_STACK_, MAP_HUGETLB_ = 0x8000, 0x20000, 0x40000

_MADV_DONTNEED = 4  # of Linux
_LIBC = ctypes.CDLL(None, use_errno=True)
_NOT_HERE = MAP_HUGETLB_ | MAP_FIXED_
_POINTER = 8  # bytes
_SIGNED_MOST = (1 << 63) - 1


def _allocate(text: str, length: int, alignment: int = PAGE) -> int:
    try:
        return here().buffers.allocate(length, alignment)
    except (OSError, OverflowError, ValueError):  # more than there is
        raise MemoryError(text) from None


def mmap(
    addr: int = 0, length: int = 100, prot: int = PROT_READ_ | PROT_WRITE_,
    flags: int = MAP_PRIVATE_ | MAP_ANONYMOUS_, fd: int = 0, offset: int = 0,
) -> int:  # fmt: skip
    """Fresh pages; huge ones, fixed addresses and files are not there. MemoryError says so."""
    text = "Failed to mmap memory"
    wanted, kind = converted(length, SIZE), converted(flags, INT)
    for number, width in ((addr, SIZE), (prot, INT), (fd, INT)):
        converted(number, width)
    missing = kind & _NOT_HERE or not kind & MAP_ANONYMOUS_
    if missing or not kind & (MAP_SHARED_ | MAP_PRIVATE_) or not wanted or offset % PAGE:
        raise MemoryError(text)
    return _allocate(text, wanted)


def munmap(addr: int, length: int) -> None:
    """Free memory of mmap. MemoryError: the address is not that of a page, or length is 0."""
    start = converted(addr, SIZE)
    if not converted(length, SIZE) or start % PAGE:
        raise MemoryError("Failed to munmap requested memory")
    here().buffers.free(start)


def madvise(addr: int, length: int, flags: int = _MADV_DONTNEED) -> None:
    """`madvise` of this process; whole pages that are not needed any more read as zeros."""
    start, count = converted(addr, SIZE), converted(length, SIZE)
    here().fetch()
    if _LIBC.madvise(ctypes.c_void_p(start), ctypes.c_size_t(count), converted(flags, INT)):
        raise PyverbsRDMAError("Failed to madvise memory", ctypes.get_errno())
    here().buffers.note(start, count)


def malloc(size: int, /) -> int:
    """Allocate zeroed, page-aligned memory and return its address. MemoryError: too much."""
    return _allocate("Failed to allocate memory", converted(size, SIZE))


def posix_memalign(size: int, alignment: int = 8) -> int:
    """KeyError: it failed; pyverbs makes a mistake when it makes the text of that error."""
    length, multiple = converted(size, SIZE), converted(alignment, SIZE)
    if multiple % _POINTER or multiple.bit_count() != 1:
        raise KeyError("err")
    try:
        return _allocate("", length, max(multiple, PAGE))
    except MemoryError:
        raise KeyError("err") from None


def free(ptr: int, /) -> None:
    """Free memory of malloc or posix_memalign; nothing for another address."""
    here().buffers.free(converted(ptr, SIZE))


def write(addr: int, data: str | bytes, length: int, offset: int = 0) -> None:
    """At most the length of `data`; C continues with the bytes after it."""
    start = converted(addr, SIZE) + converted(offset, INT)
    if isinstance(data, str):
        data = data.encode()
    if not isinstance(data, bytes | bytearray):
        raise TypeError(f"expected bytes, {type(data).__name__} found")
    octets = bytes(data)[: converted(length, SIZE)]
    put_octets(start, octets)
    here().buffers.note(start, len(octets))


def read(addr: int, length: int, offset: int = 0) -> bytes:
    """Bytes from addr + offset. PyverbsError where C crashes; SystemError: length < 0."""
    start, count = converted(addr + offset, SIZE), _signed(length)
    if count < 0:
        raise SystemError("Negative size passed to PyBytes_FromStringAndSize")
    return octets_at(start, count)


def _signed(number: int) -> int:
    """A number as an index of C."""
    found = index(number)
    if not -_SIGNED_MOST <= found <= _SIGNED_MOST:
        raise OverflowError("Python int too large to convert to C ssize_t")
    return found


def _put(addr: int, val: int, offset: int, size: int) -> None:
    octets = converted(val, U64).to_bytes(8, "big")[-size:]
    write(converted(addr, SIZE) + size * _signed(offset), octets, size)


def writebe32(addr: int, val: int, offset: int = 0) -> None:
    """Write the low 4 bytes of val in big-endian order at the offset-th such word."""
    _put(addr, val, offset, 4)


def writebe64(addr: int, val: int, offset: int = 0) -> None:
    """Write the 8 bytes of val in big-endian order at the offset-th such word."""
    _put(addr, val, offset, 8)


def _got(addr: int, offset: int, size: int) -> int:
    start = converted(addr, SIZE) + size * _signed(offset)
    return int.from_bytes(octets_at(start, size), "little")


def read32(addr: int, offset: int = 0) -> int:
    """The offset-th 4-byte word from addr, in little-endian order."""
    return _got(addr, offset, 4)


def read64(addr: int, offset: int = 0) -> int:
    """The offset-th 8-byte word from addr, in little-endian order."""
    return _got(addr, offset, 8)
