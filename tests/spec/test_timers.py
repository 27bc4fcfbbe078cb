"""Timer codes against the table of the specification, in milliseconds as printed there."""

from decimal import Decimal

import pytest

from rdmalab.spec.timers import RNR_NS, ack_timeout_ns

PRINTED = """
    655.36  0.01   0.02   0.03   0.04   0.06   0.08   0.12
    0.16    0.24   0.32   0.48   0.64   0.96   1.28   1.92
    2.56    3.84   5.12   7.68   10.24  15.36  20.48  30.72
    40.96   61.44  81.92  122.88 163.84 245.76 327.68 491.52
"""


def test_rnr_codes_are_those_of_the_table() -> None:
    assert [Decimal(ns) / 1_000_000 for ns in RNR_NS] == [Decimal(ms) for ms in PRINTED.split()]
    assert all(type(ns) is int for ns in RNR_NS)


def test_rnr_code_25_is_that_of_the_standard() -> None:
    assert RNR_NS[25] == 61_440_000


def test_rnr_code_0_is_the_longest_wait() -> None:
    assert max(RNR_NS) == RNR_NS[0]
    assert list(RNR_NS[1:]) == sorted(RNR_NS[1:])


@pytest.mark.parametrize(
    ("code", "wait_ns"),
    [
        (1, 8_192),
        (7, 524_288),
        (8, 1_048_576),
        (14, 67_108_864),
        (20, 4_294_967_296),
        (31, 8_796_093_022_208),
    ],
)
def test_ack_timeout(code: int, wait_ns: int) -> None:
    assert ack_timeout_ns(code) == wait_ns


def test_ack_timeout_0_is_no_timer_at_all() -> None:
    assert ack_timeout_ns(0) is None
