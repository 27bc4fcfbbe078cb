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
def test_the_next_key_has_the_same_index_and_another_variant(rkey: int) -> None:
    following = objects.inc_rkey(rkey)
    assert following >> 8 == rkey >> 8
    assert following != rkey
    assert following & 0xFF == (rkey + 1) & 0xFF


@given(rkeys)
def test_256_steps_lead_back(rkey: int) -> None:
    following = rkey
    for _ in range(256):
        following = objects.inc_rkey(following)
    assert following == rkey


@given(st.integers(1, 0x7FFFF), st.integers(1, 255))
def test_a_window_is_found_by_its_key_whatever_the_variant(number: int, host: int) -> None:
    rkey = objects.window_key(number, host)
    assert objects.window_number(rkey) == number
    assert objects.window_number(objects.inc_rkey(rkey)) == number


@given(st.integers(1, 0x7FFFF), st.integers(1, 255), st.integers(0, 255))
def test_a_regions_key_is_no_windows(index: int, host: int, version: int) -> None:
    key = objects.key_of(index, host, version)
    assert 0 < key < 2**32
    assert key >> 8 == index
    assert objects.window_number(key) < 1
    assert objects.key_of(index, host, version + 1) == objects.inc_rkey(key)


@given(st.integers(1, 0x3FFFF), st.integers(1, 255), st.integers(0, 255))
def test_both_keys_of_a_region_tell_which_it_is(number: int, host: int, version: int) -> None:
    for index in (2 * number, 2 * number + 1):
        assert objects.region_number(objects.key_of(index, host, version)) == number


def test_it_is_a_number() -> None:
    assert ProtectionDomain(5).number == 5


def test_a_qp_reaches_only_regions_of_its_own_domain() -> None:
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
