"""Memory keys: 32 bits, a 24-bit index and an 8-bit variant that distinguishes old and new keys."""

WINDOWS = 0x80000  # windows have the indices from here on, regions those below
_VARIANT = 0xFF


def key_of(index: int, host: int, version: int = 0) -> int:
    """The key of an index: its variant is arbitrary, so that no key fits elsewhere.

    Yet it is alike in every run; each version moves it on by one.
    """
    first = index * 0x9D + host * 0x35 + 0x1A
    return index << 8 | (first + version) & _VARIANT


def inc_rkey(rkey: int) -> int:
    """`ibv_inc_rkey`: the same index, the next variant."""
    return rkey & ~_VARIANT | (rkey + 1) & _VARIANT


def varied(key: int, wish: int) -> int:
    """The key of the same index with the variant of `wish`."""
    return key & ~_VARIANT | wish & _VARIANT


def window_key(number: int, host: int) -> int:
    """The first R_Key of a window; it is invalid before a bind."""
    return key_of(WINDOWS + number, host)


def window_number(rkey: int) -> int:
    """Which window an R_Key is of; a number that no window has if it is of none."""
    return (rkey >> 8) - WINDOWS


def region_number(key: int) -> int:
    """Which region a key is of: each has two, and they follow one another."""
    return (key >> 8) // 2
