"""The times in nanoseconds of the codes in `timeout` and `min_rnr_timer`."""

INFINITE_RETRIES = 7  # in rnr_retry; in retry_cnt on some devices
MOST_RETRIES = 6  # that every device counts

_RNR_UNIT_NS = 10_000
_ACK_UNIT_NS = 4_096

# IBA table 45: code 0 is the longest wait, not the shortest.
# fmt: off
RNR_NS: tuple[int, ...] = tuple(_RNR_UNIT_NS * units for units in (
    65_536,      1,      2,      3,      4,      6,      8,     12,
        16,     24,     32,     48,     64,     96,    128,    192,
       256,    384,    512,    768,  1_024,  1_536,  2_048,  3_072,
     4_096,  6_144,  8_192, 12_288, 16_384, 24_576, 32_768, 49_152,
))
# fmt: on


def ack_timeout_ns(code: int) -> int | None:
    """The ack timeout of a code in ns, 4.096 us * 2^code; None for code 0: the timer is disabled."""
    return _ACK_UNIT_NS << code if code else None


def answer_ns(code: int, tick_ns: int, factor: int) -> int | None:
    """The ack timeout of a device in ns: the code's time on its kernel timers, `factor` times.

    tick_ns: the kernel's timer tick, 0 for exact timers. None for code 0: the timer is disabled.
    """
    wait_ns = ack_timeout_ns(code)
    return None if wait_ns is None else on_ticks_ns(wait_ns, tick_ns) * factor


# A kernel keeps its timers in a wheel: the farther away, the coarser (8 times a level).
_WHEEL_SLOTS = 64
_WHEEL_STEP = 8


def on_ticks_ns(wait_ns: int, tick_ns: int) -> int:
    """`wait_ns` rounded up to what a kernel timer with this tick can keep; unchanged if tick_ns is
    0.
    """
    if tick_ns == 0:
        return wait_ns
    ticks = -(-wait_ns // tick_ns)
    granule = 1
    while ticks >= _WHEEL_SLOTS * granule:
        granule *= _WHEEL_STEP
    return -(-ticks // granule) * granule * tick_ns
