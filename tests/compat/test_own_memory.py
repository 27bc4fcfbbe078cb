"""Memory of this process that may be gone: read, written, or refused, and never a crash."""

import ctypes
import mmap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.compat.buffers import PAGE, UnmappedError, is_mapped, read, read_into, write

_LIBC = ctypes.CDLL(None)
_READ_ONLY = 1  # PROT_READ


class _WithoutCopies:
    """A libc that has no process_vm_readv and process_vm_writev."""

    write, read = _LIBC.write, _LIBC.read


@pytest.fixture(params=["kernel", "pipe"], autouse=True)
def _each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "pipe":
        monkeypatch.setattr("rdmalab.compat.buffers._LIBC", _WithoutCopies)


def pages(count: int) -> tuple[mmap.mmap, int]:
    """Pages, and their address; no view holds them."""
    made = mmap.mmap(-1, count * PAGE)
    return made, ctypes.addressof(ctypes.c_char.from_buffer(made))


def unmap(addr: int) -> None:
    assert _LIBC.munmap(ctypes.c_void_p(addr), ctypes.c_size_t(PAGE)) == 0


@pytest.fixture
def hole() -> int:
    """The address of three pages, of which the second is not mapped."""
    made, addr = pages(3)
    _KEPT.append(made)
    unmap(addr + PAGE)
    return addr


_KEPT: list[mmap.mmap] = []  # never closed: munmap would take what was mapped there since


def test_what_is_written_is_read() -> None:
    made, addr = pages(40)
    octets = bytes(range(256)) * 500
    write(addr + 100, octets)
    assert read(addr + 100, len(octets)) == made[100 : 100 + len(octets)] == octets
    room = bytearray(5)
    read_into(room, addr + 101)
    assert room == octets[1:6]
    assert read(addr, 0) == b""
    write(0, b"")


@pytest.mark.parametrize(("start", "length"), [(PAGE, 1), (PAGE - 1, 2), (0, 3 * PAGE)])
def test_a_hole_is_an_error(hole: int, start: int, length: int) -> None:
    with pytest.raises(UnmappedError, match=f"no memory at {hole + start:#x}, length {length}"):
        read(hole + start, length)
    with pytest.raises(UnmappedError):
        write(hole + start, bytes(length))
    assert not is_mapped(hole + start, length, writable=False)


def test_around_a_hole_all_is_as_before(hole: int) -> None:
    write(hole + 2 * PAGE, b"after")
    assert read(hole + 2 * PAGE, 5) == b"after"
    assert is_mapped(hole, PAGE, writable=True)
    assert is_mapped(hole + 2 * PAGE, PAGE, writable=True)


def test_what_may_not_be_written_is_refused() -> None:
    made = mmap.mmap(-1, PAGE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    addr = ctypes.addressof(ctypes.c_char.from_buffer(made))
    _LIBC.mprotect(ctypes.c_void_p(addr), ctypes.c_size_t(PAGE), _READ_ONLY)
    assert read(addr, 4) == bytes(4)
    with pytest.raises(UnmappedError):
        write(addr, b"x")
    assert is_mapped(addr, PAGE, writable=False)
    assert not is_mapped(addr, PAGE, writable=True)


@given(st.integers(0, (1 << 64) - 1), st.integers(1, 9000))
def test_no_address_is_a_crash(addr: int, length: int) -> None:
    try:
        assert len(read(addr, length)) == length
    except UnmappedError:
        return
    assert is_mapped(addr, length, writable=False)
