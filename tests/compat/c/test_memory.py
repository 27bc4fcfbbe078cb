"""The memory of a process, and mirrors of its registered ranges; here it is this one."""

import ctypes
import mmap
import os

import pytest

from rdmalab.compat.c import memory
from rdmalab.compat.c.memory import LONG, Mirrors

PID = os.getpid()


class Room:
    """Mapped bytes of this process."""

    def __init__(self, length: int) -> None:
        self.map = mmap.mmap(-1, length)
        self.view = ctypes.c_char.from_buffer(self.map)
        self.addr = ctypes.addressof(self.view)


def test_bytes_are_read_and_written() -> None:
    room = Room(4096)
    memory.write(PID, room.addr + 5, b"hello")
    assert room.map[5:10] == b"hello"
    assert memory.read(PID, room.addr + 5, 5) == b"hello"
    assert memory.read(PID, room.addr, 0) == b""


def test_memory_that_is_not_mapped_is_an_error() -> None:
    with pytest.raises(OSError, match="address"):
        memory.read(PID, 16, 1)
    assert not memory.is_mapped(PID, 16, 1, writable=False)


def test_a_range_is_mapped_as_a_whole_or_not() -> None:
    room = Room(8192)
    assert memory.is_mapped(PID, room.addr, 8192, writable=True)
    assert memory.is_mapped(PID, room.addr + 4000, 200, writable=True)


def test_changes_yields_each_write_once() -> None:
    room, mirrors = Room(4096), Mirrors(PID, 0)
    mirrors.add(room.addr + 100, 50)
    room.map[110:113] = b"abc"
    room.map[10:13] = b"xyz"  # outside of the range
    assert list(mirrors.changes()) == [(room.addr + 110, b"abc")]
    assert list(mirrors.changes()) == []


def test_overlapping_ranges_tell_a_byte_once() -> None:
    room, mirrors = Room(4096), Mirrors(PID, 0)
    mirrors.add(room.addr, 100)
    mirrors.add(room.addr + 50, 100)
    room.map[60:63] = b"abc"
    assert list(mirrors.changes()) == [(room.addr + 60, b"abc")]


def test_what_the_device_wrote_is_no_change_of_the_program() -> None:
    room, mirrors = Room(4096), Mirrors(PID, 0)
    mirrors.add(room.addr, 100)
    mirrors.add(room.addr + 50, 100)
    assert mirrors.receive(room.addr + 60, b"abc")
    assert room.map[60:63] == b"abc"
    assert list(mirrors.changes()) == []
    assert not mirrors.receive(room.addr + 2000, b"abc")


def test_a_long_range_is_compared_where_it_is_read() -> None:
    room, mirrors = Room(LONG + 4096), Mirrors(PID, 0)
    mirrors.add(room.addr, LONG + 1)
    room.map[1000:1003] = b"abc"
    room.map[2000:2003] = b"xyz"
    assert list(mirrors.changes()) == []
    assert list(mirrors.changes_in(room.addr + 900, 200)) == [(room.addr + 1000, b"abc")]


def test_a_range_is_looked_at_until_its_last_region_is_gone() -> None:
    room, mirrors = Room(4096), Mirrors(PID, 0)
    mirrors.add(room.addr, 100)
    mirrors.add(room.addr, 100)
    mirrors.remove(room.addr, 100)
    room.map[0:1] = b"x"
    assert list(mirrors.changes())
    mirrors.remove(room.addr, 100)
    room.map[0:1] = b"y"
    assert not list(mirrors.changes())


def test_memory_that_was_unmapped_has_not_changed() -> None:
    room, mirrors = Room(4096), Mirrors(PID, 0)
    mirrors.add(room.addr, 100)
    room.map[0:3] = b"abc"
    assert list(mirrors.changes())
    addr = room.addr
    del room.view
    room.map.close()
    assert not list(mirrors.changes())
    assert mirrors.receive(addr, b"abc")
