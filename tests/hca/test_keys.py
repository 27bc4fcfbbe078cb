"""Memory keys: an index, and a variant that tells old keys from new ones."""

from hypothesis import given
from hypothesis import strategies as st

from rdmalab.hca import keys

rkeys = st.integers(0, 2**32 - 1)


@given(rkeys)
def test_inc_rkey_keeps_the_index(rkey: int) -> None:
    following = keys.inc_rkey(rkey)
    assert following >> 8 == rkey >> 8
    assert following != rkey
    assert following & 0xFF == (rkey + 1) & 0xFF


@given(rkeys)
def test_inc_rkey_256_times_is_the_same_rkey(rkey: int) -> None:
    following = rkey
    for _ in range(256):
        following = keys.inc_rkey(following)
    assert following == rkey


@given(st.integers(1, 0x7FFFF), st.integers(1, 255))
def test_mw_is_found_by_the_index_of_its_rkey(number: int, host: int) -> None:
    rkey = keys.window_key(number, host)
    assert keys.window_number(rkey) == number
    assert keys.window_number(keys.inc_rkey(rkey)) == number


@given(st.integers(1, 0x7FFFF), st.integers(1, 255), st.integers(0, 255))
def test_rkey_of_a_region_is_not_found_as_a_window(index: int, host: int, version: int) -> None:
    key = keys.key_of(index, host, version)
    assert 0 < key < 2**32
    assert key >> 8 == index
    assert keys.window_number(key) < 1
    assert keys.key_of(index, host, version + 1) == keys.inc_rkey(key)


@given(st.integers(1, 0x3FFFF), st.integers(1, 255), st.integers(0, 255))
def test_lkey_and_rkey_find_their_region(number: int, host: int, version: int) -> None:
    for index in (2 * number, 2 * number + 1):
        assert keys.region_number(keys.key_of(index, host, version)) == number
