"""What a key allows, and where the bytes of a message lie."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.hca import dma
from rdmalab.hca.dma import Denied
from rdmalab.hca.objects import MemoryRegion
from rdmalab.hca.wr import SGE
from rdmalab.spec.access import Access


class User(NamedTuple):
    """Who asks: a queue pair, as far as it matters here."""

    pd: int
    number: int = 0x11


W, R = int(Access.LOCAL_WRITE), int(Access.REMOTE_READ)
KEYS = {7: MemoryRegion(1, 1, 1000, 100, W)}


@pytest.mark.parametrize(
    ("key", "pd", "rights", "addr", "length", "found"),
    [
        (7, 1, W, 1000, 100, 1000),
        (7, 1, 0, 1099, 1, 1099),
        (8, 2, R, 0, 1, Denied.KEY),
        (7, 2, R, 0, 1, Denied.PD),
        (7, 1, R, 0, 1, Denied.RIGHTS),
        (7, 1, W | R, 1000, 1, Denied.RIGHTS),
        (7, 1, W, 999, 2, Denied.RANGE),
        (7, 1, W, 1000, 101, Denied.RANGE),
        (7, 1, W, 1100, 1, Denied.RANGE),
    ],
)
def test_lkey_checks_report_the_first_that_fails(
    key: int, pd: int, rights: int, addr: int, length: int, found: int | Denied
) -> None:
    """Key, PD, rights, range: in this order."""
    assert dma.locate(KEYS, key, User(pd), rights, addr, length) == found


@given(st.lists(st.integers(0, 20), max_size=6), st.integers(0, 130), st.integers(0, 130))
def test_sge_pieces_are_those_of_the_joined_list(
    lengths: list[int], offset: int, length: int
) -> None:
    keys = {7: MemoryRegion(1, 1, 0, 10_000, 0)}
    sg = [SGE(1000 * number, length_of_one, 7) for number, length_of_one in enumerate(lengths)]
    joined = [sge.addr + byte for sge in sg for byte in range(sge.length)]
    found = dma.reach(keys, User(1), dma.LOCAL_READ, sg, offset, length)
    assert isinstance(found, list)
    assert [addr + byte for addr, count in found for byte in range(count)] == joined[
        offset : offset + length
    ]
    assert all(count > 0 for _, count in found)
    assert len(found) <= len(sg)


def test_lkey_denied_for_one_sge_reaches_no_byte() -> None:
    good, bad = SGE(1000, 4, 7), SGE(1098, 4, 7)
    for rights in (dma.LOCAL_READ, dma.LOCAL_WRITE):
        assert dma.reach(KEYS, User(1), rights, [good, bad], 0, 8) is Denied.RANGE
        assert dma.reach(KEYS, User(1), rights, [good, bad], 0, 4) == [(1000, 4)]
        assert dma.reach(KEYS, User(1), rights, [good, bad], 4, 0) == []
    assert dma.reach(KEYS, User(2), dma.LOCAL_READ, [good], 0, 4) is Denied.PD
