"""A host's memory: sparse, page by page, and byte for byte what a plain array would hold."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.hca import mr
from rdmalab.hca.memory import PAGE, Buffer, Memory
from rdmalab.spec.work import WROpcode
from tests.each import examples
from tests.pairs import Pair

FIRST = 0x1000_0000

AREA = 5 * PAGE


@settings(max_examples=examples(200), derandomize=True)
@given(
    st.lists(
        st.tuples(
            st.booleans(),
            st.integers(0, AREA),
            st.sampled_from([0, 1, 7, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 3 * PAGE + 5]),
        )
    )
)
def test_memory_holds_what_a_bytearray_holds(steps: list[tuple[bool, int, int]]) -> None:
    memory, plain = Memory(FIRST), bytearray(2 * AREA)
    base = memory.map(2 * AREA).addr
    for number, (writes, offset, length) in enumerate(steps):
        if writes:
            octets = bytes([number % 255 + 1]) * length
            memory.write(base + offset, octets)
            plain[offset : offset + length] = octets
        assert memory.read(base + offset, length) == plain[offset : offset + length]
    assert memory.read(base, 2 * AREA) == plain


def test_memory_of_2_to_the_31_untouched_bytes_costs_nothing() -> None:
    pair = Pair(mr_bytes=2**31)
    assert pair.b.hca.memory.pages == {}
    pair.a.poke(0, b"x" * 600)
    pair.a.issue(WROpcode.RDMA_WRITE, 600, to=2**31 - 600)
    pair.a.issue(WROpcode.RDMA_READ, 600, to=2**30, at=PAGE - 300)
    pair.run()
    assert len(pair.b.hca.memory.pages) == 1
    assert len(pair.a.hca.memory.pages) == 2
    assert pair.b.peek(2**31 - 600, 600) == b"x" * 600


def test_memory_read_allocates_no_page() -> None:
    memory = Memory(FIRST)
    addr = memory.map(2**26).addr
    memory.write(addr + 2**25, b"middle")
    octets = memory.read(addr, 2**26)
    assert len(octets) == 2**26
    assert octets[2**25 : 2**25 + 6] == b"middle"
    assert len(memory.pages) == 1


@given(st.lists(st.integers(1, 3 * PAGE), min_size=1, max_size=8))
def test_buffers_are_page_aligned_and_do_not_overlap(lengths: list[int]) -> None:
    memory = Memory(FIRST)
    buffers = [memory.map(length) for length in lengths]
    for buffer, following in pairwise(buffers):
        assert buffer.addr + buffer.length + PAGE <= following.addr
    for buffer in buffers:
        assert buffer.addr % PAGE == 0
        assert memory.is_mapped(*buffer)
        assert not memory.is_mapped(buffer.addr - 1, 1)
        assert not memory.is_mapped(buffer.addr, buffer.length + 1)
        assert memory.is_mapped(buffer.addr + buffer.length - 1, 1)
    assert all(isinstance(buffer, Buffer) for buffer in memory.buffers)


def test_two_regions_over_one_buffer_see_the_same_bytes() -> None:
    pair = Pair()
    a = pair.a
    over = mr.register(a.hca, a.pd.number, 100, 1, a.mr.addr + 50)
    a.poke(60, b"shared")
    assert a.hca.memory.read(over.addr + 10, 6) == b"shared"


def test_bytes_that_are_read_again_are_one_object_until_they_change() -> None:
    memory = Memory(FIRST)
    addr = memory.map(PAGE).addr
    assert memory.read(addr, 64) is memory.read(addr + 64, 64) == bytes(64)  # never written
    memory.write(addr, b"a" * 64)
    before = memory.read(addr, 64)
    assert memory.read(addr, 64) is before
    memory.write(addr + 63, b"b")
    assert memory.read(addr, 64) == b"a" * 63 + b"b"
    assert memory.read(addr, 63) == b"a" * 63
    assert before == b"a" * 64


def test_what_was_read_is_kept_within_bounds() -> None:
    memory = Memory(FIRST)
    addr = memory.map(PAGE).addr
    memory.write(addr, bytes(range(256)))
    for length in range(1, 256):
        for start in range(0, 256 - length, 8):
            assert memory.read(addr + start, length) == bytes(range(start, start + length))
    assert 0 < len(memory.reads) <= 1024
