"""Memory keys: an index, and a variant that tells old keys from new ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.hca import objects
from rdmalab.hca.objects import ProtectionDomain, Table
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WROpcode
from tests.pairs import Pair

rkeys = st.integers(0, 2**32 - 1)


@given(rkeys)
def test_inc_rkey_keeps_the_index(rkey: int) -> None:
    following = objects.inc_rkey(rkey)
    assert following >> 8 == rkey >> 8
    assert following != rkey
    assert following & 0xFF == (rkey + 1) & 0xFF


@given(rkeys)
def test_inc_rkey_256_times_is_the_same_rkey(rkey: int) -> None:
    following = rkey
    for _ in range(256):
        following = objects.inc_rkey(following)
    assert following == rkey


@given(st.integers(1, 0x7FFFF), st.integers(1, 255))
def test_mw_is_found_by_the_index_of_its_rkey(number: int, host: int) -> None:
    rkey = objects.window_key(number, host)
    assert objects.window_number(rkey) == number
    assert objects.window_number(objects.inc_rkey(rkey)) == number


@given(st.integers(1, 0x7FFFF), st.integers(1, 255), st.integers(0, 255))
def test_rkey_of_a_region_is_not_found_as_a_window(index: int, host: int, version: int) -> None:
    key = objects.key_of(index, host, version)
    assert 0 < key < 2**32
    assert key >> 8 == index
    assert objects.window_number(key) < 1
    assert objects.key_of(index, host, version + 1) == objects.inc_rkey(key)


@given(st.integers(1, 0x3FFFF), st.integers(1, 255), st.integers(0, 255))
def test_lkey_and_rkey_find_their_region(number: int, host: int, version: int) -> None:
    for index in (2 * number, 2 * number + 1):
        assert objects.region_number(objects.key_of(index, host, version)) == number


def test_pd_handle_is_a_number() -> None:
    assert ProtectionDomain(5).number == 5


def test_lkey_of_another_pd_is_refused() -> None:
    pair = Pair()
    other = pair.end("B").mr
    pair.a.issue(WROpcode.RDMA_READ, rkey=other.rkey, remote_addr=other.addr)
    pair.run()
    assert pair.a.sent() == [(1, WCStatus.REM_ACCESS_ERR)]


def test_the_number_of_a_removed_object_is_not_used_again() -> None:
    table: Table[ProtectionDomain] = Table("pd", 7)
    first = ProtectionDomain(table.next_number)
    table.add(first)
    assert table.find(7) is first
    table.remove(first)
    assert table.next_number == 8
    with pytest.raises(KeyError):
        table.find(7)
