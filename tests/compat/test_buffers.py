"""Memory of the process and its mirror: what changed is found, and addresses are translated."""

import ctypes
import resource

from hypothesis import given
from hypothesis import strategies as st

from rdmalab.command import Ref
from rdmalab.compat.buffers import Buffers, Mirror

LAB = 0x1000_0000
BIG = 3 << 20  # more than is compared


def put(real: int, octets: bytes) -> None:
    ctypes.memmove(real, octets, len(octets))


def mirrored(length: int, *, node: str = "A") -> tuple[Buffers, Mirror]:
    buffers = Buffers()
    return buffers, buffers.mirror(node, buffers.allocate(length), LAB, length)


def test_fresh_memory_is_zero_and_nothing_has_changed() -> None:
    _, mirror = mirrored(4096)
    assert ctypes.string_at(mirror.real, 4096) == bytes(4096)
    assert not list(mirror.changes())


@given(st.lists(st.tuples(st.integers(0, 999), st.binary(max_size=90)), max_size=8))
def test_the_changes_make_one_side_the_other(writes: list[tuple[int, bytes]]) -> None:
    """Whatever is written in between: carried over it is the same, and told only once."""
    _, mirror = mirrored(1000)
    other = bytearray(1000)
    for start, octets in writes:
        put(mirror.real + start, octets[: 1000 - start])
        for at, changed in mirror.changes():
            other[at : at + len(changed)] = changed
        assert ctypes.string_at(mirror.real, 1000) == bytes(other)
        assert not list(mirror.changes())


def test_changes_far_apart_are_separate_and_exact() -> None:
    _, mirror = mirrored(4096)
    put(mirror.real + 100, b"one")
    put(mirror.real + 3000, b"two")
    assert list(mirror.changes()) == [(100, b"one"), (3000, b"two")]


def test_what_the_adapter_writes_is_seen_and_is_no_change() -> None:
    _, mirror = mirrored(4096)
    mirror.receive(50, b"hello")
    assert ctypes.string_at(mirror.real + 50, 5) == b"hello"
    assert not list(mirror.changes())


def test_changes_of_a_large_buffer_are_the_noted_ranges() -> None:
    buffers, mirror = mirrored(BIG)
    assert not list(mirror.changes())  # all of it was looked at once: zeros
    put(mirror.real + BIG - 3, b"end")
    assert not list(mirror.changes())
    buffers.note(mirror.real + BIG - 3, 3)
    assert list(mirror.changes()) == [(BIG - 3, b"end")]
    put(mirror.real + BIG - 3, bytes(3))
    buffers.note(mirror.real + BIG - 3, 3)
    assert list(mirror.changes()) == [(BIG - 3, bytes(3))]  # zeros too, where something was


def test_a_buffer_as_long_as_an_mr_may_be_costs_nothing() -> None:
    """2^31 bytes: nothing looks at all of them."""
    buffers = Buffers()
    real = buffers.allocate(1 << 31)
    mirror = buffers.mirror("A", real, LAB, 1 << 31, unknown=False)
    touched = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    assert not list(mirror.changes())
    put(real + (1 << 31) - 1, b"x")
    buffers.note(real + (1 << 31) - 1, 1)
    assert list(mirror.changes()) == [((1 << 31) - 1, b"x")]
    touched = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - touched
    assert touched < 10_000  # all of it would be half a million pages


def test_changes_of_a_new_mirror_hold_earlier_bytes() -> None:
    for length in (4096, BIG):
        buffers = Buffers()
        real = buffers.allocate(length)
        put(real + 7, b"early")
        lines = list(buffers.mirror("A", real, LAB, length).changes())
        assert b"".join(octets for _, octets in lines).strip(b"\0") == b"early"


def test_addresses_count_on_as_they_do_in_the_process() -> None:
    buffers, mirror = mirrored(4096)
    for offset in (0, 1, 4095, 4096, 5000, -1, -4096):
        assert buffers.to_lab(mirror.real + offset) == LAB + offset
    assert buffers.to_lab(0) == 0
    assert buffers.to_lab(0xDEAD) == 0xDEAD


def test_two_buffers_are_never_taken_for_each_other() -> None:
    buffers = Buffers()
    reals = [buffers.allocate(64) for _ in range(20)]
    for number, real in enumerate(reals):
        buffers.mirror("A", real, LAB * (number + 1), 64)
    for number, real in enumerate(reals):
        for offset in (-100, 0, 63, 64, 1000):
            assert buffers.to_lab(real + offset) == LAB * (number + 1) + offset


def test_memory_that_no_region_names_any_more_is_nobodys() -> None:
    buffers, mirror = mirrored(4096)
    first, second = Ref("A", "mr0"), Ref("A", "mr1")
    mirror.regions += [first, second]
    assert buffers.covering("A", mirror.real + 8, 16) is mirror
    assert buffers.covering("B", mirror.real + 8, 16) is None
    assert buffers.covering("A", mirror.real + 4090, 16) is None
    buffers.forget(first)
    assert buffers.at_node("A", LAB) is mirror
    buffers.forget(second)
    assert buffers.at_node("A", LAB) is None
    assert buffers.to_lab(mirror.real) == mirror.real


def test_alignment_is_kept() -> None:
    buffers = Buffers()
    for alignment in (4096, 1 << 16, 1 << 21):
        assert buffers.allocate(100, alignment) % alignment == 0
