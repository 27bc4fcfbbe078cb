"""Bytes of this process by their address, read and written without a segmentation fault.

A program may unmap memory that it has registered. The kernel copies here, not the processor, and
refuses what is not mapped: on Linux process_vm_readv, elsewhere write() into a pipe.
"""

import ctypes
import os
from pathlib import Path

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
