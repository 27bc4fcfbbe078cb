"""What a key allows, and where the bytes of a message lie."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.hca import dma
from rdmalab.hca.dma import Denied
from rdmalab.hca.memory import Memory
from rdmalab.hca.mr import MemoryRegion
from rdmalab.hca.wr import SGE
from rdmalab.spec.access import Access

FIRST = 0x1000_0000

W, R = int(Access.LOCAL_WRITE), int(Access.REMOTE_READ)
KEYS = {7: MemoryRegion(1, 1, 1000, 100, W)}


@pytest.mark.parametrize(
    ("key", "pd", "rights", "addr", "length", "denied"),
    [
        (7, 1, W, 1000, 100, None),
        (7, 1, 0, 1099, 1, None),
        (8, 2, R, 0, 1, Denied.KEY),
        (7, 2, R, 0, 1, Denied.PD),
        (7, 1, R, 0, 1, Denied.RIGHTS),
        (7, 1, W | R, 1000, 1, Denied.RIGHTS),
        (7, 1, W, 999, 2, Denied.RANGE),
        (7, 1, W, 1000, 101, Denied.RANGE),
        (7, 1, W, 1100, 1, Denied.RANGE),
    ],
)
def test_the_first_test_that_fails_is_told(
    key: int, pd: int, rights: int, addr: int, length: int, denied: Denied | None
) -> None:
    """Key, PD, rights, range: in this order."""
    assert dma.check(KEYS, key, pd, rights, addr, length) is denied


@given(st.lists(st.integers(0, 20), max_size=6), st.integers(0, 130), st.integers(0, 130))
def test_pieces_are_what_a_joined_list_would_give(
    lengths: list[int], offset: int, length: int
) -> None:
    sg = [SGE(1000 * number, length_of_one) for number, length_of_one in enumerate(lengths)]
    joined = [sge.addr + byte for sge in sg for byte in range(sge.length)]
    found = dma.pieces(sg, offset, length)
    assert [addr + byte for _, addr, count in found for byte in range(count)] == joined[
        offset : offset + length
    ]
    assert all(count > 0 for _, _, count in found)
    assert all(sge.addr <= addr < sge.addr + sge.length for sge, addr, _ in found)


def test_nothing_is_gathered_or_scattered_if_one_piece_is_denied() -> None:
    memory = Memory(FIRST)
    good, bad = SGE(1000, 4, 7), SGE(1098, 4, 7)
    parts = [(good, 1000, 4), (bad, 1098, 4)]
    assert dma.gather(memory, KEYS, 1, parts) is Denied.RANGE
    assert dma.denied_scatter(KEYS, 1, parts) is Denied.RANGE
    assert dma.denied_scatter(KEYS, 1, parts[:1]) is None
    assert dma.gather(memory, KEYS, 1, parts[:1]) == bytes(4)
    assert dma.gather(memory, KEYS, 1, []) == b""
