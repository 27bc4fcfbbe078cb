"""The memory of another process, as far as it is registered, and the same bytes in a node.

The kernel copies between the two address spaces (process_vm_readv(2)). A node's address is that of
the program plus a distance: 0 for the first program of a node, so that the lab prints the addresses
that the program prints; others have their own, since two processes may use one address.
"""

import ctypes
import os
from collections.abc import Iterator
from dataclasses import field

from rdmalab.compat.buffers import differences
from rdmalab.spec.row import dataclass

# Compared before each event, because a program writes without a call and may spin on a byte;
# long ranges in part, or ten messages of 1 MiB would cost seconds.
LONG = 1 << 16
"""Bytes of a range that is compared as a whole before each event; of a longer one only what the
next event reads."""
_libc = ctypes.CDLL(None, use_errno=True)


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def _function(name: str) -> "ctypes._NamedFuncPointer":
    function: ctypes._NamedFuncPointer = getattr(_libc, name)
    function.restype = ctypes.c_ssize_t
    function.argtypes = (
        ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong,
        ctypes.c_ulong,
    )  # fmt: skip
    return function


_memcmp = _libc.memcmp
_memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_readv, _writev = _function("process_vm_readv"), _function("process_vm_writev")


class _Octets(ctypes.Structure):
    """As _Vector; it points into an object of Python, so nothing is copied for the kernel."""

    _fields_ = (("base", ctypes.c_char_p), ("length", ctypes.c_size_t))


def _copy(
    call: "ctypes._NamedFuncPointer", pid: int, room: ctypes.Array[ctypes.c_char], addr: int,
    length: int,
) -> None:  # fmt: skip
    here, there = _Vector(ctypes.addressof(room), length), _Vector(addr, length)
    if call(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) != length:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def read(pid: int, addr: int, length: int) -> bytes:
    """Bytes of a process; OSError if one of them is not mapped or the kernel forbids it."""
    room = ctypes.create_string_buffer(max(length, 1))
    if length:
        _copy(_readv, pid, room, addr, length)
    return room.raw[:length]


def write(pid: int, addr: int, octets: bytes) -> None:
    """Put bytes into a process; OSError as of `read`."""
    if octets:
        here, there = _Octets(octets, len(octets)), _Vector(addr, len(octets))
        if _writev(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) != len(octets):
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))


def is_mapped(pid: int, addr: int, length: int, *, writable: bool) -> bool:
    """Whether a process has all these bytes, with the right to read (and to write) them."""
    needed, at = ("rw" if writable else "r"), addr
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as maps:  # noqa: PTH123
        for line in maps:
            span, rights, *_ = line.split()
            first, last = (int(each, 16) for each in span.split("-"))
            if last <= at:
                continue
            if first > at or not all(right in rights for right in needed):
                return False
            at = last
            if at >= addr + length:
                return True
    return False


@dataclass(slots=True, eq=False)
class Mirror:
    """A registered range of a process. shadow: the bytes on which both sides agreed last.

    users: MRs of exactly this range.
    """

    pid: int
    start: int
    length: int
    distance: int
    users: int = 1
    shadow: bytearray = field(default_factory=bytearray)
    _read: tuple[object, ...] = ()  # the arguments of process_vm_readv for the whole range
    _both: tuple[object, ...] = ()  # those of memcmp, for what was read and the shadow

    def __post_init__(self) -> None:
        self.shadow = bytearray(self.length)

    @property
    def is_long(self) -> bool:
        return self.length > LONG

    def changes(self, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
        """Addresses and bytes that the program has written between two of its addresses.

        Memory that is unmapped has not changed: an adapter keeps the pages that were pinned.
        """
        first, last = max(start - self.start, 0), min(stop - self.start, self.length)
        if first >= last:
            return
        try:
            now = read(self.pid, self.start + first, last - first)
        except OSError:
            return
        before = bytes(self.shadow[first:last])
        if now != before:
            self.shadow[first:last] = now
            for at, octets in differences(before, now):
                yield self.start + first + at, octets

    def is_same(self) -> bool:
        """Whether the whole range is as it was; the usual answer, so no byte is copied for it."""
        if not self._read:
            now = ctypes.create_string_buffer(max(self.length, 1))
            here = _Vector(ctypes.addressof(now), self.length)
            there = _Vector(self.start, self.length)
            self._read = (self.pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
            shadow = (ctypes.c_char * self.length).from_buffer(self.shadow)
            self._both = (now, shadow, self.length)
        if _readv(*self._read) != self.length:
            return True  # unmapped
        return not _memcmp(*self._both)

    def agree(self, addr: int, octets: bytes) -> None:
        """Both sides have these bytes now; those outside of the range are left out."""
        first = addr - self.start
        skipped = max(-first, 0)
        part = octets[skipped : skipped + self.length - max(first, 0)]
        if part and first + skipped < self.length:
            self.shadow[first + skipped : first + skipped + len(part)] = part


class Mirrors:
    """All registered ranges of one process."""

    def __init__(self, pid: int, distance: int) -> None:
        self.pid = pid
        self.distance = distance
        self.ranges: list[Mirror] = []
        self.has_long = False

    def add(self, start: int, length: int) -> None:
        """A region of this range was registered."""
        for mirror in self.ranges:
            if (mirror.start, mirror.length) == (start, length):
                mirror.users += 1
                return
        self.ranges.append(Mirror(self.pid, start, length, self.distance))
        self.has_long |= length > LONG

    def remove(self, start: int, length: int) -> None:
        """One region of this range was deregistered."""
        for mirror in self.ranges:
            if (mirror.start, mirror.length) == (start, length):
                mirror.users -= 1
        self.ranges = [mirror for mirror in self.ranges if mirror.users]

    def has_any_of(self, start: int, length: int) -> bool:
        """Whether one of these bytes is registered."""
        return any(
            mirror.start < start + length and start < mirror.start + mirror.length
            for mirror in self.ranges
        )

    def changes(self) -> Iterator[tuple[int, bytes]]:
        """Addresses and bytes that the program has written into the short ranges."""
        for mirror in self.ranges:
            if not (mirror.is_long or mirror.is_same()):
                for addr, octets in mirror.changes(mirror.start, mirror.start + mirror.length):
                    self._agree(mirror, addr, octets)
                    yield addr, octets

    def changes_in(self, start: int, length: int) -> Iterator[tuple[int, bytes]]:
        """Addresses and bytes that it has written between two addresses into the long ranges."""
        for mirror in self.ranges:
            if mirror.is_long:
                for addr, octets in mirror.changes(start, start + length):
                    self._agree(mirror, addr, octets)
                    yield addr, octets

    def _agree(self, known: Mirror, addr: int, octets: bytes) -> None:
        for mirror in self.ranges:
            if mirror is not known:
                mirror.agree(addr, octets)

    def receive(self, addr: int, octets: bytes) -> bool:
        """Copy bytes that the device has written to the process; whether any range has them."""
        stop, is_registered = addr + len(octets), False
        for mirror in self.ranges:
            if mirror.start < stop and addr < mirror.start + mirror.length:
                mirror.agree(addr, octets)
                is_registered = True
        if not is_registered:
            return False
        try:
            write(self.pid, addr, octets)
        except OSError:
            return True  # unmapped: the adapter has the pages, the program has not
        return True
