"""Memory: the same bytes for the same calls, and the same errors.

Where pyverbs cannot know better either, nothing is asked: addresses that are nobody's, and lengths
beyond what is written from or to. To read the length None is, there, to read all that C can count.
Not emulated: huge pages, fixed addresses, maps of files.
"""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rdmalab.compat.pyverbs import mem_alloc
from tests.compat.real import needs_pyverbs, ours, real

WAYS = [["malloc", 64], ["posix_memalign", 64], ["posix_memalign", 64, 4096], ["mmap", 0, 64]]
EDGES = [-1, 0, 1, 1.5, True, "x", None, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 2**64]


def same(calls: list[list[Any]], allocate: list[Any] = WAYS[0]) -> None:
    (theirs,), (mine,) = real(["memory", allocate, calls]), ours(["memory", allocate, calls])
    shown = [*calls, "all bytes"]
    assert not [row for row in zip(shown, theirs, mine, strict=True) if row[1] != row[2]]


def at(offset: int) -> dict[str, int]:
    return {"at": offset}


@needs_pyverbs
@pytest.mark.parametrize("allocate", WAYS, ids=lambda way: f"{way[0]}-{len(way)}")
def test_written_bytes_are_read(allocate: list[Any]) -> None:
    same(
        [
            ["write", at(0), {"bytes": "abcdef"}, 6],
            ["write", at(8), {"bytes": "abcdef"}, 3],
            ["write", at(16), "text", 4],
            ["write", at(20), "\u00e4\u20ac", 5],
            ["write", at(26), {"bytes": "far"}, 3, 9],
            ["write", at(60), {"bytes": "back"}, 4, -6],
            ["write", at(60), {"bytes": "none"}, 0],
            *(["read", at(start), 8] for start in (0, 5, 8, 20, 56)),
            *(["read", at(16), 4, offset] for offset in (-16, 0, 1, 44)),
            ["read", at(0), 0],
        ],
        allocate,
    )


@needs_pyverbs
@pytest.mark.parametrize("bits", [32, 64])
def test_numbers_are_written_as_on_the_wire_and_read_as_here(bits: int) -> None:
    size = bits // 8
    write, read = f"writebe{bits}", f"read{bits}"
    same([step for edge in EDGES for step in ([write, at(8), edge], [read, at(8)])])
    same(
        [
            *([write, at(16), 0x0102030405060708 + place, place] for place in (-2, 0, 1, 3)),
            *([read, at(16), place] for place in range(-2, 6 * 8 // size - 3)),
            *([read, at(start)] for start in range(0, 56, 3)),
            *([write, at(0), 1, place] for place in (1.5, "x", None, 2**63, 2**64)),
            *([read, at(0), place] for place in (1.5, "x", None, 2**63, 2**64)),
            *([write, addr, 1] for addr in (-1, "x", None, 2**64)),
            *([read, addr] for addr in (-1, "x", None, 2**64)),
        ]
    )


@needs_pyverbs
def test_what_cannot_be_is_refused_alike() -> None:
    octets = {"bytes": "abc"}
    same(
        [
            *(["write", at(0), octets, length] for length in (-1, 1.5, "x", None, 2**64)),
            *(
                ["write", at(0), octets, 0, place]
                for place in (1.5, "x", None, 2**31, -(2**31) - 1)
            ),
            *(["write", at(0), data, 1] for data in (None, 1, [1], 1.5)),
            *(["write", addr, octets, 1] for addr in (-1, "x", None, 2**64)),
            *(["read", at(0), length] for length in (-1, 1.5, "x", 2**63, 2**64)),
            *(["read", at(0), 1, place] for place in (1.0, "x", None)),
            *(["read", addr, 0] for addr in (-1, "x", None, 2**64)),
        ]
    )


@needs_pyverbs
def test_memory_that_cannot_be_had_is_refused_alike() -> None:
    wrong = (-1, "x", None, 2**62, 2**64)
    same(
        [
            *(["malloc", size] for size in wrong),
            *(["posix_memalign", size] for size in wrong),
            *(["posix_memalign", 16, each] for each in (-8, 0, 1, 2, 3, 4, 12, 24, "x", None)),
            *(["mmap", 0, length] for length in (0, *wrong)),
            *(["mmap", 0, 64, 3, flags] for flags in (0, 2, 0x20, "x", None, 2**31)),
            *(["mmap", addr] for addr in (-1, "x", None, 2**64)),
            *(["mmap", 0, 64, prot] for prot in ("x", None, 2**31)),
            *(["mmap", 0, 64, 3, 0x22, fd] for fd in ("x", None, 2**31)),
            ["mmap", 0, 64, 3, 0x22, 0, 1],
            *(["munmap", addr, 64] for addr in (1, -1, "x", None, 2**64)),
            *(["munmap", 4096, length] for length in (0, -1, "x", None, 2**64)),
            *(["free", addr] for addr in (0, -1, "x", None, 2**64)),
        ]
    )


def test_memory_is_where_it_was_asked_for() -> None:
    for alignment in (8, 64, 4096, 1 << 16):
        assert mem_alloc.posix_memalign(10, alignment) % alignment == 0
    for size in (0, 1, 1.5):
        assert mem_alloc.malloc(size) > 0  # type: ignore[arg-type]  # C cuts a fraction off
    pages = mem_alloc.mmap(length=100)
    assert mem_alloc.read(pages, 100) == bytes(100)
    assert pages % 4096 == 0
    mem_alloc.munmap(pages, 100)


def test_no_more_is_written_than_there_is() -> None:
    """pyverbs goes on with what lies behind the bytes."""
    room = mem_alloc.malloc(16)
    mem_alloc.write(room, b"abc", 8)
    assert mem_alloc.read(room, 8) == b"abc" + bytes(5)


@st.composite
def calls(draw: st.DrawFn) -> list[Any]:
    """A write or a read, all of it inside."""
    size = draw(st.sampled_from([4, 8]))
    start, place = draw(st.integers(0, 24)), draw(st.integers(0, 3))
    octets = draw(st.text(st.characters(max_codepoint=255), max_size=12))
    number = draw(st.integers(0, 2**64 - 1))
    return draw(
        st.sampled_from(
            [
                [f"writebe{8 * size}", at(start), number, place],
                [f"read{8 * size}", at(start), place],
                ["write", at(start), {"bytes": octets}, len(octets), place],
                ["read", at(start), size, place],
            ]
        )
    )


@needs_pyverbs
@settings(max_examples=4, suppress_health_check=list(HealthCheck))
@given(st.lists(calls(), min_size=60, max_size=150))
def test_any_calls_in_any_order(steps: list[list[Any]]) -> None:
    same(steps)
