"""Memory keys: an index, and a variant that tells old keys from new ones."""

from hypothesis import given
from hypothesis import strategies as st

from rdmalab.hca import keys

rkeys = st.integers(0, 2**32 - 1)


@given(rkeys)
def test_the_next_key_has_the_same_index_and_another_variant(rkey: int) -> None:
    following = keys.inc_rkey(rkey)
    assert following >> 8 == rkey >> 8
    assert following != rkey
    assert following & 0xFF == (rkey + 1) & 0xFF


@given(rkeys)
def test_256_steps_lead_back(rkey: int) -> None:
    following = rkey
    for _ in range(256):
        following = keys.inc_rkey(following)
    assert following == rkey


@given(st.integers(1, 0x7FFFF), st.integers(1, 255))
def test_a_window_is_found_by_its_key_whatever_the_variant(number: int, host: int) -> None:
    rkey = keys.window_key(number, host)
    assert keys.window_number(rkey) == number
    assert keys.window_number(keys.inc_rkey(rkey)) == number


@given(st.integers(1, 0x7FFFF), st.integers(1, 255), st.integers(0, 255))
def test_a_regions_key_is_no_windows(index: int, host: int, version: int) -> None:
    key = keys.key_of(index, host, version)
    assert 0 < key < 2**32
    assert key >> 8 == index
    assert keys.window_number(key) < 1
    assert keys.key_of(index, host, version + 1) == keys.inc_rkey(key)


@given(st.integers(1, 0x3FFFF), st.integers(1, 255), st.integers(0, 255))
def test_both_keys_of_a_region_tell_which_it_is(number: int, host: int, version: int) -> None:
    for index in (2 * number, 2 * number + 1):
        assert keys.region_number(keys.key_of(index, host, version)) == number
